"""Requests in flight share one evaluation of the model: they are gathered, computed together, and kept for the next one."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sureflow.uq.domain import Verdict

Condition = tuple[float, ...]
SMALL = 1000  # bytes of a result besides its arrays


@dataclass(frozen=True)
class Result:
    """Of one condition: arrays of the fields by what follows their names, the verdict, quantities and their bars."""

    arrays: Mapping[str, np.ndarray]
    verdict: Verdict
    quantities: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def size(self) -> int:
        """In bytes, about."""
        return SMALL + sum(array.nbytes for array in (*self.arrays.values(), *(self.quantities or ())))


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
        if condition in self.results:
            return
        self.results[condition] = result
        self.size += result.size
        while self.size > self.most:
            _, old = self.results.popitem(last=False)
            self.size -= old.size


class Gathering:
    """Conditions of many requests, evaluated a batch at a time in one thread of their own.

    While a batch is computed, the conditions that arrive wait and make up the next one, first come, first served; nobody waits
    for a batch to fill. Sizes of batches are powers of two, which networks are compiled for.
    """

    def __init__(self, compute: Compute, *, most: int, kept_bytes: int):
        self.compute, self.most = compute, most
        self.kept = Kept(kept_bytes)
        self.thread = ThreadPoolExecutor(1)
        self.waiting: dict[Condition, asyncio.Future[Result]] = {}
        self.queue: list[Condition] = []
        self.task: asyncio.Task[None] | None = None
        self.batches = self.computed = self.found = 0

    async def results(self, conditions: np.ndarray) -> list[Result]:
        """The result of every condition, from what is kept or from a batch."""
        return await asyncio.gather(*(self._one(tuple(map(float, row))) for row in conditions))

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Something else that needs the model, between two batches."""
        return await asyncio.get_running_loop().run_in_executor(self.thread, function, *arguments)

    async def _one(self, condition: Condition) -> Result:
        kept = self.kept.get(condition)
        if kept is not None:
            self.found += 1
            return kept
        if condition not in self.waiting:
            self.waiting[condition] = asyncio.get_running_loop().create_future()
            self.queue.append(condition)
            if self.task is None or self.task.done():
                self.task = asyncio.create_task(self._work())
        # One request that gives up must not take the condition from the others.
        return await asyncio.shield(self.waiting[condition])

    async def _work(self) -> None:
        while self.queue:
            count = _power_of_two(min(len(self.queue), self.most))
            batch, self.queue = self.queue[:count], self.queue[count:]
            try:
                self._keep(batch, await self.call(self.compute, np.array(batch)))
            except Exception:
                # One condition must not spoil those of others: each is asked for alone.
                for condition in batch:
                    await self._alone(condition)

    async def _alone(self, condition: Condition) -> None:
        try:
            self._keep([condition], await self.call(self.compute, np.array([condition])))
        except Exception as error:
            future = self.waiting.pop(condition)
            future.set_exception(error)
            future.exception()  # whoever asked may have gone

    def _keep(self, batch: Sequence[Condition], results: Sequence[Result]) -> None:
        self.batches, self.computed = self.batches + 1, self.computed + len(batch)
        for condition, result in zip(batch, results, strict=True):
            self.kept.add(condition, result)
            self.waiting.pop(condition).set_result(result)

    def close(self) -> None:
        self.thread.shutdown(wait=False, cancel_futures=True)


def _power_of_two(count: int) -> int:
    """The largest one up to a number."""
    return 1 << (count.bit_length() - 1)
