"""Laminar boundary layer on a flat plate at Mach 2.9."""

import jax.numpy as jnp
import numpy as np

from sureflow.flow.boundary import Boundaries, Fixed, IsothermalWall, Outflow
from sureflow.flow.mesh import FlowMesh, one_sided_stretching
from sureflow.flow.metrics import metrics
from sureflow.flow.residual import Problem
from sureflow.flow.state import conservative, free_stream_primitive, primitive, units_of
from sureflow.flow.steer import SolverSettings, march_to_steady_state, unfrozen_residual
from sureflow.physics.free_stream import FreeStream
from sureflow.physics.gases import PerfectGas
from sureflow.runtime import double_precision

STREAM = FreeStream(velocity=604.5, pressure=2303.0, temperature=108.1)
WALL_TEMPERATURE = 269.5
SHEAR_AT = 0.28, 6.751  # x in m and wall shear in Pa: compressible similarity solution for this stream and wall
LENGTH, HEIGHT = 0.3, 0.13  # the Mach line of the leading edge leaves through the end, below the top


def wall_shear(along: int = 48, normal: int = 56) -> tuple[str, np.ndarray, np.ndarray]:
    """How the computation ended, and the shear on the plate in Pa at x in m."""
    x = np.linspace(0.0, 1.0, along + 1) ** 1.5 * LENGTH  # fine at the leading edge
    y = one_sided_stretching(5e-5 / HEIGHT, normal) * HEIGHT
    gas = PerfectGas(prandtl=0.72)
    with double_precision():
        stream = free_stream_primitive(STREAM, gas)
        sides = Boundaries(Fixed(stream), Outflow(), IsothermalWall(jnp.asarray(WALL_TEMPERATURE)), Fixed(stream))
        mesh = FlowMesh(*np.meshgrid(x, y), axisymmetric=False)
        problem = Problem(metrics(mesh), sides, units_of(STREAM, gas), axisymmetric=False)
        start = conservative(jnp.broadcast_to(stream[:, None, None], (4, normal, along)), problem.units)
        reference = unfrozen_residual(start, problem, 0.0)
        settings = SolverSettings(tolerance=1e-7, largest_cfl=100.0)
        state, convergence = march_to_steady_state(start, problem, reference, lambda _: np.zeros(1), settings)
        u_wall = np.asarray(primitive(state, problem.units)[1, 0]) * STREAM.velocity
    shear = float(gas.viscosity(WALL_TEMPERATURE, STREAM.pressure)) * u_wall / (0.5 * (y[0] + y[1]))
    return convergence.status, 0.5 * (x[1:] + x[:-1]), shear
