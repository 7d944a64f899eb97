"""How things run here: precision by scope, compiled programs kept between runs of the program, and the machine."""

import os
import platform
from pathlib import Path
from typing import Any

import jax


def cache_folder() -> Path:
    """Where compiled programs are kept: `SUREFLOW_CACHE`, else the user's cache folder."""
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sureflow"
    return Path(os.environ.get("SUREFLOW_CACHE") or default)


def keep_compiled_programs() -> None:
    """Turn on JAX's persistent compilation cache for every program, however short its compilation."""
    jax.config.update("jax_compilation_cache_dir", str(cache_folder() / "jax"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def double_precision():
    """Scope in which JAX computes in float64. It is local to the thread: enter it inside every task."""
    return jax.enable_x64(True)


def usable_cores() -> int:
    """Cores this process may run on, which a batch system may have limited."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine() -> dict[str, Any]:
    """What provenance says of the machine, which results never do."""
    return {"platform": platform.platform(), "cores": os.cpu_count(), "python": platform.python_version()}
