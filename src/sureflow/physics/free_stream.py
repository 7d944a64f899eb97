"""The undisturbed flow ahead of the body, by flight condition or by wind-tunnel values."""

import math
from dataclasses import dataclass

from sureflow.errors import SureflowError
from sureflow.physics.atmosphere import HIGHEST_KM, standard_atmosphere
from sureflow.physics.gases import Gas, PerfectGas
from sureflow.runtime import double_precision

LOWEST_MACH, HIGHEST_MACH = 2.0, 40.0


@dataclass(frozen=True)
class FreeStream:
    """Uniform flow along x, in SI units; wind-tunnel cases give it directly."""

    velocity: float  # m/s
    pressure: float  # Pa
    temperature: float  # K

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not (math.isfinite(value) and value > 0):
                raise SureflowError(f"{name}={value:g} of the free stream must be a positive number in SI units")

    def density(self, gas: Gas) -> float:
        """Density in kg/m3."""
        return float(gas.density_from_pressure(self.pressure, self.temperature))

    def total_enthalpy(self, gas: Gas) -> float:
        """Specific total enthalpy in J/kg."""
        density = self.density(gas)
        energy = float(gas.energy_from_temperature(density, self.temperature))
        return energy + self.pressure / density + 0.5 * self.velocity**2

    def mach(self, gas: Gas) -> float:
        """Mach number."""
        density = self.density(gas)
        energy = gas.energy_from_temperature(density, self.temperature)
        return self.velocity / float(gas.sound_speed(density, energy))


@dataclass(frozen=True)
class FlightCondition:
    """A point of the flight envelope: Mach number and geometric altitude in km (US Standard Atmosphere 1976)."""

    mach: float
    altitude_km: float

    def __post_init__(self) -> None:
        if not LOWEST_MACH <= self.mach <= HIGHEST_MACH:
            raise SureflowError(
                f"mach={self.mach:g} is outside {LOWEST_MACH:g}..{HIGHEST_MACH:g} for this solver; "
                "choose a Mach number in that range"
            )
        if not 0.0 <= self.altitude_km <= HIGHEST_KM:
            raise SureflowError(
                f"altitude={self.altitude_km:g} km is outside 0..{HIGHEST_KM:g} km of the standard atmosphere; "
                "choose an altitude in that range"
            )

    def free_stream(self, gas: Gas | None = None) -> FreeStream:
        """Speed, pressure and temperature of the air at this condition."""
        gas = gas or PerfectGas()
        with double_precision():
            air = standard_atmosphere(self.altitude_km)
            energy = gas.energy_from_temperature(air.density, air.temperature)
            velocity = self.mach * gas.sound_speed(air.density, energy)
            return FreeStream(float(velocity), float(air.pressure), float(air.temperature))
