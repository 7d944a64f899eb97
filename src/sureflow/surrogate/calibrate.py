"""Calibration of a surrogate by runs that it has not seen."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool

from sureflow.data.runs import Runs
from sureflow.errors import SureflowError
from sureflow.predictive import Predictive
from sureflow.runtime import one_blas_thread
from sureflow.surrogate.geometry_errors import geometry_errors, sides_with_geometry, with_geometry
from sureflow.surrogate.learning import fit_predictor
from sureflow.surrogate.matching import in_training_order, matched, trained_runs
from sureflow.surrogate.model import Surrogate
from sureflow.surrogate.observe import Observer
from sureflow.surrogate.wall_bars import WallErrors
from sureflow.uq.bars import Calibration, Calibrations
from sureflow.uq.fit_bars import FEWEST_HELD_OUT, fit_calibrations
from sureflow.uq.folds import (
    DEPTHS,
    FOLDS,
    Fold,
    LeaveOut,
    Predicted,
    blocks_of_runs,
    fewest_to_fit,
    held_out_predictions,
    random_folds,
    side_folds,
    side_predictions,
    unseen_predictions,
)
from sureflow.uq.surrounded import typical_runs

Progress = Callable[[int, int], None]  # folds done, folds in all

# Up to so many runs are left out one at a time where that takes no refit; of more, in so many folds.
ONE_BY_ONE, CLOSED_FORM_FOLDS = 60, 20
# Unseen runs of which a 90 % interval is told: half of them shape the bars, and the other half must be nine or more.
ENOUGH_UNSEEN = 18
# Refits that sides may take altogether: in many parameters they are left out in fewer depths.
MOST_SIDE_REFITS = 24


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
            others = int((~self.training).sum())
            left_out = f"; {others} others do not count: unseen runs do from {ENOUGH_UNSEEN} on" if others else ""
            return f"folds over the {counted}{left_out}"
        return f"{int(self.unseen.sum())} runs that the model has not seen; {counted} were not counted"


def calibration_runs(surrogate: Surrogate, runs: Runs, *, folds: bool = False) -> CalibrationRuns:
    """Unseen runs if they are enough for 90 % intervals, else folds over the training runs, else a few unseen runs."""
    trained, complete = trained_runs(runs, surrogate.domain)
    n_unseen = int((~trained).sum())
    if n_unseen >= ENOUGH_UNSEEN and not folds:
        return CalibrationRuns(trained, ~trained, by_folds=False)
    lacking = _lacking_for_folds(surrogate, trained, complete=complete)
    if lacking and (folds or n_unseen < FEWEST_HELD_OUT):
        raise CannotCalibrate(lacking)
    if lacking:
        return CalibrationRuns(trained, ~trained, by_folds=False)
    return CalibrationRuns(trained, np.zeros_like(trained), by_folds=True)


def _lacking_for_folds(surrogate: Surrogate, trained: Bool[np.ndarray, " case"], *, complete: bool) -> str:
    """Why there can be no folds over the training runs; empty if there can."""
    n_unseen, n_trained = int((~trained).sum()), int(trained.sum())
    if not surrogate.settings.capabilities.refits_quickly:
        return (
            f"{n_unseen} of these {trained.size} runs were not trained on, and {FEWEST_HELD_OUT} or more are needed: a "
            f"{surrogate.model_name} takes too long to train again for every fold, so give runs that it has not seen"
        )
    n_parameters = len(surrogate.parameter_names)
    if n_trained < FEWEST_HELD_OUT or not random_folds(n_trained, fewest_to_fit(n_parameters)):
        return (
            f"{n_trained} training runs are too few to calibrate by folds over them: at least "
            f"{max(FEWEST_HELD_OUT, fewest_to_fit(n_parameters) + 1)} are needed; the bars stay the model's own"
        )
    if not complete:
        return (
            f"{n_unseen} runs that the model has not seen are too few, and folds need all of its "
            f"{len(surrogate.domain.parameters)} training runs, of which {n_trained} are here: give their store"
        )
    return ""


@one_blas_thread()
def calibrate(
    surrogate: Surrogate,
    runs: Runs,
    *,
    folds: bool = False,
    quantities: bool = True,
    on_refit: Progress = lambda done, total: None,
) -> Surrogate:
    """The same model with calibrated bars, from `runs` alone: see `calibration_runs` for which of them count how.

    With unseen runs the conformal guarantee is a theorem. Sides of the training domain are left out in either case where the
    model can do without some of its training runs and these are given.
    """
    runs = matched(runs, surrogate)
    chosen = calibration_runs(surrogate, runs, folds=folds)
    training, unseen = in_training_order(runs, surrogate.domain), runs.select(chosen.unseen)
    require_same_runs(surrogate, training)
    unseen.require_finite()
    observer = surrogate.observer if quantities else None
    walls = WallErrors(observer) if isinstance(observer, Observer) else None
    observe = observer if walls is None else walls
    domain, unit = surrogate.seen_domain, surrogate.predictor.unit
    sides = _sides(surrogate) if len(training) == len(domain.parameters) else {}
    everyone = _everyone(surrogate) if chosen.by_folds else []
    leave_out = _leave_out(surrogate, training, len(everyone) + sum(map(len, sides.values())), on_refit)
    whole = observe is not None and len(training) == len(domain.parameters)
    of_mesh = geometry_errors(surrogate.space, training, observe) if whole else None  # type: ignore[arg-type]
    if chosen.by_folds:
        held_out = held_out_predictions(leave_out, training, everyone, domain, unit, observe)
        held_out = with_geometry(held_out, of_mesh)
    else:
        held_out = unseen_predictions(surrogate.predictor, unseen, domain, unit, observe)
    left_out = sides_with_geometry(side_predictions(leave_out, training, sides, domain, unit, observe), of_mesh)
    if walls is not None:
        held_out, left_out = walls.kept(held_out), walls.kept_sides(left_out)
    typical = typical_runs(training.parameters) if chosen.by_folds else None
    fitted = fit_calibrations(held_out, left_out, surrogate.space.neighbors, exact=not chosen.by_folds, typical=typical)
    if isinstance(fitted.quantities, Calibration):
        # Beyond the runs errors of quantities are larger than where sides of the runs were left out, as leaving out sides of
        # what is left shows: these may widen bars, but not make them narrower.
        held = replace(fitted.quantities, sides=np.maximum(fitted.quantities.sides, 1.0))
        fitted = replace(fitted, quantities=held)
    if walls is not None and isinstance(fitted.fields, Calibration):
        fitted = replace(fitted, wall=walls.bars(fitted.fields.reach, fitted.fields.near))
    return replace(surrogate, calibration=_noting(fitted, unseen))


def _everyone(surrogate: Surrogate) -> list[Fold]:
    """Folds in which every training run is left out once."""
    n_runs, n_parameters = surrogate.domain.parameters.shape
    count = FOLDS
    if surrogate.settings.capabilities.leaves_out:
        count = n_runs if n_runs <= ONE_BY_ONE else CLOSED_FORM_FOLDS
    return random_folds(n_runs, fewest_to_fit(n_parameters), count)


def _sides(surrogate: Surrogate) -> dict[int, list[Fold]]:
    """Folds that leave out sides of the training domain, where the model can do without them."""
    capabilities, domain = surrogate.settings.capabilities, surrogate.domain
    if capabilities.leaves_out:
        return side_folds(domain)
    if not capabilities.refits_quickly:
        return {}
    depths = DEPTHS
    while len(depths) > 1 and 2 * len(domain.names) * len(depths) > MOST_SIDE_REFITS:
        depths = depths[1:]
    return side_folds(domain, depths)


def _leave_out(surrogate: Surrogate, training: Runs, total: int, on_refit: Progress) -> LeaveOut:
    """Predictions of training runs by models of the others: in closed form where the model has one, else by fitting again."""
    done = 0
    ways = _in_closed_form if surrogate.settings.capabilities.leaves_out else _by_refits

    def leave_out(folds: Sequence[Fold]) -> Iterator[Predicted]:
        nonlocal done
        for batch in ways(surrogate, training, folds):
            yield from batch
            done += 1
            on_refit(min(done, total), total)

    return leave_out


def _by_refits(surrogate: Surrogate, training: Runs, folds: Sequence[Fold]) -> Iterator[Iterator[Predicted]]:
    """Fold by fold; scaling, normalizer and basis are fitted again."""

    def predicted(fold: Fold) -> Iterator[Predicted]:
        kept, cases = training.select(~fold.left_out), np.flatnonzero(fold.left_out)
        model = fit_predictor(kept, surrogate.spec)
        inputs = model.inputs(kept.parameters)
        for block in blocks_of_runs(training.select(cases)):
            conditions = training.parameters[cases[block]]
            yield Predicted(fold, cases[block], model(conditions), model.novelty(conditions, inputs))

    return map(predicted, folds)


def _in_closed_form(surrogate: Surrogate, training: Runs, folds: Sequence[Fold]) -> Iterator[Iterator[Predicted]]:
    """Fold by fold, with the scaling, normalizer and basis of all runs."""
    predictor, size = surrogate.predictor, 8 * int(np.prod(training.fields.shape[1:]))
    most = predictor.fitted.left_out_at_once

    def predicted(
        fold: Fold, mean: np.ndarray, parts: dict[str, np.ndarray], novelty: np.ndarray
    ) -> Iterator[Predicted]:
        cases = np.flatnonzero(fold.left_out)
        for block in blocks_of_runs(training.select(cases)):
            some = Predictive(mean[block], {name: part[block] for name, part in parts.items()})
            runs = cases[block]
            yield Predicted(fold, runs, predictor.physical(some, training.parameters[runs]), novelty[block])

    def batches() -> Iterator[list[Fold]]:
        batch: list[Fold] = []
        for fold in folds:
            if batch and size * sum(int(one.left_out.sum()) for one in (*batch, fold)) > most:
                yield batch
                batch = []
            batch.append(fold)
        yield batch

    for batch in batches():
        found = predictor.fitted.leave_out([np.flatnonzero(fold.left_out) for fold in batch])
        start = 0
        for fold in batch:
            rows = slice(start, start := start + int(fold.left_out.sum()))
            parts = {name: np.asarray(part)[rows] for name, part in found.predictive.parts.items()}
            yield predicted(fold, np.asarray(found.predictive.mean)[rows], parts, found.novelty[rows])
            del parts
        del found  # before the next ones are predicted


def _noting(fitted: Calibrations, unseen: Runs) -> Calibrations:
    """With the conditions of runs that were not trained on: no test may use them."""
    conditions = tuple(map(tuple, unseen.parameters.tolist()))
    quantities = None if fitted.quantities is None else fitted.quantities.noting(conditions)
    return replace(fitted, fields=fitted.fields.noting(conditions), quantities=quantities)


def require_same_runs(surrogate: Surrogate, training: Runs) -> None:
    """Runs at all of the model's training conditions must be its training runs: others would calibrate other physics."""
    if len(training) == len(surrogate.domain.parameters) and training.checksum != surrogate.data_checksum:
        raise SureflowError(
            f"the {len(training)} runs at the model's training conditions are not those that it was trained on "
            f"(checksum {training.checksum[:12]}, the model's {surrogate.data_checksum[:12]}): give the store of its "
            "training runs, or one without these conditions"
        )
