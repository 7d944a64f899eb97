"""A limit on memory (`ulimit -v`, batch systems): a sentence where libraries would spin or abort.

NumPy's linear algebra tries for ever to get memory that there is not, and compiled programs abort. So what they need at
least is looked at before they are imported, and a parent process tells of what ended its child without a word.
"""

import atexit
import os
import resource
import signal
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import FrameType, ModuleType

from sureflow.errors import SureflowError
from sureflow.failures import memory_sentence, one_line

# Address space that has to be free before a module is imported, in bytes: what imports and small computations take.
NEEDS = {"numpy": 380 << 20, "zarr": 500 << 20, "jax": 1500 << 20}
PER_CORE = {"jax": 50 << 20}  # it starts threads, for each core some
# How a process ends that gets no memory and cannot say so; the kernel kills where a container's limit is met.
WORDLESS = (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGTRAP, signal.SIGKILL)
OPENBLAS_GAVE_UP = 1  # the exit code with which OpenBLAS ends a process that gets no memory; Python is not asked
PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def limit() -> int | None:
    """Bytes of address space that this process may have; None without a limit."""
    soft = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if soft == resource.RLIM_INFINITY else soft


def used() -> int:
    """Bytes of address space that it has; none where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except (OSError, ValueError):
        return 0


class MemoryGuard(MetaPathFinder):
    """Finds nothing, but refuses to import what would not get the memory it needs."""

    def __init__(self, most: int):
        self.most = most

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        needed = NEEDS.get(fullname, 0) + PER_CORE.get(fullname, 0) * (os.cpu_count() or 1)
        if needed and self.most - used() < needed:
            raise SureflowError(
                f"there is not enough memory: the limit is {self.most / 1e9:.2g} GB and at least "
                f"{(used() + needed) / 1e9:.2g} GB are needed; raise it (ulimit -v)"
            )


def watched() -> None:
    """Under a limit, go on in a child process; this one waits, passes signals on, and ends as the child does."""
    most = limit()
    if most is None:
        return
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # every thread of it reserves memory of its own
    sys.meta_path.insert(0, MemoryGuard(most))
    ended, end = os.pipe()
    os.set_blocking(ended, False)
    signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)  # they wait until there is somebody to pass them on to
    child = os.fork()
    if child == 0:
        atexit.register(os.write, end, b"by itself")
        signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
        return

    def pass_on(number: int, frame: FrameType | None) -> None:
        os.kill(child, number)

    for number in PASSED_ON:
        signal.signal(number, pass_on)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if -code in WORDLESS or (code == OPENBLAS_GAVE_UP and not _anything(ended)):
        print(f"sureflow: {one_line(memory_sentence())}", file=sys.stderr, flush=True)
        code = 2
    os._exit(code if code >= 0 else 128 - code)


def _anything(pipe: int) -> bool:
    """Whether there is something to read."""
    try:
        return bool(os.read(pipe, 1))
    except BlockingIOError:
        return False
