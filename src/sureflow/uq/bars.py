"""Calibrated error bars: a model's own, corrected by its errors on held-out runs, and wider outside the training hull.

All arrays are (case, variable, point) in the normalized space of the model, in which errors at different conditions can be
compared. Let s be the model's own standard deviation at the point of the training hull nearest to the condition, and d_k
the distance of the condition beyond side k of the hull (below or above the range of one parameter), measured in the inputs
of the model and in widths of their training ranges. Then

    std^2 = (scale s)^2 + sum over sides k of (pattern_k d_k^exponent_k exp(trend_k min(d_k, CARRIED)))^2

`scale` is a field, fitted to runs that were held out inside the hull. The other three are fitted to runs on one side of the
domain that were left out together, so that the model had to extrapolate to them. Every side has a `pattern`, a field of its
own, because extrapolation goes wrong in other parts of the flow than interpolation does. `trend` is how errors at the same
distance grow or fall from the middle of the domain towards that side; it is assumed to continue beyond the edge. The mean
of the prediction is not changed.

Conformal factors (`sureflow.uq.conformal`) make intervals of these bars. Their coverage is guaranteed for runs drawn in the
same way as the held-out ones, inside the hull. The guarantee is a theorem when the runs that gave the factors were used for
nothing else, and close to one in practice when they come from folds over the training runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from sureflow.errors import SureflowError
from sureflow.predictive import DISCREPANCY, Predictive
from sureflow.uq.domain import Conditions, Place
from sureflow.uq.folds import Fields, Predict, Unit, beyond_sides
from sureflow.validation import settings

# The part of a calibrated standard deviation that stands for the distance from the training hull.
EXTRAPOLATION = "extrapolation"
# How far beyond the edge a trend is continued, in widths of the inputs: no run could show it farther out.
CARRIED = 0.5

ARRAYS = ("scale", "pattern", "exponent", "trend")

Factors = Mapping[float, tuple[float, ...]]
# Infinite factors, which too few runs leave open, are None in a file.
StoredFactors = dict[float, tuple[float | None, ...]]


@settings
class CalibrationFacts:
    """What a calibration knows besides its arrays."""

    runs: int
    exact: bool
    reach: float
    factors: StoredFactors
    band_factors: StoredFactors
    conditions: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True)
class Calibration:
    """What held-out runs showed about a model's bars. Sides are ordered (below, above) parameter by parameter."""

    scale: Float[np.ndarray, "variable point"]
    pattern: Float[np.ndarray, "side variable point"]
    exponent: Float[np.ndarray, "side variable"]
    trend: Float[np.ndarray, "side variable"]
    factors: Factors  # level -> factor of every variable: mean share of points over runs
    band_factors: Factors  # level -> factor of every variable: the whole field at once
    runs: int
    exact: bool  # whether the guarantee of the factors is a theorem: their runs shaped nothing else
    reach: float  # distance beyond which conditions are refused
    conditions: tuple[tuple[float, ...], ...] = ()  # of the held-out runs that are not the model's training runs

    def std(self, own: Fields, displacement: Conditions) -> Fields:
        """Calibrated standard deviation, from the model's own at the nearest condition inside the hull."""
        return np.hypot(self.scale * own, self.widening(displacement))

    def widening(self, displacement: Conditions) -> Fields:
        """What the distance from the hull adds, in quadrature; 0 inside."""
        variance = np.zeros((len(displacement), *self.scale.shape))
        for side, beyond in enumerate(beyond_sides(displacement).T):
            for case in np.flatnonzero(beyond > 0):
                size = growth(beyond[case], beyond[case], self.exponent[side], self.trend[side])
                variance[case] += (size[:, None] * self.pattern[side]) ** 2
        return np.sqrt(variance)

    def half_width(self, std: Fields, level: float, *, simultaneous: bool = False) -> Fields:
        """Half of the interval of a level about the mean, point by point or for the whole field at once."""
        table = self.band_factors if simultaneous else self.factors
        if level not in table:
            raise SureflowError(
                f"level={level:g} was not calibrated: choose one of {', '.join(f'{k:g}' for k in table)}"
            )
        return np.asarray(table[level])[:, None] * std

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays by name; `restore` makes an equal calibration of these and of `facts`."""
        return {name: getattr(self, name) for name in ARRAYS}

    def facts(self) -> CalibrationFacts:
        """Everything but the arrays."""
        return CalibrationFacts(
            runs=self.runs,
            exact=self.exact,
            reach=self.reach,
            factors=_stored(self.factors),
            band_factors=_stored(self.band_factors),
            conditions=self.conditions,
        )

    @classmethod
    def restore(cls, facts: CalibrationFacts, arrays: Mapping[str, np.ndarray]) -> "Calibration":
        """A calibration from its facts and arrays; refused where they do not fit together."""
        factors, band_factors = (
            {level: tuple(np.inf if factor is None else factor for factor in row) for level, row in table.items()}
            for table in (facts.factors, facts.band_factors)
        )
        misfit = _misfit(arrays, (*factors.values(), *band_factors.values()))
        if misfit:
            raise SureflowError(f"the calibration of this model is damaged ({misfit}): calibrate it again")
        return cls(
            **{name: arrays[name] for name in ARRAYS},
            factors=factors,
            band_factors=band_factors,
            runs=facts.runs,
            exact=facts.exact,
            reach=facts.reach,
            conditions=facts.conditions,
        )


@dataclass(frozen=True)
class Calibrations:
    """The bars of the fields and, where they can be read off, those of the quantities of interest."""

    fields: Calibration
    quantities: Calibration | None = None


def calibrated(calibration: Calibration, raw: Predictive, predict: Predict, place: Place, unit: Unit) -> Predictive:
    """A prediction with calibrated bars, from the model's own prediction `raw` at the conditions of `place`.

    The mean stays the same, bit for bit. The parts of the standard deviation keep their proportions; outside the hull the
    part `extrapolation` joins them. `predict` is the model, which is asked only for the nearest conditions inside the hull
    of those that lie outside.
    """
    mean, outside = np.asarray(raw.mean), place.outside
    parts = {name: np.asarray(part) * calibration.scale for name, part in raw.parts.items()}
    if parts and not outside.any():
        return Predictive(raw.mean, parts)
    size = np.asarray(unit(mean, place.conditions))
    if not parts:
        parts[DISCREPANCY] = np.broadcast_to(calibration.scale * size, mean.shape)
    elif outside.any():
        inside = predict(place.nearest[outside])
        to_here = size[outside] / unit(np.asarray(inside.mean), place.nearest[outside]) * calibration.scale
        for name, part in inside.parts.items():
            parts[name][outside] = np.asarray(part) * to_here
    if outside.any():
        parts[EXTRAPOLATION] = calibration.widening(place.displacement) * size
    return Predictive(raw.mean, parts)


def growth(
    distance: Float[np.ndarray, "..."] | float,
    location: Float[np.ndarray, "..."] | float,
    exponent: Float[np.ndarray, " variable"],
    trend: Float[np.ndarray, " variable"],
) -> Float[np.ndarray, "... variable"]:
    """distance^exponent exp(trend location), with the location in widths beyond the edge of the domain."""
    return distance**exponent * np.exp(trend * np.minimum(location, CARRIED))


def _stored(table: Factors) -> StoredFactors:
    return {level: tuple(f if np.isfinite(f) else None for f in row) for level, row in table.items()}


def _misfit(arrays: Mapping[str, np.ndarray], factors: tuple[tuple[float, ...], ...]) -> str:
    """What does not fit together, or nothing."""
    missing = [name for name in ARRAYS if name not in arrays]
    if missing:
        return f"{missing[0]} is missing"
    n_sides = len(arrays["pattern"])
    shape = arrays["scale"].shape
    wanted = {
        "scale": shape,
        "pattern": (n_sides, *shape),
        "exponent": (n_sides, *shape[:1]),
        "trend": (n_sides, *shape[:1]),
    }
    for name, expected in wanted.items():
        if arrays[name].shape != expected or len(shape) != 2:
            return f"{name} has the shape {arrays[name].shape}"
    counts = {len(row) for row in factors} - {shape[0]}
    return f"there are factors of {counts.pop()} variables for {shape[0]}" if counts else ""
