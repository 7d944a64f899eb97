"""Line-implicit relaxation: block-tridiagonal solves along the lines from the wall to the free stream.

Data-parallel line relaxation (Wright, Candler and Bose, AIAA Journal 36, 1998): the linearized equations are solved exactly
along every j line, and a few sweeps bring in the neighbors along i. The operator is that of the first-order scheme with
frozen dissipation, plus the viscous flux of the differences across each face: only its right-hand side has to be accurate.

Blocks are arrays (4, 4, nj, ni): row, column, cell. Everything is elementwise over the cells, which on a CPU is much faster
than batched LAPACK on 4x4 matrices.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from sureflow.flow.boundary import Boundary
from sureflow.flow.metrics import FaceGeometry
from sureflow.flow.residual import Problem, face_maximum
from sureflow.flow.riemann import hllc_hlle
from sureflow.flow.state import State, Units, conservative, internal_energy

Block = Float[Array, "4 4 nj ni"]
Row = Float[Array, "4 nj ni"]

# Entropy and shear waves get at least this share of the acoustic speed as dissipation in the operator.
LEAST_DISSIPATION = 0.1


class Operator(NamedTuple):
    """Blocks that multiply the updates of a cell and of its four neighbors."""

    center: Block
    west: Block
    east: Block
    south: Block
    north: Block


class Side(NamedTuple):
    """What the Jacobians need of the cells on one side of a face."""

    w: State
    state: State
    pressure_row: Row  # dp/dU
    temperature_row: Row  # dT/dU
    sound_speed: Float[Array, "nj ni"]


def side_of(w: State, units: Units) -> Side:
    """Cells with the derivatives of pressure and temperature by the conservative variables, through the gas model."""
    state = conservative(w, units)
    rho, u, v, _ = w
    energy = internal_energy(state)
    one, zero = jnp.ones_like(rho), jnp.zeros_like(rho)
    energy_row = jnp.stack([u**2 + v**2 - state[3] / rho, -u, -v, one]) / rho

    def row(function):
        by_density = jax.jvp(function, (rho, energy), (one, zero))[1]
        by_energy = jax.jvp(function, (rho, energy), (zero, one))[1]
        return by_energy * energy_row + jnp.stack([by_density, zero, zero, zero])

    return Side(w, state, row(units.pressure), row(units.temperature), units.sound_speed(rho, energy))


def outer(column, row) -> Float[Array, "4 4 *place"]:
    """(4, 4, ...) from two (4, ...)."""
    return column[:, None] * row[None]


def momentum_row(w: State, normal) -> Row:
    """rho dVn/dU, with Vn the velocity along the normal."""
    vn = w[1] * normal[0] + w[2] * normal[1]
    zero = jnp.zeros_like(vn)
    return jnp.stack([-vn, normal[0] + zero, normal[1] + zero, zero])


def identity(scale) -> Block:
    """`scale` times the 4x4 identity in every cell."""
    return jnp.eye(4)[:, :, None, None] * scale


def euler_jacobian(side: Side, normal) -> Block:
    """dF/dU of the Euler flux along a unit normal."""
    rho, u, v, p = side.w
    vn = u * normal[0] + v * normal[1]
    carried = jnp.stack([jnp.ones_like(rho), u, v, (side.state[3] + p) / rho])
    push = jnp.stack([jnp.zeros_like(rho), normal[0] + 0 * rho, normal[1] + 0 * rho, vn])
    return outer(carried, momentum_row(side.w, normal)) + outer(push, side.pressure_row) + identity(vn)


def dissipation_matrix(left: Side, right: Side, normal, shock) -> Block:
    """|A| at the mean of two states; a multiple of the identity where `shock` is one.

    With acoustic amplitudes a = (dp +- c rho dVn) / (2 c^2) and waves r = (1, u +- c n, H +- c Vn):
    |A| = |Vn| I + sum over both of (|Vn +- c| - |Vn|) r a.
    """
    w = 0.5 * (left.w + right.w)
    pressure_row = 0.5 * (left.pressure_row + right.pressure_row)
    enthalpy = 0.5 * ((left.state[3] + left.w[3]) / left.w[0] + (right.state[3] + right.w[3]) / right.w[0])
    c = 0.5 * (left.sound_speed + right.sound_speed)
    vn = w[1] * normal[0] + w[2] * normal[1]
    fastest = jnp.abs(vn) + c

    def speed(value):
        floored = jnp.maximum(jnp.abs(value), LEAST_DISSIPATION * fastest)
        return floored + shock * (fastest - floored)

    convective = speed(vn)
    plus, minus = speed(vn + c) - convective, speed(vn - c) - convective
    from_pressure, from_velocity = pressure_row / (2.0 * c**2), momentum_row(w, normal) / (2.0 * c)
    even = (plus + minus) * from_pressure + (plus - minus) * from_velocity
    odd = (plus - minus) * from_pressure + (plus + minus) * from_velocity
    zero = jnp.zeros_like(vn)
    carried = jnp.stack([zero + 1.0, w[1], w[2], enthalpy])
    push = c * jnp.stack([zero, normal[0] + zero, normal[1] + zero, vn])
    return identity(convective) + outer(carried, even) + outer(push, odd)


def thin_layer_jacobian(side: Side, mean_velocity, normal, mu, k) -> Block:
    """Derivative by U of the viscous flux along the normal of a unit difference of (u, v, T)."""
    rho, u, v, _ = side.w
    zero = jnp.zeros_like(rho)
    du = jnp.stack([-u, zero + 1.0, zero, zero]) / rho
    dv = jnp.stack([-v, zero, zero + 1.0, zero]) / rho
    dvn = (normal[0] * du + normal[1] * dv) / 3.0
    fx, fr = mu * (du + normal[0] * dvn), mu * (dv + normal[1] * dvn)
    return jnp.stack(
        [jnp.zeros_like(du), fx, fr, mean_velocity[0] * fx + mean_velocity[1] * fr + k * side.temperature_row]
    )


def face_blocks(left: Side, right: Side, face: FaceGeometry, shock) -> tuple[Block, Block]:
    """Derivatives of the inviscid flux through faces by the states left and right of them."""
    dissipation = dissipation_matrix(left, right, face.normal, shock)
    by_left = 0.5 * (euler_jacobian(left, face.normal) + dissipation)
    by_right = 0.5 * (euler_jacobian(right, face.normal) - dissipation)
    return by_left * face.area, by_right * face.area


def add_thin_layer(blocks, left: Side, right: Side, face: FaceGeometry, gradient, units: Units, wall: Boundary | None):
    """Inviscid blocks of faces plus those of the viscous flux of the differences across them.

    `gradient` is that of the coordinate across the faces. `wall` is the boundary of the first of them, if that is one.
    """
    mean = 0.5 * (left.w + right.w)
    temperature = units.temperature(mean[0], units.energy_from_pressure(mean[0], mean[3]))
    conductance = face.area * (gradient[0] * face.normal[0] + gradient[1] * face.normal[1])
    mu = conductance * units.viscosity(temperature, mean[3])
    k = conductance * units.conductivity(temperature, mean[3])
    by_left, by_right = blocks
    by_left = by_left + thin_layer_jacobian(left, mean[1:3], face.normal, mu, k)
    if wall is not None:
        # The ghost mirrors the cell through the wall, so that the difference changes twice as fast as the cell does; not
        # so the temperature of an adiabatic wall, which follows the cell.
        mu, k = mu.at[0].multiply(2.0), k.at[0].multiply(2.0 if wall.conducts else 0.0)
    by_right = by_right - thin_layer_jacobian(right, mean[1:3], face.normal, mu, k)
    return by_left, by_right


def beside_faces(cells: Side, axis: int) -> tuple[Side, Side]:
    """Cells left and right of all faces along `axis`; a boundary's outside is taken to be like the cell inside."""

    def ends(value):
        n = value.shape[axis]
        first, last = jnp.take(value, jnp.array([0]), axis=axis), jnp.take(value, jnp.array([n - 1]), axis=axis)
        return jnp.concatenate([first, value], axis=axis), jnp.concatenate([value, last], axis=axis)

    left, right = zip(*(ends(value) for value in cells), strict=True)
    return Side(*left), Side(*right)


def linearize(w: State, problem: Problem, shock) -> Operator:
    """The steady operator d(residual)/dU, of first order in space."""
    if problem.flux is not hllc_hlle:
        # An operator less dissipative than the flux diverges; this one is at least as dissipative as any, and a little slower.
        shock = jnp.ones_like(shock)
    units, geometry, sides = problem.units, problem.metrics, problem.boundaries
    cells = side_of(w, units)
    i_pair, j_pair = beside_faces(cells, axis=-1), beside_faces(cells, axis=-2)
    i_left, i_right = face_blocks(*i_pair, geometry.i_faces, face_maximum(shock, axis=1))
    j_left, j_right = face_blocks(*j_pair, geometry.j_faces, face_maximum(shock, axis=0))
    if sides.j_min.is_wall:
        zero = jnp.zeros_like(w[0, 0])
        push = jnp.stack([zero, *geometry.j_faces.vector[:, 0], zero])
        j_right = j_right.at[:, :, 0].set(outer(push, cells.pressure_row[:, 0]))
    if problem.viscous:
        # Along i as well: small bodies in thin air have low cell Reynolds numbers in both directions.
        i_face, j_face, wall = geometry.i_faces, geometry.j_faces, sides.j_min if sides.j_min.is_wall else None
        i_left, i_right = add_thin_layer((i_left, i_right), *i_pair, i_face, i_face.xi_gradient, units, None)
        j_left, j_right = add_thin_layer((j_left, j_right), *j_pair, j_face, j_face.eta_gradient, units, wall)
    center = i_left[..., 1:] - i_right[..., :-1] + j_left[..., 1:, :] - j_right[..., :-1, :]
    center = center.at[2].add(-geometry.plane_area * cells.pressure_row)
    if sides.i_max.follows:
        center = center.at[..., -1].add(i_right[..., -1])
    return Operator(center, -i_left[..., :-1], i_right[..., 1:], -j_left[..., :-1, :], j_right[..., 1:, :])


def spectral_radius(w: State, problem: Problem):
    """Half the sum over a cell's faces of the fastest signal times area: its volume over the time step at CFL one."""
    units, (i_faces, j_faces) = problem.units, problem.metrics[:2]
    c = units.sound_speed(w[0], units.energy_from_pressure(w[0], w[3]))

    def signal(vector, area):
        return jnp.abs(w[1] * vector[0] + w[2] * vector[1]) + c * area

    along_i = signal(
        0.5 * (i_faces.vector[..., 1:] + i_faces.vector[..., :-1]),
        0.5 * (i_faces.area[..., 1:] + i_faces.area[..., :-1]),
    )
    along_j = signal(
        0.5 * (j_faces.vector[:, 1:] + j_faces.vector[:, :-1]), 0.5 * (j_faces.area[1:] + j_faces.area[:-1])
    )
    return along_i + along_j


def multiply(a, b):
    """Products of 4x4 matrices (4, 4, ...), written out: small and elementwise over the cells."""
    return (
        a[:, 0, None] * b[None, 0]
        + a[:, 1, None] * b[None, 1]
        + a[:, 2, None] * b[None, 2]
        + a[:, 3, None] * b[None, 3]
    )


def apply(a, x):
    """Products of 4x4 matrices (4, 4, ...) and vectors (4, ...)."""
    return a[:, 0] * x[0] + a[:, 1] * x[1] + a[:, 2] * x[2] + a[:, 3] * x[3]


def inverse(m):
    """Inverses of 4x4 matrices (4, 4, ...) by Gauss-Jordan elimination; the blocks are dominated by their diagonals."""
    index = jnp.arange(4)
    for k in range(4):
        pivot = 1.0 / m[k, k]
        at_row = (index == k).reshape(4, 1, *[1] * (m.ndim - 2))
        at_column = (index == k).reshape(1, 4, *[1] * (m.ndim - 2))
        row = jnp.where(index.reshape(4, *[1] * (m.ndim - 2)) == k, pivot, m[k] * pivot)
        column = m[:, k]
        others = jnp.where(at_column, 0.0, m) - column[:, None] * row[None]
        m = jnp.where(at_row, row[None], others)
    return m


class Factors(NamedTuple):
    """The block-tridiagonal matrices of all lines, factored; j leads, for the scans along the lines."""

    inverse: Float[Array, "nj 4 4 ni"]
    below: Float[Array, "nj 4 4 ni"]  # inverse times the block of the cell nearer to the wall
    above: Float[Array, "nj 4 4 ni"]


def factor(center: Block, south: Block, north: Block) -> Factors:
    """Block LU decomposition of every j line."""

    def eliminate(above, blocks):
        center_j, south_j, north_j = blocks
        inverse_j = inverse(center_j - multiply(south_j, above))
        below, above = multiply(inverse_j, south_j), multiply(inverse_j, north_j)
        return above, (inverse_j, below, above)

    lines = tuple(jnp.moveaxis(block, 2, 0) for block in (center, south, north))
    _, factors = jax.lax.scan(eliminate, jnp.zeros_like(lines[0][0]), lines)
    return Factors(*factors)


def solve_lines(factors: Factors, right_side: State) -> State:
    """Solutions along all j lines for a right-hand side (4, nj, ni)."""
    scaled = apply(jnp.moveaxis(factors.inverse, 0, 2), right_side)

    def forward(y, line):
        below, b = line
        y = b - apply(below, y)
        return y, y

    def backward(x, line):
        above, y = line
        x = y - apply(above, x)
        return x, x

    start = jnp.zeros_like(scaled[:, 0])
    _, y = jax.lax.scan(forward, start, (factors.below, jnp.moveaxis(scaled, 1, 0)))
    _, x = jax.lax.scan(backward, start, (factors.above, y), reverse=True)
    return jnp.moveaxis(x, 0, 1)


def implicit_update(w: State, residual: State, problem: Problem, shock, cfl, sweeps: int) -> State:
    """Change of the conservative state: solves (V/dt + dR/dU) dU = -R with `sweeps` relaxations over i."""
    operator = linearize(w, problem, shock)
    center = operator.center + identity(spectral_radius(w, problem) / cfl)
    factors = factor(center, operator.south, operator.north)

    def sweep(_, update):
        from_west = apply(operator.west[..., 1:], update[..., :-1])
        from_east = apply(operator.east[..., :-1], update[..., 1:])
        neighbors = jnp.pad(from_west, ((0, 0), (0, 0), (1, 0))) + jnp.pad(from_east, ((0, 0), (0, 0), (0, 1)))
        return solve_lines(factors, -residual - neighbors)

    return jax.lax.fori_loop(1, sweeps, sweep, solve_lines(factors, -residual))
