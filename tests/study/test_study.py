"""The command on a small study: whole, killed at any moment, changed, damaged and refused."""

import errno
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from studies import write_study
from sureflow.cli import app
from sureflow.errors import SureflowError
from sureflow.report.study_figures import draw_study
from sureflow.study.conduct import study_lock

PATIENCE = 300.0  # seconds; a busy machine compiles slowly


def command(study_toml: Path, *options: str) -> list[str]:
    folder = study_toml.parent / "study"
    return [sys.executable, "-m", "sureflow", "study", "--preset", str(study_toml), "-o", str(folder), *options]


def run(study_toml: Path, *options: str) -> Result:
    """The command in this process; a sentence that it ends with is that of its exception."""
    return CliRunner().invoke(app, command(study_toml, *options)[3:])


def results(study_toml: Path) -> dict:
    return json.loads((study_toml.parent / "study" / "results.json").read_bytes())


@pytest.fixture(autouse=True, scope="module")
def _one_figure():
    """Of the figures of studies in this process, only one is written; the study that is killed ends with all of them."""

    def draw_one(findings):
        return {"fields": draw_study(findings)["fields"]}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sureflow.report.page.draw_study", draw_one)
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A study that nobody interrupts."""
    study_toml = write_study(tmp_path_factory.mktemp("whole"))
    done = run(study_toml)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.strip() == str(study_toml.parent / "study" / "report.html")
    return study_toml


def test_everything_asked_for_is_there(whole):
    study = whole.parent / "study"
    rows = results(whole)["rows"]
    assert {row["label"] for row in rows} == {"deterministic", "evidential", "evidential-epistemic", "ensemble"}
    assert {row["domain"] for row in rows} == {
        "in_domain", "high_mach", "high_altitude", "low_mach", "low_altitude", "out_of_domain",
    }  # fmt: skip
    assert {row["variable"] for row in rows} == {"u1", "u2", "rho", "T", "mean"}
    assert (study / "report.html").stat().st_size > 10_000
    assert "seconds" in json.loads((study / "provenance.json").read_bytes())


def test_the_second_time_nothing_is_done(whole):
    again = run(whole)
    assert again.exit_code == 0
    stages = [line for line in again.stderr.splitlines() if line.startswith(("train", "evaluate", "results", "report"))]
    assert stages
    assert all(line.endswith("unchanged") for line in stages)


def test_killed_five_times_it_ends_in_the_same_results(whole, tmp_path):
    study_toml = write_study(tmp_path)
    study = tmp_path / "study"
    for kill_after in ("selection/0", "stages/selection-1.json", "models/evidential", "models/ensemble", "evaluation"):
        with subprocess.Popen(command(study_toml), stderr=subprocess.DEVNULL) as process:
            deadline = time.monotonic() + PATIENCE
            while not (study / kill_after).exists():
                assert process.poll() is None, f"the study ended before {kill_after}"
                assert time.monotonic() < deadline
                time.sleep(0.005)
            os.kill(process.pid, signal.SIGKILL)
    done = subprocess.run(command(study_toml), capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert (study / "results.json").read_bytes() == (whole.parent / "study" / "results.json").read_bytes()
    assert len(list((study / "figures").glob("*.pdf"))) > 5


def test_other_settings_are_refused_and_redone_on_request(whole, tmp_path):
    shutil.copytree(whole.parent, tmp_path, dirs_exist_ok=True)
    study_toml, study = tmp_path / whole.name, tmp_path / "study"
    study_toml.write_text(study_toml.read_text().replace("epochs = 4", "epochs = 3"))
    before = (study / "results.json").read_bytes()
    refused = run(study_toml)
    assert isinstance(refused.exception, SureflowError)
    assert "train.epochs is 4 there and 3 here" in str(refused.exception)
    assert (study / "results.json").read_bytes() == before
    redone = run(study_toml, "--overwrite")
    assert redone.exit_code == 0, redone.stderr
    assert "train ensemble: done again, since model.train.epochs is 4 there and 3 here" in redone.stderr
    assert "selection 0: unchanged" in redone.stderr
    assert results(study_toml) != results(whole)


def test_a_damaged_file_is_made_again(whole):
    study = whole.parent / "study"
    before = (study / "results.json").read_bytes()
    (study / "evaluation" / "ensemble.json").write_bytes(b"{")
    (weights,) = (study / "models" / "deterministic").glob("weights-*.safetensors")
    weights.write_bytes(weights.read_bytes()[:-10])
    (study / "figures" / "fields.pdf").unlink()
    (study / "tables" / "summary.csv").unlink()
    again = run(whole)
    assert again.exit_code == 0, again.stderr
    assert "weights-*.safetensors is damaged or was changed" in again.stderr
    assert "report: done again, since figures is damaged or was changed" in again.stderr
    assert (study / "figures" / "fields.pdf").exists()
    assert (study / "tables" / "summary.csv").exists()
    assert (study / "results.json").read_bytes() == before


def test_one_process_at_a_time(whole, tmp_path):
    study_toml = write_study(tmp_path, epochs=2000)
    with subprocess.Popen(command(study_toml), stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + PATIENCE
        while not (tmp_path / "study" / "study.toml").exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGSTOP)  # so that it is still at work when the other one asks
        refused = run(study_toml)
        process.kill()
    assert isinstance(refused.exception, SureflowError)
    assert "another process is working on the study" in str(refused.exception)


def test_a_file_system_without_locks_is_not_taken_for_another_process(tmp_path, monkeypatch):
    def unsupported(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "lockf", unsupported)
    with pytest.raises(SureflowError, match="does not support locks"), study_lock(tmp_path):
        pass


def test_unknown_presets_and_settings_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    unknown = CliRunner().invoke(app, ["study", "--preset", "papr"])
    assert isinstance(unknown.exception, SureflowError)
    assert "preset 'papr' is not one of" in str(unknown.exception)
    study_toml = write_study(tmp_path)
    study_toml.write_text(study_toml.read_text().replace("points_per_run", "points_per_runs"))
    wrong = run(study_toml)
    assert isinstance(wrong.exception, SureflowError)
    assert "train.points_per_runs is not a setting; did you mean points_per_run?" in str(wrong.exception)
    assert not list(tmp_path.glob("study/[!r.]*"))
