"""The flow over a sphere by fitting the shock, against what is known of it exactly, and the flow solver against it."""

import pytest

from flow import sphere
from sureflow.flow.mesh import MeshSettings, SphereCone, body_mesh
from sureflow.flow.solve import solve_flow
from sureflow.physics.correlations import pitot_ratio
from sureflow.physics.free_stream import FlightCondition
from sureflow.physics.wall import Wall


@pytest.mark.parametrize("mach", [3, 10, 30])
def test_the_fitted_flow_keeps_what_was_not_asked_of_it(mach):
    """Rayleigh's pitot pressure, mass over the whole region and the entropy of the wall are nowhere in the method.

    They come out to the error of polynomials of these degrees, which falls tenfold and more from one to the other.
    """
    fine, coarse = sphere.fit_shock(mach), sphere.fit_shock(mach, 8, 6)
    assert fine.outflow_mach > 1
    assert fine.pitot_ratio == pytest.approx(pitot_ratio(mach), rel=1e-7)
    assert abs(fine.mass_error) < 1e-7
    assert fine.entropy_error < min(1e-7, coarse.entropy_error / 5)
    assert fine.stand_off == pytest.approx(coarse.stand_off, rel=2e-6)


@pytest.mark.parametrize("mach", [10, 20, 30])
def test_the_solver_captures_the_shock_where_fitting_finds_it(mach):
    """The nose of the RAM-C II at 30 km, viscous, 64x64 cells: 1 % of the stand-off is a fifth of the cell at the shock.

    The pressure is interpolated to angles between the cells, over which it changes by 3 % of its largest value: 1 %.
    """
    record = solve_flow(FlightCondition(mach, 30), body_mesh(SphereCone(), MeshSettings())).record()
    fitted = sphere.fit_shock(mach)
    assert record["stand_off"] == pytest.approx(fitted.stand_off, rel=0.01)
    for angle in (20, 40):
        assert record[f"cp_over_cpmax_{angle}"] == pytest.approx(fitted.cp_over_cpmax(angle), abs=0.01)


def test_halving_the_mesh_brings_the_stand_off_of_an_inviscid_sphere_to_that_of_the_fitted_shock():
    exact, errors = sphere.fit_shock(10).stand_off, []
    for n in (16, 32, 64):
        mesh = body_mesh(SphereCone.sphere(0.1), MeshSettings(cells=(n // 2, n), wall_spacing=0.2 * 0.1 / n / 4))
        solution = solve_flow(FlightCondition(10, 30), mesh, wall=Wall("slip"))
        assert solution.convergence.status == "converged"
        errors.append(abs(solution.record()["stand_off"] / exact - 1))
    assert errors[2] < errors[1] < errors[0]
    assert errors[2] < 0.003  # a tenth of a cell of the finest mesh
