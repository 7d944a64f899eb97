"""The real command on a tiny campaign, killed at any moment, resumed, and refused where another job works."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from campaigns import TINY_TOML, same_files
from sureflow.data.store import RunStore

PATIENCE = 300.0  # seconds; a busy machine compiles slowly


def command(folder: Path, store: str, *options: str) -> list[str]:
    preset = folder / "tiny.toml"
    preset.write_text(TINY_TOML)
    return [sys.executable, "-m", "sureflow", "generate", str(folder / store), "--preset", str(preset), *options]


def finished(store: Path) -> int:
    """Cases whose status is on disk."""
    return sum(not path.name.endswith(".partial") for path in (store / "status" / "c").glob("*"))


def kill_after(process: subprocess.Popen, store: Path, cases: int) -> None:
    """kill -9 as soon as some cases are finished; the workers must go as well."""
    deadline = time.monotonic() + PATIENCE
    while finished(store) < cases:
        assert process.poll() is None, "the campaign ended before it was killed"
        assert time.monotonic() < deadline
        time.sleep(0.002)
    workers = psutil.Process(process.pid).children(recursive=True)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    _, alive = psutil.wait_procs(workers, timeout=60.0)
    assert not alive, "workers outlive the campaign"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The store of a campaign that nobody interrupts, with two workers."""
    folder = tmp_path_factory.mktemp("whole")
    subprocess.run(command(folder, "runs.zarr", "--workers", "2"), check=True, timeout=PATIENCE)
    return folder / "runs.zarr"


def test_killed_and_resumed_is_the_same_store(whole, tmp_path):
    store = tmp_path / "runs.zarr"
    for cases in (1, 3):
        with subprocess.Popen(command(tmp_path, "runs.zarr", "--workers", "1")) as process:
            kill_after(process, store, cases)
        kept = RunStore.open(store)
        assert cases <= (kept.status() == 1).sum() < 6
        assert kept.unreadable() == []
    end = subprocess.run(
        command(tmp_path, "runs.zarr", "--workers", "1"), check=True, timeout=PATIENCE, capture_output=True, text=True
    )
    assert "6 of 6 runs (" in end.stdout
    assert same_files(store, whole)


def test_shards_overlap_is_refused_and_ctrl_c_keeps_what_is_done(whole, tmp_path):
    store = tmp_path / "runs.zarr"
    with subprocess.Popen(
        command(tmp_path, "runs.zarr", "--shard", "2/2", "--workers", "1"), stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = time.monotonic() + PATIENCE
        while finished(store) < 1:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        # Stand still, so that the other job surely finds this one at work.
        os.kill(process.pid, signal.SIGSTOP)
        refused = subprocess.run(command(tmp_path, "runs.zarr"), capture_output=True, text=True, timeout=PATIENCE)
        os.kill(process.pid, signal.SIGCONT)
        process.send_signal(signal.SIGINT)
        _, remarks = process.communicate(timeout=PATIENCE)
    assert refused.returncode == 2
    assert "Another job is working on case" in refused.stderr
    assert "Traceback" not in refused.stderr + remarks
    if process.returncode != 0:  # it may have been done before the signal came
        assert process.returncode == 130
        assert "run the same command again to go on" in remarks
    for part in ("2/2", "1/2"):
        subprocess.run(command(tmp_path, "runs.zarr", "--shard", part), check=True, timeout=PATIENCE)
    assert same_files(store, whole)
