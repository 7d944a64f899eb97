from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from sureflow.uq.domain import TrainingDomain, Trust, most_usual
from sureflow.uq.folds import side_folds

NAMES = ("mach", "altitude_km")
BOX = TrainingDomain(NAMES, np.array([[10.0, 20.0], [10.0, 60.0], [30.0, 20.0], [30.0, 60.0]]))
LIMITS = {"mach": (2.0, 40.0), "altitude_km": (0.0, 86.0)}
ORDER = [Trust.INSIDE, Trust.EXTRAPOLATED, Trust.REFUSED]


def judge(domain: TrainingDomain, *condition: float):
    (verdict,) = domain.place(np.array([condition], float)).verdicts
    return verdict


def to_nearest(conditions):
    """Distance to the nearest corner of the box, in its widths."""
    return cdist(conditions / [20.0, 40.0], BOX.parameters / [20.0, 40.0]).min(axis=1)


def test_excess_is_in_widths_of_the_training_range():
    excess = BOX.excess(np.array([[20.0, 40.0], [35.0, 10.0], [30.0, 60.0]]))
    np.testing.assert_allclose(excess, [[0, 0], [0.25, 0.25], [0, 0]])


def test_sides_are_below_and_above_every_parameter():
    beyond = BOX.beyond(np.array([[20.0, 40.0], [35.0, 10.0], [5.0, 50.0]]))
    np.testing.assert_allclose(beyond, [[0, 0, 0, 0], [0, 0.25, 0.25, 0], [0.25, 0, 0, 0]])


def test_the_verdict_says_what_is_extrapolated_how_far_and_which_run_is_nearest():
    assert str(judge(BOX, 20.0, 40.0)) == "inside"
    assert str(judge(BOX, 35.0, 24.0)) == (
        "extrapolated: mach=35 is outside 10..30 by 25% of the range of the runs; the nearest run is at mach=30, "
        "altitude_km=20, 25% of the range of mach away"
    )


def test_distances_of_a_logarithmic_parameter_are_those_of_its_logarithm():
    runs = np.array([[0.01, 5.0], [1.0, 7.0], [100.0, 5.0], [0.01, 9.0], [100.0, 9.0]])
    domain = TrainingDomain(("p", "angle"), runs, logarithmic=frozenset(["p"]))
    np.testing.assert_allclose(
        domain.beyond(np.array([[1e-3, 7.0], [1e3, 10.0]])), [[0.25, 0, 0, 0], [0, 0.25, 0, 0.25]]
    )
    assert judge(domain, 0.02, 6.0).trust == Trust.INSIDE
    assert str(judge(domain, 1e-3, 5.0)) == (
        "extrapolated: p=0.001 is outside 0.01..100 by 25% of the range of its logarithms; the nearest run is at p=0.01, "
        "angle=5, 25% of the range of p away"
    )
    assert [judge(domain, value, 7.0).trust for value in (3e-5, 1e-20, 3e4)] == [Trust.REFUSED] * 3
    for value in (0.0, -1.0):
        assert judge(domain, value, 7.0).reason == f"p={value:g} must be positive: the model sees its logarithm"
    # Sides are as deep below as above.
    even = TrainingDomain(("p",), np.geomspace(1e-3, 1e3, 25)[:, None], logarithmic=frozenset(["p"]))
    below, above = ([int(fold.left_out.sum()) for fold in folds] for folds in side_folds(even).values())
    assert below == above


@pytest.mark.parametrize(
    ("ends", "value", "words"),
    [
        ((859.6991, 1231812.3), 2e6, "x=2e+06 is outside 859.7..1.232e+06 by"),
        ((12.00004, 28.12345), 12.0, "x=12 is outside 12.00004..28.12345 by"),
        ((12.34567, 28.12345), 12.345, "x=12.345 is outside 12.35..28.12 by"),
        ((1.0, 2.00000001), 2.00000002, "x=2.00000002 is outside 1..2.00000001 by"),
    ],
)
def test_ranges_have_four_digits_or_those_that_the_verdict_needs(ends, value, words):
    assert judge(TrainingDomain(("x",), np.array(ends)[:, None]), value).reason.startswith(words)


def test_a_combination_that_is_new_to_the_model_is_extrapolated_though_every_parameter_is_in_its_range():
    domain = replace(BOX, novelty=to_nearest, usual=0.4)
    assert judge(domain, 12.0, 24.0).trust == Trust.INSIDE
    verdict = judge(domain, 20.0, 40.0)
    assert verdict.trust == Trust.EXTRAPOLATED
    assert verdict.distance == 0.0
    assert "this combination is 1.8 times as new to the model as 95% of its training runs" in verdict.reason
    assert "the nearest run is at mach=10" in verdict.reason
    assert domain.place(np.array([[12.0, 24.0], [20.0, 40.0]])).outside.tolist() == [False, True]


def test_a_declared_range_is_inside_where_nothing_is_new_and_its_end_is_the_end():
    domain = replace(BOX, declared={"mach": (8.0, 40.0)}, limits={"mach": (8.0, 40.0)}, novelty=to_nearest, usual=0.8)
    assert judge(domain, 35.0, 30.0).trust == Trust.INSIDE
    assert judge(domain, 40.0, 30.0).trust == Trust.INSIDE
    assert judge(replace(domain, usual=0.3), 35.0, 30.0).trust == Trust.EXTRAPOLATED
    assert judge(domain, 35.0, 61.0).trust == Trust.EXTRAPOLATED
    assert judge(domain, 40.1, 30.0).trust == Trust.REFUSED


def test_a_declared_range_on_one_side_and_one_that_the_runs_leave():
    one = replace(BOX, declared={"mach": (-np.inf, 40.0), "altitude_km": (30.0, 80.0)})
    np.testing.assert_allclose(one.ranges, [[10.0, 20.0], [40.0, 60.0]])


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


def test_parameters_that_vary_together_may_not_vary_apart():
    runs = np.array([[10.0, 20.0, 1.0], [30.0, 60.0, 2.0], [20.0, 40.0, 5.0], [15.0, 30.0, 3.0]])
    domain = TrainingDomain(("mach", "altitude_km", "angle"), runs)
    assert judge(domain, 25.0, 50.0, 2.0).trust == Trust.INSIDE
    verdict = judge(domain, 25.0, 40.0, 2.0)
    assert verdict.trust == Trust.REFUSED
    assert verdict.reason.startswith("mach and altitude_km vary together in all training runs")


@settings(max_examples=60, deadline=None)
@given(
    st.floats(0.0, 2 * np.pi),
    st.floats(0.0, 3.0),
    st.floats(0.0, 3.0),
    st.integers(3, 12),
    st.integers(0, 1000),
)
def test_the_verdict_is_monotone_in_the_distance(angle, one, other, n_runs, seed):
    """Walking away from the middle of the ranges, the distance never falls and the standing never improves."""
    runs = np.random.default_rng(seed).uniform(size=(n_runs, 2))
    domain = TrainingDomain(("a", "b"), runs)
    near, far = sorted([one, other])
    way = np.array([np.cos(angle), np.sin(angle)])
    middle = 0.5 * (domain.lower + domain.upper)
    first, second = (judge(domain, *(middle + length * way)) for length in (near, far))
    assert first.distance <= second.distance + 1e-9
    assert ORDER.index(first.trust) <= ORDER.index(second.trust)


def test_the_summary_of_several_conditions():
    conditions = np.array([[20.0, 40.0], [35.0, 40.0], [20.0, 80.0]])
    assert BOX.place(conditions[:1]).summary() == BOX.place(conditions[[0, 0]]).summary() == "inside"
    assert BOX.place(conditions).summary().startswith("2 of 3 conditions are extrapolated; the farthest: ")
    assert "altitude_km=80" in BOX.place(conditions).summary()


def test_limits_that_the_training_runs_break_do_not_count():
    domain = TrainingDomain(("mach",), np.linspace(0.3, 0.9, 7)[:, None], limits=LIMITS)
    assert judge(domain, 0.5).trust == Trust.INSIDE
    assert judge(domain, 1.0).trust == Trust.EXTRAPOLATED


def test_a_limit_on_one_side():
    domain = replace(BOX, limits={"mach": (-np.inf, 40.0), "altitude_km": (0.0, np.inf)})
    assert judge(domain, 41.0, 40.0).reason == "mach=41 is above 40, the limit declared for it"
    assert judge(domain, 20.0, -1.0).reason == "altitude_km=-1 is below 0, the limit declared for it"


def test_a_place_holds_all_that_a_prediction_needs():
    place = replace(BOX, novelty=to_nearest, usual=1.0).place(np.array([[20.0, 40.0], [35.0, 40.0], [50.0, 70.0]]))
    np.testing.assert_array_equal(place.outside, [False, True, True])
    np.testing.assert_allclose(place.distance, [0, 0.25, np.hypot(1.0, 0.25)])
    np.testing.assert_allclose(place.beyond[2], [0, 1.0, 0, 0.25])
    np.testing.assert_allclose(place.novelty, to_nearest(place.conditions))
    assert [verdict.trust for verdict in place.verdicts] == ORDER
    assert place.refused is place.verdicts[2]


def test_a_condition_that_the_model_cannot_take_is_refused_before_it_is_asked():
    def fussy(conditions):
        assert (conditions > 0).all()
        return np.zeros(len(conditions))

    place = replace(BOX, novelty=fussy, limits=LIMITS).place(np.array([[20.0, -1.0], [41.0, 40.0]]))
    assert "altitude_km=-1 is outside 0..86" in place.verdicts[0].reason
    with pytest.raises(AssertionError):
        _ = place.novelty


@pytest.mark.parametrize("n_runs", [12, 25, 200])
def test_few_conditions_drawn_as_the_runs_were_are_more_novel_than_is_usual(n_runs):
    """Novelties of all kinds of distributions, of runs left out and of conditions to come."""
    rng = np.random.default_rng(n_runs)
    for draw in (rng.normal, rng.uniform, rng.exponential):
        more = [np.mean(np.abs(draw(size=200)) > most_usual(np.abs(draw(size=n_runs)))) for _ in range(100)]
        assert np.mean(more) <= 0.05
