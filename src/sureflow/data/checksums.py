"""Checksums that tell whether a run is the one that was written, and belongs to its condition.

The CRC32C of a chunk finds damage inside of it, but not a chunk that lies in the place of another one, as after a wrong copy.
So every case has a row of CRC-32 sums: one for each of its arrays, begun with that of its parameters.
"""

import zlib
from collections.abc import Mapping

import numpy as np

CHECKSUMS = "checksums"  # the array of the store
SHARED = "crc32"  # the attribute of an array that all cases share
NONE = -1  # of what a case does not have
STATUS = "status"  # is kept as it is
COLUMNS = (STATUS, "fields", "numbers", "points", "nodes", "own_points", "own_fields")


def checksum(values: np.ndarray, begin: int = 0) -> int:
    """CRC-32 of an array's bytes, in which all that is not a number counts alike: a store keeps it alike."""
    if values.dtype.kind == "f" and np.isnan(values).any():
        values = np.where(np.isnan(values), values.dtype.type(np.nan), values)
    return zlib.crc32(np.ascontiguousarray(values).data.cast("B") if values.size else b"", begin)


def case_sums(condition: np.ndarray, status: int, values: Mapping[str, np.ndarray]) -> np.ndarray:
    """The row of a case."""
    begin = checksum(condition)
    sums = {name: checksum(array, begin) for name, array in values.items()} | {STATUS: status}
    return np.array([sums.get(name, NONE) for name in COLUMNS], np.int64)


def require_sum(found: int, written: int) -> None:
    """Refuse what is not what was written."""
    if written == NONE:
        raise ValueError("its checksum is missing")
    if found != written:
        raise ValueError("it is not what was written there: its checksum differs")
