"""How things run here: precision by scope, compiled programs kept between runs of the program, and the machine."""

import contextlib
import os
import platform
import sys
from pathlib import Path
from typing import Any

# JAX is imported only where something is compiled: predictions of many models need none of it.
KEEPING = {
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}


def cache_folder() -> Path:
    """Where compiled programs are kept: `SUREFLOW_CACHE`, else the user's cache folder."""
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sureflow"
    return Path(os.environ.get("SUREFLOW_CACHE") or default)


def keep_compiled_programs() -> None:
    """Turn on JAX's persistent compilation cache for every program, however short its compilation."""
    for name, value in (KEEPING | {"jax_compilation_cache_dir": str(cache_folder() / "jax")}).items():
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


def usable_cores() -> int:
    """Cores this process may run on, which a batch system may have limited."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine() -> dict[str, Any]:
    """What provenance says of the machine, which results never do."""
    return {"platform": platform.platform(), "cores": os.cpu_count(), "python": platform.python_version()}
