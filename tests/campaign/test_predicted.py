import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

import synthetic
from campaigns import Inline, crew, fake_solver, tiny
from sureflow import open_runs
from sureflow.campaign.predicted import NoStart, PredictedStarts
from sureflow.campaign.run import Options, run_campaign, run_levels, solve_case
from sureflow.cli import app
from sureflow.data.run_store import RunStore
from sureflow.errors import SureflowError
from sureflow.flow.solve import solve_flow
from sureflow.physics.free_stream import FlightCondition
from sureflow.surrogate.fit import fit

# A mesh on which cold starts converge as well.
NARROW = {"cells": [16, 16], "wall_spacing": 2e-4}


@pytest.fixture(scope="module")
def starts(tmp_path_factory) -> PredictedStarts:
    """From four runs on 16 x 16 cells, each from a cold start."""
    path = tmp_path_factory.mktemp("runs") / "runs.zarr"
    campaign = tiny(conditions=[{"mach": [18.0, 20.0], "altitude_km": [38.0, 40.0]}], mesh=NARROW)
    run_campaign(path, campaign, crew(Inline()), solve=lambda case: solve_case(case._replace(start=None)))
    return PredictedStarts.of(fit(open_runs(path), "interpolation", calibrate=False))


def test_a_predicted_start_leads_to_the_same_flow_in_fewer_steps(starts):
    condition = FlightCondition(20.0, 40.0)  # of a training run, through which an interpolation passes
    warm = starts.solve(condition)
    cold = solve_flow(condition, starts.mesh, gas=starts.gas, wall=starts.wall, settings=starts.settings)
    assert warm.convergence.status == cold.convergence.status == "converged"
    assert 3 * warm.convergence.steps < cold.convergence.steps
    scale = np.abs(cold.fields).max(axis=(1, 2), keepdims=True)
    assert (np.abs(warm.fields - cold.fields) / scale).max() < 1e-3


def test_conditions_outside_of_the_model_are_refused(starts):
    with pytest.raises(NoStart, match=r"gives no start here .*: solve without one"):
        starts.start(FlightCondition(39.0, 70.0))


def test_a_campaign_may_start_from_predictions(starts, tmp_path):
    campaign = tiny(conditions=[{"cases": [[18.0, 40.0], [19.0, 39.0], [39.0, 70.0]]}], mesh=NARROW)
    seen, fake, in_process = {}, fake_solver(campaign), crew(Inline())

    def solver(case):
        seen[case.condition.mach] = case.start
        return fake(case)

    run_campaign(tmp_path / "a.zarr", campaign, in_process, Options(), solve=solver, predicted=starts)
    np.testing.assert_array_equal(seen[19.0].fields, starts.start(FlightCondition(19.0, 39.0)).fields)
    # Too far out for the model: from the nearest run, as without one.
    assert seen[39.0].free_stream == FlightCondition(19.0, 39.0).free_stream(starts.gas)


def test_a_campaign_takes_the_mesh_of_the_models_runs(starts, tmp_path):
    """Which was fitted to Mach 18; where it differs in anything else, nothing is written."""
    higher = tiny(conditions=[{"cases": [[19.0, 39.0], [20.0, 39.0]]}], mesh=NARROW)
    assert higher.mesh.mach == 19.0
    run_campaign(tmp_path / "a.zarr", higher, crew(Inline()), Options(), solve=fake_solver(higher), predicted=starts)
    stored = RunStore.open(tmp_path / "a.zarr").header.made_by["mesh"]["settings"]
    assert stored["mach"] == starts.mesh.settings.mach == 18.0
    for mesh, difference in (
        ({"cells": [8, 16]}, r"mesh.cells is \[16, 16\] there and \[8, 16\] here"),
        (NARROW | {"mach": 11.0}, r"mesh.mach is 18.0 there and 11.0 here"),
    ):
        other = tiny(conditions=[{"cases": [[18.0, 40.0], [19.0, 39.0]]}], mesh=mesh)
        with pytest.raises(SureflowError, match=rf"another mesh than the model's runs \({difference}\): give it"):
            run_campaign(tmp_path / "b.zarr", other, crew(Inline()), Options(), predicted=starts)
        assert not (tmp_path / "b.zarr").exists()


def test_all_levels_of_a_campaign_are_merged_from_the_mesh_of_the_models_runs(starts, tmp_path):
    """Which was fitted to Mach 18, where the campaign's own would be to Mach 19."""
    conditions = [{"cases": [[19.0, 39.0]]}, {"level": 1, "cases": [[20.0, 39.0]]}]
    campaign = tiny(conditions=conditions, mesh=NARROW)
    solver = fake_solver(campaign)
    ended = run_levels(tmp_path / "a.zarr", campaign, crew(Inline()), solve=solver, predicted=starts)
    assert len(ended) == 2
    for path in ended:
        assert RunStore.open(path).header.made_by["mesh"]["settings"]["mach"] == 18.0


def test_models_of_other_runs_are_refused():
    with pytest.raises(SureflowError, match="was not trained on runs of a campaign"):
        PredictedStarts.of(fit(synthetic.runs(), "interpolation", calibrate=False))


def test_the_command_starts_from_a_model_with_the_mesh_of_its_runs(starts, tmp_path):
    starts.surrogate.save(tmp_path / "model")
    asked = ["solve", "--mach", "20", "--altitude", "40", "--start-from", str(tmp_path / "model")]
    found = CliRunner().invoke(app, [*asked, "-o", str(tmp_path / "flow")])
    assert found.exit_code == 0, found.output
    with xr.open_dataset(tmp_path / "flow" / "fields.nc", engine="h5netcdf") as fields:
        assert [*fields["T"].shape] == NARROW["cells"]
    refused = CliRunner().invoke(app, [*asked, "--wall", "slip"])
    assert (refused.exit_code, str(refused.exception)) == (
        1,
        "--wall and --start-from exclude each other: the run has the mesh and the wall of the model's runs",
    )
