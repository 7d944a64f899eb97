"""The comparison of models: a race over folds that drops who cannot win."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import synthetic
from sureflow.errors import SureflowError
from sureflow.models import (
    Capabilities,
    FittedModel,
    InterpolationSettings,
    ModelSettings,
    PodGPSettings,
    interpolation,
)
from sureflow.models.beyond import nowhere
from sureflow.models.interpolation import Interpolation
from sureflow.predictive import Predictive
from sureflow.surrogate.choose import compare, comparison_folds, comparison_sides
from sureflow.surrogate.learning import learn
from sureflow.surrogate.specification import ComparisonSettings, Specification
from sureflow.train.networks import Networks
from sureflow.validation import settings

SETTINGS = ComparisonSettings(candidates=(PodGPSettings(modes=1), InterpolationSettings()), folds=5)


@dataclass(frozen=True)
class Shifted(FittedModel):
    """Interpolation, and an error that is known."""

    right: FittedModel
    shift: float

    def predict(self, inputs, coordinates):
        found = self.right.predict(inputs, coordinates)
        return Predictive(found.mean + self.shift, found.parts)

    def arrays(self):
        return self.right.arrays() | {"shift": np.array(self.shift)}


@settings
class ShiftedSettings(ModelSettings):
    """A candidate that errs by `shift` everywhere, and counts its fits."""

    name: ClassVar[str] = "shifted"
    uq: ClassVar[str] = "none"
    capabilities: ClassVar[Capabilities] = Capabilities(refits_quickly=True)
    shift: float
    fits: ClassVar[list[float]] = []

    def fit(self, view, progress=lambda report: None, checkpoint=None):
        self.fits.append(self.shift)
        return Shifted(InterpolationSettings().fit(view), self.shift)

    def restore(self, arrays, sizes):
        arrays = dict(arrays)
        shift = float(arrays.pop("shift"))
        return Shifted(InterpolationSettings().restore(arrays, sizes), shift)

    @property
    def title(self):
        return f"shifted-{self.shift:g}"


@pytest.fixture(scope="module")
def comparison():
    return compare(synthetic.runs(), SETTINGS, "freestream")


def test_the_best_of_the_candidates_is_chosen(comparison):
    rows = comparison.rows()
    assert [row["model"] for row in rows] == ["pod-gp", "interpolation"]
    scores = [np.sqrt(row["mae"] * row["mae_beyond"]) for row in rows if row["mae_beyond"]]
    assert [row["chosen"] for row in rows if row["mae_beyond"]] == [score == min(scores) for score in scores]
    assert comparison.settings == next(
        model for model, row in zip(SETTINGS.candidates, rows, strict=True) if row["chosen"]
    )


def test_errors_are_those_of_models_that_have_not_seen_the_runs():
    runs = synthetic.runs()
    plain = InterpolationSettings()
    single = ComparisonSettings(candidates=(plain,), folds=25)
    found = compare(runs, single, "none").candidates[0].mae_by_variable
    truth, errors = runs.array(), []
    for case in range(25):
        one = np.arange(25) == case
        model = learn(runs.select(~one), Specification(plain, "none"))
        predicted = model.predictive(runs.parameters[one]).mean
        errors.append(np.abs(predicted - truth[one]).mean(axis=(0, 2)) / truth.std(axis=(0, 2)))
    # A refit also normalizes the inputs by its own runs.
    np.testing.assert_allclose(found, np.mean(errors, axis=0), rtol=0.05)


def test_who_cannot_win_is_dropped_and_the_best_runs_to_the_end():
    ShiftedSettings.fits.clear()
    candidates = tuple(map(ShiftedSettings, (30.0, 0.0)))
    found = compare(synthetic.runs(), ComparisonSettings(candidates), "none")
    folds = {row["model"]: row["folds"] for row in found.rows()}
    assert found.settings == candidates[1]
    assert folds["shifted-0"] == found.folds
    assert folds["shifted-30"] < found.folds
    sides = len(comparison_sides(synthetic.runs()))
    fits = [ShiftedSettings.fits.count(shift) for shift in (0.0, 30.0)]
    assert fits == [folds["shifted-0"] + sides, folds["shifted-30"]]


def test_the_race_chooses_what_the_whole_comparison_would():
    runs = synthetic.runs()
    candidates = (ShiftedSettings(0.3), InterpolationSettings(), ShiftedSettings(0.05))
    raced = compare(runs, ComparisonSettings(candidates), "freestream")
    errors = {
        candidate: compare(runs, ComparisonSettings((candidate,)), "freestream").candidates[0].mae
        for candidate in candidates
    }
    assert errors[raced.settings] <= min(errors.values()) / 0.9  # type: ignore[index]


def test_the_order_of_candidates_does_not_matter():
    candidates = (InterpolationSettings(), ShiftedSettings(0.05))
    one, other = (
        compare(synthetic.runs(), ComparisonSettings(order), "none").settings
        for order in (candidates, candidates[::-1])
    )
    assert one == other


def test_progress_is_told():
    told = []
    single = ComparisonSettings(candidates=(ShiftedSettings(0.0),), folds=2)
    compare(synthetic.runs(), single, "none", lambda *progress: told.append(progress))
    done, total, titles = zip(*told, strict=True)
    assert list(done) == sorted(done)
    assert {*total} == {2}
    assert {*titles} == {"shifted-0"}
    assert (done[0], done[-1]) == (0, 2)


def test_scalings_are_compared_as_models_are():
    found = compare(synthetic.runs(), ComparisonSettings((InterpolationSettings(),)), ("none", "freestream"))
    assert [candidate.scaling for candidate in found.candidates] == ["none", "freestream"]
    assert found.scaling == min(found.candidates, key=lambda candidate: candidate.score).scaling


def test_refits_are_for_the_best_scaling_alone():
    candidates = (PodGPSettings(modes=3), InterpolationSettings())
    found = compare(synthetic.runs(), ComparisonSettings(candidates, folds=3), ("none", "freestream"))
    tried = [(candidate.model, candidate.scaling) for candidate in found.candidates]
    best = min((one for one in found.candidates if one.model == "interpolation"), key=lambda one: one.score).scaling
    assert tried.count(("pod-gp", best)) == 1
    assert [scaling for model, scaling in tried if model == "pod-gp"] == [best]


def test_what_was_learned_from_the_runs_counts_against_a_model(monkeypatch):
    """Errors at runs left out in closed form are larger by how optimistic the model says it is."""
    runs, settings = synthetic.runs(), ComparisonSettings((InterpolationSettings(),))
    plain = compare(runs, settings, "freestream").candidates[0]
    monkeypatch.setattr(Interpolation, "optimism", 1.5)
    np.testing.assert_allclose(compare(runs, settings, "freestream").candidates[0].mae, 1.5 * plain.mae)


def test_sides_left_out_are_those_of_refits(monkeypatch):
    # Refits learn from their own runs on which sides to go on straight.
    monkeypatch.setattr(interpolation, "learned_sides", lambda nodes, missed: nowhere(nodes.shape[1]))
    runs = synthetic.runs()
    sides = comparison_sides(runs)
    assert [int(side.left_out.sum()) for side in sides] == [5, 5, 5, 5]
    found = compare(runs, ComparisonSettings((InterpolationSettings(),)), "freestream").candidates[0]
    errors, scale = [], runs.array().std(axis=(0, 2))
    for side in sides:
        model = learn(runs.select(~side.left_out), Specification(InterpolationSettings(), "freestream"))
        unseen = runs.select(side.left_out)
        missed = np.abs(model.raw_predictive(unseen.parameters).mean - unseen.array()).mean(axis=2) / scale
        errors += missed.mean(axis=1).tolist()
    # A refit also normalizes the inputs by its own runs, to which a whole side is missing.
    np.testing.assert_allclose(found.mae_beyond, np.mean(errors), rtol=0.1)
    assert comparison_sides(runs.select(np.arange(25) < 5)) == []


def test_what_is_learned_besides_the_fields_is_judged_by_refits():
    """In closed form, the basis of POD-GP would know the runs left out."""
    runs = synthetic.runs()
    found = compare(runs, ComparisonSettings((PodGPSettings(modes=3),), folds=3), "freestream").candidates[0].mae
    space, errors = runs.array().std(axis=(0, 2)), []
    for fold in comparison_folds(runs, ComparisonSettings(folds=3)):
        model = learn(runs.select(~fold.left_out), Specification(PodGPSettings(modes=3), "freestream"))
        unseen = runs.select(fold.left_out)
        errors += list(
            (np.abs(model.predictive(unseen.parameters).mean - unseen.array()).mean(axis=2) / space).mean(axis=1)
        )
    np.testing.assert_allclose(found, np.mean(errors))


def test_too_few_runs_to_compare():
    runs = synthetic.runs().select(np.arange(25) < 4)
    with pytest.raises(SureflowError, match="4 runs are too few to compare models by leaving 1 out at a time"):
        compare(runs, SETTINGS, "none")


def test_models_that_take_long_are_not_compared():
    with pytest.raises(SureflowError, match="a deeponet takes too long to fit again for every fold: leave it out"):
        comparison_folds(synthetic.runs(), ComparisonSettings((InterpolationSettings(), Networks())))


def test_what_the_comparison_has_fitted_is_what_learning_it_again_gives():
    runs, candidates = synthetic.runs(), (InterpolationSettings(), InterpolationSettings(scales="learned"))
    found = compare(runs, ComparisonSettings(candidates, folds=5), "freestream")
    again = learn(runs, Specification(found.settings, found.scaling)).predictor
    assert found.predictor is not None
    assert found.predictor.spec == again.spec
    for name, array in again.fitted.arrays().items():
        np.testing.assert_array_equal(found.predictor.fitted.arrays()[name], array)
