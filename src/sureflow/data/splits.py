"""Which runs train and which test, as boolean masks per domain."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from jaxtyping import Bool, Float
from pydantic import Field, NonNegativeInt, PositiveInt

from sureflow.data.drawn import PART
from sureflow.data.runs import Runs
from sureflow.errors import SureflowError
from sureflow.registry import SettingsRegistry
from sureflow.validation import settings

Mask = Bool[np.ndarray, " case"]


@dataclass(frozen=True)
class Division:
    """Training runs, the test runs of every domain, and how many training runs were left out of a domain."""

    train: Mask
    test: dict[str, Mask]
    left_out: dict[str, int]


class Split(ABC):
    """How runs are divided; a split of your own is a class with a `kind`, decorated with `@SPLITS.add` and `@settings`."""

    kind: ClassVar[str]

    @abstractmethod
    def __call__(self, runs: Runs) -> Division:
        """The division of these runs."""


SPLITS = SettingsRegistry("split", Split, key="kind")


@SPLITS.add
@settings
class AllRuns(Split):
    """Every run trains; none is held back."""

    kind: ClassVar[str] = "all"

    def __call__(self, runs: Runs) -> Division:
        return Division(np.ones(len(runs), bool), {}, {})


@SPLITS.add
@settings
class RandomRuns(Split):
    """`test_runs` runs, or that share of them, drawn for testing, whatever their parameters; the others train."""

    test_runs: PositiveInt | Annotated[float, Field(gt=0, lt=1)] = 50
    seed: NonNegativeInt = 0
    kind: ClassVar[str] = "random"

    def __call__(self, runs: Runs) -> Division:
        share = self.test_runs < 1
        count = max(1, round(self.test_runs * len(runs))) if share else int(self.test_runs)
        test = draw(np.ones(len(runs), bool), count, self.seed)
        return Division(~test, {"in_domain": test}, {"in_domain": 0})


@SPLITS.add
@settings
class CampaignParts(Split):
    """The named parts of a campaign: the runs of `train` train, and every other part tests as a domain of its name."""

    train: str = "train"
    kind: ClassVar[str] = "parts"

    def __call__(self, runs: Runs) -> Division:
        names, numbers = runs.header.made_by.get("parts") or [], [number.name for number in runs.header.numbers]
        if self.train not in names or PART not in numbers or runs.numbers is None:
            raise SureflowError(
                f"split.kind='parts' needs runs of a campaign with a part named {self.train!r}; the parts of these are "
                f"{', '.join(names) or 'not named'}: choose split.kind = 'random'"
            )
        part = runs.numbers[:, numbers.index(PART)]
        masks = {name: part == place for place, name in enumerate(names)}
        train = masks.pop(self.train)
        return Division(train, masks, dict.fromkeys(masks, 0))


SPLITS.later("paper", "sureflow.reproduction.leon2023.domains")


def draw(candidates: Mask, count: int, seed: int, always: Mask | None = None) -> Mask:
    """`count` of the candidates by a seeded shuffle, the `always` ones first."""
    if count >= candidates.sum():
        raise SureflowError(
            f"holding out {count} of {candidates.sum()} in-domain runs leaves none to train on: hold out fewer"
        )
    order = np.random.default_rng(seed).permutation(np.flatnonzero(candidates))
    if always is not None:
        order = order[np.argsort(~always[order], kind="stable")]
    drawn = np.zeros_like(candidates)
    drawn[order[:count]] = True
    return drawn


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
