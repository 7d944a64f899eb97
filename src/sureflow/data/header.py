"""What runs say about themselves: their parameters, fields, numbers and axes, with units; and the names that are free."""

import json
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field

from sureflow.data.declared import DeclaredQuantity
from sureflow.data.drawn import DrawnFrom
from sureflow.data.schema import first_difference
from sureflow.data.streams import STREAMS, Conditions, StreamSource
from sureflow.errors import SureflowError
from sureflow.physics.free_stream import FreeStream
from sureflow.physics.gases import Gas, gas_from
from sureflow.runtime import double_precision_of_gases
from sureflow.validation import plain, settings

# What a prediction adds to the name of a field, and the other names in it.
ADDED = ("_std", "_interval90", "_band90", "_lower90", "_upper90")
RESERVED = frozenset(
    {
        "case",
        "cell",
        "point",
        "node",
        "corner",
        "cell_edge",
        "i",
        "j",
        "k",
        "connectivity",
        "offsets",
        "cell_types",
        "cell_of_mesh",
    }
    | {"extrapolation", "points", "on", "inside_mesh", "extrapolate", "verdict", "bars"}
)
Name = Annotated[str, Field(min_length=1, max_length=100)]


def as_stored(values: Any) -> Any:
    """Plain values as a file gives them back, so that a tuple equals the list that it is stored as."""
    try:
        return json.loads(json.dumps(values, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError(f"give plain values, which JSON can hold ({error})") from None


PlainValues = Annotated[dict[str, Any], BeforeValidator(as_stored)]


@settings
class Parameter:
    """What varies from run to run. Models see a logarithmic one by its logarithm; beyond a declared range nothing is answered."""

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
                "declare a range that contains all runs"
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
    in plain values; runs of one set agree in it. `drawn_from` are the ranges that their conditions were drawn from, where
    that is known.
    """

    parameters: tuple[Parameter, ...]
    fields: tuple[Variable, ...]
    axes: tuple[Name, ...]
    numbers: tuple[Variable, ...] = ()
    location: Literal["cells", "points"] = "cells"
    stream: Annotated[StreamSource, STREAMS] | None = None
    made_by: PlainValues = Field(default_factory=dict)
    quantities: tuple[DeclaredQuantity, ...] = ()
    drawn_from: tuple[DrawnFrom, ...] = ()

    def __post_init__(self) -> None:
        refuse_names(self)
        for quantity in self.quantities:
            quantity.require_fit(self.names, len(self.axes))
        for name in self.stream.columns.values() if self.stream else ():
            if name not in self.parameter_names:
                raise SureflowError(
                    f"the free stream needs the parameter {name}, but the parameters are {', '.join(self.parameter_names)}"
                )

    @property
    def parameter_names(self) -> tuple[str, ...]:
        return tuple(parameter.name for parameter in self.parameters)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    @property
    def units(self) -> tuple[str, ...]:
        return tuple(field.unit for field in self.fields)

    @cached_property
    def gas(self) -> Gas | None:
        """The gas that the runs were computed with, or fly in, where that is known."""
        return gas_from(self.made_by["gas"]) if "gas" in self.made_by else getattr(self.stream, "gas", None)

    @property
    def axis_unit(self) -> str:
        """Meters where the gas, which computes in SI units, is known; else unknown."""
        return "m" if self.gas is not None else ""

    @property
    def limits(self) -> dict[str, tuple[float, float]]:
        """Beyond what nothing is answered, by parameter: its declared range, or else where the free stream is known."""
        return {**(self.stream.limits if self.stream else {}), **self.declared}

    @property
    def declared(self) -> dict[str, tuple[float, float]]:
        """The declared ranges, by parameter."""
        return {item.name: item.range for item in self.parameters if item.low is not None or item.high is not None}

    def free_streams(self, parameters: Conditions) -> list[FreeStream] | None:
        """The free stream at conditions of these parameters; None where it or the gas is unknown."""
        gas = self.gas
        if self.stream is None or gas is None:
            return None
        values = self.stream.values(self.parameter_names, parameters)
        density, temperature = values["density"], values["temperature"]
        with double_precision_of_gases():  # for gases that compute with JAX
            pressure = gas.pressure(density, gas.energy_from_temperature(density, temperature))
        rows = np.column_stack([values["velocity"], np.asarray(pressure, float), temperature])
        return [FreeStream(*row) for row in rows.tolist()]

    def ordered(self, other: "Header") -> "Header":
        """The same with parameters and fields in the order of another header."""
        parameters, fields = ({item.name: item for item in items} for items in (self.parameters, self.fields))
        return replace(
            self,
            parameters=tuple(parameters[name] for name in other.parameter_names),
            fields=tuple(fields[name] for name in other.names),
        )

    def difference(self, other: "Header") -> str:
        """What first keeps other runs from joining these, or nothing."""
        for kind in ("parameters", "fields", "numbers"):
            here, there = ({item.name: item for item in getattr(header, kind)} for header in (self, other))
            if here.keys() != there.keys():
                return f"their {kind} are {', '.join(there) or 'none'} and not {', '.join(here) or 'none'}"
            for name, item in here.items():
                difference = first_difference(plain(item), plain(there[name]), name)
                if difference:
                    return difference
        rest = (("axes", "location", "stream", "made_by"), (plain(self), plain(other)))
        here, there = ({name: values[name] for name in rest[0]} for values in rest[1])
        return first_difference(here, there, "") or ""


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
                both = " and of ".join(f"{'an' if word[0] == 'a' else 'a'} {word}" for word in (kind, seen[name]))
                raise SureflowError(f"{name!r} is the name of {both}: rename one of them")
            if name in RESERVED or name.startswith("node_"):
                others = ", ".join(sorted(RESERVED))
                raise SureflowError(
                    f"{kind} {name!r} has a name that is reserved for predictions: rename it (reserved are {others} and node_...)"
                )
            seen[name] = kind
    for field in header.names:
        _refuse_added(field, seen)


def _refuse_added(field: str, names: Iterable[str]) -> None:
    for name in names:
        if name != field and name.startswith(tuple(field + ending for ending in ADDED)):
            raise SureflowError(
                f"{name!r} would be taken for a part of the error bars of {field!r} in a prediction: rename one of them"
            )
