"""Quantities and verdicts of a model against test runs."""

from dataclasses import replace

import numpy as np
import pytest

import kinds_of_runs
import synthetic
from sureflow.evaluate.observed import quantity_rows, verdict_rows
from sureflow.surrogate.learning import learn
from sureflow.surrogate.numbers import RunNumbers
from sureflow.surrogate.specification import specification

RUNS = synthetic.runs()
INTERPOLATION = specification({"model": "interpolation"})


@pytest.fixture(scope="module")
def tests():
    held_out = np.arange(len(RUNS)) % 4 == 1
    mach = RUNS.parameters[:, 0]
    return {"in_domain": held_out & (mach < mach.max()), "out_of_domain": held_out & (mach == mach.max())}


@pytest.fixture(scope="module")
def surrogate(tests):
    train = ~np.logical_or.reduce(list(tests.values())) & (RUNS.parameters[:, 0] < RUNS.parameters[:, 0].max())
    return learn(RUNS.select(train), INTERPOLATION)


def test_errors_are_those_of_the_quantities_of_the_runs(surrogate, tests):
    rows = quantity_rows(surrogate, RUNS, tests)
    found = {(row["domain"], row["quantity"]): row for row in rows}
    observer, mask = surrogate.observer, tests["in_domain"]
    conditions = RUNS.parameters[mask]
    truth = observer(RUNS.select(mask).array(), conditions)
    predicted = observer(np.asarray(surrogate.raw_predictive(conditions).mean), conditions)
    expected = np.abs(predicted / truth - 1.0)
    row = found["in_domain", "stagnation_pressure"]
    assert row["relative_error"] == pytest.approx(expected[:, 1].mean())
    assert row["largest_relative_error"] == pytest.approx(expected[:, 1].max())
    assert (row["n_runs"], row["unit"], row["coverage90"]) == (int(mask.sum()), "Pa", None)


def test_calibrated_bars_are_judged(surrogate, tests):
    calibrated = surrogate.calibrate(RUNS, folds=True)
    rows = quantity_rows(calibrated, RUNS, tests)
    assert all(0.0 <= row["coverage90"] <= 1.0 for row in rows)


def test_what_acts_along_the_wall_is_judged_face_by_face(surrogate, tests):
    calibrated, mask = surrogate.calibrate(RUNS, folds=True), tests["in_domain"]
    rows = {(row["domain"], row["quantity"]): row for row in quantity_rows(calibrated, RUNS, tests)}
    row, conditions = rows["in_domain", "wall_pressure"], RUNS.parameters[mask]
    truth = calibrated.observer.along_body(RUNS.select(mask).array(), conditions)[:, 0]
    found = calibrated.surface(mach=conditions[:, 0], altitude_km=conditions[:, 1])
    error = np.abs(found.wall_pressure.values - truth)
    assert row["relative_error"] == pytest.approx((error.mean(axis=1) / truth.mean(axis=1)).mean())
    assert row["coverage90"] == pytest.approx((error <= 1.6449 * found.wall_pressure_std.values).mean())
    assert ("in_domain", "wall_shear") not in rows  # these runs do not say what their wall does


def test_numbers_are_judged_beside_what_is_read_off_the_fields(surrogate, tests):
    train = RUNS.select(np.isin(RUNS.parameters, surrogate.domain.parameters).all(axis=1) & ~tests["in_domain"])
    numbers = RunNumbers.fit(train, surrogate.number_space, surrogate.observer)
    assert numbers is not None
    both = replace(surrogate, numbers=numbers)
    row = next(row for row in quantity_rows(both, RUNS, tests) if row["quantity"] == "stagnation_pressure")
    mask = tests["in_domain"]
    truth = both.observer(RUNS.select(mask).array(), RUNS.parameters[mask])[:, 1]
    values, std = numbers(both.number_space, RUNS.parameters[mask])["stagnation_pressure"]
    assert row["number_relative_error"] == pytest.approx(np.abs(values / truth - 1).mean())
    assert row["number_coverage90"] == pytest.approx((np.abs(values - truth) <= 1.6449 * std).mean())
    assert row["better"] is None  # nothing says how much the field errs on runs left out


def test_runs_without_quantities_have_no_rows():
    block = kinds_of_runs.runs("block")
    tests = {"in_domain": np.arange(len(block)) == 3}
    assert quantity_rows(learn(block, INTERPOLATION), block, tests) == []


def test_verdicts_are_counted_by_domain(surrogate, tests):
    rows = {row["domain"]: row for row in verdict_rows(surrogate, RUNS, tests)}
    for domain, row in rows.items():
        assert row["inside"] + row["extrapolated"] + row["refused"] == row["n_runs"] == tests[domain].sum()
    assert rows["out_of_domain"]["inside"] == 0
