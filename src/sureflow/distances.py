"""Distances between rows of numbers, in plain NumPy: importing SciPy's would delay the start of every command."""

import numpy as np
from jaxtyping import Float


def distances(
    one: Float[np.ndarray, "*set row column"], other: Float[np.ndarray, "*set node column"]
) -> Float[np.ndarray, "*set row node"]:
    """Euclidean distances of every row from every node of its set."""
    # Column by column, each in one piece: strides would take twice the time.
    columns, others = (np.ascontiguousarray(np.moveaxis(rows, -1, 0), float) for rows in (one, other))
    squares = np.zeros((*one.shape[:-1], other.shape[-2]))
    for mine, theirs in zip(columns, others, strict=True):
        away = mine[..., :, None] - theirs[..., None, :]
        away *= away
        squares += away
    return np.sqrt(squares, out=squares)
