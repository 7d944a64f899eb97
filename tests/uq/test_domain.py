import numpy as np

from sureflow.uq.domain import TrainingDomain

DOMAIN = TrainingDomain(("mach", "altitude_km"), np.array([[10.0, 20.0], [30.0, 60.0], [20.0, 30.0]]))


def test_excess_is_in_widths_of_the_training_range():
    excess = DOMAIN.excess(np.array([[20.0, 40.0], [35.0, 10.0], [30.0, 60.0]]))
    np.testing.assert_allclose(excess, [[0, 0], [0.25, 0.25], [0, 0]])


def test_the_verdict_says_what_is_extrapolated_and_how_far():
    assert DOMAIN.verdict(np.array([20.0, 40.0])) == "inside"
    assert DOMAIN.verdict(np.array([35.0, 40.0])) == "extrapolated: mach=35 is outside 10..30 by 25% of that range"


def test_the_summary_of_several_conditions():
    conditions = np.array([[20.0, 40.0], [35.0, 40.0], [20.0, 80.0]])
    assert DOMAIN.summary(conditions[:1]) == DOMAIN.summary(conditions[[0, 0]]) == "inside"
    assert DOMAIN.summary(conditions).startswith("2 of 3 conditions are extrapolated; the farthest: extrapolated: alt")
