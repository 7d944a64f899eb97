"""Calibration of a surrogate by runs that it has not seen."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool

from sureflow.data.runs import Runs
from sureflow.errors import SureflowError
from sureflow.surrogate.learning import fit_predictor
from sureflow.surrogate.matching import in_training_order, matched, trained_runs
from sureflow.surrogate.model import Surrogate
from sureflow.uq.bars import Calibrations
from sureflow.uq.fit_bars import FEWEST_HELD_OUT, fit_calibrations
from sureflow.uq.folds import (
    Predict,
    fewest_to_fit,
    held_out_predictions,
    random_folds,
    side_folds,
    side_predictions,
    unseen_predictions,
)

Progress = Callable[[int, int], None]  # refits done, refits in all


class CannotCalibrate(SureflowError):
    """There is nothing to calibrate with; the bars stay the model's own."""


@dataclass(frozen=True)
class CalibrationRuns:
    """Which runs calibrate a surrogate: those it has not seen, or folds over those it was trained on."""

    training: Bool[np.ndarray, " case"]
    unseen: Bool[np.ndarray, " case"]
    by_folds: bool

    def __str__(self) -> str:
        counted = f"{int(self.training.sum())} runs that the model was trained on"
        if self.by_folds:
            return f"folds over the {counted}"
        return f"{int(self.unseen.sum())} runs that the model has not seen; {counted} were not counted"


def calibration_runs(surrogate: Surrogate, runs: Runs, *, folds: bool = False) -> CalibrationRuns:
    """Unseen runs where there are enough of them, else folds over the training runs, or a sentence about what is lacking."""
    trained, complete = trained_runs(runs, surrogate.domain)
    n_unseen, n_trained = int((~trained).sum()), int(trained.sum())
    if n_unseen >= FEWEST_HELD_OUT and not folds:
        return CalibrationRuns(trained, ~trained, by_folds=False)
    if not surrogate.settings.capabilities.refits_quickly:
        raise CannotCalibrate(
            f"{n_unseen} of these {trained.size} runs were not trained on, and {FEWEST_HELD_OUT} or more are needed: a "
            f"{surrogate.model_name} takes too long to train again for every fold, so give runs that it has not seen"
        )
    n_parameters = len(surrogate.parameter_names)
    if not random_folds(n_trained, fewest_to_fit(n_parameters)) or n_trained < FEWEST_HELD_OUT:
        raise CannotCalibrate(
            f"{n_trained} training runs are too few to calibrate by folds over them: at least "
            f"{max(FEWEST_HELD_OUT, fewest_to_fit(n_parameters) + 1)} are needed; the bars stay the model's own"
        )
    if not complete:
        raise CannotCalibrate(
            f"{n_unseen} runs that the model has not seen are too few, and folds need all of its "
            f"{len(surrogate.domain.parameters)} training runs, of which {n_trained} are here: give their store"
        )
    return CalibrationRuns(trained, np.zeros_like(trained), by_folds=True)


def calibrate(
    surrogate: Surrogate,
    runs: Runs,
    *,
    folds: bool = False,
    quantities: bool = True,
    on_refit: Progress = lambda done, total: None,
) -> Surrogate:
    """The same model with calibrated bars, from `runs` alone: see `calibration_runs` for which of them count how.

    With unseen runs the conformal guarantee is a theorem, inside the hull. Sides of the training domain are left out in
    either case where the model is quick to fit again and its training runs are given.
    """
    runs = matched(runs, surrogate)
    chosen = calibration_runs(surrogate, runs, folds=folds)
    training, unseen = in_training_order(runs, surrogate.domain), runs.select(chosen.unseen)
    _require_same_runs(surrogate, training)
    unseen.require_finite()
    observer = surrogate.observer if quantities else None
    domain = surrogate.seen_domain
    sides = side_folds(domain) if _can_refit(surrogate, training) else {}
    everyone = random_folds(len(training), fewest_to_fit(len(domain.names))) if chosen.by_folds else []
    done, total = 0, len(everyone) + sum(map(len, sides.values()))

    def on_fold() -> None:
        nonlocal done
        done += 1
        on_refit(done, total)

    fit = refit(surrogate)
    if chosen.by_folds:
        held_out = held_out_predictions(fit, training, everyone, domain, surrogate.predictor.unit, observer, on_fold)
    else:
        held_out = unseen_predictions(surrogate.predictor, unseen, domain, surrogate.predictor.unit, observer)
    left_out = side_predictions(fit, training, sides, domain, surrogate.predictor.unit, observer, on_fold)
    fitted = fit_calibrations(held_out, left_out, exact=not chosen.by_folds)
    return replace(surrogate, calibration=_noting(fitted, unseen))


def _noting(fitted: Calibrations, unseen: Runs) -> Calibrations:
    """With the conditions of runs that were not trained on: no test may use them."""
    conditions = tuple(map(tuple, unseen.parameters.tolist()))
    fields = replace(fitted.fields, conditions=conditions)
    quantities = None if fitted.quantities is None else replace(fitted.quantities, conditions=conditions)
    return Calibrations(fields, quantities)


def _require_same_runs(surrogate: Surrogate, training: Runs) -> None:
    """Runs at all of the model's training conditions must be its training runs: others would calibrate other physics."""
    if len(training) == len(surrogate.domain.parameters) and training.checksum != surrogate.data_checksum:
        raise SureflowError(
            f"the {len(training)} runs at the model's training conditions are not those that it was trained on "
            f"(checksum {training.checksum[:12]}, the model's {surrogate.data_checksum[:12]}): give the store of its "
            "training runs, or one without these conditions"
        )


def refit(surrogate: Surrogate) -> Callable[[Runs], Predict]:
    """Models of the same kind as the surrogate, of other runs: scaling, normalizer and basis are fitted again."""
    return lambda training: fit_predictor(training, surrogate.spec)


def _can_refit(surrogate: Surrogate, training: Runs) -> bool:
    complete = len(training) == len(surrogate.domain.parameters)
    return complete and surrogate.settings.capabilities.refits_quickly
