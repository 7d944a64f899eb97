"""Proper orthogonal decomposition: the few fields that the runs are combinations of."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from sureflow import scratch
from sureflow.models.contract import Fields
from sureflow.models.products import product

# Runs are padded to a multiple of this, so that one compiled program serves many folds.
PAD_RUNS = 32


class PodBasis(NamedTuple):
    """fields = mean + coefficients @ modes + what was cut off, with root mean square `truncation` over the runs.

    One basis for all variables: coefficients carry what the variables have in common, so that samples of them are
    fields that belong together.
    """

    mean: Float[np.ndarray, "variable point"]
    modes: Float[np.ndarray, "mode variable point"]  # orthonormal
    truncation: Float[np.ndarray, "variable point"]
    coefficients: Float[np.ndarray, "case mode"]


def pod(fields: Fields, energy: float, most: int) -> PodBasis:
    """As many modes as leave a share of at most `energy` of the variance over the runs, but not more than `most`."""
    in_memory = fields.size * 8 <= scratch.IN_MEMORY
    return _decompose(fields, energy, most) if in_memory else _decompose_in_passes(fields, energy, most)


def _decompose(fields: Fields, energy: float, most: int) -> PodBasis:
    n_runs, *shape = fields.shape
    mean = fields.mean(axis=0)
    left, singular, right = np.linalg.svd((fields - mean).reshape(n_runs, -1), full_matrices=False)
    count = _kept(singular, n_runs, energy, most)
    coefficients, modes = left[:, :count] * singular[:count], right[:count]
    rest = (fields - mean).reshape(n_runs, -1) - coefficients @ modes
    truncation = np.sqrt((rest**2).sum(axis=0) / _freedom(n_runs, count))
    return PodBasis(mean, modes.reshape(count, *shape), truncation.reshape(shape), coefficients)


def _decompose_in_passes(fields: Fields, energy: float, most: int) -> PodBasis:
    """The method of snapshots (Sirovich 1987): the Gram matrix of the runs in one pass, the modes in another.

    Its small modes are less exact than those of a singular value decomposition, from about 1e-8 of the largest on: far
    below what `energy` keeps.
    """
    n_runs, *shape = fields.shape
    rows = fields.reshape(n_runs, -1)
    mean, gram = np.empty(rows.shape[1]), np.zeros((n_runs, n_runs))
    for block in scratch.blocks(rows.shape[1], 2 * n_runs):
        mean[block] = rows[:, block].mean(axis=0, dtype=float)
        centered = rows[:, block] - mean[block]
        gram += centered @ centered.T
    variance, left = np.linalg.eigh(gram)
    singular, left = np.sqrt(np.maximum(variance[::-1], 0.0)), left[:, ::-1]
    count = _kept(singular, n_runs, energy, most)
    coefficients = left[:, :count] * singular[:count]
    modes = scratch.empty((count, rows.shape[1]), fields.dtype)
    truncation = np.empty(rows.shape[1])
    for block in scratch.blocks(rows.shape[1], 2 * n_runs + count):
        centered = rows[:, block] - mean[block]
        found = (left[:, :count] / singular[:count]).T @ centered
        modes[:, block] = found
        truncation[block] = np.sqrt(((centered - coefficients @ found) ** 2).sum(axis=0) / _freedom(n_runs, count))
    return PodBasis(mean.reshape(shape), modes.reshape(count, *shape), truncation.reshape(shape), coefficients)


def _kept(singular: Float[np.ndarray, " direction"], n_runs: int, energy: float, most: int) -> int:
    """How many modes. The rows sum to zero: a direction for every run is one too many, and rounding."""
    variance = singular[: n_runs - 1] ** 2
    left_over = 1 - np.cumsum(variance) / variance.sum() if variance.any() else np.zeros(1)
    return min(int((left_over > energy).sum()) + 1, most, len(variance))


def _freedom(n_runs: int, modes: int) -> int:
    """The modes were fitted to these runs, so what they leave of other runs is larger: one degree of freedom a mode."""
    return max(n_runs - 1 - modes, 1)


def combine(
    coefficients: Float[np.ndarray, "*case mode"], modes: Float[np.ndarray, "mode variable point"]
) -> Float[np.ndarray, "*case variable point"]:
    """sum_k coefficient_k mode_k."""
    count, *shape = modes.shape
    return product(coefficients, modes.reshape(count, -1)).reshape(*coefficients.shape[:-1], *shape)


def pad(rows: Float[np.ndarray, "row column"], multiple: int = PAD_RUNS) -> Float[np.ndarray, "padded column"]:
    """Rows of zeros at the end, up to a multiple."""
    return np.pad(rows, ((0, -len(rows) % multiple), (0, 0)))
