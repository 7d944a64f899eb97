"""The numbers of similarity that conditions stand for, where gas, length and free stream are known."""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np
from jaxtyping import Float

from sureflow.data.header import Header
from sureflow.data.streams import STREAMS, Conditions, StreamSource
from sureflow.errors import SureflowError
from sureflow.physics.gases import GASES, Gas
from sureflow.runtime import double_precision_of_gases
from sureflow.validation import settings

# Names of parameters, as campaigns have them.
LENGTH, WALL_TEMPERATURE = "nose_radius", "wall_temperature"
# Between the thickness of a boundary layer, Re^-1/2, in which the wall layer is linear, and the logarithm of power laws.
REYNOLDS_POWER = -0.25

Values = Float[np.ndarray, " case"]


class SimilarityNumbers(NamedTuple):
    """Of conditions; T_0 = T_inf + U_inf^2 / (2 cp)."""

    mach: Values
    reynolds: Values
    stagnation_temperature: Values
    wall_temperature: Values | None
    length: Values

    @property
    def wall_ratio(self) -> Values:
        """T_wall/T_0; 1 where the wall has no temperature of its own."""
        hot = self.stagnation_temperature
        return np.ones(len(hot)) if self.wall_temperature is None else self.wall_temperature / hot


@settings
class Similarity:
    """Flows about bodies of one shape are alike where Mach number, Reynolds number and T_wall/T_0 are.

    `length` in m and `wall_temperature` in K are the same in all runs, or the names of parameters.
    """

    parameter_names: tuple[str, ...]
    free_stream: Annotated[StreamSource, STREAMS]
    gas: Annotated[Gas, GASES]
    length: float | str
    wall_temperature: float | str | None = None

    @classmethod
    def of(cls, header: Header) -> "Similarity | None":
        """That of runs whose free stream, gas and length are known."""
        length = known_value(LENGTH, header, ("mesh", "body", LENGTH))
        if header.stream is None or header.gas is None or length is None:
            return None
        isothermal = (header.made_by.get("wall") or {}).get("kind") == "isothermal"
        wall = known_value(WALL_TEMPERATURE, header, ("wall", "temperature")) if isothermal else None
        return cls(header.parameter_names, header.stream, header.gas, length, wall)

    def numbers(self, parameters: Conditions) -> SimilarityNumbers:
        """At conditions; Re = rho_inf U_inf L / mu(T_0) is that of the gas behind the shock, where T_0 is nearly reached."""
        stream = self.free_stream.values(self.parameter_names, parameters)
        density, velocity, temperature = (stream[name] for name in ("density", "velocity", "temperature"))
        length, hot = self._positive(self.length, parameters), temperature + velocity**2 / (2.0 * self.free_stream.cp)
        wall = None if self.wall_temperature is None else self._positive(self.wall_temperature, parameters)
        with double_precision_of_gases():  # for gases that compute with JAX
            viscosity = np.asarray(self.gas.viscosity(hot, density * velocity**2), float)
            energy = self.gas.energy_from_temperature(density, temperature)
            mach = velocity / np.asarray(self.gas.sound_speed(density, energy), float)
        return SimilarityNumbers(mach, density * velocity * length / viscosity, hot, wall, length)

    def inputs(self, parameters: Conditions, others: Conditions) -> Conditions:
        """In place of each parameter the number that it sets: 1/M^2, a power of Re, T_wall/T_0, log L; or as `others` has it."""
        inputs, columns, found = np.array(others, float), self.free_stream.columns, self.numbers(parameters)
        numbers = {columns["velocity"]: found.mach**-2.0, columns["density"]: found.reynolds**REYNOLDS_POWER}
        if "temperature" in columns:
            hot = found.stagnation_temperature
            numbers[columns["temperature"]] = np.log(hot) if found.wall_temperature is None else found.wall_ratio
        elif isinstance(self.wall_temperature, str):
            numbers[self.wall_temperature] = found.wall_ratio
        if isinstance(self.length, str):
            numbers[self.length] = np.log(found.length)
        for name, values in numbers.items():
            inputs[:, self.parameter_names.index(name)] = values
        return inputs

    def _positive(self, source: float | str, parameters: Conditions) -> Values:
        if not isinstance(source, str):
            return np.full(len(parameters), source)
        values = parameters[:, self.parameter_names.index(source)]
        if not (values > 0).all():
            raise SureflowError(f"{source}={values.min():g} must be positive")
        return values


def known_value(parameter: str, header: Header, path: tuple[str, ...]) -> float | str | None:
    """The parameter's name where there is one, else what the runs were made with."""
    if parameter in header.parameter_names:
        return parameter
    found: Any = header.made_by
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return float(found) if isinstance(found, int | float) else None
