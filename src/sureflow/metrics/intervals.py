"""Whether error bars hold what they promise: the shares of points inside the central intervals of a Gaussian.

Arrays are (..., point). A standard deviation of zero is a point mass: the truth is inside every interval if the error is
zero, and outside all of them otherwise. NaN is outside every interval.

Points are sorted into 101 bins: bin k < 100 holds those that lie inside interval k of the grid and outside all narrower
ones, and the last bin holds those outside every interval. Counts of bins add up, so that runs can be gathered one by one,
and everything else here follows from the counts.
"""

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8
from scipy.special import ndtri

from sureflow.errors import SureflowError

Values = Float[np.ndarray, "..."]

# The grid of the Uncertainty Toolbox (Chung et al. 2021): 100 expected shares from 0 to 1, both ends included.
EXPECTED = np.linspace(0.0, 1.0, 100)
HALF_WIDTHS = ndtri(0.5 + EXPECTED / 2.0)  # in standard deviations, 0 .. infinity
BINS = EXPECTED.size + 1
CHUNK = 1 << 18  # points that are sorted into bins at once


def standardized_error(mean: Values, std: Values, truth: Values) -> Values:
    """|mean - truth| / std; 0 where both are zero, infinity where only the standard deviation is."""
    error = np.abs(np.asarray(mean, float) - truth)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(error == 0, 0.0, error / std)


def coverage(mean: Values, std: Values, truth: Values, level: float) -> Values | float:
    """Share of the points inside the central interval of this level, such as 0.9."""
    return inside(mean, std, truth, level).mean(axis=-1)


def inside(mean: Values, std: Values, truth: Values, level: float) -> Bool[np.ndarray, "..."]:
    """Which points lie inside the central interval of this level."""
    if not 0.0 < level < 1.0:
        raise SureflowError(f"level={level:g} of an interval must lie between 0 and 1, such as 0.9 for 90 %")
    return standardized_error(mean, std, truth) <= ndtri(0.5 + level / 2.0)


def interval_bins(mean: Values, std: Values, truth: Values) -> UInt8[np.ndarray, "..."]:
    """The bin of every point."""
    bins = np.searchsorted(HALF_WIDTHS, standardized_error(mean, std, truth)).astype(np.uint8)
    # An infinite |z| ends in the interval of the whole line, which for a point mass is the point alone.
    bins[(np.asarray(std) == 0) & (np.asarray(mean) != truth)] = BINS - 1
    return bins


def interval_counts(mean: Values, std: Values, truth: Values) -> Int[np.ndarray, " bin"]:
    """Number of points in every bin, over all axes, a chunk of points at a time."""
    flat = [np.ravel(values) for values in np.broadcast_arrays(mean, std, truth)]
    counts = np.zeros(BINS, np.int64)
    for start in range(0, flat[0].size, CHUNK):
        bins = interval_bins(*(values[start : start + CHUNK] for values in flat))
        counts += np.bincount(bins, minlength=BINS)
    return counts


def observed_shares(counts: Int[np.ndarray, "*axes bin"]) -> Float[np.ndarray, "*axes level"]:
    """Share of the points inside every interval of the grid."""
    return counts.cumsum(axis=-1)[..., :-1] / counts.sum(axis=-1, keepdims=True)


def area_between(
    expected: Float[np.ndarray, " level"], observed: Float[np.ndarray, "*axes level"]
) -> Float[np.ndarray, "*axes"] | float:
    """Area between the calibration curve and the diagonal: the polygon of the Uncertainty Toolbox.

    Where both ends of a piece lie on one side of the diagonal it is a trapezoid, else two triangles that meet where the
    curve crosses.
    """
    above = observed - expected
    left, right = above[..., :-1], above[..., 1:]
    crosses = left * right < 0
    base = np.abs(left) + np.abs(right)
    triangles = (left**2 + right**2) / np.where(crosses, base, 1.0)
    return (np.diff(expected) * 0.5 * np.where(crosses, triangles, base)).sum(axis=-1)


def calibration_curve(
    mean: Values, std: Values, truth: Values
) -> tuple[Float[np.ndarray, " level"], Float[np.ndarray, " level"]]:
    """Expected and observed shares of all points inside the 100 central intervals of the grid."""
    return EXPECTED, observed_shares(interval_counts(mean, std, truth))


def miscalibration_area(mean: Values, std: Values, truth: Values) -> float:
    """Area between the calibration curve of all points and the diagonal: 0 is calibrated, 0.5 the worst."""
    return float(area_between(*calibration_curve(mean, std, truth)))
