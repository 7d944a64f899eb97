"""The numbers of similarity that conditions stand for, where gas, length and free stream are known."""

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from jaxtyping import Float

from sureflow.data.header import Header
from sureflow.data.streams import STREAMS, Conditions, StreamSource
from sureflow.errors import SureflowError
from sureflow.physics.gases import GASES, Gas
from sureflow.runtime import double_precision
from sureflow.validation import settings

# Names of parameters, as campaigns have them.
LENGTH, WALL_TEMPERATURE = "nose_radius", "wall_temperature"
# Between the thickness of a boundary layer, Re^-1/2, in which the wall layer is linear, and the logarithm of power laws.
REYNOLDS_POWER = -0.25

Values = Float[np.ndarray, " case"]


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
        length = _known(LENGTH, header, ("mesh", "body", LENGTH))
        if header.stream is None or header.gas is None or length is None:
            return None
        isothermal = (header.made_by.get("wall") or {}).get("kind") == "isothermal"
        wall = _known(WALL_TEMPERATURE, header, ("wall", "temperature")) if isothermal else None
        return cls(header.parameter_names, header.stream, header.gas, length, wall)

    def stagnation_temperature(self, parameters: Conditions) -> Values:
        """T_0 = T_inf + U_inf^2 / (2 cp)."""
        stream = self._stream(parameters)
        return stream["temperature"] + stream["velocity"] ** 2 / (2.0 * self.free_stream.cp)

    def wall_temperatures(self, parameters: Conditions) -> Values | None:
        return None if self.wall_temperature is None else self._positive(self.wall_temperature, parameters)

    def reynolds(self, parameters: Conditions) -> Values:
        """rho_inf U_inf L / mu(T_0): of the gas behind the shock, where T_0 is nearly reached."""
        stream, length = self._stream(parameters), self._positive(self.length, parameters)
        hot = self.stagnation_temperature(parameters)
        with double_precision():  # for gases that compute with JAX
            viscosity = np.asarray(self.gas.viscosity(hot, stream["density"] * stream["velocity"] ** 2), float)
        return stream["density"] * stream["velocity"] * length / viscosity

    def inputs(self, parameters: Conditions, others: Conditions) -> Conditions:
        """In place of each parameter the number that it sets: 1/M^2, a power of Re, T_wall/T_0, log L; or as `others` has it."""
        inputs, columns = np.array(others, float), self.free_stream.columns
        hot, wall = self.stagnation_temperature(parameters), self.wall_temperatures(parameters)
        numbers = {
            columns["velocity"]: self._mach(parameters) ** -2.0,
            columns["density"]: self.reynolds(parameters) ** REYNOLDS_POWER,
        }
        if "temperature" in columns:
            numbers[columns["temperature"]] = np.log(hot) if wall is None else wall / hot
        elif isinstance(self.wall_temperature, str) and wall is not None:
            numbers[self.wall_temperature] = wall / hot
        if isinstance(self.length, str):
            numbers[self.length] = np.log(self._positive(self.length, parameters))
        for name, values in numbers.items():
            inputs[:, self.parameter_names.index(name)] = values
        return inputs

    def _mach(self, parameters: Conditions) -> Values:
        stream = self._stream(parameters)
        with double_precision():
            energy = self.gas.energy_from_temperature(stream["density"], stream["temperature"])
            return stream["velocity"] / np.asarray(self.gas.sound_speed(stream["density"], energy), float)

    def _stream(self, parameters: Conditions) -> dict[str, Values]:
        return self.free_stream.values(self.parameter_names, parameters)

    def _positive(self, source: float | str, parameters: Conditions) -> Values:
        if not isinstance(source, str):
            return np.full(len(parameters), source)
        values = parameters[:, self.parameter_names.index(source)]
        if not (values > 0).all():
            raise SureflowError(f"{source}={values.min():g} must be positive")
        return values


def _known(parameter: str, header: Header, path: tuple[str, ...]) -> float | str | None:
    """The parameter's name where there is one, else what the runs were made with."""
    if parameter in header.parameter_names:
        return parameter
    found: Any = header.made_by
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return float(found) if isinstance(found, int | float) else None
