"""Replays: the same at every call, resumable, and right about who needs how many runs."""

import numpy as np
import pytest

import sureflow as sf
from sureflow.acquire.criteria import CRITERIA
from sureflow.acquire.replay import DESIGNS, Replay, ReplaySettings, Trace, thin
from sureflow.acquire.replay_findings import best_by_own_error, replay_rows, targets_of, verdict
from sureflow.acquire.replay_folder import replay_into, write_table


@pytest.fixture(scope="module")
def runs():
    """A steep front in one of two parameters, on a scattered plane."""
    rng = np.random.default_rng(5)
    one, other = rng.random((2, 80))
    x = np.linspace(0.0, 1.0, 30)[:, None]
    fields = [np.tanh(12 * (a - 0.3)) * (1 + x[:, 0]) + 0.2 * b for a, b in zip(one, other, strict=True)]
    return sf.Runs.from_arrays({"one": one, "other": other}, x, {"p": fields})


@pytest.fixture(scope="module")
def given():
    return ReplaySettings(starts=2, first=6, most=30, batch=8, points=12)


@pytest.fixture(scope="module")
def traces(runs, given, tmp_path_factory):
    return replay_into(tmp_path_factory.mktemp("replay"), runs, given)


def test_every_way_is_traced_from_every_start(traces, given):
    assert {(trace.way, trace.start) for trace in traces} == {(way, start) for way in given.ways for start in (0, 1)}
    for trace in traces:
        assert trace.runs == (6, 14, 22, 30)
        assert trace.error[-1] < trace.error[0]
    begin = {trace.start: trace.error[0] for trace in traces if trace.way == "halton"}
    assert all(trace.error[0] == begin[trace.start] for trace in traces if trace.way not in DESIGNS)


def test_an_interrupted_replay_goes_on(runs, given, traces, tmp_path):
    def stop(done, total, way):
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replay_into(tmp_path, runs, given, watch=stop)
    kept = (tmp_path / "traces.jsonl").read_text()
    (tmp_path / "traces.jsonl").write_text(kept + '{"way": "halton", "sta')  # as a kill leaves it
    assert replay_into(tmp_path, runs, given) == traces
    write_table(tmp_path, traces, targets_of(traces))
    assert (tmp_path / "table.csv").read_text().count("\n") == 1 + 3 * len(given.ways)
    with pytest.raises(sf.SureflowError, match="of other runs or settings"):
        replay_into(tmp_path, runs, ReplaySettings(starts=1, most=30))


def trace(way, needs, own=0.1):
    runs = tuple(range(10, 60, 10))
    return Trace(way, 0, runs, tuple(0.5 if size < needs else 0.05 for size in runs), (own,) * len(runs))


def test_runs_needed_are_those_after_which_the_error_stays_down():
    assert trace("halton", 40).needed(0.1) == 40
    assert trace("halton", 40).needed(0.01) == np.inf
    assert Trace("halton", 0, (1, 2, 3), (0.1, 0.3, 0.1), (0.0,) * 3).needed(0.2) == 3


def test_the_verdict_says_whether_results_paid():
    found = [trace("halton", 40), trace("space-filling", 30, own=0.2), trace("loo-distance", 20, own=0.1)]
    assert best_by_own_error(found) == "loo-distance"
    rows = {row["way"]: row for row in replay_rows(found, [0.1])}
    assert rows["loo-distance"]["saved_against_halton"] == 0.5
    assert verdict(found, 0.1).endswith("33% fewer than space-filling: choosing by results pays here")
    assert "hardly pays" in verdict([*found[:2], trace("loo-distance", 30, own=0.1)], 0.1)
    assert "did not pay" in verdict([*found[:2], trace("loo-distance", 20, own=0.3)], 0.1)


def test_thinned_runs_keep_what_they_mean(runs):
    thinned = thin(runs, 7)
    assert thinned.n_points == 7
    assert np.array_equal(thinned.array()[:, :, 0], runs.array()[:, :, 0])


def test_bad_settings_are_refused(runs):
    with pytest.raises(sf.SureflowError, match="'hilton' is not one of random, halton"):
        ReplaySettings(ways=("hilton",))
    with pytest.raises(sf.SureflowError, match="too few for a replay"):
        Replay.of(runs, ReplaySettings(first=90))
    with pytest.raises(sf.SureflowError, match="leaves nothing to test on"):
        Replay.of(runs, ReplaySettings(test_from=90))


def test_all_criteria_can_be_replayed():
    assert set(ReplaySettings(ways=(*DESIGNS, *CRITERIA)).ways) == {*DESIGNS, *CRITERIA}
