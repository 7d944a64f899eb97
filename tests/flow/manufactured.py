"""Manufactured solutions: smooth supersonic fields, their sources by automatic differentiation, and discrete solutions.

After Roy, Nelson, Smith and Ober (2004): the exact equations are applied to a chosen field; what is left over becomes a
source, and the scheme must find the field again with an error that falls with the square of the mesh size.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from sureflow.flow import reconstruct, riemann
from sureflow.flow.boundary import Boundaries, Fixed
from sureflow.flow.compiling import compiled
from sureflow.flow.mesh import FlowMesh
from sureflow.flow.metrics import metrics
from sureflow.flow.residual import Problem, residual, switches
from sureflow.flow.state import Units, conservative, primitive
from sureflow.physics.gases import Gas, PerfectGas


class SyrupGas(Gas):
    """A perfect gas with a large viscosity, so that viscous terms matter on coarse meshes, that rises with the pressure."""

    perfect: PerfectGas
    mu: jax.Array

    def pressure(self, density, energy):
        return self.perfect.pressure(density, energy)

    def temperature(self, density, energy):
        return self.perfect.temperature(density, energy)

    def sound_speed(self, density, energy):
        return self.perfect.sound_speed(density, energy)

    def energy_from_pressure(self, density, pressure):
        return self.perfect.energy_from_pressure(density, pressure)

    def energy_from_temperature(self, density, temperature):
        return self.perfect.energy_from_temperature(density, temperature)

    def density_from_pressure(self, pressure, temperature):
        return self.perfect.density_from_pressure(pressure, temperature)

    def viscosity(self, temperature, pressure):
        return self.mu * temperature**0.7 * pressure**0.4

    def conductivity(self, temperature, pressure):
        return self.perfect.cp / self.perfect.prandtl * self.viscosity(temperature, pressure)


def exact(x, r):
    """(rho, u, v, p): supersonic, of order one."""
    return jnp.stack(
        [
            1.0 + 0.15 * jnp.sin(1.5 * x) + 0.1 * jnp.cos(1.2 * r),
            2.5 + 0.2 * jnp.sin(1.1 * x + 0.3) + 0.15 * jnp.cos(1.3 * r),
            0.5 + 0.1 * jnp.cos(0.9 * x) + 0.1 * jnp.sin(1.4 * r),
            1.0 + 0.2 * jnp.cos(1.2 * x) + 0.15 * jnp.sin(1.1 * r + 0.2),
        ]
    )


def flux(x, r, units, axisymmetric, viscous):
    """Exact fluxes along x and r at a point, (2, 4), and the hoop stress."""
    w = exact(x, r)
    normals = jnp.eye(2)
    inviscid = jnp.stack([riemann.euler_flux(w, conservative(w, units), normals[k]) for k in range(2)])
    if not viscous:
        return inviscid, 0.0

    def temperature(x, r):
        w = exact(x, r)
        return units.temperature(w[0], units.energy_from_pressure(w[0], w[3]))

    dx, dr = jax.jacfwd(exact, 0)(x, r), jax.jacfwd(exact, 1)(x, r)
    tx, tr = jax.grad(temperature, 0)(x, r), jax.grad(temperature, 1)(x, r)
    mu, k = (transport(temperature(x, r), w[3]) for transport in (units.viscosity, units.conductivity))
    v_over_r = w[2] / r if axisymmetric else 0.0
    dilatation = 2.0 / 3.0 * (dx[1] + dr[2] + v_over_r)
    txx, trr, txr = mu * (2 * dx[1] - dilatation), mu * (2 * dr[2] - dilatation), mu * (dr[1] + dx[2])
    along_x = jnp.stack([0.0, txx, txr, w[1] * txx + w[2] * txr + k * tx])
    along_r = jnp.stack([0.0, txr, trr, w[1] * txr + w[2] * trr + k * tr])
    return inviscid - jnp.stack([along_x, along_r]), mu * (2.0 * v_over_r - dilatation)


def source(x, r, units, axisymmetric, viscous):
    """What the exact equations leave over: div F (with r inside, per unit volume), less pressure and hoop stress."""
    weight = (lambda r: r) if axisymmetric else (lambda r: 1.0)
    weighted = lambda x, r: weight(r) * flux(x, r, units, axisymmetric, viscous)[0]  # noqa: E731
    divergence = jax.jacfwd(weighted, 0)(x, r)[0] + jax.jacfwd(weighted, 1)(x, r)[1]
    if axisymmetric:
        hoop = flux(x, r, units, axisymmetric, viscous)[1]
        divergence = divergence.at[2].add(-(exact(x, r)[3] - hoop))
    return divergence / weight(r)


@partial(compiled, static_argnums=(3, 4))
def sources(x, r, units, axisymmetric, viscous):
    """At all cells."""
    pointwise = jax.vmap(jax.vmap(lambda x, r: source(x, r, units, axisymmetric, viscous), out_axes=1), out_axes=1)
    return pointwise(x, r)


def wavy_mesh(n: int, axisymmetric: bool) -> FlowMesh:
    """A smoothly distorted block of n x n cells, 0 < x < 1, about 0.5 < r < 1.5."""
    xi, eta = np.meshgrid(np.linspace(0, 1, n + 1), np.linspace(0, 1, n + 1))
    bump = 0.04 * np.sin(2 * np.pi * xi) * np.sin(2 * np.pi * eta)
    return FlowMesh(xi + bump, 0.5 + eta + 0.15 * xi * (1 - eta) + bump, axisymmetric=axisymmetric)


@compiled
def relax(state, problem, forcing, dt):
    """Explicit marching (Heun) of the forced equations until nothing changes; the flow is supersonic and flushes fast."""
    steps = jnp.ceil(8.0 / dt).astype(int)  # many times through the block

    def rate(state):
        active = switches(primitive(state, problem.units), problem)
        return (forcing - residual(state, problem, active, 1.0)) / problem.metrics.volume

    def heun(_, state):
        # Both stages through one loop, so that the residual is compiled once.
        def stage(k, pair):
            start, now = pair
            moved = now + dt * rate(now)
            return start, jnp.where(k == 0, moved, 0.5 * (start + moved))

        return jax.lax.fori_loop(0, 2, stage, (state, state))[1]

    state = jax.lax.fori_loop(0, steps, heun, state)
    return state, jnp.abs(rate(state)).max()


def error(n: int, axisymmetric: bool, viscous: bool) -> tuple[float, float]:
    """Mean absolute error of (rho, u, v, p) on n x n cells, and the largest rate of change that is left."""
    mesh = wavy_mesh(n, axisymmetric)
    geometry = metrics(mesh)
    units = Units(SyrupGas(PerfectGas(gas_constant=1.0), jnp.asarray(0.015)), jnp.asarray(1.0), jnp.asarray(1.0))
    node = np.stack([mesh.node_x, mesh.node_r])
    at_i, at_j = 0.5 * (node[:, 1:] + node[:, :-1]), 0.5 * (node[:, :, 1:] + node[:, :, :-1])
    sides = Boundaries(
        Fixed(exact(*at_i[:, :, 0])),
        Fixed(exact(*at_i[:, :, -1])),
        Fixed(exact(*at_j[:, 0])),
        Fixed(exact(*at_j[:, -1])),
    )
    problem = Problem(
        geometry,
        sides,
        units,
        axisymmetric=axisymmetric,
        viscous=viscous,
        limiter=reconstruct.unlimited,
        sensor_off_wall=n,
    )
    truth = exact(*geometry.center)
    forcing = sources(*geometry.center, units, axisymmetric, viscous) * geometry.volume
    state, left = relax(conservative(truth, units), problem, forcing, jnp.asarray(0.08 / n))
    return float(jnp.abs(primitive(state, units) - truth).mean()), float(left)
