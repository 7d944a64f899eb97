"""Named transforms of fields and parameters, between physical units and the normalizer.

On the way in: physical -> `forward` -> normalizer -> model; on the way back the inverse. What varies little from condition
to condition in the scaled space is what a model learns from few runs and carries beyond them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field
from pydantic.dataclasses import dataclass

from sureflow.data.dataset import Dataset
from sureflow.data.free_stream import AnyFreeStream
from sureflow.errors import SureflowError
from sureflow.predictive import Predictive
from sureflow.validation import STRICT

Parameters = Float[np.ndarray, "case parameter"]
Fields = Float[np.ndarray, "*sample case variable point"]

DENSITY_UNIT = "kg/m3"


class Scaling(ABC):
    """An invertible transform of the fields, which may depend on the condition, and of the parameters."""

    @abstractmethod
    def inputs(self, parameters: Parameters) -> Parameters:
        """What a model is given in place of the parameters."""

    @abstractmethod
    def forward(self, fields: Fields, parameters: Parameters) -> Fields:
        """Physical fields in the scaled space."""

    @abstractmethod
    def inverse(self, fields: Fields, parameters: Parameters) -> Fields:
        """Fields of the scaled space in physical units."""

    @abstractmethod
    def slope(self, fields: Fields, parameters: Parameters) -> Fields:
        """d inverse / d fields: what a small standard deviation about `fields` is multiplied with."""

    def scaled(self, dataset: Dataset) -> Dataset:
        """The runs as a model sees them."""
        return replace(
            dataset,
            parameters=self.inputs(dataset.parameters),
            fields=self.forward(dataset.fields, dataset.parameters),
        )

    def physical(self, predictive: Predictive, parameters: Parameters) -> Predictive:
        """A prediction (case, variable, point) of the scaled space in physical units.

        Standard deviations go through the slope at the mean. For linear scalings that is exact. For the logarithm it is the
        delta method: the mean becomes the median exp(m) of the lognormal distribution and the standard deviation
        exp(m) s. Its exact moments exp(m + s^2/2) and so on agree to s^2 for the errors of a few percent that matter here,
        but let the mean run away where a model admits that it knows nothing.
        """
        mean = np.asarray(predictive.mean)
        slope = self.slope(mean, parameters)
        return Predictive(
            mean=self.inverse(mean, parameters),
            parts={name: np.asarray(part) * slope for name, part in predictive.parts.items()},
        )


@dataclass(frozen=True, config=STRICT)
class NoScaling(Scaling):
    """Fields and parameters as they are, as in the paper."""

    name: Literal["none"] = "none"

    @classmethod
    def of(cls, dataset: Dataset) -> "NoScaling":
        return cls()

    def inputs(self, parameters: Parameters) -> Parameters:
        return parameters

    def forward(self, fields: Fields, parameters: Parameters) -> Fields:
        return fields

    def inverse(self, fields: Fields, parameters: Parameters) -> Fields:
        return fields

    def slope(self, fields: Fields, parameters: Parameters) -> Fields:
        return np.ones((1, 1, 1))


# What a field is divided by, according to its unit, from the velocity, density and temperature of the free stream and cp.
DIVISORS: dict[str, Callable[..., Float[np.ndarray, " case"]]] = {
    "m/s": lambda velocity, density, temperature, cp: velocity,
    "kg/m3": lambda velocity, density, temperature, cp: density,
    "K": lambda velocity, density, temperature, cp: temperature + velocity**2 / cp,
    "Pa": lambda velocity, density, temperature, cp: density * velocity**2,
}


@dataclass(frozen=True, config=STRICT)
class FreestreamScaling(Scaling):
    """u/U_inf, rho/rho_inf, T/(T_inf + U_inf^2/cp), p/(rho_inf U_inf^2): the Mach-number independence of hypersonic flow.

    Which divisor belongs to a field is read from its unit; fields of other units stay as they are. In place of the
    parameters that give the free stream, models see the logarithms of its velocity and density (and of its temperature,
    where that is a parameter of its own), in which power laws of Mach and Reynolds number are straight lines.
    """

    units: tuple[str, ...]
    parameter_names: tuple[str, ...]
    free_stream: AnyFreeStream
    name: Literal["freestream"] = "freestream"

    @classmethod
    def of(cls, dataset: Dataset) -> "FreestreamScaling":
        if dataset.free_stream_source is None:
            raise SureflowError(
                "scaling='freestream' needs the free stream of every run: say which parameters give it, as in "
                'Dataset.from_arrays(..., free_stream={"velocity": ..., "density": ..., "temperature": ...}), '
                "or choose scaling='none'"
            )
        if not set(dataset.units) & DIVISORS.keys():
            raise SureflowError(
                f"scaling='freestream' knows fields in {', '.join(DIVISORS)}; the units of these are "
                f"{', '.join(map(repr, dataset.units))}: give units, or choose scaling='none'"
            )
        return cls(dataset.units, dataset.parameter_names, dataset.free_stream_source)

    def inputs(self, parameters: Parameters) -> Parameters:
        values = self.free_stream.values(self.parameter_names, parameters)
        inputs = np.array(parameters, float)
        for quantity, column in self.free_stream.columns.items():
            inputs[:, self.parameter_names.index(column)] = np.log(values[quantity])
        return inputs

    def forward(self, fields: Fields, parameters: Parameters) -> Fields:
        return fields / self._divisors(parameters)

    def inverse(self, fields: Fields, parameters: Parameters) -> Fields:
        return fields * self._divisors(parameters)

    def slope(self, fields: Fields, parameters: Parameters) -> Fields:
        return self._divisors(parameters)

    def _divisors(self, parameters: Parameters) -> Float[np.ndarray, "case variable 1"]:
        values = self.free_stream.values(self.parameter_names, parameters)
        one = np.ones(len(parameters))
        columns = [DIVISORS[u](**values, cp=self.free_stream.cp) if u in DIVISORS else one for u in self.units]
        return np.stack(columns, axis=1)[:, :, None]


@dataclass(frozen=True, config=STRICT)
class LogDensity(Scaling):
    """log rho in place of rho; everything else as it is."""

    units: tuple[str, ...]
    name: Literal["log-density"] = "log-density"

    @classmethod
    def of(cls, dataset: Dataset) -> "LogDensity":
        if DENSITY_UNIT not in dataset.units:
            raise SureflowError(
                f"scaling='log-density' needs a field in {DENSITY_UNIT}; the units of these are "
                f"{', '.join(map(repr, dataset.units))}: give units, or choose scaling='none'"
            )
        return cls(dataset.units)

    def inputs(self, parameters: Parameters) -> Parameters:
        return parameters

    def forward(self, fields: Fields, parameters: Parameters) -> Fields:
        density = fields[..., self._is_density, :]
        if (density <= 0).any():
            raise SureflowError(
                f"scaling='log-density' needs positive densities; the lowest is {density.min():g} kg/m3: "
                "choose scaling='none' or leave that run out"
            )
        return self._on_density(np.log, fields)

    def inverse(self, fields: Fields, parameters: Parameters) -> Fields:
        return self._on_density(np.exp, fields)

    def slope(self, fields: Fields, parameters: Parameters) -> Fields:
        return np.where(self._is_density[:, None], self.inverse(fields, parameters), 1.0)

    @property
    def _is_density(self) -> np.ndarray:
        return np.array([unit == DENSITY_UNIT for unit in self.units])

    def _on_density(self, function: Callable[[np.ndarray], np.ndarray], fields: Fields) -> Fields:
        changed = np.array(fields, float)
        changed[..., self._is_density, :] = function(changed[..., self._is_density, :])
        return changed


SCALINGS: dict[str, type[NoScaling] | type[FreestreamScaling] | type[LogDensity]] = {
    "none": NoScaling,
    "freestream": FreestreamScaling,
    "log-density": LogDensity,
}
AnyScaling = Annotated[NoScaling | FreestreamScaling | LogDensity, Field(discriminator="name")]


def scaling_of(name: str, dataset: Dataset) -> NoScaling | FreestreamScaling | LogDensity:
    """The named scaling for these runs, or a sentence about what they lack."""
    if name not in SCALINGS:
        raise SureflowError(f"scaling={name!r} is none of {', '.join(SCALINGS)}")
    return SCALINGS[name].of(dataset)


def best_scaling(dataset: Dataset) -> str:
    """`freestream` where the runs offer it, else `none`."""
    offered = dataset.free_stream_source is not None and bool(set(dataset.units) & DIVISORS.keys())
    return "freestream" if offered else "none"
