"""Which model suits these runs best: cross-validation over the runs decides."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from threadpoolctl import threadpool_limits

from sureflow.data.normalize import Standard
from sureflow.data.runs import Runs
from sureflow.errors import SureflowError
from sureflow.models.contract import ModelSettings
from sureflow.runtime import usable_cores
from sureflow.surrogate.learning import fit_predictor
from sureflow.surrogate.specification import ComparisonSettings, Specification
from sureflow.uq.folds import Fold, fewest_to_fit, random_folds

Progress = Callable[[int, int, str], None]  # fits done, fits in all, what is fitted next

# A race (Maron & Moore 1997) with an indifference zone: a candidate is dropped once it is unlikely to beat the best one so far
# by more than this share of the error. The evidence are the errors on the runs left out, run by run, and unlikely is what
# lies beyond so many standard errors of the mean difference of their logarithms.
MATTERS = 0.1
UNLIKELY = 2.0
FEWEST_TO_JUDGE = 8  # runs left out


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
class _Racer:
    """One candidate on its way through the folds."""

    model: ModelSettings
    errors: list[Float[np.ndarray, "case variable"]]
    seconds: float = 0.0

    @property
    def by_run(self) -> Float[np.ndarray, " case"]:
        return np.concatenate(self.errors).mean(axis=1)

    @property
    def mae(self) -> float:
        return float(self.by_run.mean())

    def is_hopeless(self, best: "_Racer") -> bool:
        """Whether it can hardly win by a margin that matters."""
        tiny = np.finfo(float).tiny
        worse = np.log(self.by_run + tiny) - np.log(best.by_run + tiny)
        if len(worse) < FEWEST_TO_JUDGE:
            return False
        standard_error = worse.std(ddof=1) / np.sqrt(len(worse))
        return bool(worse.mean() - UNLIKELY * standard_error > np.log(1.0 - MATTERS))


def compare(
    runs: Runs,
    settings: ComparisonSettings,
    scaling: str,
    on_fit: Progress = lambda done, total, model: None,
) -> Comparison:
    """The candidates by K folds over the runs; scaling, normalizer and basis are fitted again in each fold.

    Who cannot win any more is dropped after a fold. The candidates of a fold are fitted side by side, one a core.
    """
    runs.require_trainable()
    folds = comparison_folds(runs, settings)
    space = Standard.of_fields(runs)
    racers = [_Racer(model, []) for model in settings.candidates]
    running, done = racers, 0
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(min(usable_cores(), len(racers))) as pool:
        for number, fold in enumerate(folds):
            total = done + (len(folds) - number) * len(running)

            def run(racer: _Racer, fold: Fold = fold) -> str:
                began = time.perf_counter()
                racer.errors.append(_errors(runs, racer.model, scaling, fold, space))
                racer.seconds += time.perf_counter() - began
                return racer.model.title

            on_fit(done, total, ", ".join(racer.model.title for racer in running))
            for title in pool.map(run, running):
                done += 1
                on_fit(done, total, title)
            best = min(running, key=lambda racer: racer.mae)
            running = [racer for racer in running if racer is best or not racer.is_hopeless(best)]
    winner = min(running, key=lambda racer: racer.mae)
    return Comparison(tuple(_candidate(racer, scaling) for racer in racers), winner.model, len(folds))


def _candidate(racer: _Racer, scaling: str) -> Candidate:
    by_variable = np.concatenate(racer.errors).mean(axis=0)
    return Candidate(
        racer.model.title,
        racer.model.uq,
        scaling,
        racer.mae,
        tuple(by_variable.tolist()),
        len(racer.errors),
        racer.seconds,
    )


def _errors(
    runs: Runs, model: ModelSettings, scaling: str, fold: Fold, space: Standard
) -> Float[np.ndarray, "case variable"]:
    """Mean absolute error of the runs that one fold leaves out."""
    unseen = runs.select(fold.left_out)
    predict = fit_predictor(runs.select(~fold.left_out), Specification(model, scaling))
    errors = []
    for case, truth in enumerate(unseen.each()):
        mean = np.asarray(predict(unseen.parameters[case : case + 1]).mean)[0]
        errors.append(np.abs(mean - truth).mean(axis=1) / space.std)
    return np.stack(errors)


def comparison_folds(runs: Runs, settings: ComparisonSettings) -> list[Fold]:
    """The folds over the runs; refused where one of them leaves too few to fit."""
    slow = next((model for model in settings.candidates if not model.capabilities.refits_quickly), None)
    if slow is not None:
        raise SureflowError(
            f"a {slow.title} takes too long to fit again for every fold: leave it out of the candidates"
        )
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
