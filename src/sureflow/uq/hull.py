"""Error bars of models that were calibrated before schema version 3: they widen with the distance from the hull of the runs.

Nothing makes such bars any more; models that have them answer as they did. With s the model's own standard deviation at the
point of the training hull nearest to the condition, and d_k the distance of the condition beyond side k of the hull, measured
in the inputs of the model and in widths of their training ranges,

    std^2 = (scale s)^2 + sum over sides k of (pattern_k d_k^exponent_k exp(trend_k min(d_k, CARRIED)))^2
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from jaxtyping import Float

from sureflow.predictive import DISCREPANCY, Predictive
from sureflow.uq.bars import (
    EXTRAPOLATION,
    ErrorBars,
    Factors,
    Fields,
    Query,
    StoredFactors,
    damaged,
    known_factors,
    require_arrays,
    require_factors,
    stored_factors,
)
from sureflow.uq.domain import Condition, Conditions, TrainingDomain
from sureflow.validation import settings

# How far beyond the edge a trend is continued, in widths of the inputs.
CARRIED = 0.5
# The distance from a hull of more runs than this costs more than a prediction: their box stands in for it.
MOST_RUNS_OF_A_HULL = 3000
# Distances below this are rounding.
RESOLUTION = 1e-9

ARRAYS = ("scale", "pattern", "exponent", "trend")


@settings
class HullFacts:
    """What such a calibration knows besides its arrays."""

    runs: int
    exact: bool
    reach: float
    factors: StoredFactors
    band_factors: StoredFactors
    conditions: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True)
class HullCalibration(ErrorBars):
    """ErrorBars that widen with the distance from the hull. Sides are ordered (below, above) parameter by parameter."""

    scale: Float[np.ndarray, "variable point"]
    pattern: Float[np.ndarray, "side variable point"]
    exponent: Float[np.ndarray, "side variable"]
    trend: Float[np.ndarray, "side variable"]
    factors: Factors
    band_factors: Factors
    runs: int
    exact: bool
    reach: float
    conditions: tuple[tuple[float, ...], ...] = ()

    def calibrated(self, raw: Predictive, query: Query) -> Predictive:
        """The model is asked again for the nearest conditions inside the hull of those that lie outside."""
        mean, conditions = np.asarray(raw.mean), query.place.conditions
        nearest, displacement = self._displaced(query)
        outside = (nearest != conditions).any(axis=1)
        parts = {name: np.asarray(part) * self.scale for name, part in raw.parts.items()}
        if parts and not outside.any():
            return Predictive(raw.mean, parts)
        size = np.asarray(query.unit(mean, conditions))
        if not parts:
            parts[DISCREPANCY] = np.broadcast_to(self.scale * size, mean.shape)
        elif outside.any():
            inside = query.predict(nearest[outside])
            to_here = size[outside] / query.unit(np.asarray(inside.mean), nearest[outside]) * self.scale
            for name, part in inside.parts.items():
                parts[name][outside] = np.asarray(part) * to_here
        if outside.any():
            parts[EXTRAPOLATION] = self._widening(displacement) * size
        return Predictive(raw.mean, parts)

    def relative_std(self, query: Query) -> Float[np.ndarray, "case quantity"]:
        _, displacement = self._displaced(query)
        return np.hypot(self.scale, self._widening(displacement))[:, :, 0]

    def _displaced(self, query: Query) -> tuple[Conditions, Conditions]:
        """The nearest conditions of the hull, and the way from them in the inputs of the model, in widths of their ranges."""
        domain, conditions = query.place.domain, query.place.conditions
        offset = _displacement(domain, conditions)
        nearest = np.where((offset != 0).any(axis=1, keepdims=True), conditions - offset * _widths(domain), conditions)
        runs = query.inputs(domain.parameters)
        width = np.ptp(runs, axis=0)
        way = np.zeros_like(conditions)
        outside = (nearest != conditions).any(axis=1)
        if outside.any():
            way[outside] = query.inputs(conditions[outside]) - query.inputs(nearest[outside])
        return nearest, way / np.where(width > 0, width, 1.0)

    def _widening(self, displacement: Conditions) -> Fields:
        """What the distance from the hull adds, in quadrature; 0 inside."""
        variance = np.zeros((len(displacement), *self.scale.shape))
        below, above = np.maximum(-displacement, 0.0), np.maximum(displacement, 0.0)
        beyond_sides = np.stack([below, above], axis=2).reshape(len(displacement), -1)
        for side, beyond in enumerate(beyond_sides.T):
            for case in np.flatnonzero(beyond > 0):
                distance = beyond[case]
                size = distance ** self.exponent[side] * np.exp(self.trend[side] * min(distance, CARRIED))
                variance[case] += (size[:, None] * self.pattern[side]) ** 2
        return np.sqrt(variance)

    def noting(self, conditions: tuple[tuple[float, ...], ...]) -> Self:
        return replace(self, conditions=conditions)

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: getattr(self, name) for name in ARRAYS}

    def facts(self) -> HullFacts:
        return HullFacts(
            runs=self.runs,
            exact=self.exact,
            reach=self.reach,
            factors=stored_factors(self.factors),
            band_factors=stored_factors(self.band_factors),
            conditions=self.conditions,
        )

    @classmethod
    def restore(cls, facts: HullFacts, arrays: Mapping[str, np.ndarray]) -> "HullCalibration":
        """A calibration from its facts and arrays; refused where they do not fit together."""
        require_arrays(ARRAYS, arrays)
        shape, n_sides = arrays["scale"].shape, len(arrays["pattern"])
        by_side = {"pattern": (n_sides, *shape), "exponent": (n_sides, *shape[:1]), "trend": (n_sides, *shape[:1])}
        for name, expected in {"scale": shape, **by_side}.items():
            if arrays[name].shape != expected or len(shape) != 2:
                raise damaged(f"{name} has the shape {arrays[name].shape}")
        factors, band_factors = known_factors(facts.factors), known_factors(facts.band_factors)
        require_factors((*factors.values(), *band_factors.values()), shape[0])
        return cls(
            **{name: arrays[name] for name in ARRAYS},
            factors=factors,
            band_factors=band_factors,
            runs=facts.runs,
            exact=facts.exact,
            reach=facts.reach,
            conditions=facts.conditions,
        )


def _widths(domain: TrainingDomain) -> Condition:
    """Of the box, without logarithms."""
    return np.where(domain.upper > domain.lower, domain.upper - domain.lower, 1.0)


def _displacement(domain: TrainingDomain, conditions: Conditions) -> Conditions:
    """From the nearest point of the hull to each condition, in widths of the box; 0 inside."""
    if len(domain.parameters) > MOST_RUNS_OF_A_HULL:
        return (conditions - np.clip(conditions, domain.lower, domain.upper)) / _widths(domain)
    runs = (domain.parameters - domain.lower) / _widths(domain)
    found = [_from_hull(runs, condition) for condition in (conditions - domain.lower) / _widths(domain)]
    return np.array(found).reshape(conditions.shape)


def _from_hull(runs: Float[np.ndarray, "run parameter"], condition: Condition) -> Condition:
    """The vector from the nearest point of the convex hull of the runs to the condition.

    The point of least norm in the hull of the columns of V is V w / sum w, with w >= 0 the least-squares solution of
    [V; 1] w = [0; 1] (Lawson & Hanson 1974, chapter 23): exact in any number of parameters, also for runs on a line.
    """
    from scipy.optimize import nnls  # hardly ever needed

    relative = runs - condition
    weights, _ = nnls(np.vstack([relative.T, np.ones(len(runs))]), np.append(np.zeros(len(condition)), 1.0))
    offset = -(weights @ relative) / weights.sum()
    return offset if np.linalg.norm(offset) > RESOLUTION else np.zeros_like(offset)
