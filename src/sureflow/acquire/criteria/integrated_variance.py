"""The variance that a run would remove, averaged over the region of use."""

from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float

from sureflow.acquire.criteria.criterion import CRITERIA, Conditions, Criterion, Gains, Task, Values
from sureflow.models.belief import Process
from sureflow.validation import settings

# Processes are counted, the largest first, until they hold this share of the variance; never more than so many.
SHARE, MOST_PROCESSES = 0.99, 3
# Covariances between candidates and uses that are held at once, of all processes together.
MOST_COVARIANCES = 16_000_000
# Candidates whose covariances are computed together: few enough to stay in the processor's cache.
AT_ONCE = 1 << 9
# A variance below this share of the largest is rounding: the candidate is a run already.
NOTHING = 1e-10


@CRITERIA.add
@settings
class IntegratedVariance(Criterion):
    """Active learning Cohn: sum over processes of size x mean over uses of c(x, x')^2 / (v(x) + noise).

    It does not depend on results (Cohn 1996; Seo et al. 2000), so that a batch is chosen one by one with exact updates of all
    covariances. Sizes come from the errors at runs nearby where the model knows them.
    """

    name: ClassVar[str] = "integrated-variance"
    knows_levels: ClassVar[bool] = True
    meaning: ClassVar[str] = "mean variance that the run removes in the region of use, in normalized units"

    def begin(self, task: Task) -> "Reductions":
        return Reductions(task, task.require_belief(self.name).processes)


class _Part:
    """One process between the candidates and the uses, after the candidates that were taken.

    With the runs there taken one by one, rows r of candidates and s of uses of a Cholesky factor are added, and the
    covariance becomes c - r s. What a candidate removes, sum_u w_u c_u^2, is brought up to date without that matrix.
    """

    def __init__(self, process: Process, inputs: Conditions, uses: Conditions, told: Bool[np.ndarray, " candidate"]):
        self.process, self.inputs, self.told = process, inputs, told
        self.weight = process.size(uses) / len(uses)
        known = process.turn(process.left(uses)).T
        self.left, self.covariance = np.empty((len(inputs), len(known))), np.empty((len(inputs), len(uses)))
        self.removed, self.variance = np.empty((2, len(inputs)))
        for start in range(0, len(inputs), AT_ONCE):
            some = slice(start, start + AT_ONCE)
            left = self.left[some] = process.left(inputs[some])
            covariance = np.subtract(process.kernel(inputs[some], uses), left @ known, out=self.covariance[some])
            self.removed[some] = np.square(covariance) @ self.weight
            self.variance[some] = process.remaining(inputs[some], left)
        self.use_variance = process.variance(uses)
        self.floor = NOTHING * float(self.variance.max(initial=0.0))
        self.precision = self._precision()
        self.rows, self.use_rows = np.empty((len(inputs), 0)), np.empty((len(uses), 0))

    def gain(self) -> Values:
        return self.removed * self.precision

    def removed_at_uses(self, some: slice) -> Float[np.ndarray, "some use"]:
        """What some of the candidates would remove of the variance at every use, times its weight."""
        removed = self.rows[some] @ self.use_rows.T
        np.square(np.subtract(self.covariance[some], removed, out=removed), out=removed)
        removed *= self.weight
        removed *= self.precision[some, None]
        return removed

    def _precision(self) -> Values:
        """One over the variance with which runs there are seen; zero where they tell nothing."""
        seen, matters = self.variance + self.process.noise, self.told & (self.variance > self.floor)
        return np.divide(1.0, seen, out=np.zeros_like(seen), where=matters)

    def take(self, candidate: int) -> None:
        """Condition on a run there, if it tells this process."""
        if not self.told[candidate]:
            return
        there = self.inputs[candidate : candidate + 1]
        known = self.process.turn(self.left[candidate : candidate + 1])[0]
        across = self.process.kernel(self.inputs, there)[:, 0] - self.left @ known
        root = np.sqrt(max(self.variance[candidate], self.floor) + self.process.noise)
        row = (across - self.rows @ self.rows[candidate]) / root
        use_row = (self.covariance[candidate] - self.use_rows @ self.rows[candidate]) / root
        weighted = self.weight * use_row
        along = self.covariance @ weighted - self.rows @ (self.use_rows.T @ weighted)
        self.removed = np.maximum(self.removed - 2.0 * row * along + row**2 * float(use_row @ weighted), 0.0)
        self.variance = np.maximum(self.variance - row**2, 0.0)
        self.precision = self._precision()
        self.use_variance = np.maximum(self.use_variance - use_row**2, 0.0)
        self.rows, self.use_rows = np.column_stack([self.rows, row]), np.column_stack([self.use_rows, use_row])


class Reductions(Gains):
    """Integrated variances that every candidate would remove."""

    def __init__(self, task: Task, processes: tuple[Process, ...]):
        self.inputs = task.inputs
        counted = _counted(processes, task.use_inputs)
        most = max(16, MOST_COVARIANCES // (len(counted) * len(self.inputs)))
        self.uses = task.use_inputs[:most]
        self.parts = [_Part(process, self.inputs, self.uses, task.told(process.level)) for process in counted]
        self.gone = np.zeros(len(self.inputs), bool)

    def values(self) -> Values:
        return np.where(self.gone, 0.0, sum(part.gain() for part in self.parts))

    def take(self, candidate: int) -> None:
        for part in self.parts:
            part.take(candidate)
        self.gone[candidate] = True


def _counted(processes: tuple[Process, ...], uses: Conditions) -> list[Process]:
    """Those that hold most of the variance at the uses."""
    held = np.array([float((one.size(uses) * one.variance(uses)).mean()) for one in processes])
    order = np.argsort(-held, kind="stable")
    enough = int(np.searchsorted(np.cumsum(held[order]), SHARE * held.sum())) + 1
    return [processes[index] for index in order[: min(enough, MOST_PROCESSES)]]
