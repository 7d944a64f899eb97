"""Readers in a process of their own: what becomes of it, and how long it may take."""

import gc
import pickle
import weakref

import pytest

from sureflow.errors import SureflowError
from sureflow.importers import apart
from sureflow.importers.apart import Apart, Worker, patience_for
from sureflow.importers.snapshot import EVERYTHING

READER = """
import os, signal, time
from sureflow.importers.snapshot import Snapshot

def named(path, wanted):
    return Snapshot(path, ())

def killed(path, wanted):
    os.kill(os.getpid(), signal.SIGKILL)

def left(path, wanted):
    os._exit(3)

def endless(path, wanted):
    time.sleep(60)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the other process finds a reader that breaks down."""
    (tmp_path / "frail_reader.py").write_text(READER)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ask(name: str, folder, file: str = "run.cas") -> str:
    return Apart("frail_reader", name)(folder / file, EVERYTHING).path.name


@pytest.mark.parametrize(
    ("name", "reason"), [("killed", "SIGKILL"), ("left", "exit code 3"), ("endless", "no answer in 2 s")]
)
def test_how_the_reader_ended_is_said(folder, monkeypatch, name, reason):
    ask("named", folder)  # its process runs
    monkeypatch.setattr(apart, "PATIENCE", 2.0)
    with pytest.raises(
        SureflowError, match=rf"run\.cas cannot be read \(its reader crashed or did not finish: {reason}\)"
    ):
        ask(name, folder)


def test_an_interrupted_answer_is_not_given_to_the_next_question(folder, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(pickle, "load", interrupt)
        with pytest.raises(KeyboardInterrupt):
            ask("named", folder, "first.cas")
    assert ask("named", folder, "second.cas") == "second.cas"


def test_a_worker_that_ended_leaves_nothing_behind():
    worker = Worker()
    process, known = worker.process, weakref.ref(worker)
    worker.end()
    worker.end()  # again, as a caller may who does not know
    assert process.stdin.closed
    assert process.stdout.closed
    del worker
    gc.collect()
    assert known() is None  # not even the end of the program asks for it


def test_a_worker_that_died_between_questions_is_replaced(folder):
    ask("named", folder)
    lost = apart.WORKERS[0]
    lost.process.kill()
    lost.process.wait()
    assert ask("named", folder) == "run.cas"
    assert lost.process.stdout.closed


def test_patience_grows_with_the_file_and_its_companions(tmp_path):
    sizes = {"room[1].cas.h5": 1_000_000, "room[1].dat.h5": 2_000_000, "other.cas.h5": 500_000_000, "many.cas": 10**9}
    for name, size in sizes.items():
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)  # without taking the disk
    assert patience_for(tmp_path / "room[1].cas.h5") == pytest.approx(60.0 + 5.0 * 3)
    assert patience_for(tmp_path / "many.cas") == 600.0
