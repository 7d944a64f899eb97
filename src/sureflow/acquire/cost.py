"""What a run is expected to cost, from the steps and seconds that others took."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.spatial.distance import cdist

from sureflow.data.runs import Runs

Conditions = Float[np.ndarray, "_ parameter"]

STEPS, SECONDS = "steps", "seconds"


@dataclass(frozen=True)
class RunCosts:
    """Steps of runs by condition; seconds a step where times were recorded, and how many cells a step is taken in."""

    conditions: Conditions
    steps: Float[np.ndarray, " run"]
    seconds_per_step: float | None = None
    cells: int = 1

    @classmethod
    def of(cls, runs: Runs, seconds: Float[np.ndarray, " run"] | None = None) -> "RunCosts | None":
        """None where the runs have no number called steps."""
        names = [number.name for number in runs.header.numbers]
        if runs.numbers is None or STEPS not in names or not len(runs):
            return None
        steps = np.asarray(runs.numbers[:, names.index(STEPS)], float)
        pace = None
        if seconds is not None and np.isfinite(seconds).any() and (steps > 0).all():
            pace = float(np.nanmedian(seconds / steps))
        return cls(runs.parameters, np.maximum(steps, 1.0), pace, runs.n_points)

    def work(self, conditions: Conditions) -> Float[np.ndarray, " case"]:
        """Steps times cells: what compares runs on different meshes, and is the same on every machine."""
        return self.cells * self.expected_steps(conditions)

    def expected_steps(self, conditions: Conditions) -> Float[np.ndarray, " case"]:
        """The geometric mean of the runs nearest to each condition, with weights 1 / distance^2."""
        width = np.ptp(self.conditions, axis=0)
        scale = np.where(width > 0, width, 1.0)
        few = min(2 * (self.conditions.shape[1] + 1), len(self.steps))
        logarithm = np.log(self.steps)
        found = np.empty(len(conditions))
        for start in range(0, len(conditions), 1 << 14):
            block = slice(start, start + (1 << 14))
            away = cdist(conditions[block] / scale, self.conditions / scale)
            nearest = np.argpartition(away, few - 1, axis=1)[:, :few]
            weight = 1.0 / np.maximum(np.take_along_axis(away, nearest, axis=1), 1e-9) ** 2
            found[block] = (weight * logarithm[nearest]).sum(axis=1) / weight.sum(axis=1)
        return np.exp(found)
