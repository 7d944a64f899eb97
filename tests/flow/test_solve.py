"""Whole solutions: trust, not speed. The meshes are coarse so that the tests stay short; the fine sweep is `make verify`."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flow import uniform
from physics.tabulated import Tabulated
from sureflow.errors import SureflowError
from sureflow.flow.mesh import MeshSettings, SphereCone, body_mesh
from sureflow.flow.riemann import FLUXES, einfeldt_speeds, euler_flux
from sureflow.flow.solution import RECORD_NAMES
from sureflow.flow.solve import Start, scheme, solve, solve_flow
from sureflow.flow.state import conservative
from sureflow.flow.steer import SolverSettings
from sureflow.physics.correlations import fay_riddell, pitot_ratio
from sureflow.physics.free_stream import FlightCondition, FreeStream
from sureflow.physics.gases import PerfectGas
from sureflow.physics.wall import Wall

BODY = SphereCone()
COARSE = body_mesh(BODY, MeshSettings(cells=(32, 48), wall_spacing=7e-5))


def test_free_stream_is_preserved_on_the_body_fitted_mesh():
    # Room for some thousand roundings of double precision; a wrong metric would show in the first digits.
    assert uniform.largest_residual(body_mesh(BODY, MeshSettings(cells=(32, 32)))) < 1e-12


@pytest.fixture(scope="module")
def sweep():
    """25 conditions over the whole envelope, each started from its neighbor as in a campaign."""
    solutions = {}
    for mach, altitude in itertools.product((20, 15, 10, 25, 30), (40, 30, 20, 50, 60)):
        nearest = min(solutions, key=lambda c: abs(c[0] - mach) / 5 + abs(c[1] - altitude) / 10, default=None)
        start = Start(solutions[nearest].fields, solutions[nearest].free_stream) if nearest else None
        solutions[mach, altitude] = solve_flow(FlightCondition(mach, altitude), COARSE, start=start)
    return solutions


def test_all_of_the_envelope_converges_unattended(sweep):
    assert {condition: s.convergence.status for condition, s in sweep.items()} == dict.fromkeys(sweep, "converged")
    assert all(s.convergence.residual_drop <= 1e-4 for s in sweep.values())


def test_no_run_leaves_physics(sweep):
    records = [s.record() for s in sweep.values()]
    assert min(r["lowest_temperature_ratio"] for r in records) > 0.98
    assert min(s.pressure.min() for s in sweep.values()) > 0.0
    assert min(r["undisturbed_cells"] for r in records) >= 3
    assert max(r["axis_shock_offset_cells"] for r in records) < 1.0


def test_records_have_the_promised_names(sweep):
    assert tuple(sweep[20, 40].record()) == RECORD_NAMES


def test_balances_close(sweep):
    """Within 0.5 % of the free stream's flux through the base."""
    for s in sweep.values():
        record = s.record()
        assert max(abs(record[f"balance_error_{q}"]) for q in ("mass", "momentum", "energy")) < 5e-3


@pytest.mark.parametrize("mach", [10, 20, 30])
def test_stagnation_pressure(sweep, mach):
    """Rayleigh's pitot formula; 1 % is asked for on 64x64 cells, and this mesh is coarser by half: 2 %."""
    assert sweep[mach, 30].record()["pitot_ratio"] == pytest.approx(pitot_ratio(mach), rel=0.02)


@pytest.mark.parametrize("mach", [10, 20, 30])
def test_surface_pressure_is_newtonian(sweep, mach):
    """Modified Newtonian theory is good to 0.05 Cp_max for angles below 60 degrees; 0.01 more for this coarse mesh."""
    for angle in (20, 40, 60):
        assert sweep[mach, 30].record()[f"cp_over_cpmax_{angle}"] == pytest.approx(
            np.cos(np.radians(angle)) ** 2, abs=0.06
        )


def test_start_does_not_change_the_answer(sweep):
    """A continued run and one from scratch agree to the tolerance of convergence."""
    scratch = solve_flow(FlightCondition(15, 30), COARSE)
    np.testing.assert_allclose(
        sweep[15, 30].fields, scratch.fields, rtol=2e-3, atol=2e-3 * np.abs(scratch.fields).max()
    )
    assert sweep[15, 30].record()["stand_off"] == pytest.approx(scratch.record()["stand_off"], rel=1e-3)


def test_repeated_runs_are_equal_bit_for_bit():
    first, second = (solve_flow(FlightCondition(20, 40), COARSE) for _ in range(2))
    assert np.array_equal(first.fields, second.fields)


def test_stagnation_heat_flux_is_that_of_fay_riddell_and_largest_on_the_axis():
    mesh = body_mesh(BODY, MeshSettings(cells=(32, 48), wall_spacing=1e-5))
    solution = solve_flow(FlightCondition(10, 30), mesh)
    heat = solution.surface().heat_flux
    expected = fay_riddell(solution.free_stream, solution.gas, BODY.nose_radius, 1500.0)  # type: ignore[arg-type]
    assert solution.record()["q_stag_w_m2"] == pytest.approx(expected, rel=0.15)  # the correlation's own accuracy
    assert heat[0] == heat.max()


def test_adiabatic_wall_takes_no_heat_and_recovers_most_of_the_total_temperature():
    solution = solve_flow(FlightCondition(10, 40), COARSE, wall=Wall("adiabatic"))
    assert solution.convergence.status == "converged"
    assert np.all(solution.surface().heat_flux == 0.0)
    total = solution.validity.stagnation_temperature_k
    # At the stagnation point the adiabatic wall has the total temperature; along the cone the laminar recovery, sqrt(Pr).
    assert solution.fields[3, 0, 0] == pytest.approx(total, rel=0.02)
    assert 0.80 < solution.fields[3, 0, -1] / total < 1.0


def test_wind_tunnel_stream_and_plain_sphere():
    stream = FreeStream(velocity=1500.0, pressure=500.0, temperature=60.0)
    mesh = body_mesh(SphereCone.sphere(0.02), MeshSettings(cells=(32, 48), wall_spacing=2e-5, mach=9.0))
    solution = solve_flow(stream, mesh, wall=Wall(temperature=300.0))
    assert solution.condition is None
    assert solution.convergence.status == "converged"
    mach = stream.mach(solution.gas)
    assert solution.record()["pitot_ratio"] == pytest.approx(pitot_ratio(mach), rel=0.02)


def test_a_small_sphere_in_a_hot_stream_converges():
    """Cell Reynolds numbers are low along the body as well: an operator without viscous terms there diverges."""
    stream = FreeStream(velocity=2436.0, pressure=536.0, temperature=2573.0)
    settings = MeshSettings(
        cells=(32, 48), wall_spacing=3e-6, mach=stream.mach(PerfectGas()), nose_margin=2.2, base_margin=1.6
    )
    solution = solve_flow(stream, body_mesh(SphereCone.sphere(6.6e-3), settings), wall=Wall(temperature=296.0))
    assert solution.convergence.status == "converged"
    assert solution.convergence.steps < 500
    assert solution.convergence.history.max() < 10.0


def test_a_sensor_that_chases_the_shock_is_damped():
    """Here the sensor is half on at the stagnation line: followed in full, it and the shock never come to rest."""
    body = SphereCone(nose_radius=0.153984, half_angle_deg=11.3546)
    mesh = body_mesh(body, MeshSettings(cells=(32, 32), wall_spacing=5e-5, mach=14.2916))
    solution = solve_flow(FlightCondition(14.2916, 36.6829), mesh, wall=Wall(temperature=1374.78))
    assert (solution.convergence.status, solution.convergence.criterion) == ("converged", "residual")
    assert solution.convergence.unfrozen_residual_drop < 1e-4
    assert solution.convergence.steps < 1000


def test_a_shock_that_touches_the_outer_boundary_is_no_result_and_makes_the_mesh_grow():
    tight = solve_flow(FlightCondition(20, 86), body_mesh(BODY, MeshSettings(cells=(32, 48), mach=20.0)))
    assert tight.convergence.status == "failed"
    assert "larger margins" in tight.convergence.advice
    grown = solve(20, 86, cells=(32, 48))
    assert grown.convergence.status == "converged"
    assert grown.mesh.settings.nose_margin > tight.mesh.settings.nose_margin  # type: ignore[union-attr]
    assert grown.record()["undisturbed_cells"] > 0


def test_a_march_without_steps_says_so():
    solution = solve_flow(FlightCondition(10, 30), COARSE, settings=SolverSettings(most_steps=50, first_order_steps=25))
    assert solution.convergence.status == "stalled"
    assert solution.convergence.advice
    assert len(solution.convergence.history) == solution.convergence.steps


def test_a_start_of_another_shape_is_refused():
    start = Start(np.ones((4, 8, 8)), FlightCondition(10, 30).free_stream())
    with pytest.raises(SureflowError, match="shape"):
        solve_flow(FlightCondition(10, 30), COARSE, start=start)


def few_steps(radius: float):
    mesh = body_mesh(SphereCone(nose_radius=radius), MeshSettings(cells=(32, 32), wall_spacing=1e-4, mach=20.0))
    return solve_flow(FlightCondition(20, 40), mesh, settings=SolverSettings(most_steps=50, first_order_steps=25))


def test_a_new_geometry_traces_and_compiles_nothing():
    events = []

    def note(event: str, duration_secs: float, **_):
        if event.startswith("/jax/core/compile/"):
            events.append(event)

    jax.monitoring.register_event_duration_secs_listener(note)
    try:
        few_steps(0.1524)
        first = len(events)
        few_steps(0.12)
    finally:
        jax.monitoring.unregister_event_duration_listener(note)
    assert len(events) == first


def rusanov(left, right, normal, units, shock):
    """A user's own flux."""
    before, behind = conservative(left, units), conservative(right, units)
    fastest = jnp.maximum(*(jnp.abs(speed) for speed in einfeldt_speeds(left, right, normal, units)))
    mean = 0.5 * (euler_flux(left, before, normal) + euler_flux(right, behind, normal))
    return mean - 0.5 * fastest * (behind - before)


@pytest.mark.parametrize("flux", ["hlle", "rusanov"])
def test_another_flux_finds_the_same_shock(sweep, flux):
    FLUXES.register("rusanov", rusanov)
    solution = solve_flow(FlightCondition(20, 40), COARSE, settings=SolverSettings(flux=flux))
    assert solution.convergence.status == "converged"
    for name, share in (("stand_off", 0.03), ("pitot_ratio", 0.03), ("drag_coefficient", 0.03)):
        assert solution.record()[name] == pytest.approx(sweep[20, 40].record()[name], rel=share)


def test_fluxes_by_name():
    assert scheme(SolverSettings())["flux"] == "HLLC, HLLE at shocks"  # as in stores since their first version
    assert scheme(SolverSettings(flux="hlle"))["flux"] == "hlle"
    with pytest.raises(SureflowError, match=r"flux='hllx' is not one of hlle, hllc, hllc-hlle.*; did you mean hll"):
        SolverSettings(flux="hllx")


def test_a_gas_with_tables_flows():
    solution = solve_flow(FlightCondition(10, 40), COARSE, gas=Tabulated())
    assert solution.convergence.status == "converged"
    assert solution.record()["pitot_ratio"] == pytest.approx(pitot_ratio(10), rel=0.02)


def test_a_solution_is_a_labelled_dataset_and_says_what_it_is(sweep):
    solution = sweep[25, 50]
    dataset = solution.to_xarray()
    assert list(dataset) == ["u1", "u2", "rho", "T", "pressure", "mach_number"]
    assert dict(dataset.sizes) == {"j": 48, "i": 32, "node_j": 49, "node_i": 33}
    assert dataset["T"].attrs == {"units": "K", "long_name": "temperature"}
    assert dataset.attrs == {"title": "Mach 25 at 50 km", "status": "converged"}
    np.testing.assert_array_equal(dataset["rho"], solution.fields[2])
    assert repr(solution).startswith("Flow at Mach 25 at 50 km on 32x48 cells: converged in ")
    assert "Mach 25 at 50 km" in solution._repr_html_()
