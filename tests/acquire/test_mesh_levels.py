"""Runs on several meshes: campaigns with levels, proposals that choose the mesh, and the loop around them."""

from dataclasses import replace

import numpy as np
import pytest

import campaigns
import sureflow as sf
import synthetic
from smooth_flow import smooth
from sureflow.acquire.criteria import IntegratedVariance, Task
from sureflow.acquire.improve import Goal, improve
from sureflow.acquire.proposal_files import proposal_writer
from sureflow.acquire.records import level_records
from sureflow.campaign.campaign import Campaign, load_campaign
from sureflow.campaign.contents import follow_up
from sureflow.campaign.run import run_levels
from sureflow.data.store import open_store

FINE, COARSE = (12, 16), (6, 8)
LEVELS = {
    "conditions": [
        {"mach": [10, 20, 26], "altitude_km": [20, 40, 54]},
        {"level": 1, "mach": [10, 15, 20, 26], "altitude_km": [20, 30, 40, 54]},
    ],
    "mesh": {"cells": [16, 16], "wall_spacing": 5e-4},
}


@pytest.fixture(scope="module")
def both():
    return synthetic.runs(synthetic.grid()[::3], FINE).with_coarser(synthetic.runs(synthetic.grid()[::2], COARSE))


@pytest.fixture(scope="module")
def model(both):
    return sf.fit(both, "levels", calibrate=False)


def compute(path, campaign, executor=None):
    run_levels(path, campaign, campaigns.crew(executor or campaigns.Inline()), solve=smooth)
    return sf.open_runs(path)


# Campaigns


def test_a_campaign_computes_fine_conditions_on_coarse_meshes_too(tmp_path):
    campaign = Campaign.from_dict(LEVELS, "levels")
    assert campaign.levels == [0, 1]
    runs = compute(tmp_path / "runs.zarr", campaign)
    assert (len(runs), len(runs.coarser)) == (9, 16)
    assert (runs.topology.shape, runs.coarser.topology.shape) == ((16, 16), (8, 8))
    assert (tmp_path / "runs.coarser.provenance.json").exists()
    info = sf.open_runs(tmp_path / "runs.zarr")
    assert {*map(tuple, info.parameters)} <= {*map(tuple, info.coarser.parameters)}


def test_meshes_that_are_fitted_to_each_run_have_levels_too(tmp_path):
    """Noses of several sizes: the coarse runs of each are on its mesh with merged cells, and so are those that follow."""
    several = [{"nose_radius": [0.1, 0.2], **part} for part in LEVELS["conditions"]]
    runs = compute(tmp_path / "runs.zarr", Campaign.from_dict(LEVELS | {"conditions": several}, "levels"))
    assert runs.is_moving
    assert (len(runs), len(runs.coarser), runs.coarser.topology.shape) == (18, 32, (8, 8))
    model = sf.fit(runs, "levels", calibrate=False)
    asked = {"count": 3, "criterion": "integrated-variance", "levels": True}
    table = sf.propose(model, runs=runs, **asked)
    assert set(table.level) <= {0, 1}
    again = follow_up(tmp_path / "runs.zarr", table.iloc[:, :3].to_numpy(float).tolist(), table.level.tolist())
    more = compute(tmp_path / "runs.zarr", again)
    assert len(more.coarser) == 35


def test_an_interrupted_campaign_goes_on_to_the_same_files(tmp_path):
    campaign = Campaign.from_dict(LEVELS, "levels")
    compute(tmp_path / "whole.zarr", campaign)
    for runs in (4, 7):
        with pytest.raises(KeyboardInterrupt):
            compute(tmp_path / "runs.zarr", campaign, campaigns.Inline(stop_after=runs))
    compute(tmp_path / "runs.zarr", campaign)
    assert campaigns.same_files(tmp_path / "runs.zarr", tmp_path / "whole.zarr")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"mesh": {"cells": [17, 17]}}, "17x17 cells cannot be refined by 0.5"),
        ({"meshes": "fitted", "mesh": {"cells": [17, 17]}}, "17x17 cells cannot be refined by 0.5"),
        ({"refinement": 2.0}, 'refinement=2 is only for meshes = "fitted"'),
        ({"conditions": [{"level": -1, "mach": [10], "altitude_km": [20]}]}, "level"),
    ],
)
def test_levels_whose_meshes_are_not_nested_are_refused(changes, sentence):
    with pytest.raises(sf.SureflowError, match=sentence):
        Campaign.from_dict(LEVELS | changes, "levels")


def test_coarse_conditions_alone_need_a_store(tmp_path):
    campaign = Campaign.from_dict(LEVELS | {"conditions": LEVELS["conditions"][1:]}, "levels")
    with pytest.raises(sf.SureflowError, match="no conditions on its finest mesh: give some with level 0"):
        compute(tmp_path / "runs.zarr", campaign)


# Proposals


def test_the_mesh_of_every_run_is_chosen(model, both):
    table = sf.propose(model, count=8, criterion="integrated-variance", runs=both, levels=True)
    assert list(table.columns) == ["mach", "altitude_km", "level", "gain", "distance", "mean_std", "steps"]
    assert set(table.level) <= {0, 1}
    assert len(np.unique(table[["mach", "altitude_km", "level"]].to_numpy(), axis=0)) == 8
    computed = [{*map(tuple, runs.parameters.tolist())} for runs in (both, both.coarser)]
    for mach, altitude, level in table[["mach", "altitude_km", "level"]].to_numpy():
        assert (mach, altitude) not in computed[int(level)]


def test_dear_fine_runs_make_coarse_ones_come_first(both, model):
    dear = replace(both, numbers=np.full((len(both), 1), 1e6))
    coarser = replace(both.coarser, numbers=np.full((len(both.coarser), 1), 1e6))
    ask = {"count": 4, "criterion": "integrated-variance", "levels": True}
    assert (sf.propose(model, runs=dear, **ask).level == 1).all()
    assert (
        sf.propose(model, runs=replace(both, coarser=coarser), **ask).level == 0
    ).all()  # it comes with a coarse one


def test_a_coarse_run_tells_nothing_of_the_difference(model):
    conditions = np.array([[13.0, 33.0], [13.0, 33.0], [22.0, 47.0]])
    task = Task(model, conditions, synthetic.grid(), np.array([0, 1, 0]))
    state = IntegratedVariance().begin(task)
    fine, coarse, _ = state.values()
    assert fine > coarse > 0
    state.take(1)
    left, gone, _ = state.values()
    assert gone == 0
    assert left == pytest.approx(fine - coarse, rel=1e-6)  # what remains is the difference
    state.take(0)
    assert state.values()[0] == 0


def test_a_file_of_proposals_has_the_levels(tmp_path):
    path = tmp_path / "runs.zarr"
    runs = compute(path, Campaign.from_dict(LEVELS, "levels"))
    model = sf.fit(runs, "levels", calibrate=False)
    table = sf.propose(model, count=3, criterion="integrated-variance", runs=runs, levels=True)
    table["level"] = [1, 0, 1]
    proposal_writer(tmp_path / "next.toml", path)(table, 2)
    compute(path, load_campaign(str(tmp_path / "next.toml")))
    longer = sf.open_runs(path)
    assert (len(longer), len(longer.coarser)) == (10, 19)
    # Fine runs alone bring their coarse companions, too.
    compute(path, follow_up(path, [(13.0, 33.0)], [0]))
    longer = sf.open_runs(path)
    assert (len(longer), len(longer.coarser)) == (11, 20)
    compute(path, follow_up(path, [(14.0, 33.0)]))
    assert len(sf.open_runs(path).coarser) == 20


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (
            {"criterion": "space-filling"},
            "the criterion space-filling does not tell meshes apart: choose integrated-bar",
        ),
        ({"runs": None}, "levels are chosen by their cost: give the runs"),
    ],
)
def test_levels_that_cannot_be_chosen_are_refused(model, both, asked, sentence):
    with pytest.raises(sf.SureflowError, match=sentence):
        sf.propose(model, **({"runs": both, "levels": True} | asked))


def test_one_level_and_models_of_one_level_are_refused(both):
    alone = replace(both, coarser=None)
    model = sf.fit(both, "interpolation", calibrate=False)
    ask = {"criterion": "integrated-variance", "levels": True}
    with pytest.raises(sf.SureflowError, match="there are runs on one mesh only"):
        sf.propose(model, runs=alone, **ask)
    with pytest.raises(sf.SureflowError, match="the model does not learn from coarser runs"):
        sf.propose(model, runs=both, **ask)


# The loop


def test_the_loop_takes_the_coarser_mesh_where_it_pays_and_goes_on_after_interruptions(tmp_path):
    goal = Goal(most_runs=32, batch=3, levels=True, criterion=IntegratedVariance(), model="levels")
    found = {}
    for name, stops in (("whole", ()), ("stopped", (1, 4))):
        path = tmp_path / name / "runs.zarr"
        compute(path, Campaign.from_dict(LEVELS, "levels"))
        for runs in stops:
            with pytest.raises(KeyboardInterrupt):
                loop(path, goal, campaigns.Inline(stop_after=runs))
        found[name] = [replace(one, seconds=0.0) for one in loop(path, goal)]
    assert found["whole"] == found["stopped"]
    assert campaigns.same_files(tmp_path / "whole/runs.zarr", tmp_path / "stopped/runs.zarr")
    assert 1 in {level for one in found["whole"] for level in one.levels}
    assert found["whole"][-1].spent >= 32
    first, second = level_records(tmp_path / "whole/runs.zarr")
    assert first.costs.cells == 4 * second.costs.cells
    assert len(open_store(tmp_path / "whole/runs.zarr/coarser")) > 16


def loop(path, goal, executor=None):
    return improve(path, path.parent / "out", goal, campaigns.crew(executor or campaigns.Inline()), solve=smooth)
