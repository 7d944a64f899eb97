"""Models judged by folds over their own training runs."""

import numpy as np
import pytest

import sureflow
import synthetic
from small_networks import SINGLE
from sureflow.errors import SureflowError
from sureflow.evaluate.left_out import FOLDS, evaluate_folds
from sureflow.uq.folds import fewest_to_fit, random_folds


@pytest.fixture(scope="module")
def runs():
    return synthetic.runs()


@pytest.fixture(scope="module")
def model(runs):
    return sureflow.fit(runs, "interpolation", calibrate=False)


def test_errors_are_those_of_models_that_have_not_seen_the_runs(runs, model):
    folds = random_folds(len(runs), fewest_to_fit(2), FOLDS)
    error = np.empty((len(runs), len(runs.names)))
    for fold in folds:
        others = sureflow.fit(runs.select(~fold.left_out), "interpolation", scaling=model.spec.scaling, calibrate=False)
        left_out = runs.select(fold.left_out)
        predicted = others.predictive(left_out.parameters).mean
        error[fold.left_out] = np.abs(predicted - left_out.array()).mean(axis=2)
    seen = []
    found = evaluate_folds(model, runs, on_fold=lambda done, total: seen.append((done, total)))
    pooled = {
        name: sum(row["mae"] * row["n_runs"] for row in found.rows if (row["region"], row["variable"]) == ("all", name))
        for name in runs.names
    }
    expected = error.sum(axis=0) / runs.array().std(axis=(0, 2))
    np.testing.assert_allclose([pooled[name] for name in runs.names], expected, rtol=1e-5)  # rows have six digits
    assert seen == [(number, FOLDS) for number in range(1, FOLDS + 1)]  # each model is made once


def test_a_run_outside_the_box_of_the_others_is_out_of_domain(runs, model):
    """With as many folds as runs, each corner of the grid stays in the box that the other corners span."""
    one_by_one = evaluate_folds(model, runs, folds=len(runs))
    assert {row["domain"] for row in one_by_one.rows} == {"in_domain"}
    line = runs.select(runs.parameters[:, 1] == 40.0)
    along = evaluate_folds(sureflow.fit(line, "interpolation", calibrate=False), line, folds=len(line))
    counts = {row["domain"]: row["n_runs"] for row in along.rows if row["region"] == "all"}
    assert counts == {"in_domain": len(line) - 2, "out_of_domain": 2}


def test_bars_are_calibrated_again_in_every_fold(runs, model):
    calibrated = sureflow.fit(runs, "interpolation")
    own, fitted = evaluate_folds(model, runs), evaluate_folds(calibrated, runs)
    for key, same in (("mae", True), ("mean_std", False)):
        one, other = (found.table()[key].to_numpy() for found in (own, fitted))
        assert np.allclose(one, other) == same
    assert "calibrated by folds over these others" in repr(fitted)
    assert "calibrated" not in repr(own)


def test_what_cannot_be_left_out(runs, model):
    network = sureflow.fit(runs, SINGLE)
    for given, part, folds, sentence in [
        (network, runs, FOLDS, "deeponet takes too long to train again for every fold: hold runs out"),
        (
            model,
            runs.select(np.arange(20)),
            FOLDS,
            "folds need all 25 training runs of the model, of which 20 are here",
        ),
        (model, runs, 1, "folds=1 over 25 training runs leave too few"),
        (sureflow.fit(runs, "interpolation"), runs, 2, "are too few to calibrate with: take more folds"),
    ]:
        if sentence.startswith("are too few"):
            part = runs.select(np.arange(0, 25, 3))
            given = sureflow.fit(part, "interpolation")
            assert given.calibration is not None
        with pytest.raises(SureflowError, match=sentence):
            evaluate_folds(given, part, folds=folds)
