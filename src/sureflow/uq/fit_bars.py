"""Fits the calibrated bars of `sureflow.uq.bars` to held-out runs, in passes over the runs, so that memory is bounded.

Several forms of bars are tried, from the model's own to a field of factors. Which of them is used is decided by
cross-validation over the held-out runs: a form is fitted to some of them and scored by the others, so that bars with more to
fit are used only where they are better than simpler ones, and none where the model's own are best.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtri

from sureflow import scratch
from sureflow.errors import SureflowError
from sureflow.metrics.intervals import EXPECTED, HALF_WIDTHS, area_between
from sureflow.uq.bars import FLOOR, LEAST_NOVELTY, Around, Calibration, Calibrations
from sureflow.uq.conformal import LEVELS, mean_factors, simultaneous_factors
from sureflow.uq.domain import DEFAULT_REACH
from sureflow.uq.folds import HeldOutRuns, joined

ByVariable = Float[np.ndarray, " variable"]
Points = Float[np.ndarray, " point"]
OfRuns = Float[np.ndarray, "case variable point"]
OfPoints = Float[np.ndarray, "variable point"]
Sides = Iterable[tuple[int, HeldOutRuns]]  # the runs that show the errors beyond a side, by its number

FEWEST_HELD_OUT = 5
# Different runs that a side needs to have a factor of its own, and to have a field of factors.
FEWEST_OF_A_SIDE, FEWEST_OF_A_FIELD = 2, 8
# Conditions are refused at this many times the farthest distance at which a run was left out, or at DEFAULT_REACH.
REACH = 2.0
# Points whose bars are below this share of their run's root mean square (the free stream ahead of a shock, where nothing can
# go wrong) do not count in conformal factors: they would make the bars elsewhere look better than they are.
COUNTED = 0.01
# A local factor starts from the variable's typical one with the weight of this many runs.
PRIOR_RUNS, PRIOR_RUNS_OF_A_SIDE = 10, 30
# The logarithm of a side's factors starts from the mean of all sides with the weight of this many runs.
PRIOR_SIDE = 3
# The growth with novelty starts from none with the weight of runs whose log novelties have this sum of squares.
PRIOR_GROWTH = 1.0
STEEPEST_GROWTH = 1.0
# Quantities have no bars of their own but novelty itself, and hardly any run says how they shrink next to a run.
STEEPEST_OF_QUANTITIES = 0.0
# The share of the bars of neighboring points that counts beyond a side, unless that makes bars worse.
SPREAD = 0.2
# How far from the ranges the form of the bars beyond them is reached, in widths: the least distance that was taught, or this.
LEAST_NEAR = 0.01
# Parts into which held-out runs are divided to choose among forms of bars.
PARTS = 4
# What is fitted must be better than the model's own bars by this much, and a factor than a simpler one by that much.
WORTH, SIMPLER = 0.005, 0.002
# In the score of bars: the weights of the 90 % interval and of heavy tails, beside the miscalibration area.
OF_THE_INTERVAL, OF_THE_TAILS = 0.5, 0.02
# Points of every run that levels and choices are made with; and values that one level is fitted to.
SAMPLED_POINTS, SAMPLED_VALUES = 1024, 2048
# Values of one run that are worked on at once, by taking one or several variables: larger arrays cost more time each.
AT_ONCE = 1 << 21
# Factors on the typical level among which the best one is chosen.
CANDIDATES = np.geomspace(0.25, 4.0, 41)
GAUSSIAN_90, GAUSSIAN_50 = ndtri(0.95), ndtri(0.75)
TINY = 1e-30


class Factor(Enum):
    """What bars are multiplied by: one, a number for every variable, or a field."""

    ONE = 0
    LEVEL = 1
    FIELD = 2


def fit_calibrations(
    held_out: HeldOutRuns, sides: Sides, around: Around, *, exact: bool, seed: int = 0
) -> Calibrations:
    """Fit the bars of fields and, where their errors are known, of quantities of interest; see `fit_calibration`."""
    seen: list[tuple[int, HeldOutRuns]] = []

    def noted() -> Iterator[tuple[int, HeldOutRuns]]:
        for side, runs in sides:
            seen.append((side, runs.quantities()))
            yield side, runs
            del runs  # before the next side is predicted

    fields = fit_calibration(held_out, noted(), around, exact=exact, seed=seed)
    if not held_out.quantity_error.size:
        return Calibrations(fields)
    quantities = fit_calibration(held_out.quantities(), seen, steepest=STEEPEST_OF_QUANTITIES, exact=exact, seed=seed)
    return Calibrations(fields, quantities)


def fit_calibration(
    held_out: HeldOutRuns,
    sides: Sides = (),
    around: Around = lambda bars: bars,
    *,
    exact: bool,
    steepest: float = STEEPEST_GROWTH,
    seed: int = 0,
) -> Calibration:
    """Fit the bars to runs that were held out, and to the runs that show the errors beyond each side.

    With `exact`, a seeded half of the held-out runs shapes the bars and the other half gives the conformal factors, whose
    guarantee is then a theorem. Without, all of them do both: for folds over few runs, where there is no theorem anyway.
    """
    if len(held_out) < FEWEST_HELD_OUT:
        raise SureflowError(
            f"{len(held_out)} held-out runs are too few to calibrate with: at least {FEWEST_HELD_OUT} are needed; "
            "the bars stay the model's own"
        )
    _require_finite(held_out)
    shaping, scoring = _halves(held_out, seed) if exact else (held_out, held_out)
    growth, scale = _fit_inside(shaping, steepest, seed)
    beyond = _fit_sides(shaping, sides, _Form(growth, scale, around), seed)
    fitted = Calibration(
        scale=scale,
        sides=beyond.factors,
        growth=growth,
        near=beyond.near,
        taught=beyond.taught,
        spread=beyond.spread,
        factors={},
        band_factors={},
        runs=len(held_out),
        exact=exact,
        reach=min(REACH * beyond.farthest, DEFAULT_REACH),
    )
    scores = [_Scores(scoring, fitted, around, variable) for variable in range(len(scale))]
    return replace(
        fitted,
        factors=_by_level([mean_factors(of_variable) for of_variable in scores]),
        band_factors=_by_level([simultaneous_factors(of_variable) for of_variable in scores]),
    )


@dataclass(frozen=True)
class _Scores:
    """|error| / std of the points of one variable that count, computed run by run whenever they are asked for."""

    runs: HeldOutRuns
    fitted: Calibration
    around: Around
    variable: int

    def __iter__(self) -> Iterator[Points]:
        some = slice(self.variable, self.variable + 1)
        fitted = replace(self.fitted, scale=self.fitted.scale[some], sides=self.fitted.sides[:, some])
        for case, (error, own) in enumerate(zip(self.runs.error, self.runs.std, strict=True)):
            where = self.runs.novelty[case : case + 1], self.runs.beyond[case : case + 1]
            std = fitted.std(np.asarray(own[some], float)[None], *where, self.around)[0, 0]
            score = np.abs(error[self.variable]) / std
            # Points whose bars are not negligible beside those of their run. It takes no truth to tell.
            yield score[std >= COUNTED * np.sqrt((std**2).mean())]


def _by_level(factors: list[tuple[float, ...]]) -> dict[float, tuple[float, ...]]:
    return dict(zip(LEVELS, zip(*factors, strict=True), strict=True))


def _require_finite(runs: HeldOutRuns) -> None:
    if not all(np.isfinite(run.sum(dtype=float)) for run in (*runs.error, *runs.std)):
        raise SureflowError(
            "the model's predictions of held-out runs are not finite, so that its bars cannot be calibrated: train it "
            "again with other settings"
        )


def _halves(runs: HeldOutRuns, seed: int) -> tuple[HeldOutRuns, HeldOutRuns]:
    order = np.random.default_rng(seed).permutation(len(runs))
    return runs.select(order[: len(runs) // 2]), runs.select(order[len(runs) // 2 :])


def _fit_inside(runs: HeldOutRuns, steepest: float, seed: int) -> tuple[float, Float[np.ndarray, "variable point"]]:
    """How bars grow with novelty, and what they are multiplied by at every point."""
    own = _Sample.of(runs, _Form(), seed)
    form = _Form(growth := _fit_growth(own, runs.novelty, steepest))
    sample = _Sample.of(runs, form, seed) if growth else own
    kind, score = _best((Factor.LEVEL, Factor.FIELD), sample, PRIOR_RUNS, seed)
    if own.score() <= score + WORTH:
        return 0.0, np.ones(runs.error[0].shape, np.float32)
    return growth, _factors(kind, runs, sample, form, PRIOR_RUNS)


class _Side(NamedTuple):
    """What the runs beyond a side showed: factors, whether neighbors count, and of how many runs it was learned."""

    factors: Float[np.ndarray, "variable point"]
    spread: float
    runs: int


class _Beyond(NamedTuple):
    """What was learned about all sides."""

    factors: Float[np.ndarray, "taught variable point"]
    taught: tuple[int, ...]
    spread: tuple[float, ...]
    near: float
    farthest: float


def _fit_sides(shaping: HeldOutRuns, sides: Sides, inside: "_Form", seed: int) -> _Beyond:
    """The factors of all sides, from the held-out runs that lie beyond them and from those that were left out for that."""
    found: dict[int, _Side] = {}
    distances = [np.linalg.norm(shaping.beyond, axis=1)]
    for side, left_out in sides:
        distances.append(np.linalg.norm(left_out.beyond, axis=1))
        _fit_side(found, side, joined([shaping.select(shaping.beyond[:, side] > 0), left_out]), inside, seed)
        del left_out  # before the next side is predicted
    for side in sorted({*np.flatnonzero(shaping.beyond.any(axis=0)).tolist()} - {*found}):
        _fit_side(found, side, shaping.select(shaping.beyond[:, side] > 0), inside, seed)
    taught = tuple(sorted(found))
    distance = np.concatenate(distances)
    distance = distance[distance > 0]
    return _Beyond(
        factors=_pooled([found[side] for side in taught], shaping.error[0].shape),
        taught=taught,
        spread=tuple(found[side].spread for side in taught),
        near=max(float(np.quantile(distance, 0.05)), LEAST_NEAR) if distance.size else LEAST_NEAR,
        farthest=float(distance.max(initial=0.0)),
    )


def _fit_side(found: dict[int, _Side], side: int, runs: HeldOutRuns, inside: "_Form", seed: int) -> None:
    """Add what the runs beyond one side show, if they are enough."""
    n_runs = len(np.unique(runs.run))
    if n_runs < FEWEST_OF_A_SIDE:
        return
    kinds = tuple(Factor) if n_runs >= FEWEST_OF_A_FIELD else (Factor.LEVEL,)
    tried = []
    for form in (inside, replace(inside, spread=SPREAD)):
        sample = _Sample.of(runs, form, seed)
        kind, score = _best(kinds, sample, PRIOR_RUNS_OF_A_SIDE, seed)
        tried.append((score, form, sample, kind))
    _, form, sample, kind = tried[int(tried[1][0] <= tried[0][0] + WORTH)]
    found[side] = _Side(_factors(kind, runs, sample, form, PRIOR_RUNS_OF_A_SIDE), form.spread, n_runs)


def _pooled(sides: list[_Side], shape: tuple[int, ...]) -> Float[np.ndarray, "taught variable point"]:
    """The factors of all sides, those of few runs moved towards the mean of all."""
    factors = scratch.empty((len(sides), *shape), np.float32)
    if not sides:
        return factors
    runs = np.array([side.runs for side in sides])
    levels = np.array([np.median(np.log(np.maximum(side.factors, TINY))) for side in sides])
    towards = (np.average(levels, weights=runs) - levels) * PRIOR_SIDE / (runs + PRIOR_SIDE)
    for number, side in enumerate(sides):
        factors[number] = side.factors * np.float32(np.exp(towards[number]))
    return factors


@dataclass(frozen=True)
class _Form:
    """ErrorBars of a run before they are multiplied by what is fitted: scale sqrt((s n^growth)^2 + floor^2 + neighbors^2)."""

    growth: float = 0.0
    scale: Float[np.ndarray, "variable point"] | None = None
    around: Around = lambda bars: bars
    spread: float = 0.0

    def of(self, own: OfPoints, novelty: float, some: slice = slice(None)) -> OfPoints:
        """The bars of some variables."""
        grown = np.asarray(own[some], float) * max(novelty, LEAST_NOVELTY) ** self.growth
        squares = grown**2 + FLOOR**2
        if self.spread:
            squares += (self.spread * self.around(grown[None])[0]) ** 2
        bars = np.sqrt(squares)
        return bars if self.scale is None else self.scale[some] * bars


@dataclass(frozen=True)
class _Sample:
    """Errors and bars of runs at some points, the same of every run, all of them in memory."""

    error: OfRuns
    bars: OfRuns
    run: Int[np.ndarray, " case"]
    points: Int[np.ndarray, " point"]

    @classmethod
    def of(cls, runs: HeldOutRuns, form: _Form, seed: int) -> "_Sample":
        n_points = runs.error[0].shape[1]
        points = np.sort(np.random.default_rng(seed).permutation(n_points)[:SAMPLED_POINTS])
        bars = [form.of(own, novelty)[:, points] for own, novelty in zip(runs.std, runs.novelty, strict=True)]
        error = [np.asarray(error[:, points], float) for error in runs.error]
        return cls(np.stack(error), np.stack(bars), runs.run, points)

    def select(self, cases: np.ndarray) -> "_Sample":
        return replace(self, error=self.error[cases], bars=self.bars[cases], run=self.run[cases])

    def times(self, factors: Float[np.ndarray, "..."]) -> "_Sample":
        return replace(self, bars=self.bars * factors)

    @cached_property
    def scores(self) -> OfRuns:
        """|error| / bars."""
        return np.abs(self.error) / self.bars

    def sorted_scores(self) -> Iterator[Points]:
        """Some scores of every variable, evenly spaced, in order."""
        for scores in self.scores.swapaxes(0, 1).reshape(self.error.shape[1], -1):
            yield np.sort(scores[:: max(1, scores.size // SAMPLED_VALUES)])

    def score(self) -> float:
        """How bad the bars are, averaged over variables."""
        return float(np.mean([_scored(scores, np.ones(1))[0] for scores in self.sorted_scores()]))

    def levels(self) -> ByVariable:
        """For every variable the factor that makes its bars best."""

        def best(scores: Points) -> float:
            levels = max(float(np.median(scores)) / GAUSSIAN_50, TINY) * CANDIDATES
            return float(levels[np.argmin(_scored(scores, levels))])

        return np.array([best(scores) for scores in self.sorted_scores()])


def _scored(scores: Points, levels: Float[np.ndarray, " level"]) -> Float[np.ndarray, " level"]:
    """How bad bars are that are multiplied by each of the levels, from sorted |error| / bars.

    The miscalibration area, what the 90 % interval misses its share by, and how heavy the tails are.
    """
    held = np.searchsorted(scores, np.outer(levels, HALF_WIDTHS).ravel(), side="right").reshape(len(levels), -1)
    share = np.searchsorted(scores, levels * GAUSSIAN_90, side="right") / scores.size
    tails = np.log(np.maximum(np.sqrt((scores**2).mean()) / levels, 1.0))
    area = np.asarray(area_between(EXPECTED, held / scores.size))
    return area + OF_THE_INTERVAL * np.abs(share - 0.9) + OF_THE_TAILS * tails


def _fit_growth(sample: _Sample, novelty: Float[np.ndarray, " case"], steepest: float) -> float:
    """The power of novelty by which errors over bars grow, by least squares of logarithms over runs; never negative.

    The level of a run is between that of its typical points and that of its worst ones.
    """
    middle, high = np.quantile(sample.scores, [0.5, 0.9], axis=2)
    level = 0.5 * (np.log(middle / GAUSSIAN_50 + TINY) + np.log(high / GAUSSIAN_90 + TINY)).mean(axis=1)
    away = np.log(np.maximum(novelty, LEAST_NOVELTY))
    away = away - away.mean()
    return float(np.clip((away @ level) / (away @ away + PRIOR_GROWTH), 0.0, steepest))


def _best(kinds: tuple[Factor, ...], sample: _Sample, prior: float, seed: int) -> tuple[Factor, float]:
    """The kind of factor that scores best on runs that it was not fitted to; a simpler one where that costs little."""
    best, best_score = kinds[0], np.inf
    for kind in kinds:
        score = _cross_validated(kind, sample, prior, seed)
        if score < best_score - SIMPLER:
            best, best_score = kind, score
    return best, best_score


def _cross_validated(kind: Factor, sample: _Sample, prior: float, seed: int) -> float:
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
            local = _local(zip(others.error, others.bars, strict=True), levels, prior)
            bars[out] *= local * others.times(local).levels()[:, None]
    return replace(sample, bars=bars).score()


def _factors(
    kind: Factor, runs: HeldOutRuns, sample: _Sample, form: _Form, prior: float
) -> Float[np.ndarray, "variable point"]:
    """What bars are multiplied by at every point, in single precision, as it is kept: what is loaded is what was fitted."""
    found = scratch.empty(runs.error[0].shape, np.float32)
    found[:] = 1.0
    if kind is Factor.ONE:
        return found
    levels = sample.levels()
    if kind is Factor.LEVEL:
        found[:] = levels[:, None]
        return found
    for some in _variables(runs):
        pairs = (
            (np.asarray(error[some], float), form.of(own, novelty, some))
            for error, own, novelty in zip(runs.error, runs.std, runs.novelty, strict=True)
        )
        found[some] = _local(pairs, levels[some], prior)
    found *= sample.times(found[:, sample.points]).levels()[:, None].astype(np.float32)
    return found


def _local(pairs: Iterable[tuple[OfPoints, OfPoints]], levels: ByVariable, prior: float) -> OfPoints:
    """Root mean square of errors over that of bars at every point, starting from the levels with the weight of `prior` runs.

    Every run counts in units of its own mean square bar. It is the ratio of the sums over runs, not the mean of ratios: where
    bars are nearly zero in some of the runs, these say nothing.
    """
    errors, bars, n_runs = np.zeros(()), np.zeros(()), 0
    for error, bar in pairs:
        unit = (bar**2).mean(axis=1, keepdims=True)
        errors, bars, n_runs = errors + error**2 / unit, bars + bar**2 / unit, n_runs + 1
    return np.sqrt((n_runs * errors / bars + prior * levels[:, None] ** 2) / (n_runs + prior))


def _variables(runs: HeldOutRuns) -> Iterator[slice]:
    """All variables, a few at a time: each of them is fitted for itself."""
    n_variables, n_points = runs.error[0].shape
    size = max(1, AT_ONCE // n_points)
    for start in range(0, n_variables, size):
        yield slice(start, start + size)
