"""Where the free stream of a condition comes from: the standard atmosphere, or columns of a user's own parameters."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import jax
import numpy as np
from jaxtyping import Float
from pydantic import Field, PositiveFloat
from pydantic.dataclasses import dataclass

from sureflow.errors import SureflowError
from sureflow.physics.atmosphere import HIGHEST_KM, standard_atmosphere
from sureflow.physics.gas import PerfectGas
from sureflow.runtime import double_precision
from sureflow.validation import STRICT

QUANTITIES = ("velocity", "density", "temperature")

Parameters = Float[np.ndarray, "case parameter"]


@dataclass(frozen=True, config=STRICT)
class Flight:
    """Air at the parameters `mach` and `altitude_km` (US Standard Atmosphere 1976)."""

    kind: Literal["flight"] = "flight"
    gamma: PositiveFloat = PerfectGas.gamma
    gas_constant: PositiveFloat = PerfectGas.gas_constant

    @property
    def columns(self) -> dict[str, str]:
        """The parameters that say the free stream, by the quantity that stands for them in a logarithmic space."""
        return {"velocity": "mach", "density": "altitude_km"}

    @property
    def cp(self) -> float:
        return PerfectGas(self.gamma, self.gas_constant).cp

    def values(self, names: Sequence[str], parameters: Parameters) -> dict[str, Float[np.ndarray, " case"]]:
        """Velocity, density and temperature in SI units."""
        mach, altitude = (parameters[:, names.index(name)] for name in ("mach", "altitude_km"))
        if not (mach > 0).all():
            raise SureflowError(f"mach={mach.min():g} has no free stream to scale with: give a positive Mach number")
        outside = (altitude < 0) | (altitude > HIGHEST_KM)
        if outside.any():
            raise SureflowError(
                f"altitude={altitude[outside][0]:g} km is outside 0..{HIGHEST_KM:g} km of the standard atmosphere; "
                "choose an altitude in that range."
            )
        temperature, pressure = _air(altitude)
        gas = PerfectGas(self.gamma, self.gas_constant)
        density = gas.density_from_pressure(pressure, temperature)
        sound_speed = gas.sound_speed(density, gas.energy_from_temperature(density, temperature))
        return {"velocity": mach * sound_speed, "density": density, "temperature": temperature}


@dataclass(frozen=True, config=STRICT)
class Columns:
    """Parameters of a user's own that are the free stream, in SI units; `cp` in J/(kg K)."""

    velocity: str
    density: str
    temperature: str
    kind: Literal["columns"] = "columns"
    cp: PositiveFloat = PerfectGas().cp

    @property
    def columns(self) -> dict[str, str]:
        return {quantity: getattr(self, quantity) for quantity in QUANTITIES}

    def values(self, names: Sequence[str], parameters: Parameters) -> dict[str, Float[np.ndarray, " case"]]:
        """Velocity, density and temperature in SI units."""
        found = {quantity: parameters[:, names.index(column)] for quantity, column in self.columns.items()}
        for quantity, values in found.items():
            if not (values > 0).all():
                raise SureflowError(
                    f"{self.columns[quantity]}={values.min():g} is no {quantity} of a free stream: it must be positive"
                )
        return found


def _air(altitude_km: Float[np.ndarray, " case"]) -> tuple[Float[np.ndarray, " case"], Float[np.ndarray, " case"]]:
    """Temperature and pressure by a compiled program; the cases are padded, so that few programs serve all numbers of them."""
    count = len(altitude_km)
    padded = np.pad(altitude_km, (0, (1 << max(count - 1, 0).bit_length()) - count))
    with double_precision():
        air = _compiled_atmosphere(padded)
    return np.asarray(air.temperature)[:count], np.asarray(air.pressure)[:count]


_compiled_atmosphere = jax.jit(standard_atmosphere)

AnyFreeStream = Annotated[Flight | Columns, Field(discriminator="kind")]


def named_columns(free_stream: Mapping[str, Any], parameter_names: Sequence[str]) -> Columns:
    """The columns that a user named; each must be one of the parameters."""
    if not set(QUANTITIES) <= set(free_stream) <= {*QUANTITIES, "cp"}:
        raise SureflowError(
            f"free_stream names {', '.join(map(str, free_stream)) or 'nothing'}: it must say which parameter is the "
            f"{', which the '.join(QUANTITIES)}, and may give cp"
        )
    for quantity in QUANTITIES:
        if free_stream[quantity] not in parameter_names:
            raise SureflowError(
                f"free_stream names {free_stream[quantity]!r} as the {quantity}: the parameters are "
                f"{', '.join(parameter_names)}"
            )
    return Columns(**free_stream)
