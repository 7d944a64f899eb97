"""Which run starts from which: a tree of parents that is fixed before the first run.

A result then depends on its ancestors alone and never on what happened to finish first, on how many workers there were
or on where a campaign was interrupted.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Ancestry:
    """`order` lists the cases from the center outwards; `parent` of the first is None."""

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

    def shard(self, index: int, count: int) -> list[int]:
        """Piece `index` of 1..`count` of the depth-first order: branches stay together, so few ancestors are shared."""
        cases = self.depth_first()
        return cases[(index - 1) * len(cases) // count : index * len(cases) // count]


def ancestry(conditions: Float[np.ndarray, "case 2"]) -> Ancestry:
    """Each case's parent is its nearest case among those closer to the center of the campaign.

    Distances are in units of the campaign's extent, rounded, so that ties fall to the lower case on every machine.
    """
    low, high = conditions.min(axis=0), conditions.max(axis=0)
    place = (conditions - 0.5 * (low + high)) / np.where(high > low, high - low, 1.0)
    order = np.lexsort((np.arange(len(place)), np.round(np.hypot(*place.T), 9)))
    parent: list[int | None] = [None] * len(place)
    for rank, case in enumerate(order[1:], start=1):
        distance = np.round(np.hypot(*(place[order[:rank]] - place[case]).T), 9)
        parent[case] = int(order[np.argmin(distance)])
    return Ancestry(tuple(int(case) for case in order), tuple(parent))
