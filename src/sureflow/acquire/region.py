"""Where predictions will be asked for, and so where runs are worth computing: ranges, a polygon or a list of conditions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from matplotlib.path import Path as Outline
from pydantic import Field
from scipy.stats import qmc

from sureflow.data.header import Header
from sureflow.errors import SureflowError
from sureflow.validation import read_toml, settings, validated

Conditions = Float[np.ndarray, "_ parameter"]
Condition = Float[np.ndarray, " parameter"]

# Proposed values are rounded to this share of the range of their parameter: nobody flies at Mach 17.28384912.
RESOLUTION = 1e-3
# How many draws may fall outside of a polygon before it is taken to have no area in common with what is possible.
MOST_DRAWS = 64


@settings
class Polygon:
    """Corners in the plane of two parameters."""

    parameters: tuple[str, str]
    corners: tuple[tuple[float, float], ...] = Field(min_length=3)

    def __post_init__(self) -> None:
        if self.parameters[0] == self.parameters[1]:
            raise SureflowError(f"the polygon names {self.parameters[0]!r} twice: name two parameters")


@settings
class UseSettings:
    """A region of use: `ranges` of parameters, a `polygon` of two of them, or the `conditions` of a trajectory, in order."""

    ranges: dict[str, tuple[float, float]] = Field(default_factory=dict)
    polygon: Polygon | None = None
    conditions: dict[str, tuple[float, ...]] = Field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.conditions and (self.ranges or self.polygon):
            raise SureflowError(
                "the region of use has conditions, and ranges or a polygon as well: leave one of them out"
            )


@dataclass(frozen=True)
class Region:
    """A box of the parameters, of which a polygon or the line through some conditions may be all that counts."""

    names: tuple[str, ...]
    lower: Condition
    upper: Condition
    polygon: Polygon | None = None
    track: Conditions | None = None
    remarks: tuple[str, ...] = ()  # what was cut off of what was asked for

    @cached_property
    def width(self) -> Condition:
        return np.where(self.upper > self.lower, self.upper - self.lower, 1.0)

    def draw(self, count: int, seed: int = 0) -> Conditions:
        """Distinct conditions in the region that fill it evenly, at most `count` of them, rounded."""
        if self.track is not None:
            return self._rounded(self._along_track(count))
        sequence = qmc.Sobol(len(self.names), rng=np.random.default_rng(seed))
        found: list[np.ndarray] = []
        for _ in range(MOST_DRAWS):
            unit = sequence.random(1 << int(np.ceil(np.log2(max(count, 2)))))
            drawn = self._rounded(self.lower + unit * (self.upper - self.lower))
            found.append(drawn[self._in_polygon(drawn)])
            if sum(map(len, found)) >= count:
                break
        conditions = np.concatenate(found)
        if not len(conditions):
            raise SureflowError("the polygon of the region of use has no area within the ranges of its parameters")
        _, first = np.unique(conditions, axis=0, return_index=True)
        return conditions[np.sort(first)][:count]

    def holds(self, conditions: Conditions) -> Bool[np.ndarray, " case"]:
        """Which conditions lie in the box and the polygon."""
        slack = 1e-9 * self.width
        inside = ((conditions >= self.lower - slack) & (conditions <= self.upper + slack)).all(axis=1)
        return inside & self._in_polygon(conditions)

    def _in_polygon(self, conditions: Conditions) -> Bool[np.ndarray, " case"]:
        if self.polygon is None:
            return np.ones(len(conditions), bool)
        columns = [self.names.index(name) for name in self.polygon.parameters]
        return Outline(self.polygon.corners).contains_points(conditions[:, columns])

    def _along_track(self, count: int) -> Conditions:
        """The given conditions, and evenly spaced ones on the lines between them."""
        assert self.track is not None
        steps = np.linalg.norm(np.diff(self.track, axis=0) / self.width, axis=1)
        along = np.concatenate([[0.0], np.cumsum(steps)])
        places = np.unique(np.concatenate([along, np.linspace(0.0, along[-1], max(count - len(along), 0))]))
        return np.column_stack([np.interp(places, along, column) for column in self.track.T])

    def _rounded(self, conditions: Conditions) -> Conditions:
        """To a decimal place that is well below the range of each parameter, and never out of the box."""
        places = -np.floor(np.log10(RESOLUTION * self.width)).astype(int)
        columns = [np.round(column, place) for column, place in zip(conditions.T, places.tolist(), strict=True)]
        return np.clip(np.column_stack(columns), self.lower, self.upper)


def region_of(header: Header, runs: Conditions, use: UseSettings | None = None) -> Region:
    """The region of use within what the header of the runs allows; by default the declared ranges, else those of the runs."""
    use = use or UseSettings()
    names = header.parameter_names
    track = _track(use.conditions, names)
    for name in (*use.ranges, *(use.polygon.parameters if use.polygon else ())):
        if name not in names:
            raise SureflowError(f"the region of use names {name!r}: the parameters are {', '.join(names)}")
    lower, upper = runs.min(axis=0), runs.max(axis=0)
    remarks = []
    for column, parameter in enumerate(header.parameters):
        low, high = parameter.range
        asked = use.ranges.get(parameter.name) or _extent(use, track, column, parameter.name)
        if asked is not None:
            lower[column], upper[column] = asked
        else:
            lower[column] = low if np.isfinite(low) else lower[column]
            upper[column] = high if np.isfinite(high) else upper[column]
        if not lower[column] <= upper[column]:
            raise SureflowError(f"the range of {parameter.name}, {lower[column]:g}..{upper[column]:g}, runs backwards")
        remarks += _limit(header, column, lower, upper, on_track=track is not None)
    return Region(names, lower, upper, use.polygon, track, tuple(remarks))


def _limit(header: Header, column: int, lower: Condition, upper: Condition, *, on_track: bool) -> list[str]:
    """Keep a range within the limits of its parameter and say so, or that they have nothing in common.

    A trajectory cannot be cut parameter by parameter: it is refused if it goes beyond.
    """
    name = header.parameter_names[column]
    low, high = header.limits.get(name, (-np.inf, np.inf))
    if lower[column] > high or upper[column] < low:
        raise SureflowError(
            f"the region of use has {name}={lower[column]:g}..{upper[column]:g}, and nothing can be computed outside "
            f"{low:g}..{high:g}: choose a region that overlaps with it"
        )
    if low <= lower[column] and upper[column] <= high:
        return []
    if on_track:
        raise SureflowError(
            f"the conditions of the region of use reach {name}={lower[column]:g}..{upper[column]:g}, and nothing can be computed "
            f"outside {low:g}..{high:g}: leave out those beyond"
        )
    lower[column], upper[column] = max(lower[column], low), min(upper[column], high)
    return [f"{name} is taken from {lower[column]:g}..{upper[column]:g}: nothing can be computed beyond"]


def _extent(use: UseSettings, track: Conditions | None, column: int, name: str) -> tuple[float, float] | None:
    """The range of a parameter that a polygon or trajectory implies."""
    if track is not None:
        return float(track[:, column].min()), float(track[:, column].max())
    if use.polygon is not None and name in use.polygon.parameters:
        values = [corner[use.polygon.parameters.index(name)] for corner in use.polygon.corners]
        return min(values), max(values)
    return None


def _track(conditions: Mapping[str, Sequence[float]], names: tuple[str, ...]) -> Conditions | None:
    if not conditions:
        return None
    if set(conditions) != set(names):
        raise SureflowError(
            f"the conditions of the region of use have {', '.join(conditions)}: the parameters are {', '.join(names)}"
        )
    if not all(conditions.values()):
        raise SureflowError("the conditions of the region of use are empty: give one or more values of every parameter")
    if len({len(values) for values in conditions.values()}) > 1:
        raise SureflowError("the conditions of the region of use need as many values of one parameter as of another")
    return np.column_stack([np.asarray(conditions[name], float) for name in names])


def read_use(source: "UseSettings | Mapping[str, Any] | str | Path | None") -> UseSettings | None:
    """A region of use from a TOML file, from plain values, or as it is."""
    if source is None or isinstance(source, UseSettings):
        return source
    if isinstance(source, Mapping):
        return validated(UseSettings, dict(source), "region")
    return validated(UseSettings, read_toml(source), str(source))
