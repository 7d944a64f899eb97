"""What a model says about runs that it has not seen: K folds over the runs, and sides of their domain left out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np
from jaxtyping import Bool, Float, Int

from sureflow.data.dataset import FEWEST_RUNS, Dataset
from sureflow.errors import SureflowError
from sureflow.predictive import Predictive
from sureflow.uq.domain import TrainingDomain

Conditions = Float[np.ndarray, "case parameter"]
Fields = Float[np.ndarray, "case variable point"]
# Conditions in; mean and parts (case, variable, point) in physical units out.
Predict = Callable[[Conditions], Predictive]
# Some of the training runs in; a model of them out. Everything (normalizer, scaling, basis) is fitted again on those runs.
Fit = Callable[[Dataset], Predict]
# Fields and their conditions in; the physical size of one unit of the calibration's space at each condition out.
Unit = Callable[[Fields, Conditions], Float[np.ndarray, "case variable point-or-1"]]
# Conditions in; what the model sees of them out.
Inputs = Callable[[Conditions], Conditions]
# Fields and their conditions in; quantities of interest out.
Observe = Callable[[Fields, Conditions], Float[np.ndarray, "case quantity"]]

# How deep into the training ranges sides are left out: what is taught about distances, and by how many refits.
DEPTHS = (0.05, 0.1, 0.15, 0.2, 0.25)
FOLDS = 10


@dataclass(frozen=True)
class Fold:
    """Runs that are left out of a fit and then predicted."""

    left_out: Bool[np.ndarray, " case"]


@dataclass(frozen=True)
class HeldOutRuns:
    """Errors of predictions of runs that their model had not seen, in units of the calibration's space.

    `std` is the model's own at the nearest condition inside of its hull, 1 where it gives none. `displacement` leads from
    there to the condition, and `position` is that of the condition in the box of the whole training domain, both as the
    model sees them (its inputs) and in widths of that box. `distance` from the hull is in widths of the parameters' ranges.
    `quantity_error` is the relative error of every quantity of interest, if any.
    """

    error: Fields
    std: Fields
    displacement: Conditions
    position: Conditions
    distance: Float[np.ndarray, " case"]
    quantity_error: Float[np.ndarray, "case quantity"]

    def __len__(self) -> int:
        return len(self.error)

    def quantities(self) -> Self:
        """The same runs with quantities of interest in place of fields, each its own unit of error."""
        error = self.quantity_error[:, :, None]
        return replace(self, error=error, std=np.ones_like(error))

    def select(self, runs: Bool[np.ndarray, " case"] | Int[np.ndarray, " case"]) -> Self:
        return type(self)(**{name: values[runs] for name, values in vars(self).items()})


def joined(parts: Sequence[HeldOutRuns]) -> HeldOutRuns:
    """Several sets of held-out runs as one."""
    return HeldOutRuns(
        **{item.name: np.concatenate([getattr(part, item.name) for part in parts]) for item in fields(HeldOutRuns)}
    )


def fewest_to_fit(n_parameters: int) -> int:
    """Runs that a model needs: a straight line over all parameters, and one to spare."""
    return max(FEWEST_RUNS, n_parameters + 2)


def random_folds(n_runs: int, fewest: int = FEWEST_RUNS, folds: int = FOLDS, seed: int = 0) -> list[Fold]:
    """Every run left out once: `folds` parts of a seeded shuffle, or as many as there are runs.

    None where the others of a fold would be fewer than `fewest`.
    """
    parts = np.array_split(np.random.default_rng(seed).permutation(n_runs), min(folds, n_runs))
    masks = [np.isin(np.arange(n_runs), part) for part in parts]
    return [Fold(mask) for mask in masks] if n_runs - masks[0].sum() >= fewest else []


def side_folds(parameters: Conditions, depths: Sequence[float] = DEPTHS) -> list[Fold]:
    """For every parameter and side: the outer band left out and predicted, in several depths (shares of the range)."""
    lower, upper = parameters.min(axis=0), parameters.max(axis=0)
    found: dict[bytes, Fold] = {}
    for column in np.flatnonzero(upper > lower):
        from_upper = (upper[column] - parameters[:, column]) / (upper[column] - lower[column])
        for inward in (from_upper, 1.0 - from_upper):
            for depth in depths:
                left_out = inward < depth
                kept = parameters[~left_out]
                if len(kept) >= fewest_to_fit(parameters.shape[1]) and np.ptp(kept[:, column]) > 0:
                    found.setdefault(left_out.tobytes(), Fold(left_out))
    return list(found.values())


def held_out_predictions(
    fit: Fit,
    training: Dataset,
    folds: Sequence[Fold],
    unit: Unit,
    observe: Observe | None = None,
    inputs: Inputs | None = None,
    on_fold: Callable[[int], None] = lambda done: None,
) -> HeldOutRuns:
    """Every fold's runs as predicted by a model of the others. No run but those of `training` is read."""
    if not folds:
        raise SureflowError(
            f"{len(training.parameters)} training runs are too few to leave some out: at least {FEWEST_RUNS + 1} are needed"
        )
    whole = TrainingDomain(training.parameter_names, training.parameters)
    if inputs is not None:
        whole = replace(whole, inputs=inputs)
    parts = []
    for done, fold in enumerate(folds):
        kept, unseen = training.select(~fold.left_out), training.select(fold.left_out)
        parts.append(unseen_predictions(fit(kept), unseen, kept.parameters, whole, unit, observe))
        on_fold(done + 1)
    return joined(parts)


def unseen_predictions(
    predict: Predict,
    unseen: Dataset,
    trained_on: Conditions,
    whole: TrainingDomain,
    unit: Unit,
    observe: Observe | None = None,
) -> HeldOutRuns:
    """Errors of a model of the runs at `trained_on` on others, with displacements in widths of the `whole` domain."""
    nearest = TrainingDomain(whole.names, trained_on).nearest(unseen.parameters)
    mean = np.asarray(predict(unseen.parameters).mean, float)
    inside = predict(nearest)
    size = unit(mean, unseen.parameters)
    own = inside.std
    std = np.ones_like(mean) if own is None else np.asarray(own) / unit(np.asarray(inside.mean), nearest)
    return HeldOutRuns(
        error=(mean - unseen.fields) / size,
        std=std,
        displacement=whole.input_displacement(nearest, unseen.parameters),
        position=whole.input_position(unseen.parameters),
        distance=np.linalg.norm((unseen.parameters - nearest) / whole.width, axis=1),
        quantity_error=_quantity_errors(mean, unseen, observe),
    )


def _quantity_errors(mean: Fields, unseen: Dataset, observe: Observe | None) -> Float[np.ndarray, "case quantity"]:
    """Relative to the predicted value, which is known where bars are asked for; 1 where the prediction gives none."""
    if observe is None:
        return np.empty((len(mean), 0))
    predicted = observe(mean, unseen.parameters)
    relative = (predicted - observe(unseen.fields, unseen.parameters)) / np.abs(predicted)
    return np.where(np.isfinite(predicted) & (predicted != 0), relative, 1.0)
