"""Laminar boundary layer on a flat plate at Mach 2.9, against a compressible similarity solution."""

import jax.numpy as jnp
import numpy as np

from sureflow.flow.boundary import Boundaries, Fixed, IsothermalWall, Outflow
from sureflow.flow.mesh import Mesh, one_sided_stretching
from sureflow.flow.metrics import metrics
from sureflow.flow.residual import Problem
from sureflow.flow.state import conservative, free_stream_primitive, primitive, units_of
from sureflow.flow.steer import SolverSettings, march_to_steady_state
from sureflow.physics.free_stream import FreeStream
from sureflow.physics.gas import PerfectGas
from sureflow.runtime import double_precision

STREAM = FreeStream(velocity=604.5, pressure=2303.0, temperature=108.1)
WALL_TEMPERATURE = 269.5
LENGTH, HEIGHT = 0.3, 0.13  # the Mach line of the leading edge leaves through the end, below the top


def test_wall_shear():
    x = np.linspace(0.0, 1.0, 49) ** 1.5 * LENGTH  # fine at the leading edge
    y = one_sided_stretching(5e-5 / HEIGHT, 56) * HEIGHT
    node_x, node_r = np.meshgrid(x, y)
    gas = PerfectGas(prandtl=0.72)
    with double_precision():
        stream = free_stream_primitive(STREAM, gas)
        sides = Boundaries(Fixed(stream), Outflow(), IsothermalWall(jnp.asarray(WALL_TEMPERATURE)), Fixed(stream))
        problem = Problem(
            metrics(Mesh(node_x, node_r, axisymmetric=False)), sides, units_of(STREAM, gas), axisymmetric=False
        )
        start = jnp.broadcast_to(stream[:, None, None], (4, 56, 48))
        settings = SolverSettings(tolerance=1e-7, largest_cfl=100.0)
        state, convergence = march_to_steady_state(
            conservative(start, problem.units), problem, reference(start, problem), lambda s: np.zeros(1), settings
        )
        _, u, _, _ = primitive(state, problem.units)
        u_wall = np.asarray(u)[0] * STREAM.velocity
    assert convergence.status == "converged"
    middle, height = 0.5 * (x[1:] + x[:-1]), 0.5 * (y[0] + y[1])
    shear = float(gas.viscosity(WALL_TEMPERATURE)) * u_wall / height
    # 6.751 Pa at x = 0.28 m: Eckert's and van Driest's similarity solutions for this wall agree within 2 %.
    assert abs(np.interp(0.28, middle, shear) / 6.751 - 1.0) < 0.02


def reference(w, problem):
    """Residual norm of uniform flow."""
    from sureflow.flow.march import unfrozen_residual

    return float(unfrozen_residual(conservative(w, problem.units), problem, 0.0))
