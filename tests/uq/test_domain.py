from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sureflow.uq import domain as module
from sureflow.uq.domain import TrainingDomain, Trust

NAMES = ("mach", "altitude_km")
DOMAIN = TrainingDomain(NAMES, np.array([[10.0, 20.0], [30.0, 60.0], [20.0, 30.0]]))
BOX = TrainingDomain(NAMES, np.array([[10.0, 20.0], [10.0, 60.0], [30.0, 20.0], [30.0, 60.0]]))
LIMITS = {"mach": (2.0, 40.0), "altitude_km": (0.0, 86.0)}
ORDER = [Trust.INSIDE, Trust.EXTRAPOLATED, Trust.REFUSED]


def judge(domain: TrainingDomain, *condition: float):
    (verdict,) = domain.place(np.array([condition], float)).verdicts
    return verdict


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
    verdict = judge(TrainingDomain(NAMES, triangle.parameters, reach=0.8), 30.0, 60.0)
    assert verdict.trust == Trust.EXTRAPOLATED
    assert "no training runs surround this combination" in verdict.reason


@pytest.mark.parametrize("condition", [[20.0, 40.0], [12.0, 24.0]])
def test_runs_on_a_line_have_a_hull(condition):
    line = TrainingDomain(NAMES, np.array([[10.0, 20.0], [30.0, 60.0], [20.0, 40.0]]))
    assert judge(line, *condition).trust == Trust.INSIDE
    assert judge(line, 20.0, 20.0).distance == pytest.approx(np.hypot(0.25, 0.25))


def test_one_parameter_and_many():
    one = TrainingDomain(("angle",), np.array([[0.0], [4.0], [2.0]]))
    np.testing.assert_allclose(one.displacement(np.array([[-1.0], [3.0], [6.0]])), [[-0.25], [0.0], [0.5]], atol=1e-12)
    corners = np.random.default_rng(0).uniform(size=(60, 8))
    many = TrainingDomain(tuple("abcdefgh"), corners)
    assert judge(many, *corners.mean(axis=0)).distance == 0.0
    assert judge(many, *[2.0] * 8).distance > 1.0


def test_the_box_stands_in_for_the_hull_of_very_many_runs(monkeypatch):
    monkeypatch.setattr(module, "MOST_RUNS_OF_A_HULL", 2)
    np.testing.assert_allclose(DOMAIN.displacement(np.array([[30.0, 20.0], [35.0, 40.0]])), [[0, 0], [0.25, 0]])


def test_the_verdict_says_what_is_extrapolated_and_how_far():
    assert str(judge(DOMAIN, 20.0, 40.0)) == "inside"
    assert str(judge(BOX, 35.0, 40.0)) == "extrapolated: mach=35 is outside 10..30 by 25% of that range"


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ([39.0, 85.0], "a distance of 77% is more than the 50%"),
        ([41.0, 40.0], "mach=41 is outside 2..40, the limits declared for it"),
        ([20.0, -1.0], "altitude_km=-1 is outside 0..86"),
        ([np.nan, 30.0], "mach=nan is not a finite number"),
    ],
)
def test_what_is_too_far_or_impossible_is_refused(condition, words):
    verdict = judge(replace(BOX, limits=LIMITS), *condition)
    assert verdict.trust == Trust.REFUSED
    assert words in verdict.reason


def test_a_parameter_that_never_varied_may_not_vary():
    domain = TrainingDomain(("mach", "angle"), np.array([[10.0, 5.0], [20.0, 5.0], [30.0, 5.0]]))
    assert judge(domain, 15.0, 5.0).trust == Trust.INSIDE
    verdict = judge(domain, 15.0, 5.1)
    assert verdict.trust == Trust.REFUSED
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
    first, second = (judge(domain, *(runs.mean(axis=0) + length * way)) for length in (near, far))
    assert first.distance <= second.distance + 1e-9
    assert ORDER.index(first.trust) <= ORDER.index(second.trust)


def test_the_summary_of_several_conditions():
    conditions = np.array([[20.0, 40.0], [35.0, 40.0], [20.0, 80.0]])
    assert DOMAIN.place(conditions[:1]).summary() == DOMAIN.place(conditions[[0, 0]]).summary() == "inside"
    assert DOMAIN.place(conditions).summary().startswith("2 of 3 conditions are extrapolated; the farthest: ")
    assert "altitude_km=80" in DOMAIN.place(conditions).summary()


def test_limits_that_the_training_runs_break_do_not_count():
    domain = TrainingDomain(("mach",), np.linspace(0.3, 0.9, 7)[:, None], limits=LIMITS)
    assert judge(domain, 0.5).trust == Trust.INSIDE
    assert judge(domain, 1.0).trust == Trust.EXTRAPOLATED


def test_a_limit_on_one_side():
    domain = replace(BOX, limits={"mach": (-np.inf, 40.0), "altitude_km": (0.0, np.inf)})
    assert judge(domain, 41.0, 40.0).reason == "mach=41 is above 40, the limit declared for it"
    assert judge(domain, 20.0, -1.0).reason == "altitude_km=-1 is below 0, the limit declared for it"


def test_a_place_holds_all_that_a_prediction_needs():
    domain = replace(BOX, inputs=np.log)
    place = domain.place(np.array([[20.0, 40.0], [35.0, 40.0], [50.0, 70.0]]))
    np.testing.assert_array_equal(place.outside, [False, True, True])
    np.testing.assert_allclose(place.nearest, [[20, 40], [30, 40], [30, 60]])
    np.testing.assert_allclose(place.distance, [0, 0.25, np.hypot(1.0, 0.25)])
    np.testing.assert_allclose(place.displacement[1], [np.log(35 / 30) / np.log(3), 0], atol=1e-12)
    assert [verdict.trust for verdict in place.verdicts] == ORDER
    assert place.refused is place.verdicts[2]
    assert domain.place(place.nearest).refused is None


def test_a_condition_that_the_inputs_cannot_take_is_refused_before_they_see_it():
    def fussy(conditions):
        assert (conditions > 0).all()
        return np.log(conditions)

    domain = replace(BOX, inputs=fussy, limits=LIMITS)
    assert "altitude_km=-1 is outside 0..86" in domain.place(np.array([[20.0, -1.0]])).summary()
