"""Loaded by every worker on this machine: a terminal sends Ctrl-C to workers as well, and the campaign stops them itself."""

import signal
from typing import Any


def dask_setup(worker: Any) -> None:
    """Called by Dask in the main thread of the worker's process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
