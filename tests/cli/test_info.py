"""`sureflow info`: stores of every kind, and models."""

import json

import pytest

import kinds_of_runs
import sureflow
import synthetic
from campaigns import Inline, fake_solver, tiny
from campaigns import run as compute
from sureflow.data.schema import Status
from sureflow.data.store import open_store


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Six cases: one failed, one stalled."""
    path = tmp_path_factory.mktemp("info") / "runs.zarr"
    campaign = tiny()
    compute(path, campaign, fake_solver(campaign, {(22.0, 46.0): Status.FAILED, (18.0, 46.0): Status.STALLED}))
    return path


def test_everything_as_json(run, store):
    facts = json.loads(run("info", store, "--json").out)
    assert facts["mesh"]["cells"] == [16, 16]
    assert facts["runs"] == 6
    mach = facts["parameters"]["mach"]
    assert (mach["lowest"], mach["highest"], mach["values"]) == (18, 22, 3)
    assert facts["status"] == {"to_do": 0, "converged": 4, "stalled": 1, "failed": 1}
    assert facts["not_converged"] == [
        {"mach": 18, "altitude_km": 46, "status": "stalled"},
        {"mach": 22, "altitude_km": 46, "status": "failed"},
    ]
    assert facts["made_by"]["wall"] == {"kind": "isothermal", "temperature": 1500.0}
    assert facts["checksum"] == f"sha256:{open_store(store).checksum()}"
    assert facts["validity"]["knudsen"]["outside"] == 6
    assert "jax" in facts["versions"]


def test_a_page_of_text(run, store):
    text = run("info", store).out
    assert "4 converged, 1 stalled, 1 failed" in text
    assert "failed: mach=22, altitude_km=46" in text
    assert f"sha256:{open_store(store).checksum()}" in text
    assert "outside the model: 6 runs with Knudsen number over 0.01" in text


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_the_figure_is_written_the_same_each_time(run, store, tmp_path, suffix):
    for name in ("one", "two"):
        run("info", store, "--figure", f"new/{name}.{suffix}")
    one, two = ((tmp_path / f"new/{name}.{suffix}").read_bytes() for name in ("one", "two"))
    assert one
    assert one == two


def test_a_figure_is_replaced_only_when_asked(run, refused, store, tmp_path):
    picture = tmp_path / "mine.PDF"
    picture.write_text("mine")
    command = ("info", store, "--figure", "mine.PDF")
    assert refused(*command) == "mine.PDF exists: choose another name, or allow it to be replaced (--overwrite)"
    assert picture.read_text() == "mine"
    run(*command, "--overwrite")
    assert b"CreationDate" not in picture.read_bytes()


def test_an_empty_store_has_something_to_say(run, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        compute(tmp_path / "runs.zarr", tiny(), executor=Inline(stop_after=0))
    assert "6 to do" in run("info", "runs.zarr", "--figure", "runs.png").out


@pytest.mark.parametrize("kind", kinds_of_runs.KINDS)
def test_runs_of_every_kind(run, tmp_path, kind):
    kinds_of_runs.runs(kind).save(tmp_path / "runs.zarr")
    text = run("info", "runs.zarr", "--figure", "runs.png").out
    assert "angle 0..2 deg (6 values); thickness 0.3..0.6 (5 values)" in text
    assert f"in {', '.join(kinds_of_runs.AXES[kind])}" in text


def test_a_model(run, refused, tmp_path):
    model = sureflow.fit(synthetic.runs(), "interpolation")
    model.save(tmp_path / "model")
    assert run("info", "model").out == f"{model!r}\n"
    facts = json.loads(run("info", "model", "--json").out)
    assert facts["model"] == "interpolation"
    assert facts["training"]["runs"] == 25
    assert facts["training"]["highest"] == {"mach": 30.0, "altitude_km": 60.0}
    assert facts["calibration"]["runs"] == 25
    assert "is not a store of runs" in refused("info", "model", "--figure", "model.png")
