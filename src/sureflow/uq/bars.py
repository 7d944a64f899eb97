"""Calibrated error bars: a model's own at the condition itself, corrected by its errors on held-out runs.

All arrays are (case, variable, point) in the normalized space of the model, in which errors at different conditions can be
compared. With s the model's own standard deviation and n the novelty of the condition, which is about 1 at a run left out,

    inside:   std = scale sqrt(t^2 + floor^2)                           t = s n^growth
    beyond:   std = scale side sqrt(t^2 + floor^2 + (spread max t)^2)   the maximum is over neighboring points

`scale` is a field and `growth` a number, fitted to runs that were held out. `side` is a field for every side of the box of
the runs (below or above the range of one parameter), fitted to runs on that side that were left out together, so that the
model had to extrapolate to them. Beyond a side a shock reaches points that it reached in no training run, where s is zero:
there the bars of the neighboring points count as well. Over the first step beyond the box, `near`, the bars go over from one
form to the other; beyond several sides at once the squares of their factors are averaged, weighted by the squares of the
distances. The mean of the prediction is not changed.

Conformal factors (`sureflow.uq.conformal`) make intervals of these bars. Their coverage is guaranteed for runs drawn in the
same way as the held-out ones. The guarantee is a theorem when the runs that gave the factors were used for nothing else, and
close to one in practice when they come from folds over the training runs (CV+, Barber et al. 2021).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from jaxtyping import Float

from sureflow.errors import SureflowError
from sureflow.predictive import DISCREPANCY, Predictive
from sureflow.uq.domain import Conditions, Novelty, Place, Sides
from sureflow.validation import settings

Fields = Float[np.ndarray, "case variable point"]
# Fields and their conditions in; the physical size of one unit of the calibration's space at each condition out.
Unit = Callable[[Fields, Conditions], Float[np.ndarray, "case variable #point"]]
# Fields in; at every point one number computed from its neighbors and itself out.
Around = Callable[[Fields], Fields]

# The part of a calibrated standard deviation that stands for leaving the ranges of the runs.
EXTRAPOLATION = "extrapolation"
# Rounding, in units of normalized space: what lies below this is no error, and no bar need be smaller.
FLOOR = 1e-9
# Bars do not shrink below those of this novelty: so near to a run, that of the model says nothing any more.
LEAST_NOVELTY = 0.2

ARRAYS = ("scale", "sides")

Factors = Mapping[float, tuple[float, ...]]
# Infinite factors, which too few runs leave open, are None in a file.
StoredFactors = dict[float, tuple[float | None, ...]]


def alone(bars: Fields) -> Fields:
    """For values without neighbors, such as quantities of interest."""
    return bars


class Neighbors(NamedTuple):
    """What points are told of their neighbors: the largest value, and the mean."""

    largest: Around = alone
    smoothed: Around = alone


NO_NEIGHBORS = Neighbors()


@dataclass(frozen=True)
class Query:
    """What bars depend on besides the model's own: where the conditions lie, units and neighbors; and the model itself."""

    place: Place
    unit: Unit
    largest: Around  # among neighbors
    predict: Callable[[Conditions], Predictive]
    inputs: Callable[[Conditions], Conditions]  # what the model sees in place of the parameters


class ErrorBars(ABC):
    """What held-out runs showed about a model's bars."""

    factors: Factors  # level -> factor of every variable: mean share of points over runs
    band_factors: Factors  # level -> factor of every variable: the whole field at once
    runs: int
    exact: bool  # whether the guarantee of the factors is a theorem: their runs shaped nothing else
    reach: float  # distance beyond which conditions are refused
    conditions: tuple[tuple[float, ...], ...]  # of the held-out runs that are not the model's training runs
    scale: Float[np.ndarray, "variable point"]  # what bars inside are multiplied by at every point

    @abstractmethod
    def calibrated(self, raw: Predictive, query: Query) -> Predictive:
        """A prediction with calibrated bars, from the model's own prediction: the mean stays the same, bit for bit."""

    @abstractmethod
    def relative_std(self, query: Query) -> Float[np.ndarray, "case quantity"]:
        """Standard deviations of quantities of interest over their predicted values."""

    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays by name, which with the facts are all that a file needs."""

    @abstractmethod
    def facts(self) -> Any:
        """Everything but the arrays, as settings."""

    @abstractmethod
    def noting(self, conditions: tuple[tuple[float, ...], ...]) -> Self:
        """The same bars with the conditions of runs that were not trained on."""

    def half_width(self, std: Fields, level: float, *, simultaneous: bool = False) -> Fields:
        """Half of the interval of a level about the mean, point by point or for the whole field at once."""
        table = self.band_factors if simultaneous else self.factors
        if level not in table:
            raise SureflowError(
                f"level={level:g} was not calibrated: choose one of {', '.join(f'{k:g}' for k in table)}"
            )
        return np.asarray(table[level])[:, None] * std


@settings
class CalibrationFacts:
    """What a calibration knows besides its arrays."""

    runs: int
    exact: bool
    reach: float
    growth: float
    near: float
    taught: tuple[int, ...]
    spread: tuple[float, ...]
    factors: StoredFactors
    band_factors: StoredFactors
    conditions: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True)
class Calibration(ErrorBars):
    """ErrorBars at the condition itself. Sides are numbered (below, above) parameter by parameter."""

    scale: Float[np.ndarray, "variable point"]
    sides: Float[np.ndarray, "taught variable point"]
    growth: float
    near: float
    taught: tuple[int, ...]  # the numbers of the sides
    spread: tuple[float, ...]  # share of the bars of neighboring points that counts, by side
    factors: Factors
    band_factors: Factors
    runs: int
    exact: bool
    reach: float
    conditions: tuple[tuple[float, ...], ...] = ()

    def std(self, own: Fields, novelty: Novelty, beyond: Sides, largest: Around) -> Fields:
        """Calibrated standard deviation, from the model's own."""
        grown = own * self.growths(novelty)
        inside = self.scale * np.hypot(grown, FLOOR)
        for case in np.flatnonzero(beyond.any(axis=1)):
            ratio = self._beyond(grown[case], beyond[case], largest)
            inside[case] *= ratio
        return inside

    def growths(self, novelty: Novelty) -> Float[np.ndarray, "case 1 1"]:
        """What the novelty of conditions multiplies bars by."""
        return np.maximum(novelty, LEAST_NOVELTY)[:, None, None] ** self.growth

    def _beyond(
        self, grown: Float[np.ndarray, "variable point"], beyond: Float[np.ndarray, " side"], largest: Around
    ) -> Float[np.ndarray, "variable point"]:
        """ErrorBars beyond the box over those of the form inside, at one condition."""
        distance = float(np.linalg.norm(beyond))
        squares = np.zeros_like(grown)
        neighbors = largest(grown[None])[0] if any(self.spread) else grown
        own = grown**2 + FLOOR**2
        for side in np.flatnonzero(beyond):
            factor, spread = self._side(int(side))
            squares += (beyond[side] / distance * factor) ** 2 * (1.0 + (spread * neighbors) ** 2 / own)
        return squares ** (0.5 * min(1.0, distance / self.near))

    def _side(self, side: int) -> tuple[Float[np.ndarray, "*of_point"] | float, float]:
        """Factor and spread beyond a side; one that no run has taught takes the largest of the others, point by point."""
        if side in self.taught:
            number = self.taught.index(side)
            return self.sides[number], self.spread[number]
        if not self.taught:
            return 1.0, 0.0
        largest = self.sides[0]
        for other in self.sides[1:]:
            largest = np.maximum(largest, other)
        return largest, max(self.spread)

    def calibrated(self, raw: Predictive, query: Query) -> Predictive:
        """The parts of the standard deviation keep their proportions; beyond the box the part `extrapolation` joins them."""
        place, mean = query.place, np.asarray(raw.mean)
        size = np.broadcast_to(np.asarray(query.unit(mean, place.conditions)), mean.shape)
        factor = self.scale * self.growths(place.novelty)
        parts = {name: np.asarray(part) * factor for name, part in raw.parts.items()} or {DISCREPANCY: factor * size}
        last = next(reversed(parts))
        parts[last] = np.hypot(parts[last], FLOOR * self.scale * size)
        outside = np.flatnonzero(place.beyond.any(axis=1))
        if outside.size:
            own = np.ones(mean.shape) if raw.std is None else np.asarray(raw.std) / size
            extra = np.zeros(mean.shape)
            inside = np.sqrt(sum(part**2 for part in parts.values()))
            for case in outside:
                grown = own[case] * self.growths(place.novelty[case : case + 1])[0]
                ratio = self._beyond(grown, place.beyond[case], query.largest)
                for part in parts.values():
                    part[case] *= np.minimum(ratio, 1.0)
                extra[case] = inside[case] * np.sqrt(np.maximum(ratio**2 - 1.0, 0.0))
            parts[EXTRAPOLATION] = extra
        return Predictive(raw.mean, parts)

    def relative_std(self, query: Query) -> Float[np.ndarray, "case quantity"]:
        """In place of bars of its own a quantity has the novelty of the condition."""
        place = query.place
        own = quantity_bars(place.novelty, len(self.scale))
        return self.std(own, place.novelty, place.beyond, alone)[:, :, 0]

    def noting(self, conditions: tuple[tuple[float, ...], ...]) -> Self:
        return replace(self, conditions=conditions)

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: getattr(self, name) for name in ARRAYS}

    def facts(self) -> CalibrationFacts:
        return CalibrationFacts(
            runs=self.runs,
            exact=self.exact,
            reach=self.reach,
            growth=self.growth,
            near=self.near,
            taught=self.taught,
            spread=self.spread,
            factors=stored_factors(self.factors),
            band_factors=stored_factors(self.band_factors),
            conditions=self.conditions,
        )

    @classmethod
    def restore(cls, facts: CalibrationFacts, arrays: Mapping[str, np.ndarray]) -> "Calibration":
        """A calibration from its facts and arrays; refused where they do not fit together."""
        require_arrays(ARRAYS, arrays)
        shape = arrays["scale"].shape
        sides = (len(facts.taught), *shape)
        if arrays["sides"].shape != sides or len(facts.spread) != len(facts.taught) or len(shape) != 2:
            raise damaged(f"sides has the shape {arrays['sides'].shape} and scale {shape}")
        factors, band_factors = known_factors(facts.factors), known_factors(facts.band_factors)
        require_factors((*factors.values(), *band_factors.values()), shape[0])
        return cls(
            **{name: arrays[name] for name in ARRAYS},
            growth=facts.growth,
            near=facts.near,
            taught=facts.taught,
            spread=facts.spread,
            factors=factors,
            band_factors=band_factors,
            runs=facts.runs,
            exact=facts.exact,
            reach=facts.reach,
            conditions=facts.conditions,
        )


@dataclass(frozen=True)
class Calibrations:
    """The bars of the fields and, where they can be read off, those of the quantities of interest and along the wall."""

    fields: ErrorBars
    quantities: ErrorBars | None = None
    wall: Calibration | None = None


def quantity_bars(novelty: Novelty, n_quantities: int) -> Float[np.ndarray, "case quantity 1"]:
    """ErrorBars of quantities before any calibration, relative to their values: the novelty of the condition."""
    return np.tile(np.maximum(novelty, LEAST_NOVELTY)[:, None, None], (1, n_quantities, 1))


def stored_factors(table: Factors) -> StoredFactors:
    """Factors as a file can hold them."""
    return {level: tuple(f if np.isfinite(f) else None for f in row) for level, row in table.items()}


def known_factors(table: StoredFactors) -> Factors:
    """Factors that a file held."""
    return {level: tuple(np.inf if factor is None else factor for factor in row) for level, row in table.items()}


def damaged(misfit: str) -> SureflowError:
    """The error of facts and arrays that do not fit together."""
    return SureflowError(f"the calibration of this model is damaged ({misfit}): calibrate it again")


def require_arrays(names: Iterable[str], arrays: Mapping[str, np.ndarray]) -> None:
    """Refuse a calibration without one of its arrays."""
    for name in names:
        if name not in arrays:
            raise damaged(f"{name} is missing")


def require_factors(rows: Iterable[tuple[float, ...]], n_variables: int) -> None:
    """Refuse factors of another number of variables."""
    for row in rows:
        if len(row) != n_variables:
            raise damaged(f"there are factors of {len(row)} variables for {n_variables}")
