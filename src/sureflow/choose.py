"""Which whole-field model suits these runs best: cross-validation over the runs decides."""

import time
from collections.abc import Callable
from dataclasses import asdict
from dataclasses import dataclass as plain_dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, NonNegativeInt
from pydantic.dataclasses import dataclass

from sureflow.data.dataset import Dataset
from sureflow.data.normalize import Standard
from sureflow.errors import SureflowError
from sureflow.learn import learn
from sureflow.models import AnyFieldModel, InterpolationSettings, PodDeepONetSettings, PodGPSettings
from sureflow.uq.folds import Fold, fewest_to_fit, random_folds
from sureflow.validation import STRICT

Progress = Callable[[int, int, str], None]  # fits done, fits in all, what is fitted next


@dataclass(frozen=True, config=STRICT)
class ComparisonSettings:
    """Candidates, and the folds over the training runs that decide between them."""

    name: Literal["auto"] = "auto"
    candidates: Annotated[tuple[AnyFieldModel, ...], Field(min_length=1)] = (
        InterpolationSettings(),
        PodGPSettings(),
        PodDeepONetSettings(),
    )
    folds: Annotated[int, Field(ge=2)] = 5
    seed: NonNegativeInt = 0


@plain_dataclass(frozen=True)
class Candidate:
    """What cross-validation found of one model.

    `mae` is the mean absolute error of predictions of runs left out, in the space of the metrics: physical values
    normalized with mean and standard deviation of all training runs, the same for every model and scaling.
    """

    model: str
    uq: str
    scaling: str
    mae: float
    mae_by_variable: tuple[float, ...]
    seconds: float


@plain_dataclass(frozen=True)
class Comparison:
    """The candidates and the settings of the best of them."""

    candidates: tuple[Candidate, ...]
    settings: AnyFieldModel
    folds: int

    def rows(self) -> list[dict[str, Any]]:
        """Plain values, for provenance."""
        best = min(self.candidates, key=lambda candidate: candidate.mae)
        return [asdict(candidate) | {"chosen": candidate is best} for candidate in self.candidates]


def compare(
    training: Dataset,
    settings: ComparisonSettings,
    scaling: str,
    on_fit: Progress = lambda done, total, model: None,
) -> Comparison:
    """Every candidate by K folds over the runs; scaling, normalizer and basis are fitted again in each fold."""
    training.require_trainable()
    folds = comparison_folds(training, settings)
    total = len(folds) * len(settings.candidates)
    found = []
    for index, model in enumerate(settings.candidates):
        began = time.perf_counter()
        errors = []
        for fold_index, fold in enumerate(folds):
            on_fit(index * len(folds) + fold_index, total, model.name)
            errors.append(_errors(training, model, scaling, fold))
        by_variable = np.concatenate(errors).mean(axis=0)
        seconds = time.perf_counter() - began
        found.append(
            Candidate(model.name, model.uq, scaling, float(by_variable.mean()), tuple(by_variable.tolist()), seconds)
        )
    best = min(range(len(found)), key=lambda index: found[index].mae)
    return Comparison(tuple(found), settings.candidates[best], len(folds))


def _errors(training: Dataset, model: AnyFieldModel, scaling: str, fold: Fold) -> np.ndarray:
    """Mean absolute error (case, variable) of the runs that one fold leaves out."""
    unseen = training.select(fold.left_out)
    predicted = learn(training.select(~fold.left_out), model, scaling=scaling).predictive(unseen.parameters).mean
    space = Standard.fit(training.fields, axis=(0, 2))
    return np.abs(predicted - unseen.fields).mean(axis=2) / space.std


def comparison_folds(training: Dataset, settings: ComparisonSettings) -> list[Fold]:
    """The folds over the runs; refused where one of them leaves too few to fit."""
    n_runs, n_parameters = training.parameters.shape
    folds = random_folds(n_runs, folds=settings.folds, seed=settings.seed)
    largest = max((int(fold.left_out.sum()) for fold in folds), default=1)
    fewest = fewest_to_fit(n_parameters)
    if n_runs - largest < fewest:
        raise SureflowError(
            f"{n_runs} runs are too few to compare models by leaving {largest} out at a time: a fit needs {fewest}; "
            "compute more runs, or choose a model, such as interpolation"
        )
    return folds
