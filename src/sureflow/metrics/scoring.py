"""Scores of error bars besides calibration: how narrow they are, proper scoring rules, and whether they rank the errors.

Scores of single points keep the shape of their arguments; `ause` and `rank_correlation` take one list of points.
A standard deviation of zero is a point mass at the mean.
"""

import math

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr
from scipy.stats import rankdata

from sureflow.metrics.intervals import standardized_error

Values = Float[np.ndarray, "..."]
Points = Float[np.ndarray, " point"]

EXPLODED = 10.0  # a std over ten normalized units says nothing about a field of unit variance


def sharpness(std: Values) -> Values | float:
    """Root mean square of the standard deviations, as the Uncertainty Toolbox has it."""
    return np.sqrt(np.mean(np.asarray(std, float) ** 2, axis=-1))


def gaussian_crps(mean: Values, std: Values, truth: Values) -> Values:
    """Continuous ranked probability score of a Gaussian at every point (Gneiting & Raftery 2007, eq. 21).

    std (z (2 Phi(z) - 1) + 2 phi(z) - 1 / sqrt(pi)); that of a point mass is its absolute error.
    """
    std = np.asarray(std, float)
    z = standardized_error(mean, std, truth)
    with np.errstate(invalid="ignore"):
        density = np.exp(-0.5 * z**2) * math.sqrt(2.0 / math.pi)
        score = std * (z * (2.0 * ndtr(z) - 1.0) + density - 1.0 / math.sqrt(math.pi))
    # A std so small that z overflows is a point mass as well.
    return np.where((std == 0) | np.isinf(z), np.abs(np.asarray(mean, float) - truth), score)


def gaussian_nll(mean: Values, std: Values, truth: Values) -> Values:
    """Negative log likelihood of a Gaussian at every point.

    A point mass has no density: infinity where it misses, and minus infinity where it does not. Averages over such points
    are not finite, and are reported as missing.
    """
    std = np.asarray(std, float)
    z = standardized_error(mean, std, truth)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        score = 0.5 * math.log(2.0 * math.pi) + np.log(std) + 0.5 * z**2
    return np.where(std > 0, score, np.where(z == 0, -np.inf, np.inf))


def z_rms(mean: Values, std: Values, truth: Values) -> Values | float:
    """Root mean square of the errors in standard deviations: 1 when they are right, over 1 when they are too small."""
    with np.errstate(over="ignore"):
        return np.sqrt(np.mean(standardized_error(mean, std, truth) ** 2, axis=-1))


def ause(error: Points, std: Points) -> float:
    """Area under the sparsification error (Ilg et al. 2018), over the mean absolute error.

    Points are taken away from the largest std to the smallest; the mean |error| of those that remain is compared with what
    taking away by |error| itself would leave, averaged over every number of points. 0: the bars rank the errors perfectly.
    Points of equal std go in random order, of which this is the expectation: constant bars score as random ones do.
    """
    error = np.abs(np.asarray(error, float))
    total = error.mean()
    if total == 0:
        return 0.0
    _, group, sizes = np.unique(std, return_inverse=True, return_counts=True)
    by_std = np.repeat(np.bincount(group, weights=error) / sizes, sizes)
    remaining = np.arange(1, error.size + 1)
    gap = (np.cumsum(by_std) - np.cumsum(np.sort(error))) / remaining
    return float(gap.mean() / total)


def rank_correlation(error: Points, std: Points) -> float:
    """Spearman's rank correlation of |error| and std, ties at their mean rank; NaN where one of them is constant."""
    error_rank, std_rank = (rankdata(values) - 0.5 * (values.size + 1) for values in (np.abs(error), std))
    norm = math.sqrt(float(error_rank @ error_rank) * float(std_rank @ std_rank))
    return float(error_rank @ std_rank) / norm if norm > 0 else math.nan
