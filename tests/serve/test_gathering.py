import asyncio
import threading

import numpy as np
import pytest

from sureflow.errors import SureflowError
from sureflow.serve.gathering import Gathering, Kept, Overloaded, Result
from sureflow.uq.domain import Trust, Verdict

INSIDE = Verdict(Trust.INSIDE, 0.0)


class Held:
    """Computations that begin only when they may, and what they were asked for."""

    def __init__(self):
        self.may, self.begun, self.seen = threading.Event(), threading.Event(), []

    def __call__(self, conditions):
        self.begun.set()
        assert self.may.wait(5)
        self.seen += conditions[:, 0].tolist()
        return [Result({}, INSIDE) for _ in conditions]

    async def has_begun(self):
        while not self.begun.is_set():
            await asyncio.sleep(0.001)


def gathered(ask, compute, *, most=8, kept_bytes=1000, queued=100):
    """What `ask` returns of a gathering."""

    async def main():
        gathering = Gathering(compute, most=most, kept_bytes=kept_bytes, queued=queued)
        try:
            return await asyncio.wait_for(ask(gathering), 10)
        finally:
            gathering.close()

    return asyncio.run(main())


def at(*values):
    return np.array(values, float)[:, None]


def test_a_condition_that_fails_does_not_spoil_the_others_of_its_batch():
    def compute(conditions):
        if (conditions < 0).any():
            raise SureflowError("below zero")
        return [Result({}, INSIDE) for _ in conditions]

    async def ask(gathering):
        asked = (gathering.results(at(value)) for value in (1.0, -1.0, 2.0))
        return await asyncio.gather(*asked, return_exceptions=True)

    good, bad, other = gathered(ask, compute)
    assert len(good) == len(other) == 1
    assert str(bad) == "below zero"


def test_a_condition_is_computed_once_however_often_it_is_asked_for():
    compute = Held()
    compute.may.set()

    async def ask(gathering):
        found = await asyncio.gather(gathering.results(at(1.0, 2.0, 1.0)), gathering.results(at(2.0)))
        return [len(one) for one in found]

    assert gathered(ask, compute, kept_bytes=100_000) == [3, 1]
    assert sorted(compute.seen) == [1.0, 2.0]


def test_what_nobody_waits_for_is_not_computed():
    compute = Held()

    async def ask(gathering):
        first = asyncio.create_task(gathering.results(at(0.0)))
        await compute.has_begun()
        given_up = [asyncio.create_task(gathering.results(at(1.0, 2.0))) for _ in range(2)]
        stays = asyncio.create_task(gathering.results(at(2.0, 3.0)))
        await asyncio.sleep(0)
        for one in given_up:
            one.cancel()
        await asyncio.gather(*given_up, return_exceptions=True)
        waiting = gathering.waiting
        compute.may.set()
        await asyncio.gather(first, stays)
        return waiting, len(gathering.awaited)

    assert gathered(ask, compute) == (2, 0)
    assert compute.seen == [0.0, 2.0, 3.0]


def test_a_call_that_was_given_up_before_it_began_is_not_done():
    compute, done = Held(), []

    async def ask(gathering):
        first = asyncio.create_task(gathering.results(at(0.0)))
        await compute.has_begun()
        call = asyncio.create_task(gathering.call(done.append, "called", conditions=5))
        await asyncio.sleep(0)
        waiting = gathering.waiting
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        compute.may.set()
        await first
        return waiting, gathering.waiting

    assert gathered(ask, compute) == (5, 0)
    assert not done


def test_more_than_may_wait_are_refused():
    compute = Held()

    async def ask(gathering):
        first = asyncio.create_task(gathering.results(at(0.0)))
        await compute.has_begun()
        full = asyncio.create_task(gathering.results(at(1.0, 2.0, 3.0)))
        await asyncio.sleep(0)
        with pytest.raises(Overloaded, match="3 conditions wait for the model, and 2 more exceed 4"):
            await gathering.results(at(4.0, 5.0))
        with pytest.raises(Overloaded, match="ask again later"):
            await gathering.call(list, conditions=2)
        same = asyncio.create_task(gathering.results(at(1.0, 2.0)))  # which wait already
        await asyncio.sleep(0)
        compute.may.set()
        return [len(one) for one in await asyncio.gather(first, full, same)]

    assert gathered(ask, compute, queued=4) == [1, 3, 2]


def test_what_is_kept_does_not_hold_its_batch():
    def compute(conditions):
        batch = np.ones((len(conditions), 3, 50))
        return [Result({"": values}, INSIDE) for values in batch]

    async def ask(gathering):
        return await gathering.results(at(*range(8)))

    assert {one.arrays[""].base is None for one in gathered(ask, compute)} == {True}


def test_what_does_not_fit_is_not_kept():
    kept = Kept(20_000)
    kept.add((1.0,), Result({"": np.zeros(10)}, INSIDE))
    kept.add((2.0,), Result({"": np.zeros(10_000)}, INSIDE))
    assert list(kept.results) == [(1.0,)]
    assert kept.size < kept.most
