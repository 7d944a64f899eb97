"""Which runs train and which test, as boolean masks per domain."""

from dataclasses import dataclass as plain_dataclass
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Bool, Float
from pydantic import Field, NonNegativeInt, PositiveInt
from pydantic.dataclasses import dataclass

from sureflow.data.dataset import Dataset
from sureflow.errors import SureflowError
from sureflow.validation import STRICT

Mask = Bool[np.ndarray, " case"]


@plain_dataclass(frozen=True)
class Split:
    """Training runs, the test runs of every domain, and how many training runs were left out of a domain."""

    train: Mask
    test: dict[str, Mask]
    left_out: dict[str, int]


@dataclass(frozen=True, config=STRICT)
class AllRuns:
    """Every run trains; none is held back."""

    kind: Literal["all"] = "all"

    def __call__(self, dataset: Dataset) -> Split:
        return Split(np.ones(len(dataset.parameters), bool), {}, {})


@dataclass(frozen=True, config=STRICT)
class RandomRuns:
    """`test_runs` runs drawn for testing, whatever their parameters; the others train."""

    kind: Literal["random"] = "random"
    test_runs: PositiveInt = 50
    seed: NonNegativeInt = 0

    def __call__(self, dataset: Dataset) -> Split:
        test = _draw(np.ones(len(dataset.parameters), bool), self.test_runs, self.seed)
        return Split(~test, {"in_domain": test}, {"in_domain": 0})


@dataclass(frozen=True, config=STRICT)
class PaperDomains:
    """The split of the paper (section 3) over Mach number and altitude.

    In-domain is the box `mach` x `altitude_km`, of which `test_runs` are drawn for testing, always with the condition
    `shown` (whose test prediction the paper draws); the others train. The four outer domains span the whole other axis.
    The printed low-Mach domain is {10, 11, 12} and so shares Mach 12 with the box: by default the training runs among
    them are left out of the test and counted; `printed` keeps them, as the paper did.
    """

    kind: Literal["paper"] = "paper"
    mach: tuple[float, float] = (12.0, 28.0)
    altitude_km: tuple[float, float] = (26.0, 54.0)
    test_runs: PositiveInt = 50
    shown: tuple[float, float] = (25.0, 46.0)
    printed: bool = False
    seed: NonNegativeInt = 0

    def __call__(self, dataset: Dataset) -> Split:
        mach, altitude = (_parameter(dataset, name) for name in ("mach", "altitude_km"))
        outer = {
            "high_mach": mach > self.mach[1],
            "high_altitude": altitude > self.altitude_km[1],
            "low_mach": mach <= self.mach[0],
            "low_altitude": altitude < self.altitude_km[0],
        }
        box = (mach >= self.mach[0]) & ~outer["high_mach"] & ~outer["high_altitude"] & ~outer["low_altitude"]
        test = _draw(box, self.test_runs, self.seed, always=(mach == self.shown[0]) & (altitude == self.shown[1]))
        train = box & ~test
        domains = {"in_domain": test, **outer, "out_of_domain": np.logical_or.reduce(list(outer.values()))}
        kept = {name: mask if self.printed else mask & ~train for name, mask in domains.items()}
        _require_runs({"the training set": train, **kept})
        return Split(train, kept, {name: int((domains[name] & ~kept[name]).sum()) for name in domains})


AnySplit = Annotated[AllRuns | RandomRuns | PaperDomains, Field(discriminator="kind")]


def _parameter(dataset: Dataset, name: str) -> np.ndarray:
    if name not in dataset.parameter_names:
        raise SureflowError(f"the paper's split needs the parameter {name}; these runs have {dataset.parameter_names}")
    return dataset.parameters[:, dataset.parameter_names.index(name)]


def _draw(candidates: Mask, count: int, seed: int, always: Mask | None = None) -> Mask:
    """`count` of the candidates by a seeded shuffle, the `always` ones first."""
    if count >= candidates.sum():
        raise SureflowError(
            f"split.test_runs={count} of {candidates.sum()} in-domain runs leaves none to train on: choose fewer"
        )
    order = np.random.default_rng(seed).permutation(np.flatnonzero(candidates))
    if always is not None:
        order = order[np.argsort(~always[order], kind="stable")]
    drawn = np.zeros_like(candidates)
    drawn[order[:count]] = True
    return drawn


def _require_runs(masks: dict[str, Mask]) -> None:
    for name, mask in masks.items():
        if not mask.any():
            raise SureflowError(
                f"the split leaves {name} without a run: compute runs there, choose split.mach and split.altitude_km "
                'to suit these runs, or split.kind = "all"'
            )


def space_filling(parameters: Float[np.ndarray, "case parameter"], count: int) -> Mask:
    """`count` runs that lie far from each other: the corner first, then always the run farthest from those taken.

    Distances are in widths of the box of all runs. The corners and edges come early, so that few runs span the box.
    """
    if not 1 <= count <= len(parameters):
        raise SureflowError(
            f"runs={count} of {len(parameters)} training runs cannot be chosen: give 1..{len(parameters)}"
        )
    width = np.ptp(parameters, axis=0)
    scaled = (parameters - parameters.min(axis=0)) / np.where(width > 0, width, 1.0)
    taken = np.zeros(len(parameters), bool)
    distance = np.full(len(parameters), np.inf)
    newest = int(np.argmin(scaled.sum(axis=1)))
    for _ in range(count):
        taken[newest] = True
        distance = np.minimum(distance, np.linalg.norm(scaled - scaled[newest], axis=1))
        distance[taken] = -1.0
        newest = int(np.argmax(distance))
    return taken
