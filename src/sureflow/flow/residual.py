"""The semi-discrete equations: for every cell, the sum of fluxes out of it less its sources."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from sureflow.flow import reconstruct, riemann, viscous
from sureflow.flow.boundary import Boundaries
from sureflow.flow.metrics import Metrics, surround
from sureflow.flow.state import State, Units, primitive


class Problem(eqx.Module):
    """A flow to solve: geometry, boundaries and gas (arrays), and how it is discretized (static)."""

    metrics: Metrics
    boundaries: Boundaries
    units: Units
    axisymmetric: bool = eqx.field(static=True, default=True)
    viscous: bool = eqx.field(static=True, default=True)
    limiter: Callable = eqx.field(static=True, default=reconstruct.van_albada)
    flux: riemann.Flux = eqx.field(static=True, default=riemann.hllc_hlle)
    sensor_off_wall: int = eqx.field(static=True, default=8)  # cells at the wall that the shock sensor leaves alone


class Switches(NamedTuple):
    """What turns on and off in the scheme, and can be frozen so that the residual does not stall on its flicker."""

    limiter_i: State
    limiter_j: State
    shock: Float[Array, "nj ni"]


class Ghosts(NamedTuple):
    """(rho, u, v, p) of the ghost cells of the four sides, (4, nj, 1) and (4, 1, ni)."""

    west: Float[Array, "4 nj 1"]
    east: Float[Array, "4 nj 1"]
    south: Float[Array, "4 1 ni"]
    north: Float[Array, "4 1 ni"]


def ghost_cells(w: State, problem: Problem) -> Ghosts:
    """Ghost cells of all sides."""
    sides, units = problem.boundaries, problem.units
    i_normal, j_normal = problem.metrics.i_faces.normal, problem.metrics.j_faces.normal
    return Ghosts(
        sides.i_min.ghost(w[:, :, 0], w[:, :, 1], i_normal[:, :, 0], units)[:, :, None],
        sides.i_max.ghost(w[:, :, -1], w[:, :, -2], i_normal[:, :, -1], units)[:, :, None],
        sides.j_min.ghost(w[:, 0], w[:, 1], j_normal[:, 0], units)[:, None],
        sides.j_max.ghost(w[:, -1], w[:, -2], j_normal[:, -1], units)[:, None],
    )


def slopes(w: State, ghosts: Ghosts):
    """Backward and forward differences along i and along j."""
    along_i = reconstruct.differences(jnp.concatenate([ghosts.west, w, ghosts.east], axis=2), axis=2)
    along_j = reconstruct.differences(jnp.concatenate([ghosts.south, w, ghosts.north], axis=1), axis=1)
    return along_i, along_j


def switches(w: State, problem: Problem) -> Switches:
    """Limiter values and shock sensor of a state."""
    along_i, along_j = slopes(w, ghost_cells(w, problem))
    shock = reconstruct.shock_sensor(w[3], problem.sensor_off_wall)
    # Across a shock the limited slope alone lets the residual stall; along it, the temperature undershoots at its foot. The
    # last column keeps its slopes along i: else the flow through the outflow would be of first order where the shock crosses it.
    across = 1.0 - shock
    along = (1.0 - shock * reconstruct.foot_of_shock(w[3])).at[:, -1].set(1.0)
    return Switches(along * problem.limiter(*along_i), across * problem.limiter(*along_j), reconstruct.spread(shock))


def residual(state: State, problem: Problem, active: Switches, order) -> State:
    """Net flux out of every cell; `order` scales the slopes: 0 is first order in space, 1 second."""
    w = primitive(state, problem.units)
    ghosts = ghost_cells(w, problem)
    flux_i, flux_j = inviscid_fluxes(w, ghosts, problem, active, order)
    source = w[3] * problem.metrics.plane_area
    if problem.viscous:
        padded = velocity_temperature_pressure(w, ghosts, problem)
        viscous_i, viscous_j = viscous.viscous_fluxes(
            padded, problem.metrics, problem.axisymmetric, problem.boundaries.j_min.is_wall, problem.units
        )
        flux_i, flux_j = flux_i - viscous_i, flux_j - viscous_j
        if problem.axisymmetric:
            source -= viscous.hoop_stress(padded, problem.metrics, problem.units) * problem.metrics.plane_area
    net = flux_i[:, :, 1:] - flux_i[:, :, :-1] + flux_j[:, 1:] - flux_j[:, :-1]
    return net.at[2].add(-source)


def inviscid_fluxes(w: State, ghosts: Ghosts, problem: Problem, active: Switches, order):
    """Fluxes through all i and j faces; through a wall only its pressure acts."""
    along_i, along_j = slopes(w, ghosts)
    slope_i = order * active.limiter_i * 0.5 * (along_i[0] + along_i[1])
    slope_j = order * active.limiter_j * 0.5 * (along_j[0] + along_j[1])
    sides = problem.boundaries
    outside = outer_states(ghosts, sides)
    left_i, right_i = reconstruct.face_states(w, (outside.west, outside.east), slope_i, axis=2)
    left_j, right_j = reconstruct.face_states(w, (outside.south, outside.north), slope_j, axis=1)
    shock_i, shock_j = face_maximum(active.shock, axis=1), face_maximum(active.shock, axis=0)

    i_faces, j_faces = problem.metrics[:2]
    left_j = left_j.at[:, 0].set(right_j[:, 0]) if sides.j_min.is_wall else left_j
    right_j = right_j.at[:, -1].set(left_j[:, -1]) if sides.j_max.is_wall or sides.j_max.follows else right_j
    left_i = left_i.at[:, :, 0].set(right_i[:, :, 0]) if sides.i_min.follows else left_i
    right_i = right_i.at[:, :, -1].set(left_i[:, :, -1]) if sides.i_max.follows else right_i
    flux_i = problem.flux(left_i, right_i, i_faces.normal, problem.units, shock_i) * i_faces.area
    flux_j = problem.flux(left_j, right_j, j_faces.normal, problem.units, shock_j) * j_faces.area
    flux_j = flux_j.at[:, 0].set(wall_flux(w[3, 0], j_faces.vector[:, 0])) if sides.j_min.is_wall else flux_j
    flux_j = flux_j.at[:, -1].set(wall_flux(w[3, -1], j_faces.vector[:, -1])) if sides.j_max.is_wall else flux_j
    return flux_i, flux_j


def outer_states(ghosts: Ghosts, sides: Boundaries) -> Ghosts:
    """States on the outer side of the faces of the four sides."""

    def at_face(side, ghost):
        return side.at_face(ghost.reshape(4, -1)).reshape(ghost.shape)

    return Ghosts(
        at_face(sides.i_min, ghosts.west),
        at_face(sides.i_max, ghosts.east),
        at_face(sides.j_min, ghosts.south),
        at_face(sides.j_max, ghosts.north),
    )


def wall_flux(pressure, vector):
    """Pressure force on a wall."""
    zero = jnp.zeros_like(pressure)
    return jnp.stack([zero, pressure * vector[0], pressure * vector[1], zero])


def face_maximum(cell, axis: int):
    """The larger value of the two cells beside each face."""
    pad = [(1, 1) if a == axis else (0, 0) for a in range(2)]
    padded = jnp.pad(cell, pad, mode="edge")
    n = padded.shape[axis]
    before, after = jnp.take(padded, jnp.arange(n - 1), axis=axis), jnp.take(padded, jnp.arange(1, n), axis=axis)
    return jnp.maximum(before, after)


def velocity_temperature_pressure(w: State, ghosts: Ghosts, problem: Problem):
    """(u, v, T, p) of the cells and their ghosts, (4, nj+2, ni+2)."""
    units, sides = problem.units, problem.boundaries
    temperature = units.temperature(w[0], units.energy_from_pressure(w[0], w[3]))

    def outside(side, ghost, inside):
        t = side.ghost_temperature(ghost.reshape(4, -1), inside.reshape(-1), units)
        return jnp.concatenate([ghost[1:3], t.reshape(1, *inside.shape), ghost[3:]])

    return surround(
        jnp.stack([w[1], w[2], temperature, w[3]]),
        outside(sides.i_min, ghosts.west, temperature[:, :1]),
        outside(sides.i_max, ghosts.east, temperature[:, -1:]),
        outside(sides.j_min, ghosts.south, temperature[:1]),
        outside(sides.j_max, ghosts.north, temperature[-1:]),
    )
