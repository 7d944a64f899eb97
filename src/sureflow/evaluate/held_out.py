"""Which runs a trained model may be tested on, by domain, and the units in which its errors are measured."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from sureflow.data.normalize import Standard
from sureflow.data.runs import Runs
from sureflow.data.splits import Split
from sureflow.errors import SureflowError
from sureflow.evaluate.summary import IN_DOMAIN, OUT_OF_DOMAIN
from sureflow.surrogate.matching import runs_at, trained_runs
from sureflow.surrogate.model import Surrogate
from sureflow.uq.domain import TrainingDomain

Mask = Bool[np.ndarray, " case"]


@dataclass(frozen=True)
class HeldOut:
    """Test runs by domain, which runs were trained on or calibrated with, and where the domains come from.

    `units` are the runs whose mean and standard deviation errors are measured in, where all of them are at hand: the training
    runs of the model or, with a split, all those of the split, so that models of fewer runs are measured in the same units.
    """

    test: dict[str, Mask]
    trained: Mask
    calibrated: Mask
    units: Mask | None
    split: str | None

    def explanation(self) -> str:
        """What was tested and what was not, in two sentences."""
        trained, calibrated = int(self.trained.sum()), int(self.calibrated.sum())
        used = [f"{trained} trained on"] * (trained > 0) + [f"{calibrated} used for calibration"] * (calibrated > 0)
        n_tested = int(np.logical_or.reduce(list(self.test.values())).sum())
        left_out = f"; not tested: {' and '.join(used)}" if used else ", none of which was trained on"
        domains = (
            f"The domains are those of the split {self.split!r}."
            if self.split
            else f"{IN_DOMAIN} and {OUT_OF_DOMAIN} are inside and outside the ranges of the training runs."
        )
        return f"Tested on {n_tested} of {self.trained.size} runs{left_out}. {domains}"


def held_out(runs: Runs, surrogate: Surrogate, split: Split | None = None) -> HeldOut:
    """The runs that were neither trained on nor calibrated with.

    With a split, its test domains; every training run of the model must be one of that split's. Without, in_domain is inside
    the ranges of the training runs, as verdicts go by them, and out_of_domain is outside of them.
    """
    domain = surrogate.domain
    trained, complete = trained_runs(runs, domain)
    calibrated, _ = runs_at(runs, surrogate.calibrated_with, domain)
    if (trained | calibrated).all():
        raise SureflowError(
            f"all {len(runs)} runs were trained on or calibrated with: hold some of them out when the model is trained, "
            "test by folds over them, or give other runs to test on"
        )
    if split is None:
        domains, units = _by_ranges(runs, domain, trained), trained if complete else None
    else:
        domains, units = _domains_of(split, runs, trained, complete)
    tested = {name: mask & ~calibrated for name, mask in domains.items() if (mask & ~calibrated).any()}
    return HeldOut(tested, trained, calibrated, units, None if split is None else split.kind)


def metric_space(runs: Runs, tested: HeldOut, surrogate: Surrogate) -> Standard:
    """Mean and standard deviation that errors are measured in: see `HeldOut.units`; else those that the model has kept."""
    if tested.units is not None:
        return Standard.of_fields(runs.select(tested.units))
    if surrogate.field_scale is None:
        raise SureflowError(
            "this model was made by an earlier version and does not know the spread of its training fields: give runs "
            "with its training runs among them, or train it again"
        )
    return surrogate.field_scale


def _by_ranges(runs: Runs, domain: TrainingDomain, trained: Mask) -> dict[str, Mask]:
    outside = (domain.excess(runs.parameters) > 0).any(axis=1)
    return {IN_DOMAIN: ~outside & ~trained, OUT_OF_DOMAIN: outside & ~trained}


def _domains_of(split: Split, runs: Runs, trained: Mask, complete: bool) -> tuple[dict[str, Mask], Mask]:
    """Test domains and training runs of a split, if the training runs of the model are among the latter."""
    division = split(runs)
    others = int((trained & ~division.train).sum())
    if complete and not others:
        return division.test, division.train
    misfit = f"it was trained on {others} runs that are not in the training set of that split"
    if not complete:
        misfit = "some of its training runs are not among these runs"
    raise SureflowError(f"the split {split.kind!r} does not fit this model: {misfit}; choose another split, or none")
