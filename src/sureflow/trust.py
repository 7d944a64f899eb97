"""Calibration of a surrogate by runs that it has not seen, and quantities of interest with calibrated bars."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import xarray
from jaxtyping import Bool, Float

from sureflow.data.dataset import Dataset
from sureflow.data.schema import PARAMETERS, VARIABLES
from sureflow.errors import SureflowError
from sureflow.evaluate.held_out import matched, trained_runs
from sureflow.learn import learn
from sureflow.models import FieldModelSettings
from sureflow.physics.free_stream import FlightCondition, FreeStream
from sureflow.physics.gas import Gas, PerfectGas
from sureflow.physics.wall import Wall
from sureflow.surrogate import Surrogate
from sureflow.uq.calibrate import FEWEST_HELD_OUT, fit_calibration
from sureflow.uq.folds import (
    Fold,
    HeldOutRuns,
    Observe,
    Predict,
    fewest_to_fit,
    held_out_predictions,
    random_folds,
    side_folds,
    unseen_predictions,
)
from sureflow.uq.quantities import Body, propagated, widened

Conditions = Float[np.ndarray, "case parameter"]
Progress = Callable[[int, int], None]  # refits done, refits in all

SAMPLES = 32


@dataclass(frozen=True)
class Basis:
    """Which runs of a dataset calibrate a surrogate: those it has not seen, or folds over those it was trained on."""

    training: Bool[np.ndarray, " case"]
    unseen: Bool[np.ndarray, " case"]
    by_folds: bool

    def __str__(self) -> str:
        counted = f"{int(self.training.sum())} runs that the model was trained on"
        if self.by_folds:
            return f"folds over the {counted}"
        return f"{int(self.unseen.sum())} runs that the model has not seen; {counted} were not counted"


def basis_of(surrogate: Surrogate, runs: Dataset, *, folds: bool = False) -> Basis:
    """Unseen runs where there are enough of them, else folds over the training runs, or a sentence about what is lacking."""
    trained, complete = trained_runs(runs, surrogate.domain)
    n_unseen = int((~trained).sum())
    if n_unseen >= FEWEST_HELD_OUT and not folds:
        return Basis(trained, ~trained, by_folds=False)
    if not isinstance(surrogate.recipe, FieldModelSettings):
        raise SureflowError(
            f"{n_unseen} of these {trained.size} runs were not trained on, and {FEWEST_HELD_OUT} or more are needed: a "
            f"{surrogate.model_name} takes too long to train again for every fold, so give runs that it has not seen"
        )
    if not random_folds(*_sizes(runs.select(trained))) or trained.sum() < FEWEST_HELD_OUT:
        raise SureflowError(
            f"{int(trained.sum())} training runs are too few to calibrate by folds over them: at least "
            f"{max(FEWEST_HELD_OUT, fewest_to_fit(runs.parameters.shape[1]) + 1)} are needed; the bars stay the model's own"
        )
    if not complete:
        raise SureflowError(
            f"{n_unseen} runs that the model has not seen are too few, and folds need all of its "
            f"{len(surrogate.domain.parameters)} training runs, of which {int(trained.sum())} are here: give their store"
        )
    return Basis(trained, np.zeros_like(trained), by_folds=True)


def calibrate(
    surrogate: Surrogate,
    runs: Dataset,
    *,
    folds: bool = False,
    observe: Observe | None = None,
    on_refit: Progress = lambda done, total: None,
) -> Surrogate:
    """The same model with calibrated bars, from `runs` alone: see `basis_of` for which of them count how.

    With unseen runs the conformal guarantee is a theorem, inside the hull. Sides of the training domain are left out in
    either case where the model is quick to fit again and its training runs are given.
    """
    runs = matched(runs, surrogate)
    basis = basis_of(surrogate, runs, folds=folds)
    training, unseen = runs.select(basis.training), runs.select(basis.unseen)
    _require_same_runs(surrogate, training)
    unseen.require_finite()
    sides = side_folds(training.parameters) if _can_refit(surrogate, training) else []
    everyone = random_folds(*_sizes(training)) if basis.by_folds else []
    total = len(sides) + len(everyone)

    def rehearse(folds: list[Fold], before: int) -> HeldOutRuns:
        return held_out_predictions(
            refit(surrogate),
            training,
            folds,
            surrogate.unit,
            observe,
            surrogate.scaling.inputs,
            lambda done: on_refit(before + done, total),
        )

    if basis.by_folds:
        held_out = rehearse(everyone, 0)
    else:
        trained_on = surrogate.domain.parameters
        held_out = unseen_predictions(
            surrogate.raw_predictive, unseen, trained_on, surrogate.trusted_domain, surrogate.unit, observe
        )
    left_out = rehearse(sides, len(everyone)) if sides else None
    exact = not basis.by_folds
    fitted = {"fields": fit_calibration(held_out, left_out, exact=exact)}
    if observe is not None:
        sided = None if left_out is None else left_out.quantities()
        fitted["quantities"] = fit_calibration(held_out.quantities(), sided, exact=exact)
    if not basis.by_folds:
        conditions = tuple(map(tuple, unseen.parameters.tolist()))
        fitted = {name: replace(one, conditions=conditions) for name, one in fitted.items()}
    return replace(surrogate, calibration={name: one.to_dict() for name, one in fitted.items()})


def _require_same_runs(surrogate: Surrogate, training: Dataset) -> None:
    """Runs at all of the model's training conditions must be its training runs: others would calibrate other physics."""
    complete = len(training.parameters) == len(surrogate.domain.parameters)
    if complete and training.checksum != surrogate.data_checksum:
        raise SureflowError(
            f"the {len(training.parameters)} runs at the model's training conditions are not those that it was trained on "
            f"(checksum {training.checksum[:12]}, the model's {surrogate.data_checksum[:12]}): give the store of its "
            "training runs, or one without these conditions"
        )


def refit(surrogate: Surrogate) -> Callable[[Dataset], Predict]:
    """Models of the same kind as the surrogate, of other runs: scaling, normalizer and basis are fitted again."""

    def fit(training: Dataset) -> Predict:
        scaling = getattr(surrogate.scaling, "name")  # noqa: B009
        return learn(training, surrogate.recipe, surrogate.coordinates, scaling=scaling).raw_predictive

    return fit


def _sizes(training: Dataset) -> tuple[int, int]:
    n_runs, n_parameters = training.parameters.shape
    return n_runs, fewest_to_fit(n_parameters)


def _can_refit(surrogate: Surrogate, training: Dataset) -> bool:
    complete = len(training.parameters) == len(surrogate.domain.parameters)
    return complete and isinstance(surrogate.recipe, FieldModelSettings)


def body_of(surrogate: Surrogate, gas: Gas | None = None, wall: Wall | None = None) -> Body | None:
    """What quantities of interest need, or None where the model's fields are not those of a flight condition on a body."""
    if surrogate.mesh is None or surrogate.names != tuple(VARIABLES) or surrogate.domain.names != tuple(PARAMETERS):
        return None
    return Body.on(surrogate.mesh, gas or surrogate.gas or PerfectGas(), wall)


def observer(body: Body) -> Observe:
    """Quantities of interest of fields at flight conditions."""
    return lambda fields, conditions: body.values(fields, _free_streams(conditions, body.gas))


def quantities(surrogate: Surrogate, body: Body, *, samples: int = SAMPLES, **parameters: float) -> xarray.Dataset:
    """Stand-off, stagnation pressure, surface pressures and drag at one condition, each with its `_std`.

    The bars of a calibrated model come from the errors of these very quantities on held-out runs, and widen with distance;
    those of an uncalibrated one from samples of whole fields. A single network has neither, and gives none.
    """
    condition = np.array([[parameters[name] for name in surrogate.domain.names]], float)
    mean = np.asarray(surrogate.raw_predictive(condition).mean)
    value = body.values(mean, _free_streams(condition, body.gas))
    fitted = surrogate.calibrations.get("quantities")
    if fitted is not None:
        domain = surrogate.trusted_domain
        displacement = domain.input_displacement(domain.nearest(condition), condition)
        std = fitted.std(np.ones((1, value.shape[1], 1)), displacement)[:, :, 0] * np.abs(value)
    else:
        std = sampled_std(surrogate, body, condition, samples) if surrogate.has_samples else None
    columns = {}
    for index, quantity in enumerate(body.quantities):
        columns[quantity.name] = ((), value[0, index], {"units": quantity.unit})
        if std is not None:
            columns[f"{quantity.name}_std"] = ((), std[0, index], {"units": quantity.unit})
    verdict = {"verdict": surrogate.trusted_domain.summary(condition)}
    return xarray.Dataset(columns, attrs=verdict)


def sampled_std(
    surrogate: Surrogate, body: Body, conditions: Conditions, samples: int = SAMPLES, seed: int = 0
) -> Float[np.ndarray, "case quantity"]:
    """Standard deviation of quantities over sampled fields, which have the calibrated bars where the model has them."""
    raw = surrogate.raw_predictive(conditions)
    mean = np.asarray(raw.mean)
    drawn = surrogate.samples(conditions, samples, seed)
    std = surrogate.predictive(conditions).std
    if surrogate.calibration is not None and raw.std is not None and std is not None:
        drawn = widened(drawn, mean, np.asarray(raw.std), np.asarray(std))
    return propagated(body, mean, drawn, _free_streams(conditions, body.gas))[1]


def _free_streams(conditions: Conditions, gas: Gas) -> list[FreeStream]:
    return [FlightCondition(float(mach), float(altitude)).free_stream(gas) for mach, altitude in conditions]
