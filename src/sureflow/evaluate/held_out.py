"""Which runs of a store a trained model may be tested on, by domain, and the space that they are measured in."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from sureflow.data.dataset import PHYSICAL, Dataset
from sureflow.data.normalize import Standard
from sureflow.data.split import PaperDomains, Split
from sureflow.errors import SureflowError
from sureflow.evaluate.summary import IN_DOMAIN, OUT_OF_DOMAIN
from sureflow.surrogate import Surrogate
from sureflow.uq.domain import TrainingDomain

SplitName = Literal["auto", "paper", "box"]
Mask = Bool[np.ndarray, " case"]

SAME = 1e-9  # conditions that agree to this share of the training range are one


@dataclass(frozen=True)
class HeldOut:
    """Test runs by domain, which runs were trained on or calibrated with, and by what rule the domains were made.

    `units` are the runs whose mean and standard deviation errors are measured in: those trained on or, in the paper's
    domains, all that its split trains on, so that models of fewer runs are measured in the same units.
    """

    test: dict[str, Mask]
    trained: Mask
    calibrated: Mask
    units: Mask
    rule: Literal["paper", "box"]


def held_out(dataset: Dataset, surrogate: Surrogate, split: SplitName = "auto") -> HeldOut:
    """The runs that were neither trained on nor calibrated with.

    paper  the test domains of the paper's split; every training run must be one of that split's
    box    in_domain inside the box that the training runs span, out_of_domain outside of it
    auto   paper where the training runs fit it, else box
    """
    domain = surrogate.domain
    trained, complete = trained_runs(dataset, domain)
    calibrated, _ = _runs_at(dataset, surrogate.calibrated_with, domain)
    if (trained | calibrated).all():
        raise SureflowError(
            f"all {trained.size} converged runs were trained on or calibrated with: give a store with other runs to test on"
        )
    paper = None if split == "box" else _paper_test(dataset, trained, complete, required=split == "paper")
    domains = _boxes(dataset, domain, trained) if paper is None else paper.test
    units = trained if paper is None else paper.train
    tested = {name: mask & ~calibrated for name, mask in domains.items() if (mask & ~calibrated).any()}
    return HeldOut(tested, trained, calibrated, units, "box" if paper is None else "paper")


def trained_runs(dataset: Dataset, domain: TrainingDomain) -> tuple[Mask, bool]:
    """Which runs have a condition that was trained on, and whether all of those conditions are among the runs."""
    return _runs_at(dataset, domain.parameters, domain)


def _runs_at(
    dataset: Dataset, conditions: Float[np.ndarray, "condition parameter"], domain: TrainingDomain
) -> tuple[Mask, bool]:
    """Which runs have one of the conditions, and whether every condition has a run."""
    found = np.zeros(len(dataset.parameters), bool)
    complete = True
    for condition in conditions:
        same = (np.abs(dataset.parameters - condition) <= SAME * domain.width).all(axis=1)
        found |= same
        complete &= bool(same.any())
    return found, complete


def _boxes(dataset: Dataset, domain: TrainingDomain, trained: Mask) -> dict[str, Mask]:
    outside = (domain.excess(dataset.parameters) > 0).any(axis=1)
    return {IN_DOMAIN: ~outside & ~trained, OUT_OF_DOMAIN: outside & ~trained}


def metric_space(dataset: Dataset, units: Mask) -> Standard:
    """Mean and standard deviation of some runs of the store; of all of its runs where it holds none of them."""
    return Standard.fit(dataset.fields[units] if units.any() else dataset.fields, axis=(0, 2))


def matched(dataset: Dataset, surrogate: Surrogate) -> Dataset:
    """The runs with their parameters in the order of the model's; other variables or another mesh are refused."""
    if dataset.names != surrogate.names:
        raise SureflowError(
            f"the model predicts {', '.join(surrogate.names)} and these runs hold {', '.join(dataset.names)}: "
            "give runs with the same variables"
        )
    names = surrogate.domain.names
    if set(dataset.parameter_names) != set(names):
        raise SureflowError(
            f"the model takes {', '.join(names)} and these runs have {', '.join(dataset.parameter_names)}: "
            "give runs with the same parameters"
        )
    _require_same_mesh(dataset.points(PHYSICAL), surrogate.mesh_points[PHYSICAL])
    order = [dataset.parameter_names.index(name) for name in names]
    return replace(dataset, parameters=dataset.parameters[:, order], parameter_names=names)


def _require_same_mesh(runs: Float[np.ndarray, "point 2"], model: Float[np.ndarray, "point 2"]) -> None:
    if runs.shape != model.shape:
        raise SureflowError(
            f"the model was trained on a mesh of {len(model)} points and these runs have {len(runs)}: "
            "give runs on the mesh of the training runs"
        )
    size = np.ptp(model, axis=0).max()
    distance = float(np.abs(runs - model).max())
    if distance > 1e-6 * size:
        raise SureflowError(
            f"the points of these runs lie up to {distance:.3g} m from those of the model's mesh: "
            "give runs on the mesh of the training runs"
        )


def _paper_test(dataset: Dataset, trained: Mask, complete: bool, *, required: bool) -> Split | None:
    """The paper's split if the training runs are among its own."""
    try:
        split = PaperDomains()(dataset)
    except SureflowError as error:
        misfit = f"these runs: {str(error).partition(':')[0]}"
    else:
        strangers = int((trained & ~split.train).sum())
        if complete and not strangers:
            return split
        stored = f"{strangers} runs that it does not train on were trained on" if strangers else ""
        misfit = f"this model: {stored or 'some training runs are not in the store'}"
    if required:
        raise SureflowError(f"the paper's split does not fit {misfit}; use --split box")
    return None
