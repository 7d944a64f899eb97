"""Gas models behind one small interface, in SI units.

A gas is a function of density and specific internal energy, because those are what a conservative scheme carries. A new
gas (equilibrium air from tables, say) is one more subclass of `Gas`.
"""

import abc
from typing import Any

import equinox as eqx

from sureflow.physics.transport import sutherland_viscosity

Field = Any  # a float, or an array of NumPy or of JAX: what goes in comes out


class Gas(eqx.Module):
    """Equation of state and transport of one gas."""

    @abc.abstractmethod
    def pressure(self, density: Field, energy: Field) -> Field:
        """Pressure in Pa."""

    @abc.abstractmethod
    def temperature(self, density: Field, energy: Field) -> Field:
        """Temperature in K."""

    @abc.abstractmethod
    def sound_speed(self, density: Field, energy: Field) -> Field:
        """Equilibrium speed of sound in m/s."""

    @abc.abstractmethod
    def energy_from_pressure(self, density: Field, pressure: Field) -> Field:
        """Specific internal energy in J/kg."""

    @abc.abstractmethod
    def energy_from_temperature(self, density: Field, temperature: Field) -> Field:
        """Specific internal energy in J/kg."""

    @abc.abstractmethod
    def density_from_pressure(self, pressure: Field, temperature: Field) -> Field:
        """Density in kg/m3."""

    @abc.abstractmethod
    def viscosity(self, temperature: Field) -> Field:
        """Dynamic viscosity in Pa s."""

    @abc.abstractmethod
    def conductivity(self, temperature: Field) -> Field:
        """Thermal conductivity in W/(m K)."""


class PerfectGas(Gas):
    """Calorically perfect gas with Sutherland viscosity and a constant Prandtl number; air by default."""

    gamma: float = 1.4
    gas_constant: float = 287.0529
    prandtl: float = 0.71

    @property
    def cp(self) -> float:
        """Specific heat at constant pressure in J/(kg K)."""
        return self.gamma / (self.gamma - 1.0) * self.gas_constant

    def pressure(self, density, energy):
        return (self.gamma - 1.0) * density * energy

    def temperature(self, density, energy):
        return (self.gamma - 1.0) / self.gas_constant * energy

    def sound_speed(self, density, energy):
        return (self.gamma * (self.gamma - 1.0) * energy) ** 0.5

    def energy_from_pressure(self, density, pressure):
        return pressure / ((self.gamma - 1.0) * density)

    def energy_from_temperature(self, density, temperature):
        return self.gas_constant / (self.gamma - 1.0) * temperature

    def density_from_pressure(self, pressure, temperature):
        return pressure / (self.gas_constant * temperature)

    def viscosity(self, temperature):
        return sutherland_viscosity(temperature)

    def conductivity(self, temperature):
        return self.cp / self.prandtl * self.viscosity(temperature)
