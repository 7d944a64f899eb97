"""Proposals: in the gaps between the runs, in the region of use, never twice, and as good as one at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sureflow as sf
import synthetic
from small_networks import SINGLE
from sureflow.acquire.criteria import CRITERIA
from sureflow.acquire.proposals import read_criterion

INSIDE = {"ranges": {"mach": [14.0, 26.0], "altitude_km": [25.0, 50.0]}}
TRIANGLE = {"polygon": {"parameters": ["mach", "altitude_km"], "corners": [[10, 20], [30, 20], [30, 60]]}}
TRACK = {"conditions": {"mach": [28.0, 20.0, 11.0], "altitude_km": [58.0, 45.0, 21.0]}}


@pytest.fixture(scope="module", params=["interpolation", "pod-gp"])
def model(request):
    conditions = synthetic.grid()
    gap = (np.abs(conditions - [20.0, 40.0]) < [1.0, 1.0]).all(axis=1)
    return sf.fit(synthetic.runs(conditions[~gap]), request.param, calibrate=False)


def conditions_of(table):
    return table[["mach", "altitude_km"]].to_numpy()


def test_the_first_proposal_that_fills_space_is_in_the_gap():
    conditions = synthetic.grid()
    gap = (np.abs(conditions - [20.0, 40.0]) < [1.0, 1.0]).all(axis=1)
    model = sf.fit(synthetic.runs(conditions[~gap]), "interpolation", calibrate=False)
    first = sf.propose(model, count=1, criterion="space-filling").iloc[0]
    assert abs(first.mach - 20.0) < 4.0
    assert abs(first.altitude_km - 40.0) < 8.0


@pytest.mark.parametrize("criterion", list(CRITERIA))
def test_runs_that_the_model_has_not_learned_from_count_as_computed(model, criterion):
    """As the next proposals after the first one, once it was computed and the model not yet trained again."""
    both = conditions_of(sf.propose(model, count=2, criterion=criterion))
    kept = np.concatenate([model.domain.parameters, both[:1]])
    again = conditions_of(sf.propose(model, count=1, criterion=criterion, runs=synthetic.runs(kept)))
    np.testing.assert_array_equal(again[0], both[1])


@pytest.mark.parametrize("criterion", list(CRITERIA))
def test_every_criterion_proposes_distinct_conditions_in_order(model, criterion):
    table = sf.propose(model, count=6, criterion=criterion)
    assert list(table.columns) == ["mach", "altitude_km", "gain", "distance", "mean_std"]
    assert (np.diff(table.gain) <= 1e-9 * table.gain.max()).all()
    assert len(np.unique(conditions_of(table), axis=0)) == 6
    assert (table.gain > 0).all()
    assert (table.distance > 0).all()
    assert (table.mean_std > 0).all()
    assert sf.propose(model, count=6, criterion=criterion).equals(table)


@settings(max_examples=6)
@given(
    seed=st.integers(0, 10**6),
    criterion=st.sampled_from(sorted(CRITERIA)),
    region=st.sampled_from([INSIDE, TRIANGLE]),
)
def test_proposals_stay_in_the_region_and_are_never_runs(quick, seed, criterion, region):
    table = sf.propose(quick, count=4, criterion=criterion, region=region, seed=seed)
    mach, altitude = conditions_of(table).T
    if region is INSIDE:
        assert ((mach >= 14) & (mach <= 26) & (altitude >= 25) & (altitude <= 50)).all()
    else:
        assert (altitude <= 20 + 2 * (mach - 10) + 1e-6).all()
    both = np.concatenate([conditions_of(table), quick.domain.parameters])
    assert len(np.unique(both, axis=0)) == len(both)


def test_models_that_know_covariances_propose_by_the_bars_they_lower(model):
    by_default = sf.propose(model, count=3)
    assert by_default.attrs["criterion"] == "integrated-bar"
    assert by_default.equals(sf.propose(model, count=3, criterion="integrated-bar"))


@pytest.fixture(scope="module")
def quick():
    return sf.fit(synthetic.runs(synthetic.grid()[::2]), "interpolation", calibrate=False)


def test_proposals_along_a_trajectory_lie_on_it(quick):
    table = sf.propose(quick, count=5, region=TRACK, criterion="integrated-variance")
    expected = np.interp(table.mach, [11.0, 20.0, 28.0], [21.0, 45.0, 58.0])
    assert table.altitude_km.to_numpy() == pytest.approx(expected, abs=0.1)


def test_a_region_may_reach_beyond_the_runs(quick):
    table = sf.propose(quick, count=3, region={"ranges": {"mach": [30.0, 38.0]}})
    assert (table.mach > 30.0).all()
    assert (table.mach <= 38.0).all()


def test_given_candidates_are_all_there_is(quick):
    candidates = np.array([[11.0, 33.0], [11.0, 33.0], [21.0, 44.0], *quick.domain.parameters[:1], [99.0, 44.0]])
    table = sf.propose(quick, count=9, candidates=candidates)
    assert sorted(conditions_of(table).tolist()) == [[11.0, 33.0], [21.0, 44.0]]


def test_what_is_avoided_is_not_proposed(quick):
    first = conditions_of(sf.propose(quick, count=1))
    again = conditions_of(sf.propose(quick, count=1, avoid=first))
    assert np.linalg.norm((again - first) / [20.0, 40.0]) > 0.049


def test_bars_are_aggregated_as_asked(quick):
    for of in ("mean", "maximum", "shock", "stand_off"):
        asked = synthetic.grid()[1::8] + np.array(
            [0.5, 1.0]
        )  # few: bars of quantities that are not calibrated come from samples
        table = sf.propose(quick, count=2, criterion={"name": "largest-bar", "of": of}, candidates=asked)
        assert (table.gain > 0).all()
    with pytest.raises(sf.SureflowError, match="of='drag' is not one of mean, maximum, all, disturbed"):
        sf.propose(quick, criterion={"name": "largest-bar", "of": "drag"})


def test_cheap_runs_come_first_per_cost(quick):
    runs = synthetic.runs(synthetic.grid()[::2])
    dear = np.where(runs.parameters[:, 0] > 20.0, 1000.0, 1.0)
    object.__setattr__(runs, "numbers", dear[:, None])
    table = sf.propose(quick, count=1, runs=runs, per_cost=True)
    assert table.mach[0] < 22.0
    assert table.steps[0] < 100.0


def test_declared_ranges_are_what_is_filled():
    angle, x = np.linspace(0.0, 4.0, 6), np.linspace(0.0, 1.0, 10)[:, None]
    fields = {"p": [np.sin(one + x[:, 0]) for one in angle]}
    runs = sf.Runs.from_arrays({"angle": angle}, x, fields, ranges={"angle": (0.0, 9.0)})
    model = sf.fit(runs, "interpolation")
    assert sf.propose(model, count=1, criterion="space-filling").angle[0] == pytest.approx(9.0, abs=0.05)
    assert sf.propose(model, count=1).angle[0] > 6.0


def test_the_simplex_rule_works_in_one_parameter():
    angle, x = np.array([0.0, 1.0, 2.0, 3.0, 7.0, 8.0]), np.linspace(0.0, 1.0, 10)[:, None]
    runs = sf.Runs.from_arrays({"angle": angle}, x, {"p": [np.sin(one + x[:, 0]) for one in angle]})
    found = sf.propose(sf.fit(runs, "interpolation"), count=1, criterion="loo-simplex")
    assert 3.0 < found.angle[0] < 7.0


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"count": 0}, "count=0 must be at least 1"),
        ({"criterion": "spacefilling"}, "did you mean space-filling"),
        ({"region": {"ranges": {"mach": [45.0, 60.0]}}}, "nothing can be computed outside 2..40"),
        ({"region": {"ranges": {"altitude_km": [90.0, 99.0]}}}, "nothing can be computed outside 0..86"),
        ({"region": {"ranges": {"speed": [45.0, 60.0]}}}, "names 'speed': the parameters are mach, altitude_km"),
        ({"region": {"ranges": {"mach": [20.0, 10.0]}}}, "runs backwards"),
        ({"region": {"area": 3}}, "area"),
        ({"region": TRACK | {"ranges": {"mach": [10, 12]}}}, "leave one of them out"),
        (
            {"region": {"polygon": {"parameters": ["mach", "mach"], "corners": [[1, 2], [3, 4], [5, 2]]}}},
            "'mach' twice",
        ),
        ({"region": {"conditions": {"mach": [35, 45], "altitude_km": [70, 95]}}}, "reach mach=35..45, and nothing"),
        ({"region": {"conditions": {"mach": [], "altitude_km": []}}}, "are empty"),
        ({"seed": -1}, "seed=-1 must be 0 or more"),
        ({"candidates": np.array([[99.0, 40.0]])}, "no candidates are left"),
        ({"candidates": np.zeros((3, 1))}, r"candidates have the shape \(3, 1\)"),
        ({"per_cost": True}, "number called steps"),
    ],
)
def test_what_cannot_be_proposed_is_refused_in_a_sentence(quick, asked, sentence):
    with pytest.raises(sf.SureflowError, match=sentence):
        sf.propose(quick, **asked)


def test_a_model_without_bars_is_told_so():
    model = sf.fit(synthetic.runs(), SINGLE, calibrate=False)
    found = sf.propose(model, count=2)
    assert (len(found), found.attrs["criterion"]) == (2, "space-filling")
    with pytest.raises(sf.SureflowError, match="has no error bars"):
        sf.propose(model, criterion="largest-bar")
    with pytest.raises(sf.SureflowError, match="needs a model that knows covariances"):
        sf.propose(model, criterion="integrated-variance")


def test_a_criterion_is_read_from_a_table():
    assert read_criterion({"name": "largest-bar", "of": "maximum"}).of == "maximum"  # type: ignore[attr-defined]
