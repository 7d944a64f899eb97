import numpy as np
import pytest

import synthetic
from sureflow.errors import SureflowError
from sureflow.predictive import Predictive
from sureflow.uq.folds import held_out_predictions, random_folds, side_folds


def mean_of_training(training):
    """The least of models: the mean field, with the runs' spread as its bars."""
    mean, spread = training.fields.mean(axis=0), training.fields.std(axis=0)
    return lambda conditions: Predictive(
        np.broadcast_to(mean, (len(conditions), *mean.shape)),
        {"epistemic": np.broadcast_to(spread, (len(conditions), *mean.shape))},
    )


def unit(fields, conditions):
    return np.full((len(conditions), 4, 1), 2.0)


def test_every_run_is_left_out_once_and_always_in_the_same_fold():
    folds = random_folds(25, folds=10)
    np.testing.assert_array_equal(sum(fold.left_out.astype(int) for fold in folds), 1)
    for one, again in zip(folds, random_folds(25, folds=10), strict=True):
        np.testing.assert_array_equal(one.left_out, again.left_out)


def test_sides_are_left_out_in_several_depths():
    grid = np.array([(a, b) for a in range(11) for b in range(11)], float)
    folds = side_folds(grid, (0.05, 0.15, 0.25))
    assert [int(fold.left_out.sum()) for fold in folds] == [11, 22, 33] * 4
    for fold in folds:
        assert np.ptp(grid[~fold.left_out], axis=0).max() == 10


def test_constant_parameters_have_no_sides_and_few_runs_no_folds():
    assert {fold.left_out.sum() for fold in side_folds(np.array([[0.0, 5], [1, 5], [2, 5], [3, 5], [4, 5]]))} == {1}
    assert random_folds(3) == []
    with pytest.raises(SureflowError, match="3 training runs are too few to leave some out"):
        held_out_predictions(mean_of_training, synthetic.dataset(synthetic.grid()[:3]), random_folds(3), unit)


def test_errors_are_those_of_a_model_of_the_other_runs():
    training = synthetic.dataset()
    (fold,) = [fold for fold in side_folds(training.parameters, (0.05,)) if fold.left_out[-1] and fold.left_out[-2]][:1]
    found = held_out_predictions(mean_of_training, training, [fold], unit)
    others = training.fields[~fold.left_out]
    np.testing.assert_allclose(found.error, (others.mean(axis=0) - training.fields[fold.left_out]) / 2.0)
    np.testing.assert_allclose(found.std[0], others.std(axis=0) / 2.0)
    np.testing.assert_allclose(found.displacement, np.tile([0.25, 0.0], (5, 1)), atol=1e-12)
    np.testing.assert_allclose(found.position[:, 0], 1.0)


def test_runs_that_are_left_out_never_reach_the_fit():
    """NaN in the runs of a fold must not show in what the others say about the rest."""
    training = synthetic.dataset()
    fold = random_folds(25, folds=5)[0]
    training.fields[fold.left_out] = np.nan
    seen = []

    def fit(kept):
        seen.append(np.isfinite(kept.fields).all())
        return mean_of_training(kept)

    assert np.isnan(held_out_predictions(fit, training, [fold], unit).error).all()
    assert seen == [True]


def test_quantities_of_interest_are_seen_through_the_same_folds():
    training = synthetic.dataset()

    def observe(fields, conditions):
        return fields.mean(axis=2)[:, :2]

    found = held_out_predictions(mean_of_training, training, random_folds(25, folds=5), unit, observe).quantities()
    assert found.error.shape == (25, 2, 1)
    fold = random_folds(25, folds=5)[0]
    predicted = observe(training.fields[~fold.left_out], None).mean(axis=0)
    expected = (predicted - observe(training.fields[fold.left_out], None)) / np.abs(predicted)
    np.testing.assert_allclose(found.error[: fold.left_out.sum(), :, 0], expected)
