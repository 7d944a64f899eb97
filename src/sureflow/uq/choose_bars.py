"""Forms of error bars that may be fitted to held-out runs, and which of them predicts the errors of others best."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from sureflow import scratch
from sureflow.metrics.bar_score import GAUSSIAN_50, GAUSSIAN_90, TINY, bar_scores, best_level
from sureflow.uq.bars import FLOOR, LEAST_NOVELTY, Around, alone
from sureflow.uq.folds import HeldOutRuns

ByVariable = Float[np.ndarray, " variable"]
Points = Float[np.ndarray, " point"]
OfRuns = Float[np.ndarray, "case variable point"]
OfPoints = Float[np.ndarray, "variable point"]

# A local factor starts from the variable's typical one with the weight of this many runs.
PRIOR_RUNS = 10
# The growth with novelty starts from none with the weight of runs whose log novelties have this sum of squares.
PRIOR_GROWTH = 1.0
# Parts into which held-out runs are divided to choose among forms of bars.
PARTS = 4
# Points whose errors are below this share of the root mean square say nothing about their neighbors, as in a uniform free stream.
EXACT = 1e-3
# A factor must be better than a simpler one by this much.
SIMPLER = 0.002
# Points of every run that levels and choices are made with; and values that one level is fitted to.
SAMPLED_POINTS, SAMPLED_VALUES = 1024, 2048
# Values that are worked on at once, of one or several variables or runs: larger arrays cost more time each.
AT_ONCE = 1 << 21


class Factor(Enum):
    """What bars are multiplied by: one, a number for every variable, or a field."""

    ONE = 0
    LEVEL = 1
    FIELD = 2


@dataclass(frozen=True)
class BarForm:
    """Bars of a run before they are multiplied by what is fitted: scale sqrt((s n^growth)^2 + floor^2 + neighbors^2)."""

    growth: float = 0.0
    scale: Float[np.ndarray, "variable point"] | None = None
    largest: Around = alone
    spread: float = 0.0

    def of(self, own: OfPoints, novelty: float, some: slice = slice(None)) -> OfPoints:
        """The bars of some variables."""
        grown = np.asarray(own[some], float) * max(novelty, LEAST_NOVELTY) ** self.growth
        squares = grown**2 + FLOOR**2
        if self.spread:
            squares += (self.spread * self.largest(grown[None])[0]) ** 2
        bars = np.sqrt(squares)
        return bars if self.scale is None else self.scale[some] * bars


@dataclass(frozen=True)
class Sample:
    """Errors and bars of runs at some points, the same of every run, all of them in memory."""

    error: OfRuns
    bars: OfRuns
    run: Int[np.ndarray, " case"]
    points: Int[np.ndarray, " point"]

    @classmethod
    def of(cls, runs: HeldOutRuns, form: BarForm, seed: int) -> "Sample":
        n_points = runs.error[0].shape[1]
        points = np.sort(np.random.default_rng(seed).permutation(n_points)[:SAMPLED_POINTS])
        bars = [form.of(own, novelty)[:, points] for own, novelty in zip(runs.std, runs.novelty, strict=True)]
        error = [np.asarray(error[:, points], float) for error in runs.error]
        return cls(np.stack(error), np.stack(bars), runs.run, points)

    def select(self, cases: np.ndarray) -> "Sample":
        return replace(self, error=self.error[cases], bars=self.bars[cases], run=self.run[cases])

    def times(self, factors: Float[np.ndarray, "..."]) -> "Sample":
        return replace(self, bars=self.bars * factors)

    @cached_property
    def scores(self) -> OfRuns:
        """|error| / bars."""
        # Of fields without any error, bars may be nothing as well.
        return np.abs(self.error) / np.maximum(self.bars, np.finfo(float).tiny)

    def sorted_scores(self) -> Iterator[Points]:
        """Some scores of every variable, evenly spaced, in order."""
        for scores in self.scores.swapaxes(0, 1).reshape(self.error.shape[1], -1):
            yield np.sort(scores[:: max(1, scores.size // SAMPLED_VALUES)])

    def score(self) -> float:
        """How bad the bars are, averaged over variables."""
        return float(np.mean([bar_scores(scores, np.ones(1))[0] for scores in self.sorted_scores()]))

    def levels(self) -> ByVariable:
        """For every variable the factor that makes its bars best."""
        return np.array([best_level(scores)[0] for scores in self.sorted_scores()])


def fit_growth(sample: Sample, novelty: Float[np.ndarray, " case"], steepest: float) -> float:
    """The power of novelty by which errors over bars grow, by least squares of logarithms over runs; never negative.

    The level of a run is between that of its typical points and that of its worst ones.
    """
    middle, high = np.quantile(sample.scores, [0.5, 0.9], axis=2)
    level = 0.5 * (np.log(middle / GAUSSIAN_50 + TINY) + np.log(high / GAUSSIAN_90 + TINY)).mean(axis=1)
    away = np.log(np.maximum(novelty, LEAST_NOVELTY))
    away = away - away.mean()
    return float(np.clip((away @ level) / (away @ away + PRIOR_GROWTH), 0.0, steepest))


def best_factor(kinds: tuple[Factor, ...], sample: Sample, seed: int) -> tuple[Factor, float]:
    """The kind of factor that scores best on runs that it was not fitted to; a simpler one where that costs little."""
    best, best_score = kinds[0], np.inf
    for kind in kinds:
        score = _cross_validated(kind, sample, seed)
        if score < best_score - SIMPLER:
            best, best_score = kind, score
    return best, best_score


def _cross_validated(kind: Factor, sample: Sample, seed: int) -> float:
    """The score of factors that are fitted to some of the runs and applied to the others."""
    if kind is Factor.ONE:
        return sample.score()
    runs = np.unique(sample.run)
    bars = sample.bars.copy()
    for part in np.array_split(np.random.default_rng(seed).permutation(runs), min(PARTS, len(runs))):
        out = np.isin(sample.run, part)
        others = sample.select(~out)
        levels = others.levels()
        if kind is Factor.LEVEL:
            bars[out] *= levels[:, None]
        else:
            local = _local([(others.error, others.bars)], levels)
            bars[out] *= local * others.times(local).levels()[:, None]
    return replace(sample, bars=bars).score()


def factors_of(
    kind: Factor, runs: HeldOutRuns, sample: Sample, form: BarForm, smoothed: Around
) -> Float[np.ndarray, "variable point"]:
    """What bars are multiplied by at every point, in single precision, as it is kept: what is loaded is what was fitted.

    A field of factors is `smoothed` over neighbors: few runs tell of a point.
    """
    found = scratch.empty(runs.error[0].shape, np.float32)
    found[:] = 1.0
    if kind is Factor.ONE:
        return found
    levels = sample.levels()
    if kind is Factor.LEVEL:
        found[:] = np.maximum(levels, TINY)[:, None]
        return found
    for some in _variables(runs):
        one_by_one = (
            (np.asarray(error[some], float)[None], form.of(own, novelty, some)[None])
            for error, own, novelty in zip(runs.error, runs.std, runs.novelty, strict=True)
        )
        found[some] = _local(one_by_one, levels[some], smoothed)
    found *= sample.times(found[:, sample.points]).levels()[:, None].astype(np.float32)
    # Of fields without any error, factors are next to nothing.
    return np.maximum(found, TINY, out=found)


def _local(groups: Iterable[tuple[OfRuns, OfRuns]], levels: ByVariable, smoothed: Around = alone) -> OfPoints:
    """Root mean square of errors over that of bars at every point, starting from the levels with the weight of PRIOR_RUNS.

    Every run counts in units of its own mean square bar. It is the ratio of the sums over runs, not the mean of ratios: where
    bars are nearly zero in some of the runs, these say nothing.
    """
    errors, bars, n_runs = np.zeros(()), np.zeros(()), 0
    for error, bar in groups:
        errors_squared, bars_squared = error**2, bar**2
        weight = 1.0 / bars_squared.mean(axis=2)
        errors = errors + np.einsum("cv,cvp->vp", weight, errors_squared)
        bars = bars + np.einsum("cv,cvp->vp", weight, bars_squared)
        n_runs += len(error)
    found = np.sqrt((n_runs * errors / bars + PRIOR_RUNS * levels[:, None] ** 2) / (n_runs + PRIOR_RUNS))
    told = errors > EXACT**2 * errors.mean(axis=1, keepdims=True)
    return _geometric_mean(found, told, smoothed)


def _geometric_mean(factors: OfPoints, told: Bool[np.ndarray, "variable point"], smoothed: Around) -> OfPoints:
    """Of every point and those around it that tell anything; else the factors themselves."""
    logarithms, share = (
        smoothed(values[None])[0] for values in (np.where(told, np.log(factors), 0.0), told.astype(float))
    )
    some = share > 0
    return np.where(some, np.exp(np.divide(logarithms, share, out=np.zeros_like(share), where=some)), factors)


def _variables(runs: HeldOutRuns) -> Iterator[slice]:
    """All variables, a few at a time: each of them is fitted for itself."""
    n_variables, n_points = runs.error[0].shape
    size = max(1, AT_ONCE // n_points)
    for start in range(0, n_variables, size):
        yield slice(start, start + size)
