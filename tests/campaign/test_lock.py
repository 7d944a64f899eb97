import errno
import fcntl
import subprocess
import sys

import pytest

from campaigns import run, tiny
from sureflow.campaign.contents import follow_up
from sureflow.campaign.lock import lock_store
from sureflow.data.run_store import RunStore
from sureflow.errors import SureflowError

HOLD = """
import sys
from pathlib import Path
from sureflow.campaign.lock import lock_store
with lock_store(Path(sys.argv[1])) as lock:
    lock.take([2, 3])
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def other_job(tmp_path):
    """Another process that works on cases 2 and 3 until it is killed."""
    path = tmp_path / "runs.zarr"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield path, process
        process.kill()


def test_overlapping_work_is_refused_until_the_other_job_is_gone(other_job):
    path, process = other_job
    with lock_store(path) as lock:
        lock.take([0, 1, 4])
        with pytest.raises(SureflowError, match=r"another job is working on case 3 of .* shard i/N"):
            lock.take([3])
        with pytest.raises(SureflowError, match="another job is working on a case"), lock.everything():
            pass
        process.kill()
        process.wait()
        lock.take([2, 3])


def test_a_file_system_without_locks_is_named(tmp_path, monkeypatch):
    def unsupported(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "lockf", unsupported)
    with lock_store(tmp_path / "runs.zarr") as lock:
        with pytest.raises(SureflowError, match="its file system does not support locks"):
            lock.take([0])
        with pytest.raises(SureflowError, match="its file system does not support locks"), lock.alone(0):
            pass


def test_a_store_in_use_is_neither_continued_nor_deleted_nor_added_to(other_job):
    path, _ = other_job
    with pytest.raises(SureflowError, match="another job is working on"):
        run(path, tiny())
    with pytest.raises(SureflowError, match="another job is working on"):
        run(path, tiny(), overwrite=True)
    with pytest.raises(SureflowError, match="another job is working on"):
        run(path, follow_up(path, [(20.0, 43.0)]))
    assert len(RunStore.open(path)) == 6
