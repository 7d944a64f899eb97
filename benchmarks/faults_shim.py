"""Work in forked children of a warm process, in which a chosen file operation kills or fails."""

import builtins
import errno
import io
import itertools
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from sureflow import files
from sureflow.failures import sentence_of

CHANGES = ("replace", "rename", "unlink", "remove", "fsync", "mkdir", "rmdir", "link", "symlink", "truncate")
NEEDS_ROOM = ("fsync", "mkdir", "open", "write")
DEFECT = 70
Work = Callable[[], object]


def child(work: Work, *, kill_after: float | None = None) -> tuple[int, str]:
    """Do something in a fork; its exit code (minus the signal that killed it) and what it said."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reader)
        code, said = _done(work)
        os.write(writer, said.encode(errors="replace")[:60000])
        os._exit(code)
    os.close(writer)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(process, signal.SIGKILL)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().decode(errors="replace")
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), said


def _done(work: Work) -> tuple[int, str]:
    try:
        return 0, str(work() or "")
    except BaseException as error:
        sentence = sentence_of(error) if isinstance(error, Exception) else None
        return (DEFECT, repr(error)[:2000]) if sentence is None else (2, sentence)


class Counted:
    """A file whose first write is counted; if it is killed there, half of what was to be written is on the disk."""

    def __init__(self, file: Any, happens: Callable[[str], None]):
        self._file, self._happens, self._begun = file, happens, False

    def write(self, content: Any) -> int:
        begun, self._begun = self._begun, True
        try:
            if not begun:
                self._happens("write")
        except _Now:
            self._file.write(content[: len(content) // 2])
            self._file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        return self._file.write(content)

    def __enter__(self) -> "Counted":
        self._file.__enter__()
        return self

    def __exit__(self, *error: Any) -> Any:
        return self._file.__exit__(*error)

    def __iter__(self) -> Any:
        return iter(self._file)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class _Now(BaseException):
    """The write that does not come to its end."""


def disturbed(work: Work, happens: Callable[[str], None]) -> Work:
    """The work, before each of whose file operations `happens` is called with its name."""

    def counted(name: str, action: Callable) -> Callable:
        def call(*arguments: Any, **options: Any) -> Any:
            try:
                happens(name)
            except _Now:
                os.kill(os.getpid(), signal.SIGKILL)
            return action(*arguments, **options)

        return call

    def act() -> object:
        plain_open, plain_os_open = io.open, os.open

        def opened(file: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
            if not set(mode) & set("wxa+") or "/proc" in str(file):
                return plain_open(file, mode, *arguments, **options)
            counted("open", lambda: None)()
            return Counted(plain_open(file, mode, *arguments, **options), happens)

        def os_opened(path: Any, flags: int, *arguments: Any, **options: Any) -> int:
            if flags & (os.O_CREAT | os.O_TRUNC):
                counted("open", lambda: None)()
            return plain_os_open(path, flags, *arguments, **options)

        builtins.open = io.open = opened
        os.open = os_opened
        for name in CHANGES:
            setattr(os, name, counted(name, getattr(os, name)))
        files.exchange = counted("exchange", files.exchange)
        return work()

    return act


def killed_at(moment: int, work: Work) -> Work:
    """The work, in which the given operation does not happen, or happens by half: the process is killed instead."""
    done = itertools.count()

    def happens(name: str) -> None:
        if next(done) == moment:
            raise _Now

    return disturbed(work, happens)


def full_from(moment: int, work: Work) -> Work:
    """The work on a disk that is full from the given operation on; what needs no room succeeds."""
    done = itertools.count()

    def happens(name: str) -> None:
        if name in NEEDS_ROOM and next(done) >= moment:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "disk")

    return disturbed(work, happens)


def told(words: str) -> None:
    print(words[:300], file=sys.stderr, flush=True)
