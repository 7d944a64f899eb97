"""Fits the calibrated bars of `sureflow.uq.bars` to held-out runs, in passes over the runs, so that memory is bounded."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import ndtri

from sureflow import scratch
from sureflow.errors import SureflowError
from sureflow.metrics.intervals import EXPECTED, HALF_WIDTHS, area_between
from sureflow.uq.bars import CARRIED, Calibration, Calibrations, growth
from sureflow.uq.conformal import LEVELS, mean_factors, simultaneous_factors
from sureflow.uq.domain import DEFAULT_REACH
from sureflow.uq.folds import HeldOutRuns, RunFields, beyond_sides, joined, shown_sides

ByVariable = Float[np.ndarray, " variable"]
ByRun = Float[np.ndarray, " case"]
Points = Float[np.ndarray, " point"]
Sides = Iterable[tuple[int, HeldOutRuns]]  # the runs that show the errors beyond a side, by its number

FEWEST_HELD_OUT = 5
# With fewer held-out runs inside the hull, those outside help to fit the scale, which makes the bars rather too wide.
FEWEST_INSIDE = 3
# Conditions are refused at this many times the farthest distance at which a run was left out, or at DEFAULT_REACH.
REACH = 2.0
# Points whose bars are below this share of their run's root mean square (the free stream ahead of a shock, where nothing
# can go wrong) do not count in the fits: they would make the bars elsewhere look better than they are.
COUNTED = 0.01
# A local scale starts from the variable's typical one with the weight of this many runs.
PRIOR_RUNS = 10
# Exponents outside of these are noise of few runs.
EXPONENTS = (0.5, 3.0)
STEEPEST_TREND = 8.0
FEWEST_FOR_A_TREND = 10
# Points that a fit of one number looks at; more would not change it.
SAMPLE = 8_000
# Points of all runs together among which that sample is drawn, or whose median is taken; of more of them, evenly spaced ones.
DRAWN_FROM = 1 << 22
# Values of one run that are worked on at once, by taking one or several variables: larger arrays cost more time each.
AT_ONCE = 1 << 21
# Factors on the typical level among which the best one is chosen.
CANDIDATES = np.geomspace(0.2, 5.0, 65)
TINY = 1e-30


def fit_calibrations(held_out: HeldOutRuns, sides: Sides = (), *, exact: bool, seed: int = 0) -> Calibrations:
    """Fit the bars of fields and, where their errors are known, of quantities of interest; see `fit_calibration`."""
    seen: list[tuple[int, HeldOutRuns]] = []

    def noted() -> Iterator[tuple[int, HeldOutRuns]]:
        for side, runs in sides:
            seen.append((side, runs.quantities()))
            yield side, runs
            del runs  # before the next side is predicted

    fields = fit_calibration(held_out, noted(), exact=exact, seed=seed)
    if not held_out.quantity_error.size:
        return Calibrations(fields)
    return Calibrations(fields, fit_calibration(held_out.quantities(), seen, exact=exact, seed=seed))


def fit_calibration(held_out: HeldOutRuns, sides: Sides = (), *, exact: bool, seed: int = 0) -> Calibration:
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
    scale = np.concatenate([_local_scale(shaping.variables(some)) for some in _variables(shaping)])
    widening = _widening(shaping, sides, scale)
    # In single precision, as it is kept: what is loaded is what was fitted.
    scale = scale.astype(np.float32)
    promised = scoring.select(scoring.distance == 0)
    scores = [_Scores(promised, scale, variable) for variable in range(len(scale))]
    return Calibration(
        scale=scale,
        pattern=widening.pattern,
        exponent=widening.exponent.astype(np.float32),
        trend=widening.trend.astype(np.float32),
        factors=_by_level([mean_factors(of_variable) for of_variable in scores]),
        band_factors=_by_level([simultaneous_factors(of_variable) for of_variable in scores]),
        runs=len(held_out),
        exact=exact,
        reach=min(REACH * widening.farthest, DEFAULT_REACH),
    )


@dataclass(frozen=True)
class _Scores:
    """|error| / std of the points of one variable that count, computed run by run whenever they are asked for."""

    runs: HeldOutRuns
    scale: Float[np.ndarray, "variable point"]
    variable: int

    def __iter__(self) -> Iterator[Points]:
        for error, own in zip(self.runs.error, self.runs.std, strict=True):
            std = self.scale[self.variable] * np.asarray(own[self.variable], float)
            score = np.abs(error[self.variable]) / np.maximum(std, TINY)
            yield score[_counted(std**2)]


def _by_level(factors: list[tuple[float, ...]]) -> dict[float, tuple[float, ...]]:
    return dict(zip(LEVELS, zip(*factors, strict=True), strict=True))


def _counted(variance: Float[np.ndarray, "*axes point"]) -> Bool[np.ndarray, "*axes point"]:
    """Points whose bars are not negligible beside those of their run. It takes no truth to tell."""
    return variance >= COUNTED**2 * variance.mean(axis=-1, keepdims=True)


def _require_finite(runs: HeldOutRuns) -> None:
    if not all(np.isfinite(run.sum(dtype=float)) for run in (*runs.error, *runs.std)):
        raise SureflowError(
            "the model's predictions of held-out runs are not finite, so that its bars cannot be calibrated: train it "
            "again with other settings"
        )


def _halves(runs: HeldOutRuns, seed: int) -> tuple[HeldOutRuns, HeldOutRuns]:
    order = np.random.default_rng(seed).permutation(len(runs))
    return runs.select(order[: len(runs) // 2]), runs.select(order[len(runs) // 2 :])


def _run(runs: HeldOutRuns, case: int) -> tuple[RunFields, RunFields]:
    """Error and the model's own std of one run, in double precision."""
    return np.asarray(runs.error[case], float), np.asarray(runs.std[case], float)


def _local_scale(runs: HeldOutRuns) -> Float[np.ndarray, "variable point"]:
    """What the model's own bars are multiplied by, at every point, from runs inside the hull where there are enough."""
    inside = runs.distance == 0
    chosen = runs.select(inside) if inside.sum() >= FEWEST_INSIDE else runs
    n_variables, n_points = chosen.error[0].shape
    squares = np.zeros((n_variables, n_points))
    counted_scores: list[list[np.ndarray]] = [[] for _ in range(n_variables)]
    for case in range(len(chosen)):
        error, std = _run(chosen, case)
        score = np.abs(error) / np.maximum(std, TINY)
        squares += score**2
        counted = _counted(std**2)
        for variable, kept in enumerate(counted_scores):
            kept.append(score[variable][counted[variable]][_evenly(chosen, case)].copy())
    typical = np.array([np.median(np.concatenate(kept)) for kept in counted_scores]) / ndtri(0.75)
    local = np.sqrt((squares + PRIOR_RUNS * typical[:, None] ** 2) / (len(chosen) + PRIOR_RUNS))
    return local * _best_levels(_Bars(chosen, local))[:, None]


@dataclass(frozen=True)
class _Bars:
    """Bars of runs whose level is open: sqrt((scale own)^2 + (level growth pattern)^2), or level scale own."""

    runs: HeldOutRuns
    scale: Float[np.ndarray, "variable point"]
    pattern: Float[np.ndarray, "variable point"] | None = None
    growth: Float[np.ndarray, "case variable"] | None = None

    def at_some_points(self, case: int) -> tuple[RunFields, RunFields, RunFields]:
        """Of one run, at evenly spaced points: the error, the part of its bars with an open level, and the part without."""
        some = _evenly(self.runs, case)
        error, own = (
            self.runs.error[case][:, some],
            self.scale[:, some] * np.asarray(self.runs.std[case][:, some], float),
        )
        if self.pattern is None or self.growth is None:
            return error, own, np.zeros_like(own)
        return error, self.growth[case][:, None] * self.pattern[:, some], own


def _evenly(runs: HeldOutRuns, case: int) -> slice:
    """All points, or evenly spaced ones that differ from run to run, where all of them would be too many."""
    step = max(1, len(runs) * runs.error[0].shape[1] // DRAWN_FROM)
    return slice(case % step, None, step)


@dataclass
class _Widening:
    """Patterns, exponents and trends of all sides, and the farthest distance that a run showed."""

    pattern: Float[np.ndarray, "side variable point"]
    exponent: Float[np.ndarray, "side variable"]
    trend: Float[np.ndarray, "side variable"]
    farthest: float


def _widening(shaping: HeldOutRuns, sides: Sides, scale: Float[np.ndarray, "variable point"]) -> _Widening:
    """Patterns, exponents and trends of all sides, from the held-out runs that lie outside and those of the sides.

    A side without any run takes the largest pattern of the others, point by point.
    """
    shown = shown_sides(shaping.displacement)
    n_sides, n_variables = shown.shape[1], len(scale)
    found = _Widening(
        pattern=scratch.empty((n_sides, *scale.shape), np.float32),
        exponent=np.ones((n_sides, n_variables)),
        trend=np.zeros((n_sides, n_variables)),
        farthest=0.0,
    )
    fitted = np.zeros(n_sides, bool)
    for side, runs in sides:
        _fit_side(found, side, joined([shaping.select(shown[:, side]), runs]), scale)
        fitted[side] = True
        del runs  # before the next side is predicted
    for side in np.flatnonzero(shown.any(axis=0) & ~fitted):
        _fit_side(found, int(side), shaping.select(shown[:, side]), scale)
        fitted[side] = True
    for side in np.flatnonzero(~fitted):
        found.pattern[side] = 0.0
        for other in np.flatnonzero(fitted):
            found.pattern[side] = np.maximum(found.pattern[side], found.pattern[other])
    if fitted.any():
        found.exponent[~fitted] = found.exponent[fitted].min(axis=0)
        found.trend[~fitted] = found.trend[fitted].max(axis=0)
    return found


def _fit_side(found: _Widening, side: int, runs: HeldOutRuns, scale: Float[np.ndarray, "variable point"]) -> None:
    """Add what the runs beyond one side show."""
    parameter, is_above = divmod(side, 2)
    position = runs.position[:, parameter]
    distance = beyond_sides(runs.displacement)[:, side]
    location = position - 1.0 if is_above else -position
    for some in _variables(runs):
        found.pattern[side, some], found.exponent[side, some], found.trend[side, some] = _pattern(
            runs.variables(some), distance, location, scale[some]
        )
    found.farthest = max(found.farthest, float(runs.distance.max()))


def _variables(runs: HeldOutRuns) -> Iterator[slice]:
    """All variables, a few at a time: each of them is fitted for itself."""
    n_variables, n_points = runs.error[0].shape
    size = max(1, AT_ONCE // n_points)
    for start in range(0, n_variables, size):
        yield slice(start, start + size)


def _pattern(
    runs: HeldOutRuns, distance: ByRun, location: ByRun, scale: Float[np.ndarray, "variable point"]
) -> tuple[Float[np.ndarray, "variable point"], ByVariable, ByVariable]:
    """Pattern, exponent and trend of some variables beyond one side."""
    size = np.array([np.sqrt((np.asarray(error, float) ** 2).mean(axis=1)) for error in runs.error])
    exponent, trend = _fit_growth(size, distance, location)
    growths = growth(distance[:, None], location[:, None], exponent, trend)
    squares = np.zeros(scale.shape)
    for case in range(len(runs)):
        error, own = _run(runs, case)
        squares += np.maximum((error**2 - (scale * own) ** 2) / growths[case][:, None] ** 2, 0.0)
    pattern = np.sqrt(squares / len(runs))
    return pattern * _best_levels(_Bars(runs, scale, pattern, growths))[:, None], exponent, trend


def _fit_growth(
    size: Float[np.ndarray, "case variable"], distance: ByRun, location: ByRun
) -> tuple[ByVariable, ByVariable]:
    """Exponent and trend of size = a distance^exponent exp(trend location), by least squares of logarithms over runs.

    What the runs do not vary in stays at its default: growth in proportion, no trend. Where errors fall towards the edge,
    as they do where the flow becomes independent of Mach and Reynolds number, the trend is continued beyond it, but not so
    steeply that bars would shrink with distance.
    """
    log_size, log_distance = np.log(np.maximum(size, TINY)), np.log(distance)
    exponent, trend = np.ones(size.shape[1]), np.zeros(size.shape[1])
    if np.ptp(log_distance) < np.log(1.5):
        return exponent, trend
    columns = [np.ones_like(distance), log_distance]
    if len(distance) >= FEWEST_FOR_A_TREND and np.ptp(location) > 0:
        columns.append(location)
    found = np.linalg.lstsq(np.stack(columns, axis=1), log_size, rcond=None)[0]
    exponent = np.clip(found[1], *EXPONENTS)
    return exponent, np.clip(found[2], -exponent / CARRIED, STEEPEST_TREND) if len(found) > 2 else trend


def _best_levels(bars: _Bars) -> ByVariable:
    """For every variable the level at which the intervals of its bars come closest to holding their shares of points."""
    cases = range(len(bars.runs))
    counts = np.array([_with_level(*bars.at_some_points(case)[1:]).sum(axis=1) for case in cases])
    totals = counts.sum(axis=0)
    before = np.cumsum(counts, axis=0) - counts
    # Error, std and floor of evenly spaced points among all that count.
    sampled: list[list[np.ndarray]] = [[] for _ in totals]
    for case in cases:
        values = bars.at_some_points(case)
        counted = _with_level(*values[1:])
        for variable, step in enumerate(np.maximum(1, totals // SAMPLE)):
            points = np.flatnonzero(counted[variable])[-before[case, variable] % step :: step]
            sampled[variable].append(np.stack([array[variable][points] for array in values]))
    return np.array([_best_level(*np.concatenate(parts, axis=1)) for parts in sampled])


def _with_level(std: RunFields, floor: RunFields) -> Bool[np.ndarray, "variable point"]:
    """Points that count and whose bars change with the level."""
    return _counted(std**2 + floor**2) & (std > 0)


def _best_level(error: Points, std: Points, floor: Points) -> float:
    """The factor c for which the intervals of sqrt(floor^2 + (c std)^2) come closest to holding their shares of points."""
    if not error.size:
        return 1.0
    start = np.median(np.abs(error) / np.hypot(floor, std)) / ndtri(0.75)
    levels = max(start, 1e-6) * CANDIDATES
    error, std, floor = error**2, std**2, floor**2
    held = [np.searchsorted(np.sort(error / (floor + c**2 * std)), HALF_WIDTHS**2, side="right") for c in levels]
    return float(levels[np.argmin(area_between(EXPECTED, np.stack(held) / error.size))])
