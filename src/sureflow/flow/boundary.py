"""Boundary conditions, as ghost cells.

A boundary gives the state of a ghost cell, mirrored through the face, from that of the cell inside: (rho, u, v, p) for the
slopes and fluxes and (u, v, T) for the gradients of the viscous stresses. Ghosts of a wall are linear extrapolations through the
wall value. They may be unphysical and serve only in differences: the flux through a wall is its pressure alone.
"""

import abc
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from sureflow.flow.state import Units

Line = Float[Array, "4 n"]


class Boundary(eqx.Module):
    """One side of the block."""

    is_wall: ClassVar[bool] = False
    conducts: ClassVar[bool] = True  # whether heat flows through a wall
    # Whether the ghost follows the cell inside; then the implicit operator folds its share into that cell.
    follows: ClassVar[bool] = False

    @abc.abstractmethod
    def ghost(self, inside: Line, further: Line, normal: Float[Array, "2 n"], units: Units) -> Line:
        """(rho, u, v, p) of the ghost cells, from the first and second cells inside."""

    def at_face(self, ghost: Line) -> Line:
        """(rho, u, v, p) on the outer side of the boundary's faces, for the flux through them."""
        return ghost

    def ghost_temperature(self, ghost: Line, temperature: Float[Array, "n"], units: Units) -> Float[Array, "n"]:
        """Temperature of the ghost cells in K."""
        return units.temperature(ghost[0], units.energy_from_pressure(ghost[0], ghost[3]))


class Fixed(Boundary):
    """A prescribed state at the faces: (4,) for a uniform free stream, (4, n) for one that varies along the side."""

    state: Float[Array, "4 *n"]

    def ghost(self, inside, further, normal, units):
        return 2.0 * self._along(inside) - inside

    def at_face(self, ghost):
        return self._along(ghost)

    def ghost_temperature(self, ghost, temperature, units):
        rho, _, _, p = self._along(ghost)
        return 2.0 * units.temperature(rho, units.energy_from_pressure(rho, p)) - temperature

    def _along(self, line: Line) -> Line:
        return jnp.broadcast_to(self.state if self.state.ndim == 2 else self.state[:, None], line.shape)


class Outflow(Boundary):
    """The flow goes on outside as it does inside: right where it leaves at supersonic speed.

    The ghost serves the slopes; the flux through the face takes the inner state on both sides.
    """

    follows: ClassVar[bool] = True

    def ghost(self, inside, further, normal, units):
        return 2.0 * inside - further

    def ghost_temperature(self, ghost, temperature, units):
        return temperature


class Mirror(Boundary):
    """Symmetry: the axis of revolution."""

    def ghost(self, inside, further, normal, units):
        return reflect(inside, normal)


class SlipWall(Boundary):
    """Wall of an inviscid flow."""

    is_wall: ClassVar[bool] = True

    def ghost(self, inside, further, normal, units):
        return reflect(inside, normal)


class IsothermalWall(Boundary):
    """No slip at a given temperature in K."""

    temperature: Float[Array, ""]
    is_wall: ClassVar[bool] = True

    def ghost(self, inside, further, normal, units):
        pressure = inside[3]
        wall_density = units.density_from_pressure(pressure, self.temperature)
        return jnp.stack([2.0 * wall_density - inside[0], -inside[1], -inside[2], pressure])

    def ghost_temperature(self, ghost, temperature, units):
        return 2.0 * self.temperature - temperature


class AdiabaticWall(Boundary):
    """No slip and no heat flux."""

    is_wall: ClassVar[bool] = True
    conducts: ClassVar[bool] = False

    def ghost(self, inside, further, normal, units):
        return jnp.stack([inside[0], -inside[1], -inside[2], inside[3]])

    def ghost_temperature(self, ghost, temperature, units):
        return temperature


def reflect(inside: Line, normal: Float[Array, "2 n"]) -> Line:
    """The state with its velocity along the normal reversed."""
    vn = inside[1] * normal[0] + inside[2] * normal[1]
    return jnp.stack([inside[0], inside[1] - 2.0 * vn * normal[0], inside[2] - 2.0 * vn * normal[1], inside[3]])


class Boundaries(eqx.Module):
    """The four sides of a block: along i from `i_min` to `i_max`, along j from `j_min` (the wall of a body) to `j_max`.

    The implicit operator knows a wall at `j_min` and an outflow at `i_max`; elsewhere it only loses accuracy, not the residual.
    """

    i_min: Boundary
    i_max: Boundary
    j_min: Boundary
    j_max: Boundary
