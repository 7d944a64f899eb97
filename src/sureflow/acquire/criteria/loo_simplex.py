"""The rule of EZyRB: the simplex between runs with the largest leave-one-out error x volume."""

import math
from typing import ClassVar

import numpy as np
from scipy.spatial import Delaunay, KDTree, QhullError

from sureflow.acquire.criteria.criterion import CRITERIA, Criterion, Gains, Task, Values
from sureflow.errors import SureflowError
from sureflow.validation import settings

# Simplices of the runs grow as their number to half the power of the parameters; a rule for few parameters.
MOST_PARAMETERS = 6


@CRITERIA.add
@settings
class LooSimplex(Criterion):
    """As `ReducedOrderModel.optimal_mu` of EZyRB (Demo et al. 2018), a baseline: inside the hull of the runs only.

    Each simplex of the Delaunay triangulation of the runs has the sum of the leave-one-out errors of its corners times its
    volume, and proposes its barycenter, weighted by these errors. Here that is the candidate nearest to it.
    """

    name: ClassVar[str] = "loo-simplex"
    meaning: ClassVar[str] = "leave-one-out error x volume of the simplex of runs around it"

    def begin(self, task: Task) -> "Simplices":
        return Simplices(task, task.require_belief(self.name).errors)


class Simplices(Gains):
    """The candidate nearest to the barycenter of each simplex, with what that simplex counts; others count nothing."""

    def __init__(self, task: Task, errors: np.ndarray):
        used = task.metric.any(axis=1)
        runs, candidates = task.run_inputs[:, used], task.inputs[:, used]
        if runs.shape[1] > MOST_PARAMETERS:
            raise SureflowError(
                f"the criterion {LooSimplex.name} takes at most {MOST_PARAMETERS} parameters, and there are "
                f"{runs.shape[1]}: choose another one"
            )
        corners = _triangulated(runs)
        places = runs[corners]
        weight = errors[corners]
        edges = places[:, 1:] - places[:, :1]
        volume = np.abs(np.linalg.det(edges)) / math.factorial(runs.shape[1])
        total = weight.sum(axis=1)
        share = np.divide(
            weight, total[:, None], out=np.full_like(weight, 1 / weight.shape[1]), where=total[:, None] > 0
        )
        centers = np.einsum("sc,scp->sp", share, places)
        self.gains = np.zeros(len(candidates))
        best_first = np.argsort(-total * volume, kind="stable")[: 4 * len(candidates)]
        nearest = KDTree(candidates).query(centers[best_first])[1]
        np.maximum.at(self.gains, nearest, (total * volume)[best_first])

    def values(self) -> Values:
        return self.gains

    def take(self, candidate: int) -> None:
        self.gains[candidate] = 0.0


def _triangulated(runs: np.ndarray) -> np.ndarray:
    """Corners (simplex, corner) by their runs."""
    if runs.shape[1] == 1:
        order = np.argsort(runs[:, 0])
        return np.column_stack([order[:-1], order[1:]])
    try:
        return Delaunay(runs).simplices
    except QhullError:
        raise SureflowError(
            f"the criterion {LooSimplex.name} needs runs that span their {runs.shape[1]} parameters: choose another one"
        ) from None
