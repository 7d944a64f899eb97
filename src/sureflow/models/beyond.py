"""How an interpolation goes on beyond its runs: as its kernel does, or straight on where sides left out teach so.

Beyond a straight side, everything about a condition x is taken from the nearest place y within the runs: the kernel goes on along
its slope there, phi(|y - x_j|) + (x - y) . grad phi, and with it the weights of the runs. So fields go on along straight lines
where a cubic kernel would bend them more and more. Within the runs nothing changes. Half of the distance between the two ways is
a part of the error bars: nothing but leaving runs out speaks for one of them.
"""

from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Bool, Float, Int

from sureflow.models.kernels import Nodes, is_flat

Sides = Bool[np.ndarray, "2 varying"]  # below and above the runs, by input: whether straight on
Inputs = Float[np.ndarray, "case varying"]
Group = Int[np.ndarray, " run"]

# The share of the distance between the ways to go on that bars hold.
DOUBTED = 0.5
# Shares of the runs, the outermost ones of an input, that are left out to see how to go on there, and the fewest that tell.
OUTER, FEWEST = (0.1, 0.2), 3
# Straight lines are given up where they err by so many times as much.
MUCH_WORSE = 1.03


def nowhere(n_varying: int) -> Sides:
    """No side is straight."""
    return np.zeros((2, n_varying), bool)


def is_beyond(inputs: Inputs, nodes: Nodes) -> Bool[np.ndarray, " case"]:
    """Whether conditions lie beyond the runs on some side."""
    return ((inputs < nodes.min(axis=0)) | (inputs > nodes.max(axis=0))).any(axis=1)


def edge(inputs: Inputs, nodes: Nodes, straight: Sides) -> Inputs:
    """The conditions themselves, or the nearest places from which straight lines lead to them."""
    low, high = limits(nodes, straight)
    return np.clip(inputs, low, high)


def limits(nodes: Nodes, straight: Sides) -> Float[np.ndarray, "2 varying"]:
    """Beyond which inputs straight lines begin; infinite where none do."""
    return np.where(straight, [nodes.min(axis=0), nodes.max(axis=0)], [[-np.inf], [np.inf]])


def learned_sides(nodes: Nodes, missed: Callable[[Sides, Group], float]) -> Sides:
    """The sides on which straight lines predict runs that are left out there as well; `missed` is the error at a group of runs.

    Few runs lie on a side, and what is better there by a little is chance: straight lines stay, which do no harm far out.
    """
    n_varying = nodes.shape[1]
    found = nowhere(n_varying)
    for column, values in enumerate(nodes.T):
        for side, inward in enumerate((values, -values)):
            one = nowhere(n_varying)
            one[side, column] = True
            pairs = ((missed(one, group), missed(nowhere(n_varying), group)) for group in _outermost(nodes, inward))
            ratios = [straight / bent for straight, bent in pairs if straight > 0 and bent > 0]
            found[side, column] = bool(ratios) and np.exp(np.mean(np.log(ratios))) < MUCH_WORSE
    return found


def _outermost(nodes: Nodes, inward: Float[np.ndarray, " run"]) -> Iterator[Group]:
    """Groups of runs on a side, if they are enough to tell, and the others enough to go on from."""
    for share in OUTER:
        outer = inward <= np.quantile(inward, share)
        group, others = np.flatnonzero(outer), nodes[~outer]
        if len(group) >= FEWEST and len(others) >= nodes.shape[1] + 2 and not is_flat(others):
            yield group
