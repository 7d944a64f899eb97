"""Requests in flight share one evaluation of the model: they are gathered, computed together, and kept for the next one."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np

from sureflow.errors import SureflowError
from sureflow.uq.domain import Verdict

Condition = tuple[float, ...]
SMALL = 8000  # bytes of a result besides its arrays


class Overloaded(SureflowError):
    """More is waiting for the model than may wait."""


@dataclass(frozen=True)
class Result:
    """Of one condition: arrays of the fields by what follows their names, the verdict, and quantities as they are told."""

    arrays: Mapping[str, np.ndarray]
    verdict: Verdict
    quantities: Mapping[str, Any] | None = None

    @property
    def size(self) -> int:
        """In bytes, about."""
        return SMALL + sum(array.nbytes for array in self.arrays.values())

    def on_its_own(self) -> "Result":
        """The same with arrays that hold no memory but their own: a view of one condition keeps its whole batch alive."""
        return replace(self, arrays={name: _on_its_own(array) for name, array in self.arrays.items()})


Compute = Callable[[np.ndarray], Sequence[Result]]  # conditions (case, parameter) in, a result of each out


@dataclass
class Kept:
    """The results of the last conditions, as many as fit into a number of bytes."""

    most: int
    size: int = 0
    results: OrderedDict[Condition, Result] = field(default_factory=OrderedDict)

    def get(self, condition: Condition) -> Result | None:
        found = self.results.get(condition)
        if found is not None:
            self.results.move_to_end(condition)
        return found

    def add(self, condition: Condition, result: Result) -> None:
        if condition in self.results or result.size > self.most:
            return
        self.results[condition] = result
        self.size += result.size
        while self.size > self.most:
            _, old = self.results.popitem(last=False)
            self.size -= old.size


@dataclass
class Awaited:
    """The result of a condition that is not there yet, and how many requests wait for it."""

    result: asyncio.Future[Result]
    askers: int = 0


class Gathering:
    """Conditions of many requests, evaluated a batch at a time in one thread of their own.

    While a batch is computed, the conditions that arrive wait and make up the next one, first come, first served; nobody waits
    for a batch to fill. Sizes of batches are powers of two, which networks are compiled for. A condition that nobody waits for
    any longer is not computed, and no more than `queued` may wait.
    """

    def __init__(self, compute: Compute, *, most: int, kept_bytes: int, queued: int):
        self.compute, self.most, self.queued = compute, most, queued
        self.kept = Kept(kept_bytes)
        self.thread = ThreadPoolExecutor(1)
        self.awaited: dict[Condition, Awaited] = {}
        self.queue: dict[Condition, None] = {}  # those that are in no batch yet, in the order in which they came
        self.called = 0  # conditions of other calls
        self.task: asyncio.Task[None] | None = None
        self.batches = self.computed = self.found = 0

    async def results(self, conditions: np.ndarray) -> list[Result]:
        """The result of every condition, from what is kept or from a batch."""
        asked = [tuple(row) for row in conditions.tolist()]
        found = {one: kept for one in asked if (kept := self.kept.get(one)) is not None}
        missing = [one for one in dict.fromkeys(asked) if one not in found]
        self.found += len(found)
        self._refuse_more(sum(one not in self.awaited for one in missing))
        awaited = {one: self._ask(one) for one in missing}
        try:
            for condition, one in awaited.items():
                # One request that gives up must not take the condition from the others.
                found[condition] = await asyncio.shield(one.result)
        finally:
            for condition, one in awaited.items():
                self._leave(condition, one)
        return [found[one] for one in asked]

    async def call(self, function: Callable[..., Any], *arguments: Any, conditions: int) -> Any:
        """Something else that evaluates the model at so many conditions, between two batches."""
        self._refuse_more(conditions)
        self.called += conditions
        try:
            return await self._in_thread(function, *arguments)
        finally:
            self.called -= conditions

    @property
    def waiting(self) -> int:
        """Conditions that wait, or are computed outside of the batches."""
        return len(self.queue) + self.called

    def close(self) -> None:
        self.thread.shutdown(wait=False, cancel_futures=True)

    def _refuse_more(self, count: int) -> None:
        if count and self.waiting + count > self.queued:
            raise Overloaded(
                f"{self.waiting} conditions wait for the model, and {count} more exceed {self.queued}: ask again later, or for "
                "fewer"
            )

    def _ask(self, condition: Condition) -> Awaited:
        if condition not in self.awaited:
            self.awaited[condition] = Awaited(asyncio.get_running_loop().create_future())
            self.queue[condition] = None
            if self.task is None or self.task.done():
                self.task = asyncio.create_task(self._work())
        self.awaited[condition].askers += 1
        return self.awaited[condition]

    def _leave(self, condition: Condition, one: Awaited) -> None:
        one.askers -= 1
        # The same condition may have been answered and asked for again since.
        if not one.askers and condition in self.queue and self.awaited[condition] is one:
            del self.queue[condition]
            self._drop(condition)

    def _drop(self, condition: Condition) -> None:
        self.awaited.pop(condition).result.cancel()

    async def _work(self) -> None:
        while self.queue:
            batch = list(islice(self.queue, _power_of_two(min(len(self.queue), self.most))))
            for condition in batch:
                del self.queue[condition]
            try:
                self._keep(batch, await self._in_thread(self._computed, np.array(batch)))
            except Exception:
                # One condition must not spoil those of others: each is asked for alone.
                for condition in batch:
                    await self._alone(condition)

    async def _alone(self, condition: Condition) -> None:
        if not self.awaited[condition].askers:
            self._drop(condition)
            return
        try:
            self._keep([condition], await self._in_thread(self._computed, np.array([condition])))
        except Exception as error:
            future = self.awaited.pop(condition).result
            future.set_exception(error)
            future.exception()  # whoever asked may have gone

    def _computed(self, conditions: np.ndarray) -> list[Result]:
        return [result.on_its_own() for result in self.compute(conditions)]

    def _keep(self, batch: Sequence[Condition], results: Sequence[Result]) -> None:
        self.batches, self.computed = self.batches + 1, self.computed + len(batch)
        for condition, result in zip(batch, results, strict=True):
            self.kept.add(condition, result)
            self.awaited.pop(condition).result.set_result(result)

    async def _in_thread(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What is given up before it has begun is not done."""
        return await asyncio.get_running_loop().run_in_executor(self.thread, function, *arguments)


def _on_its_own(array: np.ndarray) -> np.ndarray:
    base = array.base
    return array if not isinstance(base, np.ndarray) or base.nbytes == array.nbytes else array.copy()


def _power_of_two(count: int) -> int:
    """The largest one up to a number."""
    return 1 << (count.bit_length() - 1)
