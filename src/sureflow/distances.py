"""Distances between rows of numbers, in plain NumPy: importing SciPy's would delay the start of every command."""

import numpy as np
from jaxtyping import Float


def distances(
    one: Float[np.ndarray, "row column"], other: Float[np.ndarray, "node column"]
) -> Float[np.ndarray, "row node"]:
    """Euclidean distances of every row from every node."""
    squares = np.zeros((len(one), len(other)))
    for mine, theirs in zip(np.asarray(one, float).T, np.asarray(other, float).T, strict=True):
        squares += (mine[:, None] - theirs) ** 2
    return np.sqrt(squares)
