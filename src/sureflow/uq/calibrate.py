"""Error bars fitted to what was seen to go wrong: by run, point by point inside the hull, and with distance beyond it.

All arrays are (case, variable, point) in units in which one condition is like another (a model's scaled and normalized
space). With s the model's own standard deviation, taken at the nearest condition inside the training hull, and d_k how far
the condition lies beyond the hull on side k (below or above the range of a parameter), as the model sees it (in its inputs)
and in widths of the training ranges:

    std^2 = (scale s)^2 + sum over sides k of (pattern_k d_k^exponent_k exp(trend_k min(d_k, CARRIED)))^2

`scale` is fitted to runs that were held out inside the hull; the others to runs left out side by side, so that the outermost
are predicted from afar. Patterns are fields of their own because an extrapolation goes wrong elsewhere in the flow than an
interpolation does. The trend is how errors at one distance grow or fall from the middle of the domain towards that side: it
is carried on beyond. The mean is left alone.

On top, conformal factors by run (`sureflow.uq.conformal`). Their guarantee holds for runs that are drawn as the held-out
ones were, inside the hull; it is a theorem when those runs took part in nothing else, and close to one in practice with folds.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import ndtri

from sureflow.errors import SureflowError
from sureflow.predictive import DISCREPANCY, Predictive
from sureflow.uq.conformal import LEVELS, mean_factor, simultaneous_factor
from sureflow.uq.domain import DEFAULT_REACH, TrainingDomain
from sureflow.uq.folds import Conditions, HeldOutRuns, Predict, Unit, joined

Fields = Float[np.ndarray, "case variable point"]
Displacement = Float[np.ndarray, "case parameter"]
BySide = Float[np.ndarray, "side variable"]

# The part of a calibrated standard deviation that stands for the distance from the training hull.
EXTRAPOLATION = "extrapolation"

FEWEST_HELD_OUT = 5
# With fewer held-out runs inside the hull, those outside help to fit the scale, which errs on the wide side.
FEWEST_INSIDE = 3
# A refusal comes at this many times the farthest distance that was taught, and at DEFAULT_REACH at the latest.
REACH = 2.0
# Points whose bars are below this share of their run's root mean square (the free stream ahead of a shock, where nothing
# can go wrong) do not count in the fits: they would flatter the others.
COUNTED = 0.01
# A local scale starts from the variable's typical one with the weight of this many runs.
PRIOR_RUNS = 10
# Exponents outside of these are noise of few runs.
EXPONENTS = (0.5, 3.0)
STEEPEST_TREND = 8.0
# How far beyond the edge a trend is carried on, in widths of the inputs: farther than the runs could show it.
CARRIED = 0.5
FEWEST_FOR_A_TREND = 10
# A run teaches a side when this share of its displacement goes there.
MOSTLY = 0.9
# Points that a fit of one number looks at; more would not change it.
SAMPLE = 8_000
TINY = 1e-30

ARRAYS = ("scale", "pattern", "exponent", "trend")
TABLES = ("factors", "band_factors")

GRID = np.linspace(0.0, 1.0, 100)[1:-1]
HALF_WIDTHS = ndtri(0.5 + GRID / 2.0)


@dataclass(frozen=True)
class Calibration:
    """What held-out runs taught about a model's bars. Sides are ordered (below, above) parameter by parameter."""

    scale: Float[np.ndarray, "variable point"]
    pattern: Float[np.ndarray, "side variable point"]
    exponent: Float[np.ndarray, "side variable"]
    trend: Float[np.ndarray, "side variable"]
    factors: Mapping[float, tuple[float, ...]]  # level -> factor of every variable: mean share of points over runs
    band_factors: Mapping[float, tuple[float, ...]]  # level -> factor of every variable: the whole field at once
    runs: int
    exact: bool  # whether the factors' guarantee is a theorem: their runs shaped nothing else
    reach: float  # distance beyond which conditions are refused
    conditions: tuple[tuple[float, ...], ...]  # of the held-out runs that are not the model's training runs

    def std(self, own: Fields, displacement: Displacement) -> Fields:
        """Calibrated standard deviation, from the model's own at the nearest condition inside the hull."""
        return np.hypot(self.scale * own, self.widening(displacement))

    def widening(self, displacement: Displacement) -> Fields:
        """What the distance from the hull adds, in quadrature; 0 inside."""
        variance = np.zeros((len(displacement), *self.scale.shape))
        for side, beyond in enumerate(_by_side(displacement).T):
            outside = beyond > 0
            if outside.any():
                size = _growth(beyond[outside, None], beyond[outside, None], self.exponent[side], self.trend[side])
                variance[outside] += (size[:, :, None] * self.pattern[side]) ** 2
        return np.sqrt(variance)

    def half_width(self, std: Fields, level: float, *, simultaneous: bool = False) -> Fields:
        """Half of the interval of a level about the mean, point by point or for the whole field at once."""
        table = self.band_factors if simultaneous else self.factors
        if level not in table:
            raise SureflowError(
                f"level={level:g} was not calibrated: choose one of {', '.join(f'{k:g}' for k in table)}"
            )
        return np.asarray(table[level])[:, None] * std

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, the arrays in base64; a factor that too few runs leave open is null."""
        arrays = {name: _packed(getattr(self, name)) for name in ARRAYS}
        tables = {
            name: {str(level): [_finite_or_none(f) for f in row] for level, row in getattr(self, name).items()}
            for name in TABLES
        }
        plain = {"runs": self.runs, "exact": self.exact, "reach": self.reach}
        return {**arrays, **tables, **plain, "conditions": [list(condition) for condition in self.conditions]}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """`to_dict` inverted exactly; what is damaged is refused."""
        try:
            arrays = {name: _unpacked(values[name]) for name in ARRAYS}
            tables = {
                name: {float(level): tuple(np.inf if f is None else f for f in row) for level, row in table.items()}
                for name, table in ((name, values[name]) for name in TABLES)
            }
            plain = {"runs": int(values["runs"]), "exact": bool(values["exact"]), "reach": float(values["reach"])}
            conditions = tuple(tuple(map(float, condition)) for condition in values["conditions"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise SureflowError(f"the calibration of this model is damaged ({error!r}): calibrate it again") from None
        return cls(**arrays, **tables, **plain, conditions=conditions)


def fit_calibration(
    held_out: HeldOutRuns, sides: HeldOutRuns | None = None, *, exact: bool, seed: int = 0
) -> Calibration:
    """Fit the bars to runs that were held out, and to those of sides left out.

    With `exact`, a seeded half of the held-out runs shapes the bars and the other half gives the conformal factors, whose
    guarantee is then a theorem. Without, all of them do both: for folds over few runs, where it is none anyway.
    """
    if len(held_out) < FEWEST_HELD_OUT:
        raise SureflowError(
            f"{len(held_out)} held-out runs are too few to calibrate with: at least {FEWEST_HELD_OUT} are needed; "
            "the bars stay the model's own"
        )
    shaping, scoring = _halves(held_out, seed) if exact else (held_out, held_out)
    scale = _local_scale(shaping)
    taught = shaping if sides is None else joined([shaping, sides])
    pattern, exponent, trend = _widening(taught, scale)
    farthest = taught.distance[_teaches(taught.displacement).any(axis=1)].max(initial=0.0)
    reach = min(REACH * float(farthest), DEFAULT_REACH)
    # In single precision, as they are kept: what is loaded is what was fitted.
    fitted = {"scale": scale, "pattern": pattern, "exponent": exponent, "trend": trend}
    arrays = {name: np.asarray(array, np.float32) for name, array in fitted.items()}
    shaped = Calibration(
        **arrays, factors={}, band_factors={}, runs=len(held_out), exact=exact, reach=reach, conditions=()
    )
    promised = scoring.select(scoring.distance == 0)
    std = shaped.std(promised.std, promised.displacement)
    scores = np.abs(promised.error) / np.maximum(std, TINY)
    counted = counted_points(std)
    by_variable = [[s[c] for s, c in zip(scores[:, v], counted[:, v], strict=True)] for v in range(scores.shape[1])]
    return replace(
        shaped,
        factors={level: tuple(mean_factor(runs, level) for runs in by_variable) for level in LEVELS},
        band_factors={level: tuple(simultaneous_factor(runs, level) for runs in by_variable) for level in LEVELS},
    )


def calibrated(
    calibration: Calibration, predict: Predict, domain: TrainingDomain, unit: Unit, conditions: Conditions
) -> Predictive:
    """A model's prediction with calibrated parts; the mean is the model's own, bit for bit.

    The parts inside the hull keep their proportions; beyond it the part `extrapolation` joins them.
    """
    raw = predict(conditions)
    nearest = domain.nearest(conditions)
    displacement = domain.input_displacement(nearest, conditions)
    inside = predict(nearest) if displacement.any() else raw
    size = unit(np.asarray(raw.mean), conditions)
    to_here = size / unit(np.asarray(inside.mean), nearest) * calibration.scale
    parts = {name: np.asarray(part) * to_here for name, part in inside.parts.items()}
    if not parts:
        parts[DISCREPANCY] = np.broadcast_to(calibration.scale * size, np.shape(raw.mean))
    if displacement.any():
        parts[EXTRAPOLATION] = calibration.widening(displacement) * size
    return Predictive(raw.mean, parts)


def counted_points(std: Fields) -> Bool[np.ndarray, "case variable point"]:
    """Points whose bars are not negligible beside those of their run. It takes no truth to tell."""
    typical = np.sqrt((std**2).mean(axis=2, keepdims=True))
    return std >= COUNTED * typical


def _halves(runs: HeldOutRuns, seed: int) -> tuple[HeldOutRuns, HeldOutRuns]:
    order = np.random.default_rng(seed).permutation(len(runs))
    return runs.select(order[: len(runs) // 2]), runs.select(order[len(runs) // 2 :])


def _local_scale(runs: HeldOutRuns) -> Float[np.ndarray, "variable point"]:
    """By which the model's own bars are multiplied, at every point, from runs inside the hull where there are enough."""
    inside = runs.distance == 0
    chosen = runs.select(inside) if inside.sum() >= FEWEST_INSIDE else runs
    score = np.abs(chosen.error) / np.maximum(chosen.std, TINY)
    counted = counted_points(chosen.std)
    typical = np.array([np.median(score[:, v][counted[:, v]]) for v in range(score.shape[1])]) / ndtri(0.75)
    n_runs = len(chosen)
    local = np.sqrt(((score**2).sum(axis=0) + PRIOR_RUNS * typical[:, None] ** 2) / (n_runs + PRIOR_RUNS))
    level = [_best_level(chosen.error[:, v], local[v] * chosen.std[:, v]) for v in range(len(local))]
    return local * np.array(level)[:, None]


def _widening(
    runs: HeldOutRuns, scale: Float[np.ndarray, "variable point"]
) -> tuple[Float[np.ndarray, "side variable point"], BySide, BySide]:
    """Patterns, exponents and trends of all sides.

    A side that no run taught takes the largest pattern of the others, point by point.
    """
    beyond = _by_side(runs.displacement)
    inset = np.stack([runs.position, 1.0 - runs.position], axis=2).reshape(beyond.shape)
    shape = (beyond.shape[1], *scale.shape)
    pattern, exponent, trend = np.zeros(shape), np.ones(shape[:2]), np.zeros(shape[:2])
    teaches = _teaches(runs.displacement)
    taught = teaches.any(axis=0)
    for side in np.flatnonzero(taught):
        by = teaches[:, side]
        distance, location = beyond[by, side], -inset[by, side]
        pattern[side], exponent[side], trend[side] = _side(runs.select(by), distance, location, scale)
    if taught.any():
        pattern[~taught] = pattern[taught].max(axis=0)
        exponent[~taught] = exponent[taught].min(axis=0)
        trend[~taught] = trend[taught].max(axis=0)
    return pattern, exponent, trend


def _side(
    runs: HeldOutRuns,
    distance: Float[np.ndarray, " case"],
    location: Float[np.ndarray, " case"],
    scale: Float[np.ndarray, "variable point"],
) -> tuple[Float[np.ndarray, "variable point"], Float[np.ndarray, " variable"], Float[np.ndarray, " variable"]]:
    """Pattern, exponent and trend of one side from the runs predicted beyond it."""
    exponent, trend = _fit_growth(np.sqrt((runs.error**2).mean(axis=2)), distance, location)
    growth = _growth(distance[:, None], location[:, None], exponent, trend)[:, :, None]
    inside = (scale * runs.std) ** 2
    pattern = np.sqrt(np.maximum((runs.error**2 - inside) / growth**2, 0.0).mean(axis=0))
    level = [
        _best_level(runs.error[:, v], growth[:, v] * pattern[v], np.sqrt(inside[:, v])) for v in range(len(pattern))
    ]
    return pattern * np.array(level)[:, None], exponent, trend


def _teaches(displacement: Displacement) -> Bool[np.ndarray, "case side"]:
    """Which runs teach how bars widen on a side: those that lie beyond it and hardly beyond another."""
    beyond = _by_side(displacement)
    return (beyond > 0) & (beyond >= MOSTLY * np.linalg.norm(beyond, axis=1, keepdims=True))


def _growth(distance: np.ndarray, location: np.ndarray, exponent: np.ndarray, trend: np.ndarray) -> np.ndarray:
    """distance^exponent exp(trend location), with the location in widths beyond the edge of the domain."""
    return distance**exponent * np.exp(trend * np.minimum(location, CARRIED))


def _fit_growth(
    size: Float[np.ndarray, "case variable"], distance: Float[np.ndarray, " case"], location: Float[np.ndarray, " case"]
) -> tuple[Float[np.ndarray, " variable"], Float[np.ndarray, " variable"]]:
    """Exponent and trend of size = a distance^exponent exp(trend location), by least squares of logarithms over runs.

    What the runs do not vary in stays at its default: growth in proportion, no trend. Where errors fall towards the edge,
    as they do where the flow becomes independent of Mach and Reynolds number, the trend is carried on beyond it, but not so
    steep that bars would shrink with distance.
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


def _best_level(
    error: Float[np.ndarray, "case point"],
    std: Float[np.ndarray, "case point"],
    floor: Float[np.ndarray, "case point"] | float = 0.0,
) -> float:
    """The factor c for which the intervals of sqrt(floor^2 + (c std)^2) come closest to holding their shares of points."""
    total = np.hypot(floor, std)
    counted = (total >= COUNTED * np.sqrt((total**2).mean(axis=1, keepdims=True))) & (std > 0)
    if not counted.any():
        return 1.0
    step = max(1, int(counted.sum()) // SAMPLE)
    error, std = np.abs(error[counted][::step]), std[counted][::step]
    floor = np.broadcast_to(floor, counted.shape)[counted][::step]
    start = np.median(error / total[counted][::step]) / ndtri(0.75)
    candidates = max(start, 1e-6) * np.geomspace(0.2, 5.0, 65)
    return float(min(candidates, key=lambda level: _miscalibration(error, np.hypot(floor, level * std))))


def _miscalibration(error: Float[np.ndarray, " point"], std: Float[np.ndarray, " point"]) -> float:
    """Mean distance between the shares of points that intervals hold and those that they should."""
    held = np.searchsorted(np.sort(error / std), HALF_WIDTHS, side="right") / len(error)
    return float(np.abs(held - GRID).mean())


def _by_side(displacement: Float[np.ndarray, "case parameter"]) -> Float[np.ndarray, "case side"]:
    """How far below and above each parameter's range: columns (below, above) parameter by parameter."""
    below, above = np.maximum(-displacement, 0.0), np.maximum(displacement, 0.0)
    return np.stack([below, above], axis=2).reshape(len(displacement), -1)


def _packed(array: np.ndarray) -> dict[str, Any]:
    return {"shape": list(array.shape), "float32": base64.b64encode(np.asarray(array, "<f4").tobytes()).decode()}


def _unpacked(packed: Mapping[str, Any]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(packed["float32"], validate=True), "<f4").reshape(packed["shape"])


def _finite_or_none(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
