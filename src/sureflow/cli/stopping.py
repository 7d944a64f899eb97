"""Ctrl-C, and the signals of batch systems and closing terminals: every command ends with one sentence.

The handler raises where the program happens to be. That may be inside a callback of a library that swallows whatever is
raised there, so a timer looks again until the command has heard.
"""

import contextlib
import signal
import sys
from collections.abc import Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
AGAIN = 0.5  # seconds


class Stopped(KeyboardInterrupt):
    """A signal that ends the command; its number gives the exit code, as a shell does."""

    def __init__(self, signum: int):
        super().__init__()
        self.code = 128 + signum


@contextlib.contextmanager
def heard() -> Iterator[None]:
    """Scope in which signals stop the command, once, however long it takes to clean up after it."""
    stop: list[Stopped] = []

    def on_signal(signum: int, frame: FrameType | None) -> None:
        stop.append(Stopped(signum))
        signal.setitimer(signal.ITIMER_REAL, AGAIN, AGAIN)
        raise stop[-1]

    def on_timer(signum: int, frame: FrameType | None) -> None:
        if stop and not _is_on_its_way(sys.exception()):
            raise stop[-1]

    before = {number: signal.signal(number, on_signal) for number in SIGNALS}
    before[signal.SIGALRM] = signal.signal(signal.SIGALRM, on_timer)
    unraisable, sys.unraisablehook = sys.unraisablehook, _quiet(sys.unraisablehook)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        sys.unraisablehook = unraisable
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_on_its_way(error: BaseException | None) -> bool:
    """Whether what is being handled comes from a stop: then the program is cleaning up and must not be disturbed."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, Stopped):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def _quiet(otherwise):
    """A stop that could not be raised where it came is raised again soon: nothing to report."""

    def report(unraisable: "sys.UnraisableHookArgs") -> None:
        if not isinstance(unraisable.exc_value, KeyboardInterrupt):
            otherwise(unraisable)

    return report
