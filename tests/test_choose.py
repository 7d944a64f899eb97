import numpy as np
import pytest

import synthetic
from sureflow.choose import ComparisonSettings, compare
from sureflow.errors import SureflowError
from sureflow.learn import learn
from sureflow.models import InterpolationSettings, PodGPSettings

SETTINGS = ComparisonSettings(candidates=(PodGPSettings(modes=1), InterpolationSettings()), folds=5)


@pytest.fixture(scope="module")
def comparison():
    return compare(synthetic.dataset(), SETTINGS, "freestream")


def test_the_best_of_the_candidates_is_chosen(comparison):
    rows = comparison.rows()
    assert [row["model"] for row in rows] == ["pod-gp", "interpolation"]
    assert [row["chosen"] for row in rows] == [row["mae"] == min(other["mae"] for other in rows) for row in rows]
    assert comparison.settings == next(
        model for model, row in zip(SETTINGS.candidates, rows, strict=True) if row["chosen"]
    )


def test_errors_are_those_of_models_that_have_not_seen_the_runs():
    data = synthetic.dataset()
    single = ComparisonSettings(candidates=(InterpolationSettings(),), folds=25)
    found = compare(data, single, "none").candidates[0].mae_by_variable
    errors = []
    for run in range(25):
        one = np.arange(25) == run
        predicted = learn(data.select(~one), InterpolationSettings()).predictive(data.parameters[one]).mean
        errors.append(np.abs(predicted - data.fields[one]).mean(axis=(0, 2)) / data.fields.std(axis=(0, 2)))
    np.testing.assert_allclose(found, np.mean(errors, axis=0))


def test_progress_is_told():
    told = []
    single = ComparisonSettings(candidates=(InterpolationSettings(),), folds=2)
    compare(synthetic.dataset(), single, "none", lambda *progress: told.append(progress))
    assert told == [(0, 2, "interpolation"), (1, 2, "interpolation")]


def test_too_few_runs_to_compare():
    data = synthetic.dataset().select(np.arange(25) < 4)
    with pytest.raises(SureflowError, match="4 runs are too few to compare models by leaving 1 out at a time"):
        compare(data, SETTINGS, "none")
