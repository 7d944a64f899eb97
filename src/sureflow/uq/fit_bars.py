"""Fits the calibrated bars of `sureflow.uq.bars` to held-out runs, in passes over the runs, so that memory is bounded.

Several forms of bars are tried, from the model's own to a field of factors. Which of them is used is decided by
cross-validation over the held-out runs: a form is fitted to some of them and scored by the others, so that bars with more to
fit are used only where they are better than simpler ones, and none where the model's own are best.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from sureflow import scratch
from sureflow.errors import SureflowError
from sureflow.uq.bars import NO_NEIGHBORS, Around, Calibration, Calibrations, Neighbors, alone
from sureflow.uq.choose_bars import AT_ONCE, BarForm, Factor, Points, Sample, best_factor, factors_of, fit_growth
from sureflow.uq.conformal import LEVELS, mean_factors, simultaneous_factors
from sureflow.uq.domain import DEFAULT_REACH
from sureflow.uq.folds import HeldOutRuns, joined

Sides = Iterable[tuple[int, HeldOutRuns]]  # the runs that show the errors beyond a side, by its number

FEWEST_HELD_OUT = 5
# Different runs that a side needs to have a factor of its own, and to have a field of factors.
FEWEST_OF_A_SIDE, FEWEST_OF_A_FIELD = 2, 8
# Conditions are refused at this many times the farthest distance at which a run was left out, or at DEFAULT_REACH.
REACH = 2.0
# Points whose bars are below this share of their run's root mean square (the free stream ahead of a shock, where nothing can
# go wrong) do not count in conformal factors: they would make the bars elsewhere look better than they are.
COUNTED = 0.01
# The logarithm of a side's factors starts from the mean of all sides with the weight of this many runs.
PRIOR_SIDE = 12
STEEPEST_GROWTH = 1.0
# Quantities have no bars of their own but novelty itself, and hardly any run says how they shrink next to a run.
STEEPEST_OF_QUANTITIES = 0.0
# The share of the bars of neighboring points that counts beyond a side, unless that makes bars worse.
SPREAD = 0.2
# How far from the ranges the form of the bars beyond them is reached, in widths: the least distance that was taught, or this.
LEAST_NEAR = 0.01
# What is fitted must be better than the model's own bars by this much.
WORTH = 0.005


def fit_calibrations(
    held_out: HeldOutRuns,
    sides: Sides,
    neighbors: Neighbors,
    *,
    exact: bool,
    typical: Bool[np.ndarray, " run"] | None = None,
    seed: int = 0,
) -> Calibrations:
    """Fit the bars of fields and, where their errors are known, of quantities of interest; see `fit_calibration`.

    Those of quantities, which are one number a run, are fitted to all runs.
    """
    seen: list[tuple[int, HeldOutRuns]] = []

    def noted() -> Iterator[tuple[int, HeldOutRuns]]:
        for side, runs in sides:
            seen.append((side, runs.quantities()))
            yield side, runs
            del runs  # before the next side is predicted

    fields = fit_calibration(held_out, noted(), neighbors, exact=exact, typical=typical, seed=seed)
    if not held_out.quantity_error.size:
        return Calibrations(fields)
    quantities = fit_calibration(held_out.quantities(), seen, steepest=STEEPEST_OF_QUANTITIES, exact=exact, seed=seed)
    return Calibrations(fields, quantities)


def fit_calibration(
    held_out: HeldOutRuns,
    sides: Sides = (),
    neighbors: Neighbors = NO_NEIGHBORS,
    *,
    exact: bool,
    steepest: float = STEEPEST_GROWTH,
    typical: Bool[np.ndarray, " run"] | None = None,
    seed: int = 0,
) -> Calibration:
    """Fit the bars to runs that were held out, and to the runs that show the errors beyond each side.

    `typical` are the numbers of runs that lie as conditions within the ranges do: by these, if they are enough, bars there
    are shaped.
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
    growth, scale = _fit_inside(_only(shaping, typical), neighbors.smoothed, steepest, seed)
    beyond = _fit_sides(shaping, sides, BarForm(growth, scale, neighbors.largest), neighbors.smoothed, seed)
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
    scores = [_Scores(scoring, fitted, neighbors.largest, variable) for variable in range(len(scale))]
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
    largest: Around
    variable: int

    def __iter__(self) -> Iterator[Points]:
        some = slice(self.variable, self.variable + 1)
        fitted = replace(self.fitted, scale=self.fitted.scale[some], sides=self.fitted.sides[:, some])
        at_once = max(1, AT_ONCE // self.runs.error[0].shape[1])
        for start in range(0, len(self.runs), at_once):
            cases = slice(start, start + at_once)
            own = np.stack([np.asarray(run[some], float) for run in self.runs.std[cases]])
            bars = fitted.std(own, self.runs.novelty[cases], self.runs.beyond[cases], self.largest)[:, 0]
            for error, std in zip(self.runs.error[cases], bars, strict=True):
                # Points whose bars are not negligible beside those of their run. It takes no truth to tell.
                counted = std >= COUNTED * np.sqrt((std**2).mean())
                yield np.abs(error[self.variable][counted]) / std[counted]


def _by_level(factors: list[tuple[float, ...]]) -> dict[float, tuple[float, ...]]:
    return dict(zip(LEVELS, zip(*factors, strict=True), strict=True))


def _require_finite(runs: HeldOutRuns) -> None:
    if not all(np.isfinite(run.sum(dtype=float)) for run in (*runs.error, *runs.std)):
        raise SureflowError(
            "the model's predictions of held-out runs are not finite, so that its bars cannot be calibrated: train it "
            "again with other settings"
        )


def _only(runs: HeldOutRuns, typical: Bool[np.ndarray, " run"] | None) -> HeldOutRuns:
    """The typical ones among the runs, or all where these are few."""
    chosen = np.ones(len(runs), bool) if typical is None else typical[runs.run]
    return runs.select(chosen) if chosen.sum() >= FEWEST_HELD_OUT else runs


def _halves(runs: HeldOutRuns, seed: int) -> tuple[HeldOutRuns, HeldOutRuns]:
    order = np.random.default_rng(seed).permutation(len(runs))
    return runs.select(order[: len(runs) // 2]), runs.select(order[len(runs) // 2 :])


def _fit_inside(
    runs: HeldOutRuns, smoothed: Around, steepest: float, seed: int
) -> tuple[float, Float[np.ndarray, "variable point"]]:
    """How bars grow with novelty, and what they are multiplied by at every point."""
    own = Sample.of(runs, BarForm(), seed)
    form = BarForm(growth := fit_growth(own, runs.novelty, steepest))
    sample = Sample.of(runs, form, seed) if growth else own
    kind, score = best_factor((Factor.LEVEL, Factor.FIELD), sample, seed)
    if own.score() <= score + WORTH:
        return 0.0, np.ones(runs.error[0].shape, np.float32)
    return growth, factors_of(kind, runs, sample, form, smoothed)


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


def _fit_sides(shaping: HeldOutRuns, sides: Sides, inside: BarForm, smoothed: Around, seed: int) -> _Beyond:
    """The factors of all sides, from the held-out runs that lie beyond them and from those that were left out for that."""
    found: dict[int, _Side] = {}
    distances = [np.linalg.norm(shaping.beyond, axis=1)]
    for side, left_out in sides:
        distances.append(np.linalg.norm(left_out.beyond, axis=1))
        _fit_side(found, side, joined([shaping.select(shaping.beyond[:, side] > 0), left_out]), inside, smoothed, seed)
        del left_out  # before the next side is predicted
    for side in sorted({*np.flatnonzero(shaping.beyond.any(axis=0)).tolist()} - {*found}):
        _fit_side(found, side, shaping.select(shaping.beyond[:, side] > 0), inside, smoothed, seed)
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


def _fit_side(
    found: dict[int, _Side], side: int, runs: HeldOutRuns, inside: BarForm, smoothed: Around, seed: int
) -> None:
    """Add what the runs beyond one side show, if they are enough."""
    n_runs = len(np.unique(runs.run))
    if n_runs < FEWEST_OF_A_SIDE:
        return
    kinds = tuple(Factor) if n_runs >= FEWEST_OF_A_FIELD else (Factor.LEVEL,)
    tried = []
    for form in (inside,) if inside.largest is alone else (inside, replace(inside, spread=SPREAD)):
        sample = Sample.of(runs, form, seed)
        kind, score = best_factor(kinds, sample, seed)
        tried.append((score, form, sample, kind))
    _, form, sample, kind = tried[-1] if tried[-1][0] <= tried[0][0] + WORTH else tried[0]
    found[side] = _Side(factors_of(kind, runs, sample, form, smoothed), form.spread, n_runs)


def _pooled(sides: list[_Side], shape: tuple[int, ...]) -> Float[np.ndarray, "taught variable point"]:
    """The factors of all sides, those of few runs moved towards the mean of all."""
    factors = scratch.empty((len(sides), *shape), np.float32)
    if not sides:
        return factors
    runs = np.array([side.runs for side in sides])
    levels = np.array([np.median(np.log(side.factors)) for side in sides])
    towards = (np.average(levels, weights=runs) - levels) * PRIOR_SIDE / (runs + PRIOR_SIDE)
    for number, side in enumerate(sides):
        factors[number] = side.factors * np.float32(np.exp(towards[number]))
    return factors
