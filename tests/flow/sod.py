"""Sod's shock tube: the exact solution, and the scheme's."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import brentq

from sureflow.flow.boundary import Boundaries, Outflow, SlipWall
from sureflow.flow.compiling import compiled
from sureflow.flow.mesh import FlowMesh
from sureflow.flow.metrics import metrics
from sureflow.flow.residual import Problem, residual, switches
from sureflow.flow.state import Units, conservative, primitive
from sureflow.physics.gases import PerfectGas
from sureflow.runtime import double_precision

TIME = 0.2


def exact_sod(x_over_t, gamma=1.4):
    """Density of Sod's problem: left (1, 0, 1), right (0.125, 0, 0.1), from the Rankine-Hugoniot and Riemann relations."""
    rl, pl, rr, pr = 1.0, 1.0, 0.125, 0.1
    cl, cr = np.sqrt(gamma * pl / rl), np.sqrt(gamma * pr / rr)

    def velocity_left(p):
        return 2 * cl / (gamma - 1) * (1 - (p / pl) ** ((gamma - 1) / (2 * gamma)))

    def velocity_right(p):
        return (p - pr) * np.sqrt(2 / ((gamma + 1) * rr) / (p + (gamma - 1) / (gamma + 1) * pr))

    p = brentq(lambda p: velocity_left(p) - velocity_right(p), pr, pl)
    u = velocity_left(p)
    behind_fan = rl * (p / pl) ** (1 / gamma)
    behind_shock = rr * (p / pr + (gamma - 1) / (gamma + 1)) / ((gamma - 1) / (gamma + 1) * p / pr + 1)
    shock = cr * np.sqrt((gamma + 1) / (2 * gamma) * p / pr + (gamma - 1) / (2 * gamma))
    tail = u - np.sqrt(gamma * p / behind_fan)
    c_fan = 2 / (gamma + 1) * (cl - 0.5 * (gamma - 1) * x_over_t)
    fan = rl * (np.maximum(c_fan, 1e-9) / cl) ** (2 / (gamma - 1))
    conditions = [x_over_t < -cl, x_over_t < tail, x_over_t < u, x_over_t < shock]
    return np.select(conditions, [rl, fan, behind_fan, behind_shock], rr)


def computed_sod(cells: int = 200, steps: int = 160) -> tuple[np.ndarray, np.ndarray]:
    """x and density (rows across the tube, cells) at t = 0.2: Heun's method in time, the scheme's own fluxes in space."""
    with double_precision():
        x = np.linspace(0.0, 1.0, cells + 1)
        mesh = FlowMesh(*np.meshgrid(x, np.linspace(0.0, 0.04, 9)), axisymmetric=False)
        sides = Boundaries(Outflow(), Outflow(), SlipWall(), SlipWall())
        geometry = metrics(mesh)
        problem = Problem(geometry, sides, Units(PerfectGas(), 1.0, 1.0), axisymmetric=False, viscous=False)
        left = geometry.center[0] < 0.5
        w = jnp.stack([jnp.where(left, 1.0, 0.125), 0.0 * left, 0.0 * left, jnp.where(left, 1.0, 0.1)])
        dt = TIME / steps

        def rate(state, problem):
            active = switches(primitive(state, problem.units), problem)
            return -residual(state, problem, active, 1.0) / problem.metrics.volume

        @compiled
        def run(state, problem):
            def heun(_, state):
                first = state + dt * rate(state, problem)
                return 0.5 * (state + first + dt * rate(first, problem))

            return jax.lax.fori_loop(0, steps, heun, state)

        density = np.asarray(run(conservative(w, problem.units), problem)[0])
    return 0.5 * (x[1:] + x[:-1]), density
