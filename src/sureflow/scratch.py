"""Arrays that may be larger than memory: beyond a limit they lie in an unnamed file that goes with them."""

import tempfile
from collections.abc import Iterator

import numpy as np
from numpy.typing import DTypeLike

# Bytes from which an array lies in a file. Its pages are the system's to keep or to drop, not the process's own memory.
IN_MEMORY = 1 << 28
# Bytes of the values that one block of points has in all runs together.
BLOCK = 1 << 26


def empty(shape: tuple[int, ...], dtype: DTypeLike = float) -> np.ndarray:
    """An array without values: in memory, or mapped from a temporary file that goes with the array."""
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    if size <= IN_MEMORY:
        return np.empty(shape, dtype)
    with tempfile.TemporaryFile(prefix="sureflow-") as file:
        return np.memmap(file, dtype, "w+", shape=shape)


def room(shape: tuple[int, ...]) -> np.ndarray:
    """An empty array in float64 if it fits into memory, else in float32 and in a file."""
    fits = 8 * int(np.prod(shape, dtype=np.int64)) <= IN_MEMORY
    return empty(shape, np.float64 if fits else np.float32)


def blocks(n_points: int, values_a_point: int) -> Iterator[slice]:
    """All points in blocks, each with at most so many values (in float64) that a few copies of them fit anywhere."""
    size = max(1, BLOCK // (8 * max(values_a_point, 1)))
    for start in range(0, n_points, size):
        yield slice(start, min(start + size, n_points))
