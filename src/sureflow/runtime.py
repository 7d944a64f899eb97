"""How things run here: precision by scope, compiled programs kept between runs of the program, and the machine."""

import contextlib
import functools
import os
import platform
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

# JAX is imported only where something is compiled: predictions of many models need none of it.
KEEPING = {
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}
Item = TypeVar("Item")
Found = TypeVar("Found")


def cache_folder() -> Path:
    """Where compiled programs are kept: `SUREFLOW_CACHE`, else the user's cache folder."""
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sureflow"
    return Path(os.environ.get("SUREFLOW_CACHE") or default)


def keep_compiled_programs() -> None:
    """Turn on JAX's persistent compilation cache for every program, however short its compilation.

    Where it cannot be written, as in a read-only home, every process compiles what it needs.
    """
    folder = cache_folder() / "jax"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return
    if not os.access(folder, os.W_OK):
        return
    for name, value in (KEEPING | {"jax_compilation_cache_dir": str(folder)}).items():
        os.environ[name.upper()] = str(value)  # for a JAX that is not imported yet, and for worker processes
        if "jax" in sys.modules:
            sys.modules["jax"].config.update(name, value)


def double_precision():
    """Scope in which JAX computes in float64. It is local to the thread: enter it inside every task."""
    import jax

    return jax.enable_x64(True)


def double_precision_of_gases():
    """The same around calls of a gas, which may compute with NumPy alone: who computes with JAX has imported it."""
    return double_precision() if "jax" in sys.modules else contextlib.nullcontext()


class _Limit:
    """One thread for BLAS as long as anyone asks for it; the limit is the process's, whose threads may ask side by side."""

    def __init__(self) -> None:
        self.lock, self.asking = threading.Lock(), 0
        self.end: Callable[[], None] = lambda: None

    def __enter__(self) -> None:
        with self.lock:
            if self.asking == 0:
                self.end = _pools().limit(limits=1, user_api="blas").restore_original_limits
            self.asking += 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.asking -= 1
            if self.asking == 0:
                self.end()


@functools.cache
def _pools() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


_limit = _Limit()


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS from using threads: for matrices of a few hundred rows, waiting for each other costs them far more."""
    with _limit:
        yield


def usable_cores() -> int:
    """Cores this process may run on, which a batch system may have limited."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def on_all_cores(function: Callable[[Item], Found], items: Iterable[Item]) -> list[Found]:
    """The function of every item, in threads, one a core: for work that NumPy and LAPACK do outside of Python's lock."""
    with one_blas_thread(), ThreadPoolExecutor(usable_cores()) as pool:
        return list(pool.map(function, items))


def machine() -> dict[str, Any]:
    """What provenance says of the machine, which results never do."""
    return {"platform": platform.platform(), "cores": os.cpu_count(), "python": platform.python_version()}
