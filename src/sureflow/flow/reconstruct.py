"""Second-order reconstruction of (rho, u, v, p) at faces, and the shock sensor that picks the flux.

Slopes are differences per cell: on the smooth meshes used here that is second order in space as well.
"""

import jax.numpy as jnp

# Differences below this size, in free-stream units, count as no difference: the limiter must not react to round-off.
SMALLEST_DIFFERENCE = 1e-6

# A pressure that differs by this share between neighbors begins to count as a shock; twice as much counts in full.
WEAKEST_JUMP = 0.25


def van_albada(backward, forward):
    """Limiter value in 0..1 that multiplies the central slope (van Albada, van Leer and Roberts 1982)."""
    product, epsilon = backward * forward, SMALLEST_DIFFERENCE**2
    return jnp.maximum(0.0, (2.0 * product + epsilon) / (backward**2 + forward**2 + epsilon))


def unlimited(backward, forward):
    """No limiting: for smooth flows, such as manufactured solutions."""
    return jnp.ones_like(backward)


def differences(padded, axis: int):
    """Backward and forward difference of every cell, from an array with one ghost cell at both ends of `axis`."""
    step = jnp.diff(padded, axis=axis)
    n = step.shape[axis]
    return jnp.take(step, jnp.arange(n - 1), axis=axis), jnp.take(step, jnp.arange(1, n), axis=axis)


def face_states(w, ghosts, slope, axis: int):
    """States left and right of every face along `axis`: cells extrapolated by half their slope, ghosts as they are.

    Where a face state would not be physical, the cell's own value is taken instead.
    """
    forward, backward = extrapolate(w, 0.5 * slope), extrapolate(w, -0.5 * slope)
    first, last = ghosts
    return jnp.concatenate([first, forward], axis=axis), jnp.concatenate([backward, last], axis=axis)


def extrapolate(w, half_slope):
    """w + half_slope, or w where that would leave less than a tenth of the density or pressure."""
    physical = (w[0] + half_slope[0] > 0.1 * w[0]) & (w[3] + half_slope[3] > 0.1 * w[3])
    return w + jnp.where(physical, half_slope, 0.0)


def shock_sensor(pressure, wall_cells: int):
    """How much a cell sees of a shock, in 0..1: from the ratio of pressures to its neighbors along j.

    The bow shock runs along i, so only differences along j count: an expansion around the shoulder is no shock. Keeps out of
    the `wall_cells` nearest to the wall, where the flux must keep the boundary layer sharp.
    """
    low, high = range_along_j(pressure)
    strength = jnp.clip((high - low) / low / WEAKEST_JUMP - 1.0, 0.0, 1.0)
    away = jnp.arange(pressure.shape[0])[:, None] >= wall_cells
    return jnp.where(away, strength, 0.0)


def foot_of_shock(pressure):
    """Where a cell lies on the rise of pressure between its neighbors along j: 1 at the foot, 0 at the top.

    The square keeps it small but for the foot itself, where slopes along a shock that shifts by a cell make the
    temperature undershoot. Slopes at the top must stay: without them the heat flux dips at the stagnation point.
    """
    low, high = range_along_j(pressure)
    return ((high - pressure) / jnp.maximum(high - low, SMALLEST_DIFFERENCE)) ** 2


def range_along_j(values):
    """The smallest and the largest of every cell and its neighbors along j."""
    padded = jnp.pad(values, ((1, 1), (0, 0)), mode="edge")
    below, above = padded[:-2], padded[2:]
    return jnp.minimum(jnp.minimum(below, above), values), jnp.maximum(jnp.maximum(below, above), values)


def spread(sensor):
    """The largest value among a cell and its eight neighbors."""
    padded = jnp.pad(sensor, 1, mode="edge")
    rows = jnp.maximum(jnp.maximum(padded[:-2], padded[1:-1]), padded[2:])
    return jnp.maximum(jnp.maximum(rows[:, :-2], rows[:, 1:-1]), rows[:, 2:])
