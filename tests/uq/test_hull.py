"""Bars of earlier versions: what a hull is, and how they widen with the distance from it."""

import json

import numpy as np
import pytest

from sureflow.errors import SureflowError
from sureflow.predictive import Predictive
from sureflow.uq import hull
from sureflow.uq.bars import Query
from sureflow.uq.domain import TrainingDomain
from sureflow.uq.hull import HullCalibration, HullFacts
from sureflow.validation import plain, validated

NAMES = ("mach", "altitude_km")
BOX = TrainingDomain(NAMES, np.array([[10.0, 20.0], [10.0, 60.0], [30.0, 20.0], [30.0, 60.0]]))
VARIABLES, POINTS = 2, 3
FITTED = HullCalibration(
    scale=np.full((VARIABLES, POINTS), 2.0, np.float32),
    pattern=np.arange(1.0, 1 + 4 * VARIABLES * POINTS, dtype=np.float32).reshape(4, VARIABLES, POINTS),
    exponent=np.full((4, VARIABLES), 1.5, np.float32),
    trend=np.zeros((4, VARIABLES), np.float32),
    factors={0.9: (1.5, np.inf)},
    band_factors={},
    runs=9,
    exact=False,
    reach=0.5,
)


def predict(conditions):
    own = np.ones((len(conditions), VARIABLES, POINTS)) * conditions[:, :1, None]
    return Predictive(own, {"epistemic": own})


def query(conditions, domain=BOX):
    return Query(domain.place(conditions), lambda fields, at: np.ones((len(at), 1, 1)), np.asarray, predict, np.asarray)


def test_the_displacement_from_a_full_box_is_the_excess_with_its_sign():
    conditions = np.array([[20.0, 40.0], [35.0, 10.0], [5.0, 50.0], [30.0, 60.0]])
    found = hull._displacement(BOX, conditions)
    np.testing.assert_allclose(found, [[0, 0], [0.25, -0.25], [-0.25, 0], [0, 0]], atol=1e-12)


def test_a_missing_corner_of_the_box_and_runs_on_a_line():
    triangle = TrainingDomain(NAMES, BOX.parameters[:3])
    np.testing.assert_allclose(hull._displacement(triangle, np.array([[30.0, 60.0]])), [[0.5, 0.5]])
    line = TrainingDomain(NAMES, np.array([[10.0, 20.0], [30.0, 60.0], [20.0, 40.0]]))
    np.testing.assert_allclose(
        hull._displacement(line, np.array([[12.0, 24.0], [20.0, 20.0]])), [[0, 0], [0.25, -0.25]]
    )


def test_the_box_stands_in_for_the_hull_of_very_many_runs(monkeypatch):
    monkeypatch.setattr(hull, "MOST_RUNS_OF_A_HULL", 2)
    triangle = TrainingDomain(NAMES, BOX.parameters[:3])
    np.testing.assert_allclose(
        hull._displacement(triangle, np.array([[30.0, 60.0], [35.0, 40.0]])), [[0, 0], [0.25, 0]]
    )


def test_bars_are_those_of_the_nearest_condition_inside_and_widen():
    conditions = np.array([[20.0, 40.0], [35.0, 40.0]])
    found = FITTED.calibrated(predict(conditions), query(conditions))
    np.testing.assert_allclose(found.parts["epistemic"][:, 0, 0], [40.0, 60.0])
    np.testing.assert_allclose(found.parts["extrapolation"], [np.zeros((2, 3)), FITTED.pattern[1] * 0.25**1.5])
    relative = FITTED.relative_std(query(conditions))
    np.testing.assert_allclose(relative, np.hypot(2.0, found.parts["extrapolation"][:, :, 0]))


def test_facts_and_arrays_give_the_same_calibration_again():
    facts = validated(HullFacts, json.loads(json.dumps(plain(FITTED.facts()), allow_nan=False)))
    again = HullCalibration.restore(facts, FITTED.arrays())
    assert again.facts() == FITTED.facts()
    assert again.factors == FITTED.factors


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        ({"scale": None}, "scale is missing"),
        ({"trend": np.zeros((4, 3))}, r"trend has the shape \(4, 3\)"),
        ({"scale": np.zeros((3, POINTS))}, "pattern has the shape"),
    ],
)
def test_a_damaged_calibration_is_refused(damage, what):
    arrays = {name: array for name, array in (FITTED.arrays() | damage).items() if array is not None}
    with pytest.raises(
        SureflowError, match=rf"the calibration of this model is damaged \({what}.*: calibrate it again"
    ):
        HullCalibration.restore(FITTED.facts(), arrays)
