"""Where the free stream of a condition comes from: flight in the standard atmosphere, or parameters of a user's own."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np
from jaxtyping import Float
from pydantic import PositiveFloat

from sureflow.errors import SureflowError
from sureflow.physics.atmosphere import HIGHEST_KM, standard_atmosphere
from sureflow.physics.free_stream import HIGHEST_MACH, LOWEST_MACH
from sureflow.physics.gases import GASES, Gas, PerfectGas
from sureflow.registry import SettingsRegistry
from sureflow.runtime import double_precision_of_gases
from sureflow.validation import settings

STREAM_QUANTITIES = ("velocity", "density", "temperature")

Conditions = Float[np.ndarray, "case parameter"]


class StreamSource(ABC):
    """What gives velocity, density and temperature of the free stream at any condition, not at the runs alone."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def columns(self) -> dict[str, str]:
        """The parameters that set the free stream, by the quantity whose logarithm a model sees in their place."""

    @property
    @abstractmethod
    def cp(self) -> float:
        """Specific heat at constant pressure in J/(kg K)."""

    @property
    @abstractmethod
    def limits(self) -> dict[str, tuple[float, float]]:
        """Where the free stream is known, by parameter."""

    @abstractmethod
    def values(self, names: Sequence[str], parameters: Conditions) -> dict[str, Float[np.ndarray, " case"]]:
        """Velocity, density and temperature in SI units."""


STREAMS = SettingsRegistry("free stream", StreamSource, key="kind")


@STREAMS.add
@settings
class Flight(StreamSource):
    """Any gas at the parameters `mach` and `altitude_km` (US Standard Atmosphere 1976)."""

    gas: Annotated[Gas, GASES] = PerfectGas()
    kind: ClassVar[str] = "flight"

    @property
    def columns(self) -> dict[str, str]:
        return {"velocity": "mach", "density": "altitude_km"}

    @property
    def cp(self) -> float:
        return self.gas.cp

    @property
    def limits(self) -> dict[str, tuple[float, float]]:
        return {"mach": (LOWEST_MACH, HIGHEST_MACH), "altitude_km": (0.0, HIGHEST_KM)}

    def values(self, names: Sequence[str], parameters: Conditions) -> dict[str, Float[np.ndarray, " case"]]:
        mach, altitude = (np.asarray(parameters[:, names.index(name)], float) for name in ("mach", "altitude_km"))
        if not (mach > 0).all():
            raise SureflowError(f"mach={mach.min():g} has no free stream to scale with: give a positive Mach number")
        outside = (altitude < 0) | (altitude > HIGHEST_KM)
        if outside.any():
            raise SureflowError(
                f"altitude_km={altitude[outside][0]:g} is outside 0..{HIGHEST_KM:g} km of the standard atmosphere: "
                "choose an altitude in that range"
            )
        return dict(zip(STREAM_QUANTITIES, _in_flight(self.gas, mach.tobytes(), altitude.tobytes()), strict=True))


@lru_cache(maxsize=16)  # a prediction asks for the same one ten times
def _in_flight(gas: Gas, mach: bytes, altitude: bytes) -> tuple[np.ndarray, ...]:
    """Velocity, density and temperature at Mach numbers and altitudes."""
    air = standard_atmosphere(np.frombuffer(altitude), np)
    with double_precision_of_gases():  # for gases that compute with JAX
        density = np.asarray(gas.density_from_pressure(air.pressure, air.temperature))
        energy = gas.energy_from_temperature(density, air.temperature)
        velocity = np.frombuffer(mach) * np.asarray(gas.sound_speed(density, energy))
    found = (velocity, density, np.array(air.temperature))
    for values in found:
        values.flags.writeable = False
    return found


@STREAMS.add
@settings
class Columns(StreamSource):
    """Parameters of a user's own that are the free stream, in SI units."""

    velocity: str
    density: str
    temperature: str
    heat_capacity: PositiveFloat = PerfectGas().cp
    kind: ClassVar[str] = "columns"

    @property
    def columns(self) -> dict[str, str]:
        return {quantity: getattr(self, quantity) for quantity in STREAM_QUANTITIES}

    @property
    def cp(self) -> float:
        return self.heat_capacity

    @property
    def limits(self) -> dict[str, tuple[float, float]]:
        return {}

    def values(self, names: Sequence[str], parameters: Conditions) -> dict[str, Float[np.ndarray, " case"]]:
        found = {quantity: parameters[:, names.index(column)] for quantity, column in self.columns.items()}
        for quantity, values in found.items():
            if not (values > 0).all():
                raise SureflowError(
                    f"{self.columns[quantity]}={values.min():g} cannot be the {quantity} of a free stream: it must be "
                    "positive"
                )
        return found


def named_columns(free_stream: Mapping[str, Any], parameter_names: Sequence[str]) -> Columns:
    """The columns that a user named; each must be one of the parameters."""
    if not set(STREAM_QUANTITIES) <= set(free_stream) <= {*STREAM_QUANTITIES, "cp"}:
        raise SureflowError(
            f"free_stream names {', '.join(map(str, free_stream)) or 'nothing'}: it must name the parameters for "
            f"{', '.join(STREAM_QUANTITIES)}, and may give cp"
        )
    for quantity in STREAM_QUANTITIES:
        if free_stream[quantity] not in parameter_names:
            raise SureflowError(
                f"free_stream names {free_stream[quantity]!r} as the {quantity}: the parameters are "
                f"{', '.join(parameter_names)}"
            )
    heat = {"heat_capacity": free_stream["cp"]} if "cp" in free_stream else {}
    return Columns(**{quantity: free_stream[quantity] for quantity in STREAM_QUANTITIES}, **heat)
