"""The closed loop: it ends where it should, and goes on after interruptions to the same result."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

import campaigns
import sureflow as sf
from smooth_flow import smooth
from sureflow.acquire.improve import Goal, improve, read_rounds
from sureflow.data.schema import Status
from sureflow.data.store import open_store


def begin(folder):
    campaign = campaigns.square(3)
    campaigns.run_campaign(folder / "runs.zarr", campaign, campaigns.crew(campaigns.Inline()), solve=smooth)
    return folder / "runs.zarr"


def go(folder, goal, executor=None):
    return improve(
        folder / "runs.zarr", folder / "out", goal, campaigns.crew(executor or campaigns.Inline()), solve=smooth
    )


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    begin(folder)
    return folder, go(folder, Goal(most_runs=15, batch=3))


def test_it_ends_when_the_runs_are_spent(uninterrupted):
    folder, rounds = uninterrupted
    assert [one.spent for one in rounds] == [9, 12, 15]
    assert rounds[-1].ended == "15 runs are spent"
    assert rounds[-1].mean_bar < rounds[0].mean_bar
    assert sf.load(folder / "out/model").domain.parameters.shape[0] == rounds[-1].runs


def test_failed_runs_count_as_spent_and_are_not_proposed_again(uninterrupted):
    folder, rounds = uninterrupted
    store = open_store(folder / "runs.zarr")
    failed = store.parameters()[store.status() == Status.STALLED]
    assert len(failed) >= 1
    assert rounds[-1].runs == 15 - len(failed)
    asked = [tuple(one) for found in rounds for one in found.proposed]
    known = [tuple(one) for one in failed.tolist() if tuple(one) not in asked]
    for found in rounds[:-1]:
        away = np.array(found.proposed)[:, None] - np.array(known)[None]
        assert np.linalg.norm(away / [20.0, 40.0], axis=2).min() > 0.049
        known += [tuple(one) for one in failed.tolist() if list(one) in found.proposed]


def test_interrupted_twice_it_comes_to_the_same_result(uninterrupted, tmp_path):
    whole, rounds = uninterrupted
    begin(tmp_path)
    for runs in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            go(tmp_path, Goal(most_runs=15, batch=3), campaigns.Inline(stop_after=runs))
    # As a kill leaves a log that was being written.
    again = go(tmp_path, Goal(most_runs=15, batch=3))
    assert [replace(one, seconds=0.0) for one in again] == [replace(one, seconds=0.0) for one in rounds]
    assert campaigns.same_files(tmp_path / "runs.zarr", whole / "runs.zarr")
    assert read_rounds(tmp_path / "out") == again


def test_it_ends_at_the_target(uninterrupted):
    folder, rounds = uninterrupted
    reached = improve(
        folder / "runs.zarr",
        folder / "again",
        Goal(target=2 * rounds[-1].largest_bar, over="largest"),
        campaigns.crew(campaigns.Inline()),
        solve=smooth,
    )
    assert len(reached) == 1
    assert "is at most" in reached[0].ended


def test_a_loop_that_could_not_begin_is_no_goal(uninterrupted, tmp_path):
    begin(tmp_path)
    with pytest.raises(sf.SureflowError, match="needs runs on a coarser mesh"):
        go(tmp_path, Goal(most_runs=12, model="levels"))
    assert go(tmp_path, Goal(most_runs=10))[-1].spent == 10


def test_another_goal_in_the_same_folder_is_refused(uninterrupted):
    folder, _ = uninterrupted
    with pytest.raises(sf.SureflowError, match="has another goal"):
        go(folder, Goal(most_runs=99))


def test_folders_of_others_and_damaged_rounds_are_refused(uninterrupted, tmp_path):
    begin(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "model.json").write_text("{}")
    with pytest.raises(sf.SureflowError, match="holds other files than those of improve"):
        go(tmp_path, Goal(most_runs=10))
    folder, _ = uninterrupted
    damaged = shutil.copytree(folder, tmp_path / "copy")
    (damaged / "out" / "rounds.jsonl").write_text('{"runs": 39}\n')
    with pytest.raises(sf.SureflowError, match=r"rounds\.jsonl is damaged"):
        read_rounds(damaged / "out")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, "the loop has no end"),
        ({"most_runs": 0}, "most_runs=0 leaves nothing to spend"),
        ({"most_seconds": 0}, "most_seconds=0 leaves nothing to spend"),
        ({"target": 0}, "target"),
    ],
)
def test_goals_without_sense_are_refused(given, sentence):
    with pytest.raises(sf.SureflowError, match=sentence):
        Goal(**given)


def test_runs_of_another_solver_are_refused(tmp_path):
    angle, x = np.linspace(0.0, 4.0, 6), np.linspace(0.0, 1.0, 10)[:, None]
    runs = sf.Runs.from_arrays({"angle": angle}, x, {"p": [np.sin(one + x[:, 0]) for one in angle]})
    runs.save(tmp_path / "runs.zarr")
    with pytest.raises(sf.SureflowError, match="was not made by a campaign"):
        go(tmp_path, Goal(most_runs=9))
