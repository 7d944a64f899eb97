"""The order of work: a case is ready once its nearest converged ancestor is known.

Only the main process writes. Workers are pure functions of a case, so they can be anywhere and can be killed.
"""

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from sureflow.campaign.ancestry import Ancestry
from sureflow.campaign.versions import refuse_other_workers
from sureflow.data.meshes import Geometry
from sureflow.data.run_store import RunStore
from sureflow.data.schema import Status
from sureflow.errors import SureflowError


class Computed(NamedTuple):
    """What a worker gives back."""

    fields: Float[np.ndarray, "4 nj ni"]
    record: dict[str, float]
    status: Status
    seconds: float
    versions: Mapping[str, str] | None = None  # of the worker
    peak_memory_mb: float = float("nan")  # of the worker's process so far
    geometry: Geometry | None = None  # of a run with a mesh of its own


class Ancestor(NamedTuple):
    """The converged run that another one starts from."""

    case: int
    fields: Float[np.ndarray, "4 nj ni"]


class Ledger:
    """What is known of every case: in the store, or computed here because a case of this job starts from it."""

    def __init__(self, store: RunStore, tree: Ancestry):
        self.store = store
        self.tree = tree
        self.status = [Status(int(value)) for value in store.status()]
        self.recomputed: dict[int, np.ndarray] = {}

    def missing_ancestors(self, case: int) -> list[int]:
        """Ancestors that must be computed before this case can be."""
        missing = []
        for above in self.tree.ancestors(case):
            if self.status[above] is Status.CONVERGED:
                break
            if self.status[above] is Status.TO_DO:
                missing.append(above)
        return missing

    def is_ready(self, case: int) -> bool:
        return not self.missing_ancestors(case)

    def ancestor(self, case: int) -> Ancestor | None:
        """Where this case starts; nowhere if no ancestor converged."""
        for above in self.tree.ancestors(case):
            if self.status[above] is Status.CONVERGED:
                fields = self.recomputed.get(above)
                if fields is None:
                    shape = self.store.topology.shape
                    assert shape is not None
                    fields = self.store.fields(above).reshape(-1, *shape)
                return Ancestor(above, fields)
        return None

    def appeared(self, case: int) -> bool:
        """Whether another job has stored this case since."""
        self.status[case] = self.store.status_of(case)
        return self.status[case] is not Status.TO_DO


def run_cases(
    ledger: Ledger,
    own: Collection[int],
    executor: Executor,
    solve: Callable[[int, Ancestor | None], tuple[Callable[..., Computed], tuple]],
    finished: Callable[[int, Computed], None],
    numbers: Callable[[int], Mapping[str, float]] = lambda case: {},
) -> None:
    """Compute the cases of `own` that are to do, each after its ancestors, and store them as they come.

    `solve` gives the function and the arguments that a worker is sent, `numbers` what a store keeps of a run beyond the
    solver's record. Ancestors that belong to another job and are not
    stored yet are computed here too, without storing them, so that the results are the same bits.
    """
    to_do = [case for case in own if ledger.status[case] is Status.TO_DO]
    needed = set(to_do).union(*(ledger.missing_ancestors(case) for case in to_do))
    waiting = [case for case in ledger.tree.order if case in needed]
    mine = set(to_do)
    running: dict[Future[Computed], int] = {}
    try:
        while waiting or running:
            for case in [case for case in waiting if ledger.is_ready(case)]:
                waiting.remove(case)
                if case in mine or not ledger.appeared(case):
                    function, arguments = solve(case, ledger.ancestor(case))
                    running[executor.submit(function, *arguments)] = case
            done = wait(running, return_when=FIRST_COMPLETED).done
            for future in sorted(done, key=went_wrong):  # what can be kept comes first
                case = running.pop(future)
                outcome = result_of(future, ledger, case)
                outcome = outcome._replace(record={**outcome.record, **numbers(case)})
                keep(ledger, case, outcome, mine, finished)
    finally:
        for future in running:
            future.cancel()


def went_wrong(future: Future[Computed]) -> bool:
    return future.cancelled() or future.exception() is not None


def result_of(future: Future[Computed], ledger: Ledger, case: int) -> Computed:
    """What a worker gives back; its death, or whatever it raises, in one sentence."""
    try:
        return future.result()
    except Exception as error:
        values = zip(ledger.store.header.parameter_names, ledger.store.parameters()[case], strict=True)
        condition = ", ".join(f"{name}={value:g}" for name, value in values)
        reason = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}".rstrip(": .")
        raise SureflowError(
            f"the run at {condition} could not be computed ({reason}); finished runs are kept: start the "
            "campaign again to continue"
        ) from error


def keep(
    ledger: Ledger, case: int, outcome: Computed, mine: Collection[int], finished: Callable[[int, Computed], None]
) -> None:
    """Store a case of this job; remember one of another job's."""
    if outcome.versions is not None:
        refuse_other_workers(outcome.versions)
    if case in mine:
        ledger.store.write(case, outcome.fields, outcome.record, outcome.status, outcome.geometry)
        finished(case, outcome)
    else:
        ledger.recomputed[case] = outcome.fields
    ledger.status[case] = outcome.status
