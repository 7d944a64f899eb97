"""The real command on a tiny campaign, killed at any moment, resumed, and refused where another job works."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from campaigns import TINY_TOML, same_files
from sureflow.cli import app
from sureflow.data.run_store import RunStore
from sureflow.errors import SureflowError

PATIENCE = 300.0  # seconds; a busy machine compiles slowly


def command(folder: Path, store: str, *options: str) -> list[str]:
    preset = folder / "tiny.toml"
    preset.write_text(TINY_TOML)
    return [sys.executable, "-m", "sureflow", "generate", str(folder / store), "--preset", str(preset), *options]


def finished(store: Path) -> int:
    """Cases whose status is on disk."""
    return sum(not path.name.endswith(".partial") for path in (store / "status" / "c").glob("*"))


def wait_for(process: subprocess.Popen, store: Path, cases: int) -> None:
    """Until so many cases are finished."""
    deadline = time.monotonic() + PATIENCE
    while finished(store) < cases:
        assert process.poll() is None, "the campaign ended too early"
        assert time.monotonic() < deadline
        time.sleep(0.002)


def kill(process: subprocess.Popen) -> None:
    """kill -9; the workers must go as well."""
    workers = psutil.Process(process.pid).children(recursive=True)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    _, alive = psutil.wait_procs(workers, timeout=60.0)
    assert not alive, "workers outlive the campaign"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The store of a campaign that nobody interrupts, with one worker."""
    folder = tmp_path_factory.mktemp("whole")
    subprocess.run(command(folder, "runs.zarr", "--workers", "1"), check=True, timeout=PATIENCE)
    return folder / "runs.zarr"


def test_a_campaign_survives_everything(whole, tmp_path):
    store = tmp_path / "runs.zarr"

    # The second half of the cases, whose ancestors are computed but not stored.
    with subprocess.Popen(command(tmp_path, "runs.zarr", "--shard", "2/2", "--workers", "1")) as process:
        wait_for(process, store, 1)
        os.kill(process.pid, signal.SIGSTOP)  # stands still, so that the other job surely finds it at work
        refused = CliRunner().invoke(app, command(tmp_path, "runs.zarr")[3:])
        os.kill(process.pid, signal.SIGCONT)
        kill(process)
    assert isinstance(refused.exception, SureflowError)
    assert "another job is working on case" in str(refused.exception)
    kept = RunStore.open(store)
    assert 1 <= (kept.status() > 0).sum() <= 3
    assert kept.unreadable() == []

    # All cases, ended by a batch system.
    before = finished(store)
    with subprocess.Popen(
        command(tmp_path, "runs.zarr", "--workers", "1"), stderr=subprocess.PIPE, text=True
    ) as process:
        wait_for(process, store, before + 1)
        process.send_signal(signal.SIGTERM)
        _, remarks = process.communicate(timeout=PATIENCE)
    assert process.returncode == 143
    assert "runs are kept in" in remarks
    assert "run the same command again to continue" in remarks
    assert "Traceback" not in remarks

    end = subprocess.run(
        command(tmp_path, "runs.zarr", "--workers", "2"), check=True, timeout=PATIENCE, capture_output=True, text=True
    )
    assert "6 of 6 runs (" in end.stdout
    assert same_files(store, whole)


def test_ctrl_c_in_a_terminal(tmp_path):
    """It reaches the workers as well: one sentence, and nothing of theirs."""
    store = tmp_path / "runs.zarr"
    started = {"stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    with subprocess.Popen(command(tmp_path, "runs.zarr", "--workers", "2"), **started) as process:
        wait_for(process, store, 1)
        workers = psutil.Process(process.pid).children(recursive=True)
        os.killpg(process.pid, signal.SIGINT)
        _, remarks = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Traceback" not in remarks
    assert remarks.count("sureflow: ") == 1
    assert "runs are kept in" in remarks.splitlines()[-1]
    assert not psutil.wait_procs(workers, timeout=60.0)[1]
    assert RunStore.open(store).unreadable() == []
