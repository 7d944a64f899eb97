"""How a model predicts runs that it was not fitted to: folds over the runs, and sides of their domain left out."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from sureflow import scratch
from sureflow.data.runs import FEWEST_RUNS, Runs
from sureflow.errors import SureflowError
from sureflow.predictive import Predictive
from sureflow.uq.bars import Fields, Unit, quantity_bars
from sureflow.uq.domain import Conditions, Novelty, Sides, TrainingDomain

RunFields = Float[np.ndarray, "variable point"]
Mask = Bool[np.ndarray, " case"]
Cases = Int[np.ndarray, " case"]
# Fields and their conditions in; quantities of interest out.
# Fields, their conditions and, on meshes that move, the meshes of the runs, where these are not the model's.
Observe = Callable[..., Float[np.ndarray, "case quantity"]]

# How deep into the training ranges sides are left out: at what distances errors are seen.
DEPTHS = (0.05, 0.15, 0.25)
FOLDS = 10
# What held-out runs have besides fields.
NUMBERS = ("run", "novelty", "beyond", "quantity_error")


@dataclass(frozen=True)
class Fold:
    """Runs that are left out of a fit, and then predicted."""

    left_out: Mask


@dataclass(frozen=True)
class Predicted:
    """Some runs of a fold as a model of the others predicts them, in physical units."""

    fold: Fold
    runs: Cases
    predictive: Predictive
    novelty: Novelty


# Folds over the training runs in; their runs predicted by models of the others out, a few at a time.
LeaveOut = Callable[[Sequence[Fold]], Iterable[Predicted]]


@dataclass(frozen=True)
class HeldOutRuns:
    """Errors of predictions of runs that their model was not fitted to, in units of the calibration's space.

    `error` and `std` have an array (variable, point) for every run, which may be mapped from a file. `std` is the model's own
    at the condition, 1 where the model gives none. `run` is the number of the run, which may be held out in several folds.
    `novelty` is that of the condition to the model that predicted it, and `beyond` how far the condition lies beyond the sides
    of the box of that model's runs, in widths of the ranges of all of them. `quantity_error` is the relative error of every
    quantity of interest, if any.
    """

    error: tuple[RunFields, ...]
    std: tuple[RunFields, ...]
    run: Cases
    novelty: Novelty
    beyond: Sides
    quantity_error: Float[np.ndarray, "case quantity"]

    def __len__(self) -> int:
        return len(self.error)

    def quantities(self) -> "HeldOutRuns":
        """The same runs with quantities of interest in place of fields, each its own unit of error."""
        bars = quantity_bars(self.novelty, self.quantity_error.shape[1])
        return replace(self, error=tuple(self.quantity_error[:, :, None]), std=tuple(bars))

    def variables(self, some: slice) -> "HeldOutRuns":
        """The same runs with some of their variables, without a copy."""
        return replace(self, error=tuple(run[some] for run in self.error), std=tuple(run[some] for run in self.std))

    def select(self, runs: Mask | Int[np.ndarray, " chosen"]) -> "HeldOutRuns":
        """Some of the runs, without a copy of their fields."""
        cases = np.arange(len(self))[runs]
        return replace(
            self,
            error=tuple(self.error[case] for case in cases),
            std=tuple(self.std[case] for case in cases),
            **{name: getattr(self, name)[cases] for name in NUMBERS},
        )


def joined(parts: Sequence[HeldOutRuns]) -> HeldOutRuns:
    """Several sets of held-out runs as one, without a copy of their fields."""
    return HeldOutRuns(
        error=tuple(error for part in parts for error in part.error),
        std=tuple(std for part in parts for std in part.std),
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in NUMBERS},
    )


def fewest_to_fit(n_parameters: int) -> int:
    """Runs that a model needs: those of a straight line over all parameters, and one to spare."""
    return max(FEWEST_RUNS, n_parameters + 2)


def random_folds(n_runs: int, fewest: int = FEWEST_RUNS, folds: int = FOLDS, seed: int = 0) -> list[Fold]:
    """Every run left out once: `folds` parts of a seeded shuffle, or as many as there are runs.

    None where the others of a fold would be fewer than `fewest`.
    """
    parts = np.array_split(np.random.default_rng(seed).permutation(n_runs), min(folds, n_runs))
    masks = [np.isin(np.arange(n_runs), part) for part in parts]
    return [Fold(mask) for mask in masks] if n_runs - masks[0].sum() >= fewest else []


def side_folds(domain: TrainingDomain, depths: Sequence[float] = DEPTHS) -> dict[int, list[Fold]]:
    """By side, the folds that show how errors grow beyond it: outer bands of the runs, in several depths, are left out.

    Side 2 k is below the range of parameter k, and side 2 k + 1 above it.
    """
    found: dict[int, list[Fold]] = {}
    position = (domain.seen(domain.parameters) - domain.seen(domain.lower)) / domain.width
    for column in np.flatnonzero(domain.upper > domain.lower):
        for is_above, inward in enumerate((position[:, column], 1.0 - position[:, column])):
            bands = {(inward < depth).tobytes(): inward < depth for depth in depths}
            folds = [Fold(band) for band in bands.values() if _leaves_enough(domain, ~band, int(column))]
            if folds:
                found[2 * int(column) + is_above] = folds
    return found


def _leaves_enough(domain: TrainingDomain, kept: Mask, column: int) -> bool:
    """Whether a model of the other runs can be fitted, and knows the parameter that it shall extrapolate in."""
    parameters = domain.parameters[kept]
    return len(parameters) >= fewest_to_fit(len(domain.names)) and bool(np.ptp(parameters[:, column]) > 0)


def held_out_predictions(
    leave_out: LeaveOut,
    training: Runs,
    folds: Sequence[Fold],
    domain: TrainingDomain,
    unit: Unit,
    observe: Observe | None = None,
) -> HeldOutRuns:
    """The runs of every fold as predicted by a model of the others. `domain` is that of all training runs."""
    if not folds:
        raise SureflowError(
            f"{len(training)} training runs are too few to leave some out: at least {FEWEST_RUNS + 1} are needed"
        )
    errors = _Errors(training, sum(int(fold.left_out.sum()) for fold in folds))
    return joined([errors.of(predicted, domain, unit, observe) for predicted in leave_out(folds)])


def side_predictions(
    leave_out: LeaveOut,
    training: Runs,
    folds: Mapping[int, Sequence[Fold]],
    domain: TrainingDomain,
    unit: Unit,
    observe: Observe | None = None,
) -> Iterator[tuple[int, HeldOutRuns]]:
    """One side after the other, with the held-out runs beyond it; those of one side are in memory at a time."""
    for side, of_side in folds.items():
        yield side, held_out_predictions(leave_out, training, of_side, domain, unit, observe)


def unseen_predictions(
    predict: Callable[[Conditions], Predictive],
    unseen: Runs,
    domain: TrainingDomain,
    unit: Unit,
    observe: Observe | None = None,
) -> HeldOutRuns:
    """Other runs as predicted by a model of the runs of `domain`."""
    nobody = Fold(np.zeros(len(domain.parameters), bool))
    errors = _Errors(unseen, len(unseen))
    parts = []
    for block in blocks_of_runs(unseen):
        conditions = unseen.parameters[block]
        predicted = Predicted(nobody, np.arange(len(unseen))[block], predict(conditions), domain.novelty(conditions))
        parts.append(errors.of(predicted, domain, unit, observe))
    return joined(parts)


def blocks_of_runs(runs: Runs) -> Iterator[slice]:
    """All runs, as many at a time as their fields fit into memory with ease."""
    at_once = max(1, scratch.BLOCK // (8 * int(np.prod(runs.fields.shape[1:]))))
    for first in range(0, len(runs), at_once):
        yield slice(first, min(first + at_once, len(runs)))


class _Errors:
    """Room for the errors of so many predicted runs, which is filled run by run."""

    def __init__(self, runs: Runs, count: int):
        shape = (count, *runs.fields.shape[1:])
        self.runs = runs
        self.error, self.std = scratch.room(shape), scratch.room(shape)
        self.filled = 0
        self.observed: dict[int, np.ndarray] = {}  # quantities of the runs themselves, which several folds may predict

    def of(self, predicted: Predicted, domain: TrainingDomain, unit: Unit, observe: Observe | None) -> HeldOutRuns:
        """Errors, bars and relative errors of quantities of some runs."""
        rows = slice(self.filled, self.filled + len(predicted.runs))
        self.filled = rows.stop
        unseen = self.runs.select(predicted.runs)
        mean, truth = np.asarray(predicted.predictive.mean, float), unseen.array()
        size, own = unit(mean, unseen.parameters), predicted.predictive.std
        self.error[rows] = (mean - truth) / size
        self.std[rows] = 1.0 if own is None else np.asarray(own) / size
        box = replace(domain, parameters=domain.parameters[~predicted.fold.left_out])
        return HeldOutRuns(
            error=tuple(self.error[rows]),
            std=tuple(self.std[rows]),
            run=predicted.runs,
            novelty=predicted.novelty,
            beyond=box.beyond(unseen.parameters) * np.repeat(box.width / domain.width, 2),
            quantity_error=self._quantity_errors(mean, truth, predicted.runs, observe),
        )

    def _quantity_errors(
        self, mean: Fields, truth: Fields, runs: Cases, observe: Observe | None
    ) -> Float[np.ndarray, "case quantity"]:
        """Relative to the predicted value, which is known where bars are asked for; 1 where the prediction gives none."""
        if observe is None:
            return np.empty((len(mean), 0))
        conditions = self.runs.parameters[runs]
        for row, run in enumerate(runs.tolist()):
            if run not in self.observed:
                own = ([self.runs.geometry_of(run)],) if self.runs.is_moving else ()
                self.observed[run] = observe(truth[row : row + 1], conditions[row : row + 1], *own)[0]
        predicted, true = observe(mean, conditions), np.stack([self.observed[run] for run in runs.tolist()])
        size = sizes_of(observe, predicted)
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = (predicted - true) / size
        return np.where(np.isfinite(predicted) & (size > 0), relative, 1.0)


def sizes_of(observe: Observe, predicted: Float[np.ndarray, "case quantity"]) -> Float[np.ndarray, "case quantity"]:
    """What errors of quantities are relative to: predicted values, or what the observer makes of them."""
    return getattr(observe, "sizes", np.abs)(predicted)
