"""Which run starts from which: a tree of parents that is fixed before the first run.

A result then depends on its ancestors alone and never on what happened to finish first, on how many workers there were
or on where a campaign was interrupted.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Ancestry:
    """`order` lists the cases so that each comes after its parent; that of the first is None."""

    order: tuple[int, ...]
    parent: tuple[int | None, ...]

    def ancestors(self, case: int) -> Iterator[int]:
        """Parent, grandparent and so on to the root."""
        above = self.parent[case]
        while above is not None:
            yield above
            above = self.parent[above]

    def depth_first(self) -> list[int]:
        """All cases, every one after its parent and whole branches together."""
        children: dict[int | None, list[int]] = {}
        for case in self.order:
            children.setdefault(self.parent[case], []).append(case)
        visited, waiting = [], children[None][::-1]
        while waiting:
            case = waiting.pop()
            visited.append(case)
            waiting.extend(children.get(case, [])[::-1])
        return visited

    def shard(self, cases: Collection[int], index: int, count: int) -> list[int]:
        """Piece `index` of 1..`count` of some cases in depth-first order: branches stay together, so few ancestors are shared."""
        chosen = [case for case in self.depth_first() if case in set(cases)]
        return chosen[(index - 1) * len(chosen) // count : index * len(chosen) // count]


def ancestry(conditions: Float[np.ndarray, "case parameter"]) -> Ancestry:
    """Each case's parent is its nearest case among those closer to the center of the campaign.

    A campaign lists its conditions in rising order. Those after the first that does not rise were added by another one: they
    come after all others, so that nothing changes for these, and each has the nearest case before it as its parent.
    Distances are in units of the campaign's extent, rounded, so that ties fall to the lower case on every machine.
    """
    first = conditions[: _rising(conditions.tolist())]
    low, high = first.min(axis=0), first.max(axis=0)
    place = (conditions - 0.5 * (low + high)) / np.where(high > low, high - low, 1.0)
    inside_out = np.lexsort((np.arange(len(first)), np.round(np.linalg.norm(place[: len(first)], axis=1), 9)))
    order = np.concatenate([inside_out, np.arange(len(first), len(conditions))])
    parent: list[int | None] = [None] * len(place)
    for rank, case in enumerate(order[1:], start=1):
        distance = np.round(np.linalg.norm(place[order[:rank]] - place[case], axis=1), 9)
        parent[case] = int(order[np.argmin(distance)])
    return Ancestry(tuple(int(case) for case in order), tuple(parent))


def _rising(conditions: list[list[float]]) -> int:
    """How many conditions there are before the first that does not rise."""
    return next(
        (case for case in range(1, len(conditions)) if conditions[case] <= conditions[case - 1]), len(conditions)
    )
