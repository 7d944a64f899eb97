"""`solve_flow`: one steady flow, from a flight condition to converged fields."""

import time
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from sureflow.errors import SureflowError
from sureflow.flow.boundary import AdiabaticWall, Boundaries, Boundary, Fixed, IsothermalWall, Mirror, Outflow, SlipWall
from sureflow.flow.march import unfrozen_residual
from sureflow.flow.mesh import Mesh, MeshSettings, SphereCone, body_mesh
from sureflow.flow.metrics import metrics
from sureflow.flow.residual import Problem
from sureflow.flow.solution import Convergence, FlowSolution
from sureflow.flow.state import State, Units, conservative, free_stream_primitive, primitive, units_of
from sureflow.flow.steer import Report, SolverSettings, march_to_steady_state
from sureflow.physics import quantities
from sureflow.physics.free_stream import FlightCondition, FreeStream
from sureflow.physics.gas import Gas, PerfectGas
from sureflow.physics.quantities import FlowField
from sureflow.physics.wall import Wall
from sureflow.runtime import double_precision, keep_compiled_programs


class Start(NamedTuple):
    """Another solution to start from, with the free stream that it belongs to."""

    fields: Float[np.ndarray, "4 nj ni"]
    free_stream: FreeStream


def solve_flow(
    condition: FlightCondition | FreeStream,
    mesh: Mesh | None = None,
    *,
    gas: Gas | None = None,
    wall: Wall | None = None,
    start: Start | None = None,
    settings: SolverSettings | None = None,
    progress: Report | None = None,
) -> FlowSolution:
    """The steady flow over a body at a flight condition, or in a free stream given by its values.

    Without a mesh, one around the RAM-C II is fitted to the Mach number. With `start`, the march begins from another solution,
    rescaled to this free stream. A computation that does not converge is a result with advice, not an exception.
    """
    began = time.perf_counter()
    gas, wall, settings = gas or PerfectGas(), wall or Wall(), settings or SolverSettings()
    free_stream = condition.free_stream(gas) if isinstance(condition, FlightCondition) else condition
    mesh = mesh or body_mesh(SphereCone(), MeshSettings(mach=free_stream.mach(gas)))
    keep_compiled_programs()
    with double_precision():
        problem = flow_problem(mesh, gas, wall, free_stream)
        reference = free_stream_residual(mesh, problem, free_stream)
        field_of = field_builder(mesh, gas, wall, free_stream, problem.units)

        def march(state: State, *, second_order_at_once: bool) -> tuple[State, Convergence]:
            return march_to_steady_state(
                state,
                problem,
                reference,
                lambda state: monitored(field_of(state)),
                settings,
                progress,
                second_order_at_once=second_order_at_once,
            )

        begin = rescaled(start, mesh, problem.units, free_stream) if start else first_guess(mesh, problem, free_stream)
        state, convergence = march(begin, second_order_at_once=start is not None)
        if start and convergence.status != "converged":
            state, convergence = march(first_guess(mesh, problem, free_stream), second_order_at_once=False)
        fields = field_of(state).fields
    flight = condition if isinstance(condition, FlightCondition) else None
    return FlowSolution(flight, free_stream, mesh, gas, wall, fields, convergence, seconds=time.perf_counter() - began)


def monitored(field: FlowField) -> np.ndarray:
    """Stand-off, drag and stagnation heat flux: their drift decides where the residual alone cannot."""
    drag = sum(quantities.drag_coefficients(field))
    return np.array([quantities.stand_off(field), drag, quantities.stagnation_heat_flux(field)])


def flow_problem(mesh: Mesh, gas: Gas, wall: Wall, free_stream: FreeStream) -> Problem:
    """The discrete problem of a body in a free stream."""
    walls: dict[str, Boundary] = {
        "isothermal": IsothermalWall(jnp.asarray(wall.temperature)),
        "adiabatic": AdiabaticWall(),
        "slip": SlipWall(),
    }
    outside = Fixed(free_stream_primitive(free_stream, gas))
    return Problem(
        metrics(mesh),
        Boundaries(Mirror(), Outflow(), walls[wall.kind], outside),
        units_of(free_stream, gas),
        axisymmetric=mesh.axisymmetric,
        viscous=wall.viscous,
    )


def uniform(mesh: Mesh, problem: Problem, free_stream: FreeStream) -> Float[Array, "4 nj ni"]:
    """(rho, u, v, p) of the free stream everywhere."""
    w = free_stream_primitive(free_stream, problem.units.gas)
    return jnp.broadcast_to(w[:, None, None], (4, *mesh.shape))


def free_stream_residual(mesh: Mesh, problem: Problem, free_stream: FreeStream) -> float:
    """Residual norm of uniform free stream on this mesh: what every drop is relative to."""
    return float(unfrozen_residual(conservative(uniform(mesh, problem, free_stream), problem.units), problem, 0.0))


def first_guess(mesh: Mesh, problem: Problem, free_stream: FreeStream) -> State:
    """Free stream whose velocity is brought down to zero towards the wall."""
    _, eta = mesh.body_fitted
    w = uniform(mesh, problem, free_stream)
    return conservative(w.at[1].multiply(jnp.minimum(1.0, 3.0 * jnp.asarray(eta))), problem.units)


def rescaled(start: Start, mesh: Mesh, units: Units, free_stream: FreeStream) -> State:
    """Another solution, carried over in units of its own free stream (Mach-number independence).

    The pressure moves by the difference of the two free streams', which is small behind the shock and exact before it.
    """
    fields = np.asarray(start.fields)
    if fields.shape != (4, *mesh.shape):
        raise SureflowError(
            f"the start has shape {fields.shape}, but the mesh needs {(4, *mesh.shape)}: give the same mesh."
        )
    gas, theirs = units.gas, start.free_stream
    u1, u2, rho, temperature = jnp.asarray(fields)
    dynamic = theirs.density(gas) * theirs.velocity**2
    pressure = gas.pressure(rho, gas.energy_from_temperature(rho, temperature)) / dynamic
    ours = free_stream_primitive(free_stream, gas)[3]
    pressure = jnp.maximum(pressure + ours - theirs.pressure / dynamic, 0.5 * ours)
    w = jnp.stack([rho / theirs.density(gas), u1 / theirs.velocity, u2 / theirs.velocity, pressure])
    return conservative(w, units)


def field_builder(
    mesh: Mesh, gas: Gas, wall: Wall, free_stream: FreeStream, units: Units
) -> Callable[[State], FlowField]:
    """A function from a state of the solver to fields in SI units."""
    node_x, node_r = np.asarray(mesh.node_x), np.asarray(mesh.node_r)
    nose_radius = mesh.body.nose_radius if mesh.body else float("nan")

    def field_of(state: State) -> FlowField:
        rho, u, v, p = primitive(state, units)
        temperature = units.temperature(rho, units.energy_from_pressure(rho, p))
        speed, density = units.velocity, units.density
        fields = np.stack([np.asarray(f) for f in (u * speed, v * speed, rho * density, temperature)])
        return FlowField(node_x, node_r, fields, gas, free_stream, wall, nose_radius)

    return field_of
