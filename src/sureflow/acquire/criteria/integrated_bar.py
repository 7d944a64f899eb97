"""By how much a run would lower the bars, averaged over the region of use."""

from typing import ClassVar

import numpy as np
from jaxtyping import Float
from pydantic import Field

from sureflow.acquire.criteria.criterion import CRITERIA, Criterion, Task, Values
from sureflow.acquire.criteria.integrated_variance import AT_ONCE, Reductions
from sureflow.models.belief import Process
from sureflow.validation import settings


@CRITERIA.add
@settings
class IntegratedBar(Criterion):
    """The fall of the power mean (mean over uses of V^p)^(1 / 2p) of the bars, with V the variance of the field.

    As `IntegratedVariance`, which is p = 1, in exact batches; p = 1/2 is the mean bar. Most of the variance lies in a few corners
    far from all runs, where a model of few runs expects more than is true: a lower power spends fewer runs there. The default was
    chosen on the training runs of the family of docs/next-runs.md, out of 1, 1/2, 1/4 and the logarithm.
    """

    name: ClassVar[str] = "integrated-bar"
    knows_levels: ClassVar[bool] = True
    meaning: ClassVar[str] = "by how much the run lowers a mean of the bars in the region of use, in normalized units"
    power: float = Field(default=0.25, gt=0, le=1)

    def begin(self, task: Task) -> "BarReductions":
        return BarReductions(task, task.require_belief(self.name).processes, self.power)


class BarReductions(Reductions):
    """How much lower the mean bar would be after a run at every candidate."""

    def __init__(self, task: Task, processes: tuple[Process, ...], power: float):
        super().__init__(task, processes)
        self.power = power
        counted = [part.process for part in self.parts]
        others = (process for process in processes if process not in counted)
        # What runs would remove of processes that hardly matter is not counted, but their variance is a part of the bars.
        self.rest = sum(
            (process.size(self.uses) * process.variance(self.uses) for process in others), np.zeros(len(self.uses))
        )

    def values(self) -> Values:
        variance = self.rest + len(self.uses) * sum(part.weight * part.use_variance for part in self.parts)
        found = np.empty(len(self.inputs))
        for start in range(0, len(found), AT_ONCE):
            some = slice(start, start + AT_ONCE)
            removed, *others = (part.removed_at_uses(some) for part in self.parts)
            for other in others:
                removed += other
            removed *= -len(self.uses)
            removed += variance
            found[some] = self._mean_bar(np.maximum(removed, 0.0, out=removed))
        return np.where(self.gone, 0.0, self._mean_bar(variance[None])[0] - found)

    def _mean_bar(self, variance: Float[np.ndarray, "some use"]) -> Float[np.ndarray, " some"]:
        # Two square roots take a tenth of the time of a power.
        if self.power == 0.25:
            powers = np.sqrt(variance)
            np.sqrt(powers, out=powers)
        else:
            powers = variance**self.power
        return powers.mean(axis=1) ** (0.5 / self.power)
