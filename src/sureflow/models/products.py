"""Products of a few weights with long rows, a block of columns at a time: rows may be mapped from a file."""

from typing import Any

import numpy as np
from jaxtyping import Float

from sureflow import scratch

Rows = Any  # an array (row, value), or `Squares` of one


class Squares:
    """The squares of an array, computed where they are read."""

    def __init__(self, rows: Float[np.ndarray, "row value"]):
        self.rows = rows
        self.shape, self.dtype = rows.shape, rows.dtype

    def __getitem__(self, key: Any) -> np.ndarray:
        return self.rows[key] ** 2


def squares(rows: Float[np.ndarray, "row value"]) -> Rows:
    """The squares of rows: kept in memory if they are few, else computed when they are needed."""
    return rows**2 if rows.nbytes <= scratch.IN_MEMORY else Squares(rows)


def product(weights: Float[np.ndarray, "*case row"], rows: Rows) -> Float[np.ndarray, "*case value"]:
    """weights @ rows."""
    found = scratch.empty((*weights.shape[:-1], rows.shape[1]), np.result_type(weights.dtype, rows.dtype))
    for block in scratch.blocks(rows.shape[1], len(weights) + rows.shape[0]):
        found[..., block] = weights @ rows[:, block]
    return found
