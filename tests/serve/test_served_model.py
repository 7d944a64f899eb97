import asyncio
import threading

import numpy as np
import pytest

from explore.trained import trained
from sureflow.serve import proposing
from sureflow.serve.gathering import Overloaded
from sureflow.serve.served_model import Limits, ServedModel

MAP = np.column_stack([np.linspace(10.0, 30.0, 1000), np.full(1000, 43.0)])


def asked(ask, **limits):
    """What `ask` returns of a model that is served."""

    async def main():
        served = ServedModel("shock", trained("interpolation"), Limits(**limits))
        try:
            return await asyncio.wait_for(ask(served), 20)
        finally:
            served.close()

    return asyncio.run(main())


def test_verdicts_wait_neither_for_proposals_nor_for_pages(monkeypatch):
    may = threading.Event()
    monkeypatch.setattr(proposing, "propose", lambda *_, **__: may.wait(10))

    async def ask(served):
        others = [asyncio.create_task(served.proposals.first(count)) for count in (1, 2)]
        others.append(asyncio.create_task(served.aside(may.wait, 10)))
        await asyncio.sleep(0.05)
        found, ended = await served.placed(MAP), [one.done() for one in others]
        may.set()
        await asyncio.gather(*others, return_exceptions=True)
        return found, any(ended)

    found, waited = asked(ask)
    assert not waited
    assert found == list(trained("interpolation").place(MAP, extrapolate=True).verdicts)


def test_a_single_condition_does_not_wait_for_a_whole_map():
    async def ask(served):
        whole = asyncio.create_task(served.placed(MAP))
        await asyncio.sleep(0)
        await served.placed(MAP[:1] + 1.0)
        early = not whole.done()
        await whole
        return early

    assert asked(ask)


def test_one_proposal_at_a_time_and_none_that_was_given_up(monkeypatch):
    may, begun = threading.Event(), []
    own = proposing.propose

    def propose(model, count):
        begun.append(count)
        assert may.wait(5)
        return own(model, count)

    monkeypatch.setattr(proposing, "propose", propose)

    async def ask(served):
        first = asyncio.create_task(served.proposals.first(1))
        while not begun:
            await asyncio.sleep(0.001)
        given_up = [asyncio.create_task(served.proposals.first(count)) for count in (2, 3)]
        await asyncio.sleep(0)
        for one in given_up:
            one.cancel()
        may.set()
        found = await first
        return found, await served.proposals.first(1)

    found, again = asked(ask)
    assert begun == [1]
    assert found is again
    assert len(found["conditions"]) == 1


def test_a_prediction_at_points_counts_among_those_that_wait():
    points = trained("interpolation").space.geometry.points[:3]

    async def ask(served):
        with pytest.raises(Overloaded):
            await served.results_at(MAP[:5], points, extrapolate=True)
        return await served.results_at(MAP[:4], points, extrapolate=True)

    assert len(asked(ask, queued=4)) == 4
