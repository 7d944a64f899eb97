"""A gas of a user's own."""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from sureflow.physics.gases import GASES, Gas


@GASES.add
class Tabulated(Gas):
    """A gas of a user's own: its heat capacity comes from a table, its viscosity rises with the pressure."""

    scale: float
    table: jax.Array
    model: ClassVar[str] = "tabulated"

    def __init__(self, scale: float = 1.0):
        self.scale = scale
        self.table = jnp.asarray(scale * np.array([700.0, 720.0]))

    def pressure(self, density, energy):
        return density * 287.0 * self.temperature(density, energy)

    def temperature(self, density, energy):
        return energy / self.table[1]

    def sound_speed(self, density, energy):
        return (1.4 * 287.0 * self.temperature(density, energy)) ** 0.5

    def energy_from_pressure(self, density, pressure):
        return self.energy_from_temperature(density, pressure / (287.0 * density))

    def energy_from_temperature(self, density, temperature):
        return self.table[1] * temperature

    def density_from_pressure(self, pressure, temperature):
        return pressure / (287.0 * temperature)

    def viscosity(self, temperature, pressure):
        return 1.5e-6 * temperature**0.5 * (1.0 + 1e-8 * pressure)

    def conductivity(self, temperature, pressure):
        return 1000.0 * self.viscosity(temperature, pressure)
