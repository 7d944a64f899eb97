"""Which model suits these runs best: cross-validation over the runs decides."""

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float

from sureflow import scratch
from sureflow.data.normalize import Standard
from sureflow.data.runs import Runs
from sureflow.data.scaling import SimilarityScaling
from sureflow.data.wall_layer import WallLayer
from sureflow.errors import SureflowError
from sureflow.models.contract import ModelSettings
from sureflow.predictive import Predictive
from sureflow.runtime import one_blas_thread, usable_cores
from sureflow.surrogate.learning import fit_predictor
from sureflow.surrogate.predictor import Predictor
from sureflow.surrogate.specification import ComparisonSettings, Specification
from sureflow.uq.folds import Fold, fewest_to_fit, random_folds

Progress = Callable[[int, int, str], None]  # fits done, fits in all, what is fitted next

# A race (Maron & Moore 1997) with an indifference zone: a candidate is dropped once it is unlikely to beat the best one so far
# by more than this share of the error. The evidence are the errors on the runs left out, run by run, and unlikely is what
# lies beyond so many standard errors of the mean difference of their logarithms.
MATTERS = 0.1
UNLIKELY = 2.0
FEWEST_TO_JUDGE = 8  # runs left out
SIDE = 0.1  # of a parameter's range, that a side of it is wide


@dataclass(frozen=True)
class Candidate:
    """What cross-validation found of one model.

    `mae` is the mean absolute error of predictions of runs left out, in the space of the metrics: physical values
    normalized with mean and standard deviation of all training runs, the same for every model and scaling. `mae_beyond` is
    that of runs at the sides of the parameters' ranges, left out side by side; None where that leaves too few runs, or for who
    was dropped before. `folds` is how many of the folds it took part in before it was dropped.
    """

    model: str
    uq: str
    scaling: str
    mae: float
    mae_by_variable: tuple[float, ...]
    folds: int
    seconds: float
    mae_beyond: float | None = None

    @property
    def score(self) -> float:
        """What the choice goes by: users ask beyond the runs as well, and who interpolates best may extrapolate badly."""
        return self.mae if self.mae_beyond is None else float(np.sqrt(self.mae * self.mae_beyond))


@dataclass(frozen=True)
class Comparison:
    """The candidates, and the model and the scaling of the best of them; fitted to all runs, if that is how it was judged."""

    candidates: tuple[Candidate, ...]
    settings: ModelSettings
    scaling: str
    folds: int
    predictor: Predictor | None = None

    def rows(self) -> tuple[dict[str, Any], ...]:
        """Plain values, for provenance."""
        whole = [candidate for candidate in self.candidates if candidate.folds == self.folds]
        best = min(whole, key=lambda candidate: candidate.score)
        return tuple(asdict(candidate) | {"chosen": candidate is best} for candidate in self.candidates)


@dataclass
class _Racer:
    """One candidate on its way through the folds."""

    model: ModelSettings
    scaling: str
    errors: list[Float[np.ndarray, "case variable"]] = field(default_factory=list)
    seconds: float = 0.0
    beyond: float | None = None
    predictor: Predictor | None = None  # of all runs, as long as it may be the best

    @property
    def spec(self) -> Specification:
        return Specification(self.model, self.scaling)

    @property
    def by_run(self) -> Float[np.ndarray, " case"]:
        return np.concatenate(self.errors).mean(axis=1)

    @property
    def mae(self) -> float:
        return float(self.by_run.mean())

    def is_hopeless(self, best: "_Racer") -> bool:
        """Whether it can hardly win by a margin that matters, by the runs that both have been shown."""
        tiny, shown = np.finfo(float).tiny, min(len(self.by_run), len(best.by_run))
        worse = np.log(self.by_run[:shown] + tiny) - np.log(best.by_run[:shown] + tiny)
        if len(worse) < FEWEST_TO_JUDGE:
            return False
        standard_error = worse.std(ddof=1) / np.sqrt(len(worse))
        return bool(worse.mean() - UNLIKELY * standard_error > np.log(1.0 - MATTERS))

    def candidate(self) -> Candidate:
        by_variable = tuple(np.concatenate(self.errors).mean(axis=0).tolist())
        title, uq = self.model.title, self.model.uq
        return Candidate(title, uq, self.scaling, self.mae, by_variable, len(self.errors), self.seconds, self.beyond)


def compare(
    runs: Runs,
    settings: ComparisonSettings,
    scalings: str | Sequence[str],
    on_fit: Progress = lambda done, total, model: None,
) -> Comparison:
    """Every candidate with every scaling, by K folds over the runs, and by the runs at the sides of their ranges.

    A model that leaves runs out in closed form is fitted once, to all runs. The others are fitted again in each fold, with
    scaling, normalizer and basis, side by side, one a core, in the scaling that was best so far; who cannot win any more is
    dropped after a fold.
    """
    runs.require_trainable()
    folds, sides, space = comparison_folds(runs, settings), comparison_sides(runs), Standard.of_fields(runs)
    names = (scalings,) if isinstance(scalings, str) else scalings
    racers = [_Racer(model, name) for name in names for model in settings.candidates if suits(model, name, runs)]
    if not racers:
        raise SureflowError("none of the candidates suits these runs: add interpolation to them")
    at_once = [racer for racer in racers if judged_at_once(racer.model)]
    running = [racer for racer in racers if racer not in at_once]
    done, total = 0, len(at_once) + len(folds) * len(running)
    on_fit(done, total, racers[0].model.title)
    with one_blas_thread(), ThreadPoolExecutor(min(usable_cores(), len(racers))) as pool:

        def each(function: Callable[[_Racer], None], some: list[_Racer], total: int) -> None:
            nonlocal done
            for racer, _ in zip(some, pool.map(partial(_timed, function), some), strict=True):
                done += 1
                on_fit(done, total, racer.model.title)

        each(lambda racer: _judge_at_once(racer, runs, folds, sides, space, at_once), at_once, total)
        if at_once:
            # Refits take longest: they are for the scaling that has shown to be the best one.
            chosen = min(at_once, key=lambda racer: racer.candidate().score).scaling
            running = [racer for racer in running if racer.scaling == chosen]
            racers = [racer for racer in racers if judged_at_once(racer.model) or racer.scaling == chosen]
        for number, fold in enumerate(folds):
            total = done + (len(folds) - number) * len(running)
            each(
                lambda racer, fold=fold: racer.errors.append(errors_by_refit(runs, racer.spec, fold, space)),
                running,
                total,
            )
            best = min((*running, *at_once), key=lambda racer: racer.mae)
            running = [racer for racer in running if racer is best or not racer.is_hopeless(best)]
        for racer in running:
            racer.beyond = _mean(errors_by_refit(runs, racer.spec, side, space) for side in sides)
    finished = [racer for racer in racers if len(racer.errors) == len(folds)]
    winner = min(finished, key=lambda racer: racer.candidate().score)
    candidates = tuple(racer.candidate() for racer in racers)
    return Comparison(candidates, winner.model, winner.scaling, len(folds), winner.predictor)


def _timed(function: Callable[[_Racer], None], racer: _Racer) -> None:
    began = time.perf_counter()
    function(racer)
    racer.seconds += time.perf_counter() - began


def judged_at_once(model: ModelSettings) -> bool:
    """Whether one fit to all runs tells how well the model predicts runs left out."""
    return model.capabilities.leaves_out and not model.capabilities.optimistic_when_left_out


def suits(model: ModelSettings, scaling: str, runs: Runs) -> bool:
    """Whether the runs have what the model needs; a wall layer is one of similarity."""
    needs = model.capabilities
    if (needs.needs_levels and runs.coarser is None) or (needs.moving is not None and needs.moving != runs.is_moving):
        return False
    if needs.needs_wall_layer and (scaling != SimilarityScaling.name or WallLayer.of(runs) is None):
        return False
    return runs.topology.shape is not None or not needs.needs_structured_mesh


def _judge_at_once(
    racer: _Racer, runs: Runs, folds: Sequence[Fold], sides: Sequence[Fold], space: Standard, all_of_them: list[_Racer]
) -> None:
    """Of those who are judged by then, only the best one stays in memory."""
    racer.predictor = fit_predictor(runs, racer.spec)
    found = errors_at_once(runs, racer.predictor, [*folds, *sides], space)
    racer.beyond = _mean(found[len(folds) :])
    racer.errors.extend(found[: len(folds)])
    judged = [one for one in all_of_them if one.errors]
    best = min(judged, key=lambda one: one.candidate().score)
    for one in judged:
        one.predictor = one.predictor if one is best else None


def _mean(errors: Iterable[Float[np.ndarray, "_ variable"]]) -> float | None:
    """Over all runs and variables; None of nothing."""
    found = list(errors)
    return float(np.concatenate(found).mean()) if found else None


def comparison_sides(runs: Runs) -> list[Fold]:
    """The runs at either end of the range of every parameter, where enough others are left that vary in it."""
    parameters, found = runs.parameters, []
    for column in parameters.T:
        low, width = column.min(), np.ptp(column)
        for mask in (column < low + SIDE * width, column > low + (1.0 - SIDE) * width):
            enough = (~mask).sum() >= fewest_to_fit(parameters.shape[1]) + 1
            if width > 0 and enough and np.ptp(column[~mask]) > 0:
                found.append(Fold(mask))
    return found


def errors_at_once(
    runs: Runs, predict: Predictor, folds: Sequence[Fold], space: Standard
) -> list[Float[np.ndarray, "case variable"]]:
    """Mean absolute errors of the runs that each fold leaves out, by one fit to all runs.

    What the model has learned from the runs besides their fields makes it optimistic: its errors count as much more as it says.
    """
    groups = [np.flatnonzero(fold.left_out) for fold in folds]
    found, cases, errors = predict.fitted.leave_out_mean(groups), np.concatenate(groups), []
    for block in scratch.blocks(len(found), found[0].size):
        physical = predict.physical(Predictive(found[block], {}), runs.parameters[cases[block]]).mean
        for mean, case in zip(np.asarray(physical), cases[block].tolist(), strict=True):
            errors.append(np.abs(mean - np.asarray(runs.fields[case], float)).mean(axis=1) / space.std)
    return np.split(predict.fitted.optimism * np.stack(errors), np.cumsum([len(group) for group in groups])[:-1])


def errors_by_refit(runs: Runs, spec: Specification, fold: Fold, space: Standard) -> Float[np.ndarray, "case variable"]:
    """Mean absolute error of the runs that one fold leaves out, by a fit to the others."""
    unseen = runs.select(fold.left_out)
    predict = fit_predictor(runs.select(~fold.left_out), spec)
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
            "compute more runs" + (", or choose a model, such as interpolation" if n_runs >= fewest else "")
        )
    return folds
