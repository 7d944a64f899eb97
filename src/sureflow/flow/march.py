"""Marching to the steady state: implicit steps with a CFL number of their own for every case, in one compiled program."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from sureflow.flow.compiling import compiled
from sureflow.flow.implicit import implicit_update
from sureflow.flow.residual import Problem, Switches, residual, switches
from sureflow.flow.state import State, internal_energy, primitive

# An update changes density and internal energy of a cell by at most this share.
LARGEST_CHANGE = 0.4
SWEEPS = 4
CHUNK = 25  # steps that one call of the compiled program takes at most


class March(NamedTuple):
    """Where the march stands."""

    state: State
    cfl: Float[Array, ""]
    switches: Switches


class Controls(NamedTuple):
    """What the host decides between chunks of steps; all are arguments of the compiled program."""

    order: Float[Array, ""]  # 0 first, 1 second order in space
    fresh: Float[Array, ""]  # share of limiter and sensor that follows the state; 0 keeps them as they are
    growth: Float[Array, ""]  # of the CFL number, per step
    largest_cfl: Float[Array, ""]


def residual_norm(r: State) -> Float[Array, ""]:
    """Root of the sum of squares over cells and equations, in free-stream units."""
    return jnp.sqrt(jnp.sum(r**2))


@compiled
def advance(
    march: March, problem: Problem, controls: Controls, steps: Int[Array, ""] | int
) -> tuple[March, Float[Array, " CHUNK"]]:
    """A number of implicit steps; returns the residual norms before each as well, NaN for those not taken.

    One program for any number of steps, because compiling it is what a first start waits for.
    """

    def step(index, progress: tuple[March, Float[Array, " CHUNK"]]):
        march, norms = progress
        w = primitive(march.state, problem.units)
        pairs = zip(march.switches, switches(w, problem), strict=True)
        active = Switches(*((1.0 - controls.fresh) * old + controls.fresh * new for old, new in pairs))
        r = residual(march.state, problem, active, controls.order)
        norm = residual_norm(r)
        cfl = jnp.minimum(march.cfl * controls.growth, controls.largest_cfl)
        change = implicit_update(w, r, problem, active.shock, cfl, SWEEPS)
        state, physical = limited(march.state, change)
        state = jnp.where(physical, state, march.state)
        # A step that would leave physics is not taken; the next one is half as long.
        return March(state, jnp.where(physical, cfl, 0.5 * march.cfl), active), norms.at[index].set(norm)

    return jax.lax.fori_loop(0, steps, step, (march, jnp.full(CHUNK, jnp.nan)))


def limited(state: State, change: State) -> tuple[State, Bool[Array, ""]]:
    """The state after a change that is scaled down in cells where it is too large, and whether all of it is physical."""
    energy = internal_energy(state)
    # The energy's change is not linear in the update: take its slope from a tenth of it.
    energy_change = jnp.abs(internal_energy(state + 0.1 * change) - energy) / (0.1 * energy)
    largest = jnp.maximum(jnp.abs(change[0]) / state[0], energy_change)
    updated = state + change * jnp.minimum(1.0, LARGEST_CHANGE / jnp.maximum(largest, 1e-30))
    physical = (
        jnp.all(jnp.isfinite(updated)) & jnp.all(updated[0] > 0.0) & jnp.all(internal_energy(updated) > 0.05 * energy)
    )
    return updated, physical


@compiled
def switches_of(state: State, problem: Problem) -> Switches:
    """Limiter values and shock sensor of a conservative state."""
    return switches(primitive(state, problem.units), problem)
