"""The standard deviation that a run would remove, averaged over the region of use."""

from typing import ClassVar

import numpy as np

from sureflow.acquire.criteria.criterion import CRITERIA, Criterion, Task, Values
from sureflow.acquire.criteria.integrated_variance import AT_ONCE, Reductions
from sureflow.validation import settings


@CRITERIA.add
@settings
class IntegratedBar(Criterion):
    """Mean over uses of sqrt(V) - sqrt(V - R), with V the variance of the field and R what a run would remove of it.

    As `IntegratedVariance`, in the measure of bars and mean absolute errors: a variance is mostly made of a few corners that no
    run is close to, and a design that minimizes its mean spends most runs on these.
    """

    name: ClassVar[str] = "integrated-bar"
    knows_levels: ClassVar[bool] = True
    meaning: ClassVar[str] = "mean standard deviation that the run removes in the region of use, in normalized units"

    def begin(self, task: Task) -> "BarReductions":
        return BarReductions(task, task.require_belief(self.name).processes)


class BarReductions(Reductions):
    """Integrated standard deviations that every candidate would remove."""

    def values(self) -> Values:
        before = sum(part.weight * part.use_variance for part in self.parts)
        found = np.empty(len(self.inputs))
        for start in range(0, len(found), AT_ONCE):
            some = slice(start, start + AT_ONCE)
            removed = sum(part.removed_at_uses(some) for part in self.parts)
            found[some] = (np.sqrt(before) - np.sqrt(np.maximum(before - removed, 0.0))).sum(axis=1)
        # Weights share a mean over the uses, of which the root is taken.
        return np.where(self.gone, 0.0, found / np.sqrt(len(self.uses)))
