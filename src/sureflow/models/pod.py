"""Proper orthogonal decomposition: the few fields that the runs are combinations of."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from sureflow.models.field import Fields

# Runs are padded to a multiple of this, so that one compiled program serves many folds.
PAD_RUNS = 32


class Basis(NamedTuple):
    """fields = mean + coefficients @ modes + what was cut off, with root mean square `truncation` over the runs.

    One basis for all variables: coefficients carry what the variables have in common, so that samples of them are
    fields that belong together.
    """

    mean: Float[np.ndarray, "variable point"]
    modes: Float[np.ndarray, "mode variable point"]  # orthonormal
    truncation: Float[np.ndarray, "variable point"]
    coefficients: Float[np.ndarray, "case mode"]


def pod(fields: Fields, energy: float, most: int) -> Basis:
    """As many modes as leave a share of at most `energy` of the variance over the runs, but not more than `most`."""
    n_runs, *shape = fields.shape
    mean = fields.mean(axis=0)
    left, singular, right = np.linalg.svd((fields - mean).reshape(n_runs, -1), full_matrices=False)
    # The rows sum to zero: the last direction is rounding.
    variance = singular[: n_runs - 1] ** 2
    left_over = 1 - np.cumsum(variance) / variance.sum() if variance.any() else np.zeros(1)
    count = min(int((left_over > energy).sum()) + 1, most, n_runs - 1)
    coefficients, modes = left[:, :count] * singular[:count], right[:count]
    rest = (fields - mean).reshape(n_runs, -1) - coefficients @ modes
    # The modes were fitted to these runs, so what they leave of other runs is larger: one degree of freedom a mode.
    truncation = np.sqrt((rest**2).sum(axis=0) / max(n_runs - 1 - count, 1))
    return Basis(mean, modes.reshape(count, *shape), truncation.reshape(shape), coefficients)


def combine(
    coefficients: Float[np.ndarray, "... mode"], modes: Float[np.ndarray, "mode variable point"]
) -> Float[np.ndarray, "... variable point"]:
    """sum_k coefficient_k mode_k."""
    count, *shape = modes.shape
    return (coefficients @ modes.reshape(count, -1)).reshape(*coefficients.shape[:-1], *shape)


def pad(rows: Float[np.ndarray, "row column"], multiple: int = PAD_RUNS) -> Float[np.ndarray, "padded column"]:
    """Rows of zeros at the end, up to a multiple."""
    return np.pad(rows, ((0, -len(rows) % multiple), (0, 0)))
