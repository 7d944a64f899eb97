"""How a model predicts runs that it was not fitted to: K folds over the runs, and sides of their domain left out."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from sureflow import scratch
from sureflow.data.runs import FEWEST_RUNS, Runs
from sureflow.errors import SureflowError
from sureflow.predictive import Predictive
from sureflow.uq.domain import Conditions, TrainingDomain

Fields = Float[np.ndarray, "case variable point"]
RunFields = Float[np.ndarray, "variable point"]
Mask = Bool[np.ndarray, " case"]
# Conditions in; mean and parts (case, variable, point) in physical units out.
Predict = Callable[[Conditions], Predictive]
# Some of the training runs in; a model of them out. Everything (normalizer, scaling, basis) is fitted again to those runs.
Fit = Callable[[Runs], Predict]
# Fields and their conditions in; the physical size of one unit of the calibration's space at each condition out.
Unit = Callable[[Fields, Conditions], Float[np.ndarray, "case variable #point"]]
# Fields and their conditions in; quantities of interest out.
Observe = Callable[[Fields, Conditions], Float[np.ndarray, "case quantity"]]

# How deep into the training ranges sides are left out: at what distances errors are seen, and by how many refits.
DEPTHS = (0.05, 0.1, 0.15, 0.2, 0.25)
FOLDS = 10
# What held-out runs have besides fields.
NUMBERS = ("displacement", "position", "distance", "quantity_error")
# A run shows the errors beyond a side when at least this share of its displacement is on that side.
MOSTLY = 0.9


@dataclass(frozen=True)
class Fold:
    """Runs that are left out of a fit, and those of them that are then predicted."""

    left_out: Mask
    predicted: Mask


@dataclass(frozen=True)
class HeldOutRuns:
    """Errors of predictions of runs that their model was not fitted to, in units of the calibration's space.

    `error` and `std` have an array (variable, point) for every run, which may be mapped from a file. `std` is the model's
    own at the nearest condition inside its training hull, 1 where the model gives none. `displacement` leads from there to
    the condition, and `position` is that of the condition in the box of the whole training domain, both as the model sees
    them (its inputs) and in widths of that box. `distance` from the hull is in widths of the ranges of the parameters.
    `quantity_error` is the relative error of every quantity of interest, if any.
    """

    error: tuple[RunFields, ...]
    std: tuple[RunFields, ...]
    displacement: Conditions
    position: Conditions
    distance: Float[np.ndarray, " case"]
    quantity_error: Float[np.ndarray, "case quantity"]

    def __len__(self) -> int:
        return len(self.error)

    def quantities(self) -> "HeldOutRuns":
        """The same runs with quantities of interest in place of fields, each its own unit of error."""
        error = tuple(self.quantity_error[:, :, None])
        return replace(self, error=error, std=(np.ones((self.quantity_error.shape[1], 1)),) * len(self))

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
    return [Fold(mask, mask) for mask in masks] if n_runs - masks[0].sum() >= fewest else []


def bands(parameters: Conditions, depths: Sequence[float] = DEPTHS) -> list[Mask]:
    """The outer bands of every parameter, above and below, in several depths (shares of the range)."""
    lower, upper = parameters.min(axis=0), parameters.max(axis=0)
    found: dict[bytes, Mask] = {}
    for column in np.flatnonzero(upper > lower):
        from_upper = (upper[column] - parameters[:, column]) / (upper[column] - lower[column])
        for inward in (from_upper, 1.0 - from_upper):
            for depth in depths:
                band = inward < depth
                kept = parameters[~band]
                if len(kept) >= fewest_to_fit(parameters.shape[1]) and np.ptp(kept[:, column]) > 0:
                    found.setdefault(band.tobytes(), band)
    return list(found.values())


def side_folds(domain: TrainingDomain, depths: Sequence[float] = DEPTHS) -> dict[int, list[Fold]]:
    """By side, the folds that show how errors grow beyond it: outer bands of the runs are left out.

    Of a band, the runs are predicted that then lie beyond this side of the others' hull, and hardly beyond another side.
    Side 2 k is below the range of parameter k, and side 2 k + 1 above it.
    """
    found: dict[int, list[Fold]] = {side: [] for side in range(2 * len(domain.names))}
    for band in bands(domain.parameters, depths):
        unseen = domain.parameters[band]
        nearest = replace(domain, parameters=domain.parameters[~band]).nearest(unseen)
        shown = shown_sides(domain.input_position(unseen) - domain.input_position(nearest))
        for side in np.flatnonzero(shown.any(axis=0)):
            predicted = np.zeros_like(band)
            predicted[np.flatnonzero(band)[shown[:, side]]] = True
            found[int(side)].append(Fold(band, predicted))
    return {side: folds for side, folds in found.items() if folds}


def beyond_sides(displacement: Conditions) -> Float[np.ndarray, "case side"]:
    """How far conditions lie below and above the range of each parameter: (below, above) parameter by parameter."""
    below, above = np.maximum(-displacement, 0.0), np.maximum(displacement, 0.0)
    return np.stack([below, above], axis=2).reshape(len(displacement), 2 * displacement.shape[1])


def shown_sides(displacement: Conditions) -> Bool[np.ndarray, "case side"]:
    """On which side runs show how errors grow with distance: where they lie beyond it, and hardly beyond another."""
    beyond = beyond_sides(displacement)
    return (beyond > 0) & (beyond >= MOSTLY * np.linalg.norm(beyond, axis=1, keepdims=True))


def held_out_predictions(
    fit: Fit,
    training: Runs,
    folds: Sequence[Fold],
    domain: TrainingDomain,
    unit: Unit,
    observe: Observe | None = None,
    on_fold: Callable[[], None] = lambda: None,
) -> HeldOutRuns:
    """The runs of every fold as predicted by a model of the others. `domain` is that of all training runs."""
    if not folds:
        raise SureflowError(
            f"{len(training)} training runs are too few to leave some out: at least {FEWEST_RUNS + 1} are needed"
        )
    errors = _Errors(training, sum(int(fold.predicted.sum()) for fold in folds))
    parts = []
    for fold in folds:
        kept, unseen = training.select(~fold.left_out), training.select(fold.predicted)
        nearest = replace(domain, parameters=kept.parameters).nearest(unseen.parameters)
        parts.append(errors.of(fit(kept), unseen, nearest, domain, unit, observe))
        on_fold()
    return joined(parts)


def side_predictions(
    fit: Fit,
    training: Runs,
    folds: Mapping[int, Sequence[Fold]],
    domain: TrainingDomain,
    unit: Unit,
    observe: Observe | None = None,
    on_fold: Callable[[], None] = lambda: None,
) -> Iterator[tuple[int, HeldOutRuns]]:
    """One side after the other, with the held-out runs beyond it; those of one side are in memory at a time."""
    for side, of_side in folds.items():
        yield side, held_out_predictions(fit, training, of_side, domain, unit, observe, on_fold)


def unseen_predictions(
    predict: Predict, unseen: Runs, domain: TrainingDomain, unit: Unit, observe: Observe | None = None
) -> HeldOutRuns:
    """Other runs as predicted by a model of the runs of `domain`."""
    nearest = domain.nearest(unseen.parameters)
    return _Errors(unseen, len(unseen)).of(predict, unseen, nearest, domain, unit, observe)


class _Errors:
    """Room for the errors of so many predicted runs, which is filled run by run."""

    def __init__(self, runs: Runs, count: int):
        shape = (count, *runs.fields.shape[1:])
        self.error, self.std = scratch.room(shape), scratch.room(shape)
        self.filled = 0

    def of(
        self,
        predict: Predict,
        unseen: Runs,
        nearest: Conditions,
        domain: TrainingDomain,
        unit: Unit,
        observe: Observe | None,
    ) -> HeldOutRuns:
        """Predict a few conditions at a time, so that their fields fit into memory."""
        start = self.filled
        at_once = max(1, scratch.BLOCK // (8 * int(np.prod(unseen.fields.shape[1:]))))
        quantities = []
        for first in range(0, len(unseen), at_once):
            block = slice(first, min(first + at_once, len(unseen)))
            quantities.append(self._fill(predict, unseen.select(block), nearest[block], unit, observe))
        rows = slice(start, self.filled)
        return HeldOutRuns(
            error=tuple(self.error[rows]),
            std=tuple(self.std[rows]),
            displacement=domain.input_position(unseen.parameters) - domain.input_position(nearest),
            position=domain.input_position(unseen.parameters),
            distance=np.linalg.norm((unseen.parameters - nearest) / domain.width, axis=1),
            quantity_error=np.concatenate(quantities),
        )

    def _fill(
        self, predict: Predict, unseen: Runs, nearest: Conditions, unit: Unit, observe: Observe | None
    ) -> Float[np.ndarray, "case quantity"]:
        """Errors and bars of some runs; the relative errors of their quantities are returned."""
        rows = slice(self.filled, self.filled + len(unseen))
        self.filled += len(unseen)
        conditions = unseen.parameters
        predictive = predict(conditions)
        mean, truth = np.asarray(predictive.mean, float), unseen.array()
        size = unit(mean, conditions)
        self.error[rows] = (mean - truth) / size
        own, outside = predictive.std, (nearest != conditions).any(axis=1)
        self.std[rows] = 1.0 if own is None else np.asarray(own) / size
        if own is not None and outside.any():
            inside = predict(nearest[outside])
            size = unit(np.asarray(inside.mean, float), nearest[outside])
            self.std[rows][outside] = np.asarray(inside.std) / size
        return _quantity_errors(mean, truth, conditions, observe)


def _quantity_errors(
    mean: Fields, truth: Fields, conditions: Conditions, observe: Observe | None
) -> Float[np.ndarray, "case quantity"]:
    """Relative to the predicted value, which is known where bars are asked for; 1 where the prediction gives none."""
    if observe is None:
        return np.empty((len(mean), 0))
    predicted = observe(mean, conditions)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = (predicted - observe(truth, conditions)) / np.abs(predicted)
    return np.where(np.isfinite(predicted) & (predicted != 0), relative, 1.0)
