"""Which model suits these runs best: cross-validation over the runs decides."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from sureflow.data.normalize import Standard
from sureflow.data.runs import Runs
from sureflow.errors import SureflowError
from sureflow.models.contract import ModelSettings
from sureflow.surrogate.learning import learn
from sureflow.surrogate.specification import ComparisonSettings, Specification
from sureflow.uq.folds import Fold, fewest_to_fit, random_folds

Progress = Callable[[int, int, str], None]  # fits done, fits in all, what is fitted next

# A candidate that errs this many times as much as the best one on the first fold is dropped: it was never seen to make that
# up on the others.
HOPELESS = 2.0


@dataclass(frozen=True)
class Candidate:
    """What cross-validation found of one model.

    `mae` is the mean absolute error of predictions of runs left out, in the space of the metrics: physical values
    normalized with mean and standard deviation of all training runs, the same for every model and scaling. `folds` is how
    many of the folds it took part in before it was dropped.
    """

    model: str
    uq: str
    scaling: str
    mae: float
    mae_by_variable: tuple[float, ...]
    folds: int
    seconds: float


@dataclass(frozen=True)
class Comparison:
    """The candidates and the settings of the best of them."""

    candidates: tuple[Candidate, ...]
    settings: ModelSettings
    folds: int

    def rows(self) -> tuple[dict[str, Any], ...]:
        """Plain values, for provenance."""
        whole = [candidate for candidate in self.candidates if candidate.folds == self.folds]
        best = min(whole, key=lambda candidate: candidate.mae)
        return tuple(asdict(candidate) | {"chosen": candidate is best} for candidate in self.candidates)


@dataclass
class _Race:
    """One candidate on its way through the folds."""

    model: ModelSettings
    errors: list[Float[np.ndarray, "case variable"]]
    seconds: float = 0.0

    @property
    def mae(self) -> float:
        return float(np.concatenate(self.errors).mean())


def compare(
    runs: Runs,
    settings: ComparisonSettings,
    scaling: str,
    on_fit: Progress = lambda done, total, model: None,
) -> Comparison:
    """The candidates by K folds over the runs; scaling, normalizer and basis are fitted again in each fold.

    All of them run the first fold; those that are hopeless there do not run the others.
    """
    runs.require_trainable()
    folds = comparison_folds(runs, settings)
    space = Standard.of_fields(runs)
    racing = [_Race(model, []) for model in settings.candidates]
    done, total = 0, len(folds) * len(racing)
    running = racing
    for number, fold in enumerate(folds):
        for race in running:
            on_fit(done, total, race.model.title)
            began = time.perf_counter()
            race.errors.append(_errors(runs, race.model, scaling, fold, space))
            race.seconds += time.perf_counter() - began
            done += 1
        best = min(race.mae for race in running)
        if number == 0:
            running = [race for race in running if race.mae <= HOPELESS * best]
            total = done + (len(folds) - 1) * len(running)
    winner = min(running, key=lambda race: race.mae)
    return Comparison(tuple(_candidate(race, scaling) for race in racing), winner.model, len(folds))


def _candidate(race: _Race, scaling: str) -> Candidate:
    by_variable = np.concatenate(race.errors).mean(axis=0)
    return Candidate(
        race.model.title,
        race.model.uq,
        scaling,
        race.mae,
        tuple(by_variable.tolist()),
        len(race.errors),
        race.seconds,
    )


def _errors(
    runs: Runs, model: ModelSettings, scaling: str, fold: Fold, space: Standard
) -> Float[np.ndarray, "case variable"]:
    """Mean absolute error of the runs that one fold leaves out."""
    unseen = runs.select(fold.left_out)
    surrogate = learn(runs.select(~fold.left_out), Specification(model, scaling))
    errors = []
    for case, truth in enumerate(unseen.each()):
        mean = np.asarray(surrogate.raw_predictive(unseen.parameters[case : case + 1]).mean)[0]
        errors.append(np.abs(mean - truth).mean(axis=1) / space.std)
    return np.stack(errors)


def comparison_folds(runs: Runs, settings: ComparisonSettings) -> list[Fold]:
    """The folds over the runs; refused where one of them leaves too few to fit."""
    slow = next((model for model in settings.candidates if not model.capabilities.refits_quickly), None)
    if slow is not None:
        raise SureflowError(f"a {slow.title} takes too long to fit again for every fold: leave it out of the candidates")
    n_runs, n_parameters = runs.parameters.shape
    folds = random_folds(n_runs, folds=settings.folds, seed=settings.seed)
    largest = max((int(fold.left_out.sum()) for fold in folds), default=1)
    fewest = fewest_to_fit(n_parameters)
    if n_runs - largest < fewest:
        raise SureflowError(
            f"{n_runs} runs are too few to compare models by leaving {largest} out at a time: a fit needs {fewest}; "
            "compute more runs, or choose a model, such as interpolation"
        )
    return folds
