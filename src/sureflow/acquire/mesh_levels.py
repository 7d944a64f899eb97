"""Proposals that choose the mesh too: candidates on every level, with what a run there costs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from sureflow.acquire.cost import RunCosts
from sureflow.data.runs import Runs
from sureflow.errors import SureflowError

Conditions = Float[np.ndarray, "_ parameter"]
OnLevel = Int[np.ndarray, " candidate"]


@dataclass(frozen=True)
class MeshLevel:
    """What was computed on one mesh: where, at what cost, and where it failed."""

    costs: RunCosts
    failed: Conditions | None = None


def levels_of(runs: Runs) -> tuple[MeshLevel, ...]:
    """The levels of runs, the finest first; their cost is that of steps times cells."""
    found, level = [], runs
    while level is not None:
        costs = RunCosts.of(level)
        if costs is None:
            raise SureflowError("levels are chosen by their cost, and these runs have no number called steps")
        found.append(MeshLevel(costs))
        level = level.coarser
    return tuple(found)


def require_several(levels: Sequence[MeshLevel], known: int) -> None:
    """Refuse runs on one mesh, and models that know fewer levels than there are."""
    if len(levels) < 2:
        raise SureflowError("there are runs on one mesh only: compute coarser ones, or leave levels out")
    if known < len(levels) - 1:
        raise SureflowError(
            "the model does not learn from coarser runs: train the model levels on them, or leave levels out"
        )


@dataclass(frozen=True)
class LevelCandidates:
    """Every condition on every level where it may be computed."""

    conditions: Conditions
    level: OnLevel
    cost: Float[np.ndarray, " candidate"]

    @classmethod
    def of(cls, conditions: Conditions, is_open: Sequence[Bool[np.ndarray, " case"]], levels: Sequence[MeshLevel]):
        """`is_open` says for each level which of the conditions may be computed there.

        A run comes with those on all coarser meshes, which tell the difference and are paid as well where they are missing.
        """
        rows, cost = [], []
        for level, mask in enumerate(is_open):
            asked = conditions[mask]
            spent = levels[level].costs.work(asked)
            for below, missing in zip(levels[level + 1 :], is_open[level + 1 :], strict=True):
                spent = spent + np.where(missing[mask], below.costs.work(asked), 0.0)
            rows.append(np.flatnonzero(mask))
            cost.append(spent)
        on_level = np.repeat(np.arange(len(levels)), [len(one) for one in rows])
        return cls(conditions[np.concatenate(rows)], on_level, np.concatenate(cost))
