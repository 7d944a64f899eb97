"""Far from all runs, and where the model of the other runs missed them most."""

from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sureflow.acquire.criteria.criterion import CRITERIA, Criterion, Task, Values
from sureflow.acquire.criteria.space_filling import Distances
from sureflow.validation import settings


@CRITERIA.add
@settings
class LooDistance(Criterion):
    """Leave-one-out error x distance, after Aute et al. 2013: distance alone does not see the data, errors alone cluster."""

    name: ClassVar[str] = "loo-distance"
    meaning: ClassVar[str] = "distance to the nearest run x leave-one-out error of the runs nearby, in normalized units"

    def begin(self, task: Task) -> "ErrorTimesDistance":
        return ErrorTimesDistance(task, nearby_errors(task, task.require_belief(self.name).errors))


class ErrorTimesDistance(Distances):
    """Distances, each times the error that is expected there."""

    def __init__(self, task: Task, errors: Values):
        super().__init__(task)
        self.errors = errors

    def values(self) -> Values:
        return self.nearest * self.errors


def nearby_errors(task: Task, errors: Float[np.ndarray, " run"]) -> Values:
    """Errors of the runs, averaged over those nearest to every candidate with weights 1 / distance^2."""
    few = min(2 * (task.inputs.shape[1] + 1), len(errors))
    found = np.empty(len(task.inputs))
    for start in range(0, len(task.inputs), 1 << 14):
        block = slice(start, start + (1 << 14))
        away = task.distance(task.inputs[block], task.run_inputs)
        nearest = np.argpartition(away, few - 1, axis=1)[:, :few]
        weight = 1.0 / np.maximum(np.take_along_axis(away, nearest, axis=1), 1e-12) ** 2
        found[block] = np.sqrt((weight * errors[nearest] ** 2).sum(axis=1) / weight.sum(axis=1))
    return found
