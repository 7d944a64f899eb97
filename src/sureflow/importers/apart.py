"""Readers that run in a process of their own: on some damaged files VTK ends the process, or never comes back.

The process is started with the first file and serves those that follow. Snapshots come back through a pipe, as pickles of
numbers that this package wrote itself.
"""

import atexit
import pickle
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sureflow.errors import SureflowError
from sureflow.importers.snapshot import Snapshot, Wanted

PATIENCE, PER_MEGABYTE = 60.0, 5.0  # seconds until a reader counts as lost, and more for larger files


@dataclass(frozen=True)
class Apart:
    """A function `module:name` of (path, wanted), called in the other process."""

    module: str
    name: str

    def __call__(self, path: Path, wanted: Wanted) -> Snapshot:
        question = (self.module, self.name, Path.cwd(), path, wanted)
        answer = worker().ask(question, PATIENCE + PER_MEGABYTE * megabytes(path))
        if isinstance(answer, Exception):
            raise answer
        if answer is None:
            raise SureflowError(
                f"{path} cannot be read (its reader broke down or found no end): it is damaged or cut off"
            )
        return answer


class Worker:
    """The other process."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from sureflow.importers.apart import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        atexit.register(self.end)

    def ask(self, question: Any, patience: float) -> Any:
        """What the process answers, or None if it does not survive the question."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        late = threading.Timer(patience, self.end)
        late.start()
        try:
            pickle.dump(question, self.process.stdin)
            self.process.stdin.flush()
            return pickle.load(self.process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError):
            self.end()
            return None
        finally:
            late.cancel()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


WORKERS: list[Worker] = []


def worker() -> Worker:
    """The process that is alive, or another one."""
    if WORKERS and WORKERS[0].process.poll() is None:
        return WORKERS[0]
    WORKERS[:] = [Worker()]
    return WORKERS[0]


def serve() -> None:
    """Answer questions from standard input until it ends. Whatever libraries print must not get between the answers."""
    import importlib
    import os

    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            module, name, folder, path, wanted = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            os.chdir(folder)
            answer = getattr(importlib.import_module(module), name)(path, wanted)
        except Exception as error:
            answer = error if isinstance(error, SureflowError) else ValueError(str(error) or type(error).__name__)
        pickle.dump(answer, answers, protocol=5)
        answers.flush()


def megabytes(path: Path) -> float:
    """The size of a file with those beside it that may belong to it."""
    return sum(other.stat().st_size for other in path.parent.iterdir() if other.is_file()) / 1e6
