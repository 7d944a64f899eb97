"""What runs say about themselves: their parameters, fields, numbers and axes, with units; and the names that are free."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field

from sureflow.data.streams import STREAMS, StreamSource
from sureflow.errors import SureflowError
from sureflow.physics.gases import Gas, gas_from
from sureflow.validation import settings

# What a prediction adds to the name of a field, and the other names in it.
ADDED = ("_std", "_interval90", "_band90")
RESERVED = frozenset(
    {"case", "cell", "point", "node", "corner", "cell_edge", "i", "j", "k", "connectivity", "offsets", "cell_types"}
    | {"extrapolation", "points", "extrapolate", "verdict", "bars"}
)
Name = Annotated[str, Field(min_length=1, max_length=100)]


@settings
class Parameter:
    """What varies from run to run. A model sees a logarithmic one by its logarithm; nothing beyond a declared range is answered."""

    name: Name
    unit: str = ""
    scale: Literal["linear", "log"] = "linear"
    low: float | None = None
    high: float | None = None

    def refuse(self, values: np.ndarray) -> None:
        """Refuse values of runs that contradict what is declared."""
        if self.scale == "log" and (values <= 0).any():
            raise SureflowError(
                f"{self.name}={values.min():g} has no logarithm: give positive values, or declare it linear"
            )
        low, high = self.range
        outside = (values < low) | (values > high)
        if outside.any():
            raise SureflowError(
                f"the range of {self.name}, {low:g}..{high:g}, excludes the run with {self.name}={values[outside][0]:g}: "
                "declare a range that holds all runs"
            )

    @property
    def range(self) -> tuple[float, float]:
        """The declared range; without one, all numbers."""
        return -np.inf if self.low is None else self.low, np.inf if self.high is None else self.high


@settings
class Variable:
    """A field, or a number that is kept of every run, with its unit; an empty unit is an unknown one."""

    name: Name
    unit: str = ""


@settings
class Header:
    """All that runs have in common but their mesh.

    `location` says whether fields live on the cells of the mesh or on its points. `made_by` is how the runs were computed,
    in plain values; runs of one set agree in it.
    """

    parameters: tuple[Parameter, ...]
    fields: tuple[Variable, ...]
    axes: tuple[Name, ...]
    numbers: tuple[Variable, ...] = ()
    location: Literal["cells", "points"] = "cells"
    stream: Annotated[StreamSource, STREAMS] | None = None
    made_by: dict[str, Any] = Field(default_factory=dict)

    def __post_init__(self) -> None:
        refuse_names(self)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        return tuple(parameter.name for parameter in self.parameters)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    @property
    def units(self) -> tuple[str, ...]:
        return tuple(field.unit for field in self.fields)

    @property
    def gas(self) -> Gas | None:
        """The gas that the runs were computed with, where that is known."""
        return gas_from(self.made_by["gas"]) if "gas" in self.made_by else None

    def difference(self, other: Self) -> str:
        """What first keeps two sets of runs from being one, or nothing."""
        for kind in ("parameters", "fields", "numbers"):
            one, two = ({item.name: item for item in getattr(header, kind)} for header in (self, other))
            if one.keys() != two.keys():
                return f"their {kind} are {', '.join(one) or 'none'} and {', '.join(two) or 'none'}"
            for name, item in one.items():
                if item.unit != two[name].unit:
                    return f"{name} is in {item.unit or 'an unknown unit'} and in {two[name].unit or 'an unknown unit'}"
        for name in ("axes", "location", "stream", "made_by"):
            one, two = getattr(self, name), getattr(other, name)
            if one != two:
                return f"their {name.replace('_', ' ')} differ ({one} and {two})"
        return ""


def refuse_names(header: Header) -> None:
    """Refuse names that occur twice, or that a prediction would need for something else."""
    kinds = {
        "parameter": header.parameter_names,
        "field": header.names,
        "number": [number.name for number in header.numbers],
        "axis": header.axes,
    }
    seen: dict[str, str] = {}
    for kind, names in kinds.items():
        for name in names:
            if name in seen:
                raise SureflowError(f"{name!r} is the name of a {kind} and of a {seen[name]}: rename one of them")
            if name in RESERVED or name.startswith("node_"):
                raise SureflowError(f"{kind} {name!r} has a name that predictions use themselves: rename it")
            seen[name] = kind
    for field in header.names:
        _refuse_added(field, seen)


def _refuse_added(field: str, names: Iterable[str]) -> None:
    for name in names:
        if name != field and name.startswith(tuple(field + ending for ending in ADDED)):
            raise SureflowError(
                f"{name!r} would be taken for a part of the error bars of {field!r} in a prediction: rename one of them"
            )
