"""Farthest from all runs: what needs no results, and is hard to beat in two parameters."""

from typing import ClassVar

import numpy as np

from sureflow.acquire.criteria.criterion import CRITERIA, Criterion, Gains, Task, Values
from sureflow.validation import settings


@CRITERIA.add
@settings
class SpaceFilling(Criterion):
    """Maximin (Johnson et al. 1990): each candidate by its distance to the nearest run, in the metric that the model learned."""

    name: ClassVar[str] = "space-filling"
    meaning: ClassVar[str] = "distance to the nearest run, as the model sees it"

    def begin(self, task: Task) -> "Distances":
        return Distances(task)


class Distances(Gains):
    """Distances to the nearest of the runs and of the candidates that were taken."""

    def __init__(self, task: Task):
        self.task = task
        self.nearest = nearest_run(task)[1]

    def values(self) -> Values:
        return self.nearest

    def take(self, candidate: int) -> None:
        inputs = self.task.inputs
        self.nearest = np.minimum(self.nearest, self.task.distance(inputs, inputs[candidate : candidate + 1])[:, 0])


def nearest_run(task: Task) -> tuple[np.ndarray, Values]:
    """Which run is nearest to every candidate, and how far away it is; some candidates at a time."""
    which, distance = np.empty(len(task.inputs), int), np.empty(len(task.inputs))
    for start in range(0, len(task.inputs), 1 << 14):
        block = slice(start, start + (1 << 14))
        away = task.distance(task.inputs[block], task.run_inputs)
        which[block] = away.argmin(axis=1)
        distance[block] = away.min(axis=1)
    return which, distance
