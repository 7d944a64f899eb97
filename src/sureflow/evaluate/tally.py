"""Sums over the points of a region that add up run by run: all that the averages of an evaluation are made of."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np
from jaxtyping import Bool, Float, Int

from sureflow.metrics.accuracy import ratio_of_norms
from sureflow.metrics.intervals import BINS, CHUNK, EXPECTED, area_between, inside, interval_bins, observed_shares
from sureflow.metrics.scoring import EXPLODED, gaussian_crps, gaussian_nll, standardized_error

Points = Float[np.ndarray, " point"]
Masks = Mapping[str, Bool[np.ndarray, " point"]]
Ends = Mapping[float, tuple[Points, Points]]  # of intervals, by their level

LEVELS = {"coverage50": 0.5, "coverage90": 0.9, "coverage95": 0.95}
ERRORS = ("absolute_error", "squared_error", "squared_truth")
BARS = ("std", "squared_std", "crps", "nll", "squared_z", "exploded", *LEVELS)


@dataclass(frozen=True)
class Tally:
    """Sums of one variable over points. Without error bars there are those of ERRORS alone, and `intervals` is None."""

    points: int
    sums: Float[np.ndarray, " score"]  # by the names of ERRORS and BARS
    intervals: Int[np.ndarray, " bin"] | None  # number of points by bin, see `sureflow.metrics.intervals`
    largest_std: float = -math.inf

    def __add__(self, other: "Tally") -> "Tally":
        intervals = None if self.intervals is None else self.intervals + other.intervals
        largest = float(np.maximum(self.largest_std, other.largest_std))  # keeps NaN, where max() may lose it
        return Tally(self.points + other.points, self.sums + other.sums, intervals, largest)

    def mean(self, name: str) -> float:
        """Mean over the points of one of ERRORS or BARS."""
        return float(self.sums[(*ERRORS, *BARS).index(name)] / self.points)

    @property
    def relative_error(self) -> float:
        return float(ratio_of_norms(self.sums[1], self.sums[2]))

    @property
    def observed(self) -> Float[np.ndarray, " level"]:
        """Shares of the points inside the intervals of the calibration curve."""
        assert self.intervals is not None
        return observed_shares(self.intervals)

    @property
    def miscalibration(self) -> float:
        return float(area_between(EXPECTED, self.observed))


def tallies(
    mean: Points, std: Points | None, truth: Points, regions: Masks, ends: Ends | None = None
) -> dict[str, Tally]:
    """The tally of every region that has points. A chunk of points at a time, which bounds the memory.

    Coverages are those of the intervals between `ends`, by level; where there are none, of Gaussian ones.
    """
    found: dict[str, list[Tally]] = {name: [] for name in regions}
    for start in range(0, truth.size, CHUNK):
        part = slice(start, start + CHUNK)
        bars = None if std is None else std[part]
        between = {level: (low[part], high[part]) for level, (low, high) in (ends or {}).items()}
        scores, bins = _point_scores(mean[part], bars, truth[part], between)
        for name, mask in regions.items():
            if mask[part].any():
                found[name].append(_tally(scores, bins, bars, mask[part]))
    return {name: reduce(add, parts) for name, parts in found.items() if parts}


def _tally(scores: np.ndarray, bins: np.ndarray | None, std: Points | None, mask: np.ndarray) -> Tally:
    points = int(np.count_nonzero(mask))
    chosen = slice(None) if points == mask.size else mask  # nothing is copied where a region holds everything
    with np.errstate(invalid="ignore"):  # the log likelihoods of point masses, which are infinite with both signs
        sums = scores[:, chosen].sum(axis=1)
    if bins is None or std is None:
        return Tally(points, sums, None)
    return Tally(points, sums, np.bincount(bins[chosen], minlength=BINS), float(std[chosen].max()))


def _point_scores(mean: Points, std: Points | None, truth: Points, ends: Ends) -> tuple[np.ndarray, np.ndarray | None]:
    """Scores (name, point) of every point, and the bins of their intervals."""
    error = np.abs(mean - truth)
    scores = [error, error**2, truth**2]
    if std is None:
        return np.stack(scores), None
    with np.errstate(over="ignore"):
        scores += [std, std**2]
        scores += [gaussian_crps(mean, std, truth), gaussian_nll(mean, std, truth)]
        scores += [standardized_error(mean, std, truth) ** 2, std > EXPLODED]
    for level in LEVELS.values():
        low, high = ends.get(level, (None, None))
        is_inside = inside(mean, std, truth, level) if low is None else (low <= truth) & (truth <= high)
        scores.append(is_inside)
    return np.stack(scores), interval_bins(mean, std, truth)
