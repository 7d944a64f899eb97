"""How an interpolation goes on beyond the box of its runs: straight, unless leaving out the outer runs speaks for its kernel.

Beyond a straight side, everything about a condition x is taken from the nearest place y of the box: the kernel goes on along its
slope there, phi(|y - x_j|) + (x - y) . grad phi, and with it the weights of the runs. So fields go on along straight lines where
a cubic kernel would bend them more and more. Within the box nothing changes. Half of the distance between the two ways is a part
of the error bars, their doubt: nothing but leaving runs out speaks for one of them.
"""

from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Bool, Float, Int

from sureflow.errors import SureflowError
from sureflow.models.kernels import Nodes, is_flat

Sides = Bool[np.ndarray, "2 varying"]  # below and above the runs, by input: whether straight on
# As models store them: 1 and 0, or EARLIER in models of earlier versions, which are not straight and do not doubt it.
StoredSides = Float[np.ndarray, "2 varying"]
Inputs = Float[np.ndarray, "case varying"]
Group = Int[np.ndarray, " run"]

EARLIER = -1.0
# The share of the distance between the two ways that bars hold. With all of it, calibrated bars are no better at runs left out,
# and pages are larger and hold them less well.
DOUBTED = 0.5
# Shares of the runs, the outermost ones of an input, that are left out to see how to go on there; the fewest that tell, and the
# largest share, as where many runs have the same input.
OUTER, FEWEST, LARGEST = (0.1, 0.2), 3, 0.5
# Few runs lie on a side, so that a small difference is chance: straight lines may err by so many times as much as the kernel.
TOLERATED = 1.03


def nowhere(n_varying: int) -> Sides:
    """No side is straight."""
    return np.zeros((2, n_varying), bool)


def sides_of_earlier_versions(n_varying: int) -> StoredSides:
    """They bend as their kernel does, and their bars were calibrated without a doubt."""
    return np.full((2, n_varying), EARLIER)


def counts_doubts(straight: StoredSides) -> bool:
    """Whether the other way to go on is a part of the bars."""
    return bool((straight != EARLIER).all())


def require_sides(straight: np.ndarray, n_varying: int) -> None:
    """Refuse what are no sides of these inputs, in a file that somebody may have changed."""
    earlier = (straight == EARLIER).all()
    if straight.shape != (2, n_varying) or not (earlier or np.isin(straight, (0.0, 1.0)).all()):
        raise SureflowError("the model is damaged: its straight sides do not fit its inputs; train it again")


def is_beyond(inputs: Inputs, nodes: Nodes) -> Bool[np.ndarray, " case"]:
    """Whether conditions lie beyond the box of the runs."""
    return ((inputs < nodes.min(axis=0)) | (inputs > nodes.max(axis=0))).any(axis=1)


def edge(inputs: Inputs, nodes: Nodes, straight: Sides) -> Inputs:
    """The conditions themselves, or the nearest places from which straight lines lead to them."""
    low, high = limits(nodes, straight)
    return np.clip(inputs, low, high)


def limits(nodes: Nodes, straight: Sides) -> Float[np.ndarray, "2 varying"]:
    """Beyond which inputs straight lines begin; infinite where none do."""
    return np.where(straight, [nodes.min(axis=0), nodes.max(axis=0)], [[-np.inf], [np.inf]])


def learned_sides(nodes: Nodes, errors: Callable[[Group, Sides], tuple[float, float]]) -> Sides:
    """The sides on which straight lines are as good at runs left out there; `errors` of a group tells those of lines and kernel.

    Where too few runs tell, the kernel goes on.
    """
    found = nowhere(nodes.shape[1])
    for column, values in enumerate(nodes.T):
        for side, inward in enumerate((values, -values)):
            one = nowhere(nodes.shape[1])
            one[side, column] = True
            pairs = [errors(group, one) for group in _outermost(nodes, inward)]
            ratios = [straight / bent for straight, bent in pairs if straight > 0 and bent > 0]
            found[side, column] = bool(ratios) and np.exp(np.mean(np.log(ratios))) < TOLERATED
    return found


def _outermost(nodes: Nodes, inward: Float[np.ndarray, " run"]) -> Iterator[Group]:
    """Groups of runs on a side, if they are enough to tell, and the others enough to go on from."""
    sizes = set()
    for share in OUTER:
        outer = inward <= np.quantile(inward, share)
        group, others = np.flatnonzero(outer), nodes[~outer]
        if FEWEST <= len(group) <= LARGEST * len(nodes) and len(others) >= nodes.shape[1] + 2 and not is_flat(others):
            if len(group) not in sizes:
                yield group
            sizes.add(len(group))
