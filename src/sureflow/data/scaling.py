"""Named transforms of fields and parameters, between physical units and the normalizer.

On the way in: physical -> `forward` -> normalizer -> model; on the way back the inverse. What varies little from condition
to condition in the scaled space is what a model learns from few runs and carries beyond them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Annotated, ClassVar

import numpy as np
from jaxtyping import Float
from pydantic import Field

from sureflow.data.runs import Runs
from sureflow.data.similarity import Similarity
from sureflow.data.streams import STREAMS, Conditions, StreamSource
from sureflow.errors import SureflowError
from sureflow.predictive import Predictive
from sureflow.registry import SettingsRegistry
from sureflow.validation import settings

ScaledFields = Float[np.ndarray, "*sample case variable point"]
# One value for all points, or even for all cases, where that is all there is to say.
Slope = Float[np.ndarray, "*slope"]
Divisors = Float[np.ndarray, "case variable 1"]

DENSITY_UNIT = "kg/m3"
POSITIVE_UNITS = (DENSITY_UNIT, "K", "Pa")  # of fields that are positive by nature


@settings
class Scaling(ABC):
    """An invertible transform of the fields, which may depend on the condition, and of the parameters.

    A scaling of your own is a class with a `name`, decorated with `@SCALINGS.add` and `@settings`. Its `for_runs` keeps what
    it needs to know of the runs, or says what they lack.
    """

    name: ClassVar[str]
    # Parameters that models see by their logarithm, by name and column; `scaling_for` sets them.
    logarithmic: tuple[tuple[str, int], ...] = Field(default=(), kw_only=True)

    @classmethod
    @abstractmethod
    def for_runs(cls, runs: Runs) -> "Scaling":
        """The scaling for these runs, or a sentence about what they lack."""

    def inputs(self, parameters: Conditions) -> Conditions:
        """What a model is given in place of the parameters."""
        inputs = np.array(parameters, float)
        for name, column in self.logarithmic:
            if not (inputs[:, column] > 0).all():
                raise SureflowError(f"{name}={inputs[:, column].min():g} has no logarithm: give a positive value")
            inputs[:, column] = np.log(inputs[:, column])
        return inputs

    @abstractmethod
    def forward(self, fields: ScaledFields, parameters: Conditions) -> ScaledFields:
        """Physical fields in the scaled space."""

    @abstractmethod
    def inverse(self, fields: ScaledFields, parameters: Conditions) -> ScaledFields:
        """Fields of the scaled space in physical units."""

    @abstractmethod
    def slope(self, fields: ScaledFields, parameters: Conditions) -> Slope:
        """d inverse / d fields: what a small standard deviation about `fields` is multiplied with."""

    def physical(self, predictive: Predictive, parameters: Conditions) -> Predictive:
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
            # Scalings rise with the field, so that a quantile stays the quantile.
            quantiles={level: self.inverse(np.asarray(one), parameters) for level, one in predictive.quantiles.items()},
        )


SCALINGS = SettingsRegistry("scaling", Scaling)


@SCALINGS.add
@settings
class NoScaling(Scaling):
    """Fields and parameters as they are, as in the paper."""

    name: ClassVar[str] = "none"

    @classmethod
    def for_runs(cls, runs: Runs) -> "NoScaling":
        return cls()

    def forward(self, fields: ScaledFields, parameters: Conditions) -> ScaledFields:
        return fields

    def inverse(self, fields: ScaledFields, parameters: Conditions) -> ScaledFields:
        return fields

    def slope(self, fields: ScaledFields, parameters: Conditions) -> Slope:
        return np.ones((1, 1, 1))


# What a field is divided by, according to its unit, from the velocity, density and temperature of the free stream and cp.
Divisor = Callable[..., Float[np.ndarray, " case"]]
DIVISORS: dict[str, Divisor] = {
    "m/s": lambda velocity, density, temperature, cp: velocity,
    "kg/m3": lambda velocity, density, temperature, cp: density,
    "K": lambda velocity, density, temperature, cp: temperature + velocity**2 / cp,
    "Pa": lambda velocity, density, temperature, cp: density * velocity**2,
}


@SCALINGS.add
@settings
class FreestreamScaling(Scaling):
    """u/U_inf, rho/rho_inf, T/(T_inf + U_inf^2/cp), p/(rho_inf U_inf^2): the Mach-number independence of hypersonic flow.

    Which divisor belongs to a field is read from its unit; fields of other units stay as they are. In place of the
    parameters that give the free stream, models see the logarithms of its velocity and density (and of its temperature,
    where that is a parameter of its own), in which power laws of Mach and Reynolds number are straight lines.
    """

    units: tuple[str, ...]
    parameter_names: tuple[str, ...]
    free_stream: Annotated[StreamSource, STREAMS]
    name: ClassVar[str] = "freestream"

    @classmethod
    def for_runs(cls, runs: Runs) -> "FreestreamScaling":
        if runs.header.stream is None:
            raise SureflowError(
                "scaling='freestream' needs the free stream of every run: say which parameters give it, as in "
                'Runs.from_arrays(..., free_stream={"velocity": ..., "density": ..., "temperature": ...}), '
                "or choose scaling='none'"
            )
        if not set(runs.units) & DIVISORS.keys():
            raise SureflowError(
                f"scaling='freestream' handles fields in {', '.join(DIVISORS)}; the units of these are "
                f"{', '.join(map(repr, runs.units))}: give units, or choose scaling='none'"
            )
        return cls(runs.units, runs.parameter_names, runs.header.stream)

    def inputs(self, parameters: Conditions) -> Conditions:
        values = self.free_stream.values(self.parameter_names, parameters)
        columns = self.free_stream.columns
        inputs = _other_inputs(self.logarithmic, columns.values(), parameters)
        for quantity, column in columns.items():
            inputs[:, self.parameter_names.index(column)] = np.log(values[quantity])
        return inputs

    def forward(self, fields: ScaledFields, parameters: Conditions) -> ScaledFields:
        return fields / self._divisors(parameters)

    def inverse(self, fields: ScaledFields, parameters: Conditions) -> ScaledFields:
        return fields * self._divisors(parameters)

    def slope(self, fields: ScaledFields, parameters: Conditions) -> Slope:
        return self._divisors(parameters)

    def _divisors(self, parameters: Conditions) -> Divisors:
        return _divisors(self.units, self.free_stream, self.parameter_names, parameters)


@SCALINGS.add
@settings
class SimilarityScaling(Scaling):
    """The fields of `freestream`, over the numbers of similarity: 1/M^2, a power of Re, T_wall/T_0 and log L.

    Other parameters, such as angles, stay as they are.
    """

    units: tuple[str, ...]
    similarity: Similarity
    name: ClassVar[str] = "similarity"

    @classmethod
    def for_runs(cls, runs: Runs) -> "SimilarityScaling":
        FreestreamScaling.for_runs(runs)  # refuses fields and runs without a free stream
        similarity = Similarity.of(runs.header)
        if similarity is None:
            raise SureflowError(
                "scaling='similarity' needs the gas and a length of the body, as the parameter nose_radius or in made_by: "
                "give them, or choose scaling='freestream'"
            )
        return cls(runs.units, similarity)

    def inputs(self, parameters: Conditions) -> Conditions:
        taken = (
            *self.similarity.free_stream.columns.values(),
            self.similarity.length,
            self.similarity.wall_temperature,
        )
        return self.similarity.inputs(parameters, _other_inputs(self.logarithmic, taken, parameters))

    def forward(self, fields: ScaledFields, parameters: Conditions) -> ScaledFields:
        return fields / self._divisors(parameters)

    def inverse(self, fields: ScaledFields, parameters: Conditions) -> ScaledFields:
        return fields * self._divisors(parameters)

    def slope(self, fields: ScaledFields, parameters: Conditions) -> Slope:
        return self._divisors(parameters)

    def _divisors(self, parameters: Conditions) -> Divisors:
        similarity = self.similarity
        return _divisors(self.units, similarity.free_stream, similarity.parameter_names, parameters)


def _other_inputs(
    logarithmic: tuple[tuple[str, int], ...], taken: Iterable[object], parameters: Conditions
) -> Conditions:
    """The parameters, with the logarithms of those that ask for it and are not taken for something else."""
    taken = set(taken)
    return NoScaling(logarithmic=tuple(pair for pair in logarithmic if pair[0] not in taken)).inputs(parameters)


def _divisors(
    units: tuple[str, ...],
    stream: StreamSource,
    names: tuple[str, ...],
    parameters: Conditions,
    divisors: Mapping[str, Divisor] = DIVISORS,
) -> Divisors:
    """What every field is divided by, according to its unit."""
    values, one = stream.values(names, parameters), np.ones(len(parameters))
    columns = [divisors[unit](**values, cp=stream.cp) if unit in divisors else one for unit in units]
    return np.stack(columns, axis=1)[:, :, None]


# In units of the free stream itself, as publications show them.
STATIC_DIVISORS = DIVISORS | {"K": lambda velocity, density, temperature, cp: temperature}


@SCALINGS.add
@settings
class NondimensionalScaling(Scaling):
    """u/U_inf, rho/rho_inf, T/T_inf, p/(rho_inf U_inf^2) over the parameters as they are: what many publications show."""

    units: tuple[str, ...]
    parameter_names: tuple[str, ...]
    free_stream: Annotated[StreamSource, STREAMS]
    name: ClassVar[str] = "nondimensional"

    @classmethod
    def for_runs(cls, runs: Runs) -> "NondimensionalScaling":
        same = FreestreamScaling.for_runs(runs)  # refuses fields and runs without a free stream
        return cls(same.units, same.parameter_names, same.free_stream)

    def forward(self, fields: ScaledFields, parameters: Conditions) -> ScaledFields:
        return fields / self._divisors(parameters)

    def inverse(self, fields: ScaledFields, parameters: Conditions) -> ScaledFields:
        return fields * self._divisors(parameters)

    def slope(self, fields: ScaledFields, parameters: Conditions) -> Slope:
        return self._divisors(parameters)

    def _divisors(self, parameters: Conditions) -> Divisors:
        return _divisors(self.units, self.free_stream, self.parameter_names, parameters, STATIC_DIVISORS)


@SCALINGS.add
@settings
class LogDensity(Scaling):
    """log rho in place of rho; everything else as it is."""

    units: tuple[str, ...]
    name: ClassVar[str] = "log-density"

    @classmethod
    def for_runs(cls, runs: Runs) -> "LogDensity":
        if DENSITY_UNIT not in runs.units:
            raise SureflowError(
                f"scaling='log-density' needs a field in {DENSITY_UNIT}; the units of these are "
                f"{', '.join(map(repr, runs.units))}: give units, or choose scaling='none'"
            )
        return cls(runs.units)

    def forward(self, fields: ScaledFields, parameters: Conditions) -> ScaledFields:
        density = fields[..., self._is_density, :]
        if (density <= 0).any():
            raise SureflowError(
                f"scaling='log-density' needs positive densities; the lowest is {density.min():g} kg/m3: "
                "choose scaling='none' or leave that run out"
            )
        return self._on_density(np.log, fields)

    def inverse(self, fields: ScaledFields, parameters: Conditions) -> ScaledFields:
        return self._on_density(np.exp, fields)

    def slope(self, fields: ScaledFields, parameters: Conditions) -> Slope:
        return np.where(self._is_density[:, None], self.inverse(fields, parameters), 1.0)

    @property
    def _is_density(self) -> np.ndarray:
        return np.array([unit == DENSITY_UNIT for unit in self.units])

    def _on_density(self, function: Callable[[np.ndarray], np.ndarray], fields: ScaledFields) -> ScaledFields:
        changed = np.array(fields, float)
        changed[..., self._is_density, :] = function(changed[..., self._is_density, :])
        return changed


def scaling_for(name: str, runs: Runs) -> Scaling:
    """The named scaling for these runs, or a sentence about what they lack."""
    columns = [(item.name, column) for column, item in enumerate(runs.header.parameters) if item.scale == "log"]
    return replace(SCALINGS[name].for_runs(runs), logarithmic=tuple(columns))


def best_scaling(runs: Runs) -> str:
    """`freestream` where the runs offer it, else `none`."""
    return offered_scalings(runs)[0]


def offered_scalings(runs: Runs) -> tuple[str, ...]:
    """Those that suit runs, of which leaving runs out may choose: `freestream` and `similarity`, else `none`."""
    if runs.header.stream is None or not set(runs.units) & DIVISORS.keys():
        return ("none",)
    return ("freestream", "similarity") if Similarity.of(runs.header) is not None else ("freestream",)
