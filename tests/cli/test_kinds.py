"""All commands on runs of every kind of mesh, with equal results where they must be equal."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray

import kinds_of_runs
import sureflow

VERSION1 = Path(__file__).parents[1] / "fixtures" / "version1"


@pytest.fixture
def stores(stores_of_all_kinds, tmp_path):
    return shutil.copytree(stores_of_all_kinds, tmp_path, dirs_exist_ok=True)


def test_from_runs_to_numbers(run, stores, monkeypatch):
    monkeypatch.chdir(stores)
    predicted, evaluated = {}, {}
    for kind in kinds_of_runs.KINDS:
        run("runs", "split", f"{kind}.zarr", "--test", "0.2", "-o", kind)
        run("train", f"{kind}/train.zarr", "-o", f"{kind}/model", "--model", "interpolation")
        assert "90 % intervals reach" in run("calibrate", f"{kind}/model", f"{kind}/train.zarr").out
        assert "inside the training domain" in run(
            "predict", f"{kind}/model", "angle=1.1", "thickness=0.41", "-o", f"{kind}.nc"
        ).out  # fmt: skip
        assert "interpolation" in run("info", f"{kind}/model").out
        with xarray.open_dataset(f"{kind}.nc") as fields:
            assert set(kinds_of_runs.AXES[kind]) <= set(fields.coords)
            predicted[kind] = {str(name): np.ravel(values) for name, values in fields.data_vars.items()}
        evaluated[kind] = json.loads(run("evaluate", f"{kind}/model", f"{kind}/test.zarr", "--json").out)
    for kind in ("volume", "moving"):
        assert predicted[kind].keys() == predicted["block"].keys()
        for name, values in predicted["block"].items():
            np.testing.assert_allclose(predicted[kind][name], values, rtol=1e-12, atol=0)
        assert evaluated[kind] == evaluated["block"]
    truth = kinds_of_runs.fields(np.array([[1.1, 0.41]]))
    np.testing.assert_allclose(predicted["block"]["p"], truth["p"][0], rtol=0.02)


def test_a_mesh_that_moves_is_predicted_where_it_is(run, stores, monkeypatch):
    monkeypatch.chdir(stores)
    run("train", "moving.zarr", "-o", "model", "--model", "interpolation")
    run("predict", "model", "angle=1.1", "thickness=0.41", "-o", "fields.nc")
    with xarray.open_dataset("fields.nc") as fields:
        places = np.column_stack([fields.x.values.ravel(), fields.y.values.ravel()])
    np.testing.assert_allclose(places, kinds_of_runs.centers(kinds_of_runs.nodes()) * 1.41, rtol=1e-6)


@pytest.mark.parametrize("kind", kinds_of_runs.KINDS)
def test_points_are_given_by_the_axes_of_the_runs(run, refused, stores, monkeypatch, kind):
    monkeypatch.chdir(stores)
    run("train", f"{kind}.zarr", "-o", "model", "--model", "interpolation")
    axes = kinds_of_runs.AXES[kind]
    place = dict(zip(axes, (0.4, 0.5, 0.1), strict=False))
    (stores / "points.csv").write_text(
        ",".join(reversed(axes)) + "\n" + ",".join(str(place[a]) for a in reversed(axes))
    )
    command = ("predict", "model", "angle=1.1", "thickness=0.41", "--points", "points.csv")
    run(*command, "-o", "fields.csv")
    columns = (stores / "fields.csv").read_text().splitlines()[0].split(",")
    assert {*axes, "angle", "p", "p_std"} <= set(columns)
    (stores / "points.csv").write_text("x,r\n0.4,0.5\n")
    assert refused(*command) == f"points.csv has no column 'y'; needed: {', '.join(axes)}"


@pytest.mark.parametrize("kind", kinds_of_runs.KINDS)
def test_networks_learn_from_all_of_them(run, stores, monkeypatch, kind):
    monkeypatch.chdir(stores)
    small = ("model.encoder_width=4", "model.decoder_width=8", "model.decoder_layers=1", "members=1", "train.epochs=1")
    run("train", f"{kind}.zarr", "-o", "model", "--model", "deeponet", *(f"--set={setting}" for setting in small))
    field = sureflow.load("model").predict(angle=1.1, thickness=0.41)
    assert np.isfinite(field.p).all()


def test_archives_are_runs_like_any_other(run, stores, monkeypatch):
    monkeypatch.chdir(stores)
    at, corners = kinds_of_runs.conditions(), kinds_of_runs.nodes()
    given = {"parameters.angle": at[:, 0], "parameters.thickness": at[:, 1], "nodes": corners}
    values = {f"fields.{name}": field for name, field in kinds_of_runs.fields(at).items()}
    np.savez("runs.npz", coordinates=kinds_of_runs.centers(corners), shape=kinds_of_runs.SHAPE, **given, **values)
    for source in ("runs.npz", "block.zarr"):
        run("train", source, "-o", f"{source}.model", "--model", "interpolation")
        run("calibrate", f"{source}.model", source)
        run("predict", f"{source}.model", "angle=1.1", "thickness=0.41", "-o", f"{source}.nc")
    with xarray.open_dataset("runs.npz.nc") as one, xarray.open_dataset("block.zarr.nc") as other:
        np.testing.assert_array_equal(one.p_std, other.p_std)
    assert run("info", "runs.npz").out.startswith("30 runs over angle (0..2)")
    assert json.loads(run("info", "runs.npz", "--json").out)["runs"] == 30


@pytest.mark.parametrize("kind", ["volume", "moving"])
def test_learning_curves(run, stores, monkeypatch, kind):
    monkeypatch.chdir(stores)
    ended = run("curve", f"{kind}.zarr", "-o", "curve", "--models", "interpolation", "--sizes", "9")
    assert [line.split()[:2] for line in ended.out.splitlines()[1:3]] == [
        ["interpolation", "9"],
        ["interpolation", "24"],
    ]
    assert (stores / "curve/report.html").stat().st_size > 10_000


def test_names_of_the_users_own_are_printed_as_they_are(run, tmp_path):
    """Brackets mean nothing to us, whatever a terminal library makes of them."""
    x, angle = np.linspace(0.0, 1.0, 9)[:, None], np.linspace(0.0, 3.0, 12)
    fields = {"p [Pa]": np.sin(angle[:, None] + x[:, 0])}
    sureflow.Runs.from_arrays({"angle[deg]": angle}, x, fields).save(tmp_path / "runs.zarr")
    assert "p [Pa]" in run("info", "runs.zarr").out
    assert "p [Pa]" in run("train", "runs.zarr", "-o", "model", "--model", "interpolation").out
    assert "p [Pa] " in run("calibrate", "model", "runs.zarr").out
    run("predict", "model", "angle[deg]=1.1")


@pytest.mark.parametrize("model", ["interpolation", "deeponet"])
def test_stores_and_models_of_version_1(run, tmp_path, model):
    store = shutil.copytree(VERSION1 / "runs", tmp_path / "runs.zarr")
    shutil.copytree(VERSION1 / model, tmp_path / "model", ignore=shutil.ignore_patterns("expected.npz"))
    assert "converged" in run("info", store).out
    assert model in run("info", "model").out
    run("runs", "join", store, "-o", "again.zarr")
    assert sureflow.open_runs("again.zarr").checksum == sureflow.open_runs(store).checksum
    run("train", "again.zarr", "-o", "again", "--model", "interpolation")
    condition = sureflow.load("model").domain.parameters.mean(axis=0)
    given = [f"{name}={value}" for name, value in zip(("mach", "altitude_km"), condition, strict=True)]
    run("predict", "model", *given, "-o", "fields.nc")
