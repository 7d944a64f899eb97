"""Conservative and primitive states, in units of the free stream.

The solver carries (rho, rho u, rho v, rho E) as an array (4, nj, ni), with density in units of the free stream's and velocity
in units of its speed; lengths stay in meters and temperatures in kelvin. At Mach 30 the total energy is 250 times the
internal one, hence float64 everywhere.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from sureflow.flow.compiling import compiled
from sureflow.physics.free_stream import FreeStream
from sureflow.physics.gases import Gas
from sureflow.pytrees import tell_jax

tell_jax()  # what it gives back and takes

State = Float[Array, "4 nj ni"]
Places = Float[Array, "4 *place"]  # a state at any places: cells, faces, a single point


class Units(eqx.Module):
    """A gas seen in units of a density and a velocity; the arrays go into compiled code as arguments."""

    gas: Gas
    density: Float[Array, ""] | float
    velocity: Float[Array, ""] | float

    def pressure(self, density, energy):
        return self.gas.pressure(density * self.density, energy * self.velocity**2) / self._pressure_unit

    def temperature(self, density, energy):
        return self.gas.temperature(density * self.density, energy * self.velocity**2)

    def sound_speed(self, density, energy):
        return self.gas.sound_speed(density * self.density, energy * self.velocity**2) / self.velocity

    def energy_from_pressure(self, density, pressure):
        return self.gas.energy_from_pressure(density * self.density, pressure * self._pressure_unit) / self.velocity**2

    def energy_from_temperature(self, density, temperature):
        return self.gas.energy_from_temperature(density * self.density, temperature) / self.velocity**2

    def density_from_pressure(self, pressure, temperature):
        return self.gas.density_from_pressure(pressure * self._pressure_unit, temperature) / self.density

    def viscosity(self, temperature, pressure):
        """In units of density x velocity x meter."""
        return self.gas.viscosity(temperature, pressure * self._pressure_unit) / (self.density * self.velocity)

    def conductivity(self, temperature, pressure):
        """So that conductivity times kelvin per meter is a flux of energy in units of density x velocity^3."""
        return self.gas.conductivity(temperature, pressure * self._pressure_unit) / (self.density * self.velocity**3)

    @property
    def _pressure_unit(self):
        return self.density * self.velocity**2


def units_of(free_stream: FreeStream, gas: Gas) -> Units:
    """Units in which the free stream has density and velocity one."""
    return Units(gas, jnp.asarray(free_stream.density(gas)), jnp.asarray(free_stream.velocity))


def free_stream_primitive(free_stream: FreeStream, gas: Gas) -> Float[Array, "4"]:
    """(rho, u, v, p) of the free stream in its own units."""
    density = free_stream.density(gas)
    return jnp.array([1.0, 1.0, 0.0, free_stream.pressure / (density * free_stream.velocity**2)])


def primitive(state: Places, units: Units) -> Places:
    """(rho, u, v, p) of a conservative state."""
    rho = state[0]
    u, v = state[1] / rho, state[2] / rho
    return jnp.stack([rho, u, v, units.pressure(rho, internal_energy(state))])


def conservative(w: Places, units: Units) -> Places:
    """Conservative state of (rho, u, v, p)."""
    rho, u, v, p = w
    energy = units.energy_from_pressure(rho, p) + 0.5 * (u**2 + v**2)
    return jnp.stack([rho, rho * u, rho * v, rho * energy])


@compiled
def from_physical(fields: State, units: Units) -> State:
    """Conservative state of u1, u2 (m/s), rho (kg/m3) and T (K)."""
    u1, u2, rho, temperature = fields
    rho = rho / units.density
    u, v = u1 / units.velocity, u2 / units.velocity
    energy = units.energy_from_temperature(rho, temperature) + 0.5 * (u**2 + v**2)
    return jnp.stack([rho, rho * u, rho * v, rho * energy])


@compiled
def to_physical(state: State, units: Units) -> State:
    """u1, u2 (m/s), rho (kg/m3) and T (K) of a conservative state."""
    rho, u, v, _ = primitive(state, units)
    temperature = units.temperature(rho, internal_energy(state))
    return jnp.stack([u * units.velocity, v * units.velocity, rho * units.density, temperature])


def internal_energy(state: Places) -> Float[Array, "*place"]:
    """Specific internal energy of a conservative state."""
    return state[3] / state[0] - 0.5 * (state[1] ** 2 + state[2] ** 2) / state[0] ** 2
