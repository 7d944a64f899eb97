import numpy as np
import pytest

from sureflow import scratch
from sureflow.data.runs import Runs
from sureflow.errors import SureflowError
from sureflow.predictive import Predictive
from sureflow.uq.domain import TrainingDomain
from sureflow.uq.folds import (
    Predicted,
    blocks_of_runs,
    held_out_predictions,
    joined,
    random_folds,
    side_folds,
    side_predictions,
    unseen_predictions,
)

POINTS = np.linspace(0.0, 1.0, 7)[:, None]
GRID = np.array([(a, b) for a in range(5) for b in range(5)], float)


def runs(conditions: np.ndarray = GRID) -> Runs:
    wave = np.array([np.sin(a + POINTS[:, 0]) + b for a, b in conditions])
    return Runs.from_arrays({"a": conditions[:, 0], "b": conditions[:, 1]}, POINTS, {"p": wave, "q": wave**2})


def domain_of(training: Runs) -> TrainingDomain:
    return TrainingDomain(training.parameter_names, training.parameters, novelty=lambda at: at[:, 1])


class MeanOfTraining:
    """The least of models: the mean field, with bars that grow with `a`; keeps what it was asked."""

    def __init__(self, training: Runs, bars: bool = True):
        self.mean = training.array().mean(axis=0)
        self.bars, self.asked = bars, []

    def __call__(self, conditions):
        self.asked.append(conditions)
        mean = np.broadcast_to(self.mean, (len(conditions), *self.mean.shape))
        return Predictive(mean, {"epistemic": mean * 0 + bars_at(conditions)} if self.bars else {})


def bars_at(conditions):
    return (1.0 + conditions[:, 0])[:, None, None]


def unit(fields, conditions):
    return np.full((len(conditions), 2, 1), 2.0)


def left_out(training: Runs, fit=MeanOfTraining):
    """Predictions of folds by models that are fitted again."""

    def leave_out(folds):
        for fold in folds:
            model, cases = fit(training.select(~fold.left_out)), np.flatnonzero(fold.left_out)
            for block in blocks_of_runs(training.select(cases)):
                conditions = training.parameters[cases[block]]
                yield Predicted(fold, cases[block], model(conditions), conditions[:, 1])

    return leave_out


def held_out(training: Runs, folds, **others):
    return held_out_predictions(left_out(training), training, folds, domain_of(training), unit, **others)


def test_every_run_is_left_out_once_and_always_in_the_same_fold():
    folds = random_folds(25, folds=10)
    np.testing.assert_array_equal(sum(fold.left_out.astype(int) for fold in folds), 1)
    for one, again in zip(folds, random_folds(25, folds=10), strict=True):
        np.testing.assert_array_equal(one.left_out, again.left_out)


def test_sides_are_left_out_in_several_depths():
    grid = np.array([(a, b) for a in range(11) for b in range(11)], float)
    folds = side_folds(TrainingDomain(("a", "b"), grid), (0.05, 0.15, 0.25))
    assert list(folds) == [0, 1, 2, 3]
    for side, of_side in folds.items():
        assert [int(fold.left_out.sum()) for fold in of_side] == [11, 22, 33]
        outermost = grid[of_side[0].left_out][:, side // 2]
        assert (outermost == (10 if side % 2 else 0)).all()
        for fold in of_side:
            assert np.ptp(grid[~fold.left_out], axis=0).max() == 10


def test_constant_parameters_have_no_sides_and_few_runs_no_folds():
    line = TrainingDomain(("a", "b"), np.array([[0.0, 5], [1, 5], [2, 5], [3, 5], [4, 5]]))
    assert {side: [int(fold.left_out.sum()) for fold in folds] for side, folds in side_folds(line).items()} == {
        0: [1],
        1: [1],
    }
    assert random_folds(3) == []
    with pytest.raises(SureflowError, match="3 training runs are too few to leave some out"):
        held_out(runs(GRID[:3]), random_folds(3))


def test_errors_and_bars_are_those_of_a_model_of_the_other_runs_at_the_condition_itself():
    training = runs()
    ((fold,),) = [side_folds(domain_of(training), (0.05,))[1]]
    found = held_out(training, [fold])
    others, truth = training.array()[~fold.left_out], training.array()[fold.left_out]
    np.testing.assert_allclose(np.stack(found.error), (others.mean(axis=0) - truth) / 2.0)
    np.testing.assert_allclose(np.stack(found.std), 5.0 / 2.0)  # at a=4, in units of 2
    np.testing.assert_allclose(found.beyond, np.tile([0.0, 0.25, 0.0, 0.0], (5, 1)))
    np.testing.assert_array_equal(found.run, np.flatnonzero(fold.left_out))
    np.testing.assert_array_equal(found.novelty, training.parameters[fold.left_out, 1])


def test_runs_that_the_model_has_not_seen_are_predicted_once():
    unseen, model = runs(np.array([[1.5, 2.0], [6.0, 2.0]])), MeanOfTraining(runs())
    found = unseen_predictions(model, unseen, domain_of(runs()), unit)
    np.testing.assert_allclose(np.concatenate(model.asked), [[1.5, 2], [6, 2]])
    np.testing.assert_allclose([std[0, 0] for std in found.std], [2.5 / 2, 7.0 / 2])
    np.testing.assert_allclose(found.beyond, [[0, 0, 0, 0], [0, 0.5, 0, 0]])
    silent = unseen_predictions(MeanOfTraining(runs(), bars=False), unseen, domain_of(runs()), unit)
    assert (np.stack(silent.std) == 1).all()


def test_runs_that_are_left_out_never_reach_the_fit():
    """NaN in the runs of a fold must not show in what the others say about the rest."""
    fold = random_folds(25, folds=5)[0]
    values = runs().array().copy()
    values[fold.left_out] = np.nan
    training = Runs.from_arrays({"a": GRID[:, 0], "b": GRID[:, 1]}, POINTS, {"p": values[:, 0], "q": values[:, 1]})
    seen = []

    def fit(kept):
        seen.append(np.isfinite(kept.array()).all())
        return MeanOfTraining(kept)

    found = held_out_predictions(left_out(training, fit), training, [fold], domain_of(training), unit)
    assert np.isnan(np.stack(found.error)).all()
    assert seen == [True]


def test_quantities_of_interest_are_seen_through_the_same_folds():
    training = runs()

    def observe(fields, conditions):
        return fields.mean(axis=2)

    found = held_out(training, random_folds(25, folds=5), observe=observe).quantities()
    assert np.stack(found.error).shape == (25, 2, 1)
    np.testing.assert_allclose(np.stack(found.std)[:, 0, 0], np.maximum(found.novelty, 0.2))
    fold = random_folds(25, folds=5)[0]
    values = training.array()
    predicted = observe(values[~fold.left_out], None).mean(axis=0)
    expected = (predicted - observe(values[fold.left_out], None)) / np.abs(predicted)
    np.testing.assert_allclose(np.stack(found.error)[: fold.left_out.sum(), :, 0], expected)


def test_a_quantity_that_the_prediction_cannot_give_is_wrong_by_all_of_it():
    found = held_out(runs(), random_folds(25, folds=5), observe=lambda fields, conditions: fields[:, :, 0] * np.nan)
    assert (found.quantity_error == 1.0).all()


def test_sides_come_one_after_the_other():
    training, asked = runs(), []

    def leave_out(folds):
        asked.append(len(folds))
        return left_out(training)(folds)

    folds = side_folds(domain_of(training), (0.05, 0.3))
    sides = side_predictions(leave_out, training, folds, domain_of(training), unit)
    side, first = next(sides)
    assert (side, len(first), asked) == (0, 5 + 10, [2])
    assert [side for side, _ in sides] == [1, 2, 3]
    assert asked == [2, 2, 2, 2]


def test_a_few_conditions_at_a_time_and_files_give_the_same(monkeypatch):
    whole = held_out(runs(), random_folds(25, folds=5))
    monkeypatch.setattr(scratch, "BLOCK", 8 * 14 * 2)
    blocks = held_out(runs(), random_folds(25, folds=5))
    np.testing.assert_array_equal(np.stack(blocks.error), np.stack(whole.error))
    monkeypatch.setattr(scratch, "IN_MEMORY", 100)
    mapped = held_out(runs(), random_folds(25, folds=5))
    assert mapped.error[0].dtype == np.float32
    assert isinstance(mapped.error[0], np.memmap)
    np.testing.assert_allclose(np.stack(mapped.error), np.stack(whole.error), rtol=1e-6)


def test_selecting_and_joining_copies_no_field():
    found = held_out(runs(), random_folds(25, folds=5))
    again = joined([found.select(np.array([3, 1])), found.select(found.novelty > 2)])
    assert again.error[0] is found.error[3]
    assert len(again) == 2 + np.count_nonzero(found.novelty > 2)
    np.testing.assert_array_equal(again.beyond[:2], found.beyond[[3, 1]])
    assert np.shares_memory(found.variables(slice(0, 1)).std[0], found.std[0])
