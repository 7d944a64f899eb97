"""Who works on what: locks of the operating system, which no kill leaves behind.

One byte of a lock file beside the store stands for each case. The file stays (an empty file); the locks end with their
process. `fcntl` locks belong to a process and end when it closes the file, so each job opens it once.
"""

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from sureflow.data.layout import beside
from sureflow.errors import SureflowError
from sureflow.failures import system_sentence

MAKING, PROVENANCE, FIRST_CASE = 0, 1, 2


class Busy(SureflowError):
    """Another job holds what was asked for."""


class StoreLock:
    """The open lock file of one store."""

    def __init__(self, store: Path, descriptor: int):
        self.store = store
        self.descriptor = descriptor

    @contextlib.contextmanager
    def alone(self, byte: int) -> Iterator[None]:
        """Wait for a short piece of work that only one job may do at a time (`MAKING`, `PROVENANCE`)."""
        try:
            fcntl.lockf(self.descriptor, fcntl.LOCK_EX, 1, byte)
        except OSError as error:
            raise self.no_locks(error) from error
        try:
            yield
        finally:
            fcntl.lockf(self.descriptor, fcntl.LOCK_UN, 1, byte)

    def take(self, cases: Iterable[int]) -> None:
        """Hold these cases until the end of this process, or refuse if another job holds one of them."""
        for case in sorted(cases):
            self.try_lock(1, FIRST_CASE + case, f"case {case}")

    @contextlib.contextmanager
    def everything(self) -> Iterator[None]:
        """Hold every case there can be, or refuse."""
        self.try_lock(0, FIRST_CASE, "a case")
        try:
            yield
        finally:
            fcntl.lockf(self.descriptor, fcntl.LOCK_UN, 0, FIRST_CASE)

    def try_lock(self, length: int, start: int, what: str) -> None:
        try:
            fcntl.lockf(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, length, start)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EAGAIN):
                raise self.no_locks(error) from error
            raise Busy(
                f"another job is working on {what} of {self.store}: wait for it, stop it, or give every job its own "
                "shard i/N with the same N"
            ) from error

    def no_locks(self, error: OSError) -> SureflowError:
        return SureflowError(
            f"{self.store} cannot be locked ({error.strerror}): its file system does not support locks; choose a path on "
            "another one"
        )


@contextlib.contextmanager
def lock_store(store: Path) -> Iterator[StoreLock]:
    """Open the lock file beside a store; all locks taken end with this scope."""
    outside = beside(store)
    path = outside.with_name(f".{outside.name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise SureflowError(system_sentence(error, store)) from error
    try:
        yield StoreLock(store, descriptor)
    finally:
        os.close(descriptor)
