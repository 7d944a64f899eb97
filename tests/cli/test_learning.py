"""`sureflow train` and `sureflow predict`, as commands."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import xarray
from typer.testing import CliRunner

import sureflow
import synthetic
from sureflow.cli import app
from sureflow.errors import SureflowError
from sureflow.train.checkpoint import epochs_done

SMALL = ["model.encoder_width=4", "model.decoder_width=8", "model.decoder_layers=1", "train.batch=64", "members=2"]


def arguments(runs, output, *more, epochs=3):
    settings = [f"--set={setting}" for setting in (*SMALL, f"train.epochs={epochs}")]
    return ["train", str(runs), "-o", str(output), *settings, *more]


def run(arguments):
    """The command in this process; mistakes are raised."""
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return synthetic.write_store(tmp_path_factory.mktemp("runs") / "runs.zarr")


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """A cache of compiled programs of our own, which the processes of the tests below share."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SUREFLOW_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def model(runs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model") / "model"
    run(arguments(runs, folder))
    return folder


def test_a_model_folder_holds_what_it_should(model):
    assert {path.name for path in model.iterdir()} == {
        "model.json", "weights.safetensors", "experiment.toml", "events.jsonl", "provenance.json"
    }  # fmt: skip
    events = [json.loads(line) for line in (model / "events.jsonl").read_text().splitlines()]
    assert [event["epoch"] for event in events] == [1, 2, 3]
    assert json.loads((model / "provenance.json").read_text())["runs"]["train"] == 25


def test_the_resolved_experiment_trains_the_same_model(model, tmp_path):
    run(["train", str(model / "experiment.toml"), "-o", str(tmp_path / "again")])
    for name in ("weights.safetensors", "model.json"):
        assert (tmp_path / "again" / name).read_bytes() == (model / name).read_bytes()


def test_killed_and_started_again_it_ends_in_the_same_weights(runs, tmp_path):
    """kill -9 as soon as a checkpoint appears, twice; then to the end."""
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    run(arguments(runs, whole, epochs=120))
    for _ in range(2):
        kill_after_checkpoint(arguments(runs, torn, epochs=120), torn / "checkpoint.safetensors")
    assert not (torn / "model.json").exists()
    run(arguments(runs, torn, epochs=120))
    for name in ("weights.safetensors", "model.json"):
        assert (torn / name).read_bytes() == (whole / name).read_bytes()
    assert len((torn / "events.jsonl").read_text().splitlines()) == 120


def kill_after_checkpoint(arguments, checkpoint):
    before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
    process = subprocess.Popen([sys.executable, "-c", "from sureflow.cli import main; main()", *arguments])
    try:
        deadline = time.monotonic() + 120
        while not (checkpoint.exists() and checkpoint.stat().st_mtime_ns > before):
            assert process.poll() is None, "training ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.001)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()


def test_nothing_is_overwritten_without_a_flag(runs, model, tmp_path):
    copy = shutil.copytree(model, tmp_path / "copy")
    with pytest.raises(SureflowError, match="holds a trained model"):
        run(arguments(runs, copy))
    run(arguments(runs, copy, "--overwrite", epochs=1))
    assert len((copy / "events.jsonl").read_text().splitlines()) == 1


def test_data_that_cannot_be_learned_from_cost_no_model(runs, model, tmp_path):
    copy = shutil.copytree(model, tmp_path / "copy")
    before = {path.name: path.read_bytes() for path in copy.iterdir()}
    with pytest.raises(SureflowError, match="leaves none to train on"):
        run(arguments(runs, copy, "--overwrite", "--set=split.kind=random", "--set=split.test_runs=25"))
    assert {path.name: path.read_bytes() for path in copy.iterdir()} == before


def test_a_replacement_that_was_killed_goes_on_and_the_old_model_stays_until_then(runs, model, tmp_path):
    copy = shutil.copytree(model, tmp_path / "copy")
    command = arguments(runs, copy, "--overwrite", epochs=120)
    kill_after_checkpoint(command, copy / "checkpoint.safetensors")
    assert (copy / "model.json").read_bytes() == (model / "model.json").read_bytes()
    done = epochs_done(copy / "checkpoint.safetensors")
    assert f"going on after epoch {done}" in run(command)


@pytest.mark.parametrize("name", ["notes.txt", "experiment.toml"])
def test_files_of_the_users_own_are_no_place_for_a_model(runs, tmp_path, name):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / name).write_text("mine")
    with pytest.raises(SureflowError, match=f"holds other files than a model's, such as {name}"):
        run(arguments(runs, tmp_path / "mine", "--overwrite"))
    assert (tmp_path / "mine" / name).read_text() == "mine"


def test_an_output_that_cannot_be_a_folder_is_refused_before_training(runs, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SureflowError, match="file cannot be written"):
        run(arguments(runs, tmp_path / "file"))


def test_the_best_model_is_kept_and_the_table_shown(runs, tmp_path):
    candidates = 'model.candidates=[{name="interpolation"}, {name="pod-gp", modes=1}]'
    command = ["train", str(runs), "--model=auto", "--set", candidates, "--set", "model.folds=2"]
    output = run([*command, "-o", str(tmp_path / "m")])
    assert "interpolation loo       freestream" in output
    provenance = json.loads((tmp_path / "m" / "provenance.json").read_text())
    rows = provenance["comparison"]["models"]
    kept = next(row["model"] for row in rows if row["chosen"])
    assert kept == min(rows, key=lambda row: row["mae"])["model"]
    assert sureflow.load(tmp_path / "m").model_name == kept
    run(["train", str(tmp_path / "m" / "experiment.toml"), "-o", str(tmp_path / "again")])
    for name in ("weights.safetensors", "model.json"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "m" / name).read_bytes()


def test_one_model_with_a_scaling(runs, tmp_path):
    run(["train", str(runs), "--model=interpolation", "--scaling=log-density", "-o", str(tmp_path / "m")])
    manifest = json.loads((tmp_path / "m" / "model.json").read_text())
    assert manifest["configuration"]["model"] == {"name": "interpolation"}
    assert manifest["scaling"]["name"] == "log-density"
    run(["predict", str(tmp_path / "m"), "--mach=25", "--altitude=46", "-o", str(tmp_path / "fields.nc")])
    with xarray.open_dataset(tmp_path / "fields.nc") as found:
        assert "rho_std" in found


def test_explosions_of_the_evidential_head_are_reported(runs, tmp_path):
    run(arguments(runs, tmp_path / "m", "--uq=evidential", "--set=head.explosion=1e-3", epochs=1))
    warnings = json.loads((tmp_path / "m" / "provenance.json").read_text())["warnings"]
    assert "standard deviation" in warnings[0]
    assert "100.0 %" in warnings[0]


def test_a_mistake_ends_in_a_sentence_and_exit_code_2(tmp_path):
    command = [sys.executable, "-c", "from sureflow.cli import main; main()", "train", str(tmp_path / "none.zarr")]
    result = subprocess.run([*command, "-o", str(tmp_path / "m")], capture_output=True, text=True, timeout=120)
    assert result.returncode == 2
    assert result.stderr.startswith("sureflow: ")
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("suffix", ["nc", "zarr", "csv", "png"])
def test_one_condition_in_every_format(model, tmp_path, suffix):
    path = tmp_path / f"fields.{suffix}"
    command = ["predict", str(model), "--mach=25", "--altitude=46", "-o", str(path)]
    assert "inside" in run(command)
    assert path.exists()
    with pytest.raises(SureflowError, match="exists: choose another name or pass --overwrite"):
        run(command)
    run([*command, "--overwrite"])


def test_a_file_holds_what_python_gives(model, tmp_path):
    run(["predict", str(model), "--mach=25", "--altitude=46", "-o", str(tmp_path / "fields.nc")])
    expected = sureflow.load(model).predict(mach=25, altitude_km=46)
    with xarray.open_dataset(tmp_path / "fields.nc") as found:
        xarray.testing.assert_equal(found, expected)
        assert found.attrs["verdict"] == "inside"


def test_many_conditions_at_points(model, tmp_path):
    (tmp_path / "list.csv").write_text("altitude_km,mach\n30,12\n40,33\n")
    (tmp_path / "points.csv").write_text("x,r\n0.3,1.2\n-0.2,0.5\n0.9,1.8\n")
    files = ["--conditions", str(tmp_path / "list.csv"), "--points", str(tmp_path / "points.csv")]
    output = run(["predict", str(model), *files, "-o", str(tmp_path / "out.zarr")])
    assert "1 of 2 conditions are extrapolated" in output
    found = xarray.open_zarr(tmp_path / "out.zarr", consolidated=False)
    assert found.u1.shape == (2, 3)
    np.testing.assert_array_equal(found.mach, [12, 33])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--mach=25"], "give --mach and --altitude"),
        (["--conditions=none.csv"], "none.csv cannot be read"),
        (["--mach=25", "--altitude=46", "--points=far.csv"], "outside the mesh"),
        (["--conditions=far.csv"], "far.csv has no column 'mach'"),
        (["--conditions=long.csv"], "long.csv: row 1 has 3 values for the 2 columns"),
        (["--conditions=text.csv"], "text.csv: altitude_km='abc' in row 2 is not a finite number"),
        (["--conditions=head.csv"], "head.csv has no rows below its header"),
        (["--conditions=far.csv", "--mach=25"], "but not both"),
        (["--mach=25", "--altitude=46", "-o", "fields.txt"], "must be one of .nc, .zarr, .csv, .png"),
    ],
)
def test_mistakes_at_prediction(model, tmp_path, monkeypatch, more, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "far.csv").write_text("x,r\n9,9\n")
    (tmp_path / "long.csv").write_text("mach,altitude_km\n12,20,30\n")
    (tmp_path / "text.csv").write_text("mach,altitude_km\n12,20\n12,abc\n")
    (tmp_path / "head.csv").write_text("mach,altitude_km\n")
    with pytest.raises(SureflowError, match=message):
        run(["predict", str(model), "-o", "fields.nc", *more])


def test_a_condition_alone_prints_the_verdict_and_quantities_with_bars(model):
    output = run(["predict", str(model), "--mach=25", "--altitude=46"])
    assert "error bars: uncalibrated" in output
    assert re.search(r"stand_off +\S+( \+- \S+)? nose radii", output)
