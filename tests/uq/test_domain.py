import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sureflow.uq import domain as module
from sureflow.uq.domain import Standing, TrainingDomain

NAMES = ("mach", "altitude_km")
DOMAIN = TrainingDomain(NAMES, np.array([[10.0, 20.0], [30.0, 60.0], [20.0, 30.0]]))
BOX = TrainingDomain(NAMES, np.array([[10.0, 20.0], [10.0, 60.0], [30.0, 20.0], [30.0, 60.0]]))
ORDER = [Standing.INSIDE, Standing.EXTRAPOLATED, Standing.REFUSED]


def test_excess_is_in_widths_of_the_training_range():
    excess = DOMAIN.excess(np.array([[20.0, 40.0], [35.0, 10.0], [30.0, 60.0]]))
    np.testing.assert_allclose(excess, [[0, 0], [0.25, 0.25], [0, 0]])


def test_the_displacement_from_a_full_box_is_the_excess_with_its_sign():
    conditions = np.array([[20.0, 40.0], [35.0, 10.0], [5.0, 50.0], [30.0, 60.0]])
    np.testing.assert_allclose(BOX.displacement(conditions), [[0, 0], [0.25, -0.25], [-0.25, 0], [0, 0]], atol=1e-12)
    np.testing.assert_allclose(BOX.nearest(conditions), [[20, 40], [30, 20], [10, 50], [30, 60]])


def test_a_missing_corner_of_the_box_is_outside_of_the_hull():
    triangle = TrainingDomain(NAMES, np.array([[10.0, 20.0], [30.0, 20.0], [10.0, 60.0]]))
    (corner,) = triangle.displacement(np.array([[30.0, 60.0]]))
    np.testing.assert_allclose(corner, [0.5, 0.5])
    verdict = TrainingDomain(NAMES, triangle.parameters, reach=0.8).judge(np.array([30.0, 60.0]))
    assert verdict.standing == Standing.EXTRAPOLATED
    assert "no training runs surround it" in verdict.reason


@pytest.mark.parametrize("condition", [[20.0, 40.0], [12.0, 24.0]])
def test_runs_on_a_line_have_a_hull(condition):
    line = TrainingDomain(NAMES, np.array([[10.0, 20.0], [30.0, 60.0], [20.0, 40.0]]))
    assert line.judge(np.array(condition)).standing == Standing.INSIDE
    assert line.distance(np.array([[20.0, 20.0]]))[0] == pytest.approx(np.hypot(0.25, 0.25))


def test_one_parameter_and_many():
    one = TrainingDomain(("angle",), np.array([[0.0], [4.0], [2.0]]))
    np.testing.assert_allclose(one.displacement(np.array([[-1.0], [3.0], [6.0]])), [[-0.25], [0.0], [0.5]], atol=1e-12)
    corners = np.random.default_rng(0).uniform(size=(60, 8))
    many = TrainingDomain(tuple("abcdefgh"), corners)
    assert many.distance(corners.mean(axis=0)[None])[0] == 0.0
    assert many.distance(np.full((1, 8), 2.0))[0] > 1.0


def test_the_box_stands_in_for_the_hull_of_very_many_runs(monkeypatch):
    monkeypatch.setattr(module, "MOST_RUNS_OF_A_HULL", 2)
    np.testing.assert_allclose(DOMAIN.displacement(np.array([[30.0, 20.0], [35.0, 40.0]])), [[0, 0], [0.25, 0]])


def test_the_verdict_says_what_is_extrapolated_and_how_far():
    assert DOMAIN.verdict(np.array([20.0, 40.0])) == "inside"
    assert BOX.verdict(np.array([35.0, 40.0])) == "extrapolated: mach=35 is outside 10..30 by 25% of that range"


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ([39.0, 85.0], "a distance of 77% is beyond the 50%"),
        ([41.0, 40.0], "mach=41 is outside 2..40, where its physics is known"),
        ([20.0, -1.0], "altitude_km=-1 is outside 0"),
        ([np.nan, 30.0], "mach=nan is not a finite number"),
    ],
)
def test_what_is_too_far_or_impossible_is_refused(condition, words):
    verdict = BOX.judge(np.array(condition))
    assert verdict.standing == Standing.REFUSED
    assert words in verdict.reason


def test_a_parameter_that_never_varied_may_not_vary():
    domain = TrainingDomain(("mach", "angle"), np.array([[10.0, 5.0], [20.0, 5.0], [30.0, 5.0]]))
    assert domain.judge(np.array([15.0, 5.0])).standing == Standing.INSIDE
    verdict = domain.judge(np.array([15.0, 5.1]))
    assert verdict.standing == Standing.REFUSED
    assert "all training runs have angle=5" in verdict.reason


@settings(max_examples=60, deadline=None)
@given(
    st.floats(0.0, 2 * np.pi),
    st.floats(0.0, 3.0),
    st.floats(0.0, 3.0),
    st.integers(3, 12),
    st.integers(0, 1000),
)
def test_the_verdict_is_monotone_in_the_distance(angle, one, other, n_runs, seed):
    """Walking away from the middle of the runs, the distance never falls and the standing never improves."""
    runs = np.random.default_rng(seed).uniform(size=(n_runs, 2))
    domain = TrainingDomain(("a", "b"), runs)
    near, far = sorted([one, other])
    way = np.array([np.cos(angle), np.sin(angle)])
    first, second = (domain.judge(runs.mean(axis=0) + length * way) for length in (near, far))
    assert first.distance <= second.distance + 1e-9
    assert ORDER.index(first.standing) <= ORDER.index(second.standing)


def test_the_summary_of_several_conditions():
    conditions = np.array([[20.0, 40.0], [35.0, 40.0], [20.0, 80.0]])
    assert DOMAIN.summary(conditions[:1]) == DOMAIN.summary(conditions[[0, 0]]) == "inside"
    assert DOMAIN.summary(conditions).startswith("2 of 3 conditions are extrapolated; the farthest: ")
    assert "altitude_km=80" in DOMAIN.summary(conditions)


def test_runs_from_beyond_our_solvers_physics_have_their_own_limits():
    domain = TrainingDomain(("mach",), np.linspace(0.3, 0.9, 7)[:, None])
    assert domain.judge(np.array([0.5])).standing == Standing.INSIDE
    assert domain.judge(np.array([1.0])).standing == Standing.EXTRAPOLATED
