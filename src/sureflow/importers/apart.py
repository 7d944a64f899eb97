"""Readers that run in a process of their own: on some damaged files VTK ends the process, or never comes back.

The process is started with the first file and serves those that follow. Snapshots come back through a pipe, as pickles of
numbers that this package wrote itself.
"""

import atexit
import contextlib
import glob
import pickle
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sureflow.errors import SureflowError
from sureflow.importers.reading import ending_of
from sureflow.importers.snapshot import Snapshot, Wanted

# Seconds until a reader counts as lost: for any file, more for every megabyte, and for the largest.
PATIENCE, PER_MEGABYTE, MOST_PATIENCE = 60.0, 5.0, 600.0


@dataclass(frozen=True)
class Apart:
    """A function `module:name` of (path, wanted), called in the other process."""

    module: str
    name: str

    def __call__(self, path: Path, wanted: Wanted) -> Snapshot:
        question = (self.module, self.name, Path.cwd(), path, wanted)
        try:
            answer = worker().ask(question, patience_for(path))
        except ChildProcessError as lost:
            raise SureflowError(
                f"{path} cannot be read (its reader crashed or did not finish: {lost}): it may be damaged or cut off, or too "
                "large for the memory of this machine"
            ) from None
        if isinstance(answer, Exception):
            raise answer
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
        """What the process answers. A question that it does not survive is a ChildProcessError that says how it ended."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        begin, late = time.monotonic(), threading.Timer(patience, self.process.kill)
        late.start()
        try:
            pickle.dump(question, self.process.stdin)
            self.process.stdin.flush()
            return pickle.load(self.process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError):
            is_late = time.monotonic() - begin >= patience
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(1.0)  # it ends by itself: a kill would hide how
            self.end()
            raise ChildProcessError(f"no answer in {patience:.0f} s" if is_late else self.fate()) from None
        except BaseException:
            self.end()  # or its answer would be taken for that to the next question
            raise
        finally:
            late.cancel()

    def fate(self) -> str:
        """How the process ended: the name of a signal, or an exit code."""
        code = self.process.returncode
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"

    def end(self) -> None:
        atexit.unregister(self.end)
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):  # what was not sent yet finds nobody
                pipe.close()


WORKERS: list[Worker] = []


def worker() -> Worker:
    """The process that is alive, or another one."""
    if WORKERS and WORKERS[0].process.poll() is None:
        return WORKERS[0]
    for lost in WORKERS:
        lost.end()
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


def patience_for(path: Path) -> float:
    """Seconds for a file, by its size and that of the files beside it whose names begin like its own."""
    stem = path.name[: len(path.name) - len(ending_of(path))]
    beside = path.parent.glob(f"{glob.escape(stem)}*")
    size = sum(other.stat().st_size for other in {path, *beside} if other.is_file())
    return min(PATIENCE + PER_MEGABYTE * size / 1e6, MOST_PATIENCE)
