"""`solve_flow`: one steady flow, from a flight condition to converged fields."""

import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from sureflow.errors import SureflowError
from sureflow.flow import reconstruct
from sureflow.flow.boundary import AdiabaticWall, Boundaries, Boundary, Fixed, IsothermalWall, Mirror, Outflow, SlipWall
from sureflow.flow.march import SWEEPS
from sureflow.flow.mesh import FlowMesh, MeshSettings, SphereCone, body_mesh
from sureflow.flow.metrics import metrics
from sureflow.flow.residual import Problem
from sureflow.flow.riemann import FLUXES, RECORDED, Flux, hllc_hlle
from sureflow.flow.solution import CRITERIA, Convergence, FlowSolution, flow_field
from sureflow.flow.state import State, free_stream_primitive, from_physical, to_physical, units_of
from sureflow.flow.steer import Report, SolverSettings, march_to_steady_state, unfrozen_residual
from sureflow.physics import quantities
from sureflow.physics.free_stream import FlightCondition, FreeStream
from sureflow.physics.gases import Gas, PerfectGas
from sureflow.physics.quantities import FlowField
from sureflow.physics.wall import Wall
from sureflow.runtime import double_precision, keep_compiled_programs
from sureflow.validation import validated

Fields = Float[np.ndarray, "4 nj ni"]  # u1, u2 (m/s), rho (kg/m3), T (K)


class Start(NamedTuple):
    """Another solution to start from, with the free stream that it belongs to."""

    fields: Fields
    free_stream: FreeStream


def solve_flow(
    condition: FlightCondition | FreeStream,
    mesh: FlowMesh | None = None,
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
        problem = flow_problem(mesh, gas, wall, free_stream, FLUXES[settings.flux])
        units = problem.units
        reference = unfrozen_residual(from_physical(uniform(mesh, gas, free_stream), units), problem, 0.0)

        def fields_of(state: State) -> Fields:
            return np.asarray(to_physical(state, units))

        def monitor(state: State) -> np.ndarray:
            return monitored(flow_field(fields_of(state), mesh, gas, free_stream, wall))

        def march(fields: Fields, at_once: bool) -> tuple[State, Convergence]:
            state = from_physical(fields, units)
            return march_to_steady_state(state, problem, reference, monitor, settings, progress, at_once)

        begin = rescaled(start, mesh, gas, free_stream) if start else first_guess(mesh, gas, free_stream)
        state, convergence = march(begin, at_once=start is not None)
        if start and convergence.status != "converged":
            scratch, again = march(first_guess(mesh, gas, free_stream), at_once=False)
            if again.status == "converged" or convergence.status == "failed":
                state, convergence = scratch, both_attempts(convergence, again)
        fields = fields_of(state)
        if convergence.status == "converged" and touches_boundary(flow_field(fields, mesh, gas, free_stream, wall)):
            convergence = replace(convergence, status="failed", advice=TOUCHES)
    flight = condition if isinstance(condition, FlightCondition) else None
    return FlowSolution(flight, free_stream, mesh, gas, wall, fields, convergence, seconds=time.perf_counter() - began)


# A flow that its mesh cuts off is no result, however well it converged.
TOUCHES = "The shock touches the outer boundary, which cuts it off: use a mesh with larger margins (nose_margin, base_margin)."
GROWTH, GROWTHS = 1.5, 3  # of the margins of a mesh that the shock touches, and how often it may grow


def touches_boundary(field: FlowField) -> bool:
    """Whether the pressure has risen in the outermost cell of some line."""
    return quantities.undisturbed_cells(field) == 0


def solve(
    mach: float,
    altitude_km: float,
    *,
    cells: tuple[int, int] = (64, 64),
    wall: str = "isothermal",
    wall_temperature: float = Wall().temperature,
    wall_spacing: float = MeshSettings().wall_spacing,
    gas: Gas | None = None,
    progress: Report | None = None,
) -> FlowSolution:
    """The steady flow over the RAM-C II in flight, on a mesh that is fitted to its bow shock.

    `cells` are those along the body and normal to it, `wall` is isothermal, adiabatic or slip (inviscid), and
    `wall_spacing` is the height of the first cell at the nose in meters. A mesh that the shock touches, as a thick one does
    in thin air, is made larger. `solve_flow` takes any free stream and mesh.

    >>> import sureflow as sf
    >>> flow = sf.solve(mach=20, altitude_km=40, cells=(16, 16), wall_spacing=2e-4)
    >>> flow.convergence.status
    'converged'
    >>> list(flow.to_xarray().data_vars)
    ['u1', 'u2', 'rho', 'T', 'pressure', 'mach_number']
    """
    condition = FlightCondition(mach, altitude_km)
    surface = validated(Wall, {"kind": wall, "temperature": wall_temperature}, "wall")
    settings = validated(MeshSettings, {"cells": cells, "wall_spacing": wall_spacing, "mach": mach}, "mesh")
    growths = 0
    while True:
        solution = solve_flow(condition, body_mesh(SphereCone(), settings), gas=gas, wall=surface, progress=progress)
        if solution.convergence.advice != TOUCHES or growths == GROWTHS:
            return solution
        settings, growths = settings.grown(GROWTH), growths + 1


def both_attempts(first: Convergence, second: Convergence) -> Convergence:
    """The second attempt's convergence, with the steps of both."""
    history = np.concatenate([first.history, second.history])
    return replace(second, steps=first.steps + second.steps, history=history)


def monitored(field: FlowField) -> np.ndarray:
    """Stand-off, drag and stagnation heat flux: their drift decides where the residual alone cannot."""
    drag = sum(quantities.drag_coefficients(field))
    return np.array([quantities.stand_off(field), drag, quantities.stagnation_heat_flux(field)])


def scheme(settings: SolverSettings) -> dict[str, Any]:
    """All that decides the discrete solution beside mesh, gas and wall, for the records of a data set."""
    return {
        "reconstruction": "MUSCL on (rho, u, v, p), van Albada",
        "slopes_in_shocks": "none across, none along at the foot",
        "weakest_jump": reconstruct.WEAKEST_JUMP,
        "sweeps": SWEEPS,
        "criteria": list(CRITERIA),
        **asdict(settings),
        "flux": RECORDED.get(settings.flux, settings.flux),
    }


def solver_settings(recorded: Mapping[str, Any]) -> SolverSettings:
    """The settings that a `scheme` came from."""
    flux = next((name for name, text in RECORDED.items() if text == recorded["flux"]), recorded["flux"])
    values = {name: recorded[name] for name in asdict(SolverSettings()) if name in recorded}
    return validated(SolverSettings, values | {"flux": flux}, "scheme")


def flow_problem(mesh: FlowMesh, gas: Gas, wall: Wall, free_stream: FreeStream, flux: Flux = hllc_hlle) -> Problem:
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
        flux=flux,
    )


def uniform(mesh: FlowMesh, gas: Gas, free_stream: FreeStream) -> Fields:
    """u1, u2, rho and T of the free stream everywhere."""
    values = (free_stream.velocity, 0.0, free_stream.density(gas), free_stream.temperature)
    return np.broadcast_to(np.array(values)[:, None, None], (4, *mesh.shape))


def first_guess(mesh: FlowMesh, gas: Gas, free_stream: FreeStream) -> Fields:
    """Free stream whose velocity is brought down to zero towards the wall."""
    _, eta = mesh.body_fitted
    fields = uniform(mesh, gas, free_stream).copy()
    fields[0] *= np.minimum(1.0, 3.0 * eta)
    return fields


def rescaled(start: Start, mesh: FlowMesh, gas: Gas, free_stream: FreeStream) -> Fields:
    """Another solution, carried over in units of its own free stream (Mach-number independence).

    The pressure moves by the difference of the two free streams', which is small behind the shock and exact before it.
    """
    if start.fields.shape != (4, *mesh.shape):
        raise SureflowError(
            f"the start has shape {start.fields.shape}, but the mesh needs {(4, *mesh.shape)}: give the same mesh"
        )
    theirs, ours = start.free_stream, free_stream
    u1, u2, rho, temperature = start.fields
    faster, denser = ours.velocity / theirs.velocity, ours.density(gas) / theirs.density(gas)
    pressure = np.asarray(gas.pressure(rho, gas.energy_from_temperature(rho, temperature)))
    moved = (pressure - theirs.pressure) * denser * faster**2 + ours.pressure
    rho = rho * denser
    energy = gas.energy_from_pressure(rho, np.maximum(moved, 0.5 * ours.pressure))
    return np.stack([u1 * faster, u2 * faster, rho, np.asarray(gas.temperature(rho, energy))])
