"""`sureflow evaluate`, as a command."""

import json

import numpy as np
import pytest

import sureflow
import synthetic


@pytest.fixture(scope="module")
def trained():
    """A checkerboard inside of Mach 15..25 and 30..50 km."""
    mach, altitude = synthetic.grid().T
    box = (mach >= 15) & (mach <= 25) & (altitude >= 30) & (altitude <= 50)
    return box & ((mach / 5 + altitude / 10) % 2 == 0)


@pytest.fixture
def folder(trained, tmp_path):
    """runs.zarr, and a model of some of them."""
    runs = synthetic.runs()
    runs.save(tmp_path / "runs.zarr")
    sureflow.fit(runs.select(trained), "interpolation", calibrate=False).save(tmp_path / "model")
    return tmp_path


def test_rows_as_json_are_the_errors_of_the_model(run, folder, trained):
    rows = json.loads(run("evaluate", "model", "runs.zarr", "--json").out)
    counts = {row["domain"]: row["n_runs"] for row in rows if row["region"] == "all"}
    assert counts == {"in_domain": 9 - trained.sum(), "out_of_domain": 16}
    runs = synthetic.runs()
    mach, altitude = runs.parameters.T
    outside = (mach < 15) | (mach > 25) | (altitude < 30) | (altitude > 50)
    std = runs.select(trained).array().std(axis=(0, 2))
    predicted = sureflow.load(folder / "model").predictive(runs.parameters[outside]).mean
    error = np.abs(predicted - runs.select(outside).array()).mean(axis=(0, 2)) / std
    found = {row["variable"]: row["mae"] for row in rows if (row["domain"], row["region"]) == ("out_of_domain", "all")}
    np.testing.assert_allclose([found[name] for name in runs.names], error, rtol=1e-5)


def test_python_and_the_command_say_the_same(run, folder):
    evaluation = sureflow.evaluate(sureflow.load(folder / "model"), synthetic.runs())
    assert run("evaluate", "model", "runs.zarr").out == f"{evaluation!r}\n"
    rows = json.loads(run("evaluate", "model", "runs.zarr", "--json").out)
    assert [row for row in rows if row["region"] != "quantity"] == evaluation.rows
    told = {(row["domain"], row["variable"]): row["relative_error"] for row in rows if row["region"] == "quantity"}
    assert told == {(row["domain"], row["quantity"]): row["relative_error"] for row in evaluation.quantities}


def test_a_table_for_people(run, folder, trained):
    text = run("evaluate", "model", "runs.zarr").out
    for words in (
        "in_domain",
        "miscalibration",
        "stand_off",
        "wall_pressure",
        f"not tested: {trained.sum()} trained on",
    ):
        assert words in text


def test_mistakes(refused, folder, trained, tmp_path):
    synthetic.runs().select(trained).save(tmp_path / "trained.zarr")
    synthetic.runs(shape=(12, 8)).save(tmp_path / "finer.zarr")
    for runs, more, sentence in [
        ("runs.zarr", ["--split", "papr"], "split='papr' is not one of all, random, parts, paper; did you mean paper?"),
        ("trained.zarr", [], "runs were trained on or calibrated with: hold some of them out"),
        ("finer.zarr", [], "mesh of 48 points and these runs have 96"),
        ("none.zarr", [], "none.zarr does not exist"),
    ]:
        assert sentence in refused("evaluate", "model", runs, *more)
    assert refused("evaluate", "none", "runs.zarr").startswith("none is not a trained model")


def test_what_was_held_out_is_tested_on(run, refused, tmp_path):
    """The order of the README: train on a store, then evaluate on the same store."""
    synthetic.write_store(tmp_path / "runs.zarr")
    run("train", "runs.zarr", "-o", "model", "--model", "interpolation", "--hold-out", "0.2")
    assert "Tested on 5 of 25 runs; not tested: 20 trained on" in run("evaluate", "model", "runs.zarr").out
    run("train", "runs.zarr", "-o", "other", "--model", "interpolation", "--hold-out", "7", "--set", "split.seed=3")
    assert "Tested on 7 of 25 runs" in run("evaluate", "other", "runs.zarr").out
    run("train", "runs.zarr", "-o", "all", "--model", "interpolation")
    assert "hold some of them out when the model is trained" in refused("evaluate", "all", "runs.zarr")
    for wrong in ("0", "-1", "1.5", "many"):
        assert "--hold-out" in refused("train", "runs.zarr", "-o", "none", "--hold-out", wrong)
    for too_many in ("25", "0.99"):
        assert "holding out 25 of 25" in refused("train", "runs.zarr", "-o", "none", "--hold-out", too_many)


def test_folds_over_the_training_runs(run, refused, tmp_path):
    """Where none was held out; as Python says it, and only of models that refit quickly."""
    runs = synthetic.runs()
    runs.save(tmp_path / "runs.zarr")
    model = sureflow.fit(runs, "interpolation", calibrate=False)
    model.save(tmp_path / "model")
    assert run("evaluate", "model", "runs.zarr", "--folds").out == f"{sureflow.evaluate_folds(model, runs)!r}\n"
    assert "exclude each other" in refused("evaluate", "model", "runs.zarr", "--folds", "--split", "paper")
    assert "by folds over them" in refused("evaluate", "model", "runs.zarr")
