"""Uniform free stream on the mesh of the body: a residual that is not zero is an error of the metrics."""

import jax.numpy as jnp

from sureflow.flow.boundary import Boundaries, Fixed, Mirror, Outflow
from sureflow.flow.compiling import compiled
from sureflow.flow.march import switches_of
from sureflow.flow.mesh import FlowMesh
from sureflow.flow.metrics import metrics
from sureflow.flow.residual import Problem, residual
from sureflow.flow.state import conservative, free_stream_primitive, units_of
from sureflow.physics.free_stream import FlightCondition
from sureflow.physics.gases import PerfectGas
from sureflow.runtime import double_precision


def largest_residual(mesh: FlowMesh) -> float:
    """Over the largest flux of mass through a face, at Mach 25 and 46 km."""
    gas = PerfectGas()
    free_stream = FlightCondition(25, 46).free_stream(gas)
    with double_precision():
        stream = free_stream_primitive(free_stream, gas)
        sides = Boundaries(Mirror(), Outflow(), Fixed(stream), Fixed(stream))
        problem = Problem(metrics(mesh), sides, units_of(free_stream, gas))
        w = jnp.broadcast_to(stream[:, None, None], (4, *mesh.shape))
        state = conservative(w, problem.units)
        r = compiled(residual)(state, problem, switches_of(state, problem), 1.0)
        return float(jnp.abs(r).max() / problem.metrics.j_faces.area.max())
