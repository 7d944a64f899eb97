import asyncio

from sureflow.serve.guard import GONE, Counters, Guard
from sureflow.serve.served_model import Limits

SCOPE = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", b"localhost")]}


def test_an_answer_that_nobody_waits_for_is_given_up():
    """A client that closes its connection takes the place of nobody else."""
    counters, ended = Counters(), []

    async def app(scope, receive, send):
        try:
            await asyncio.sleep(30)
        finally:
            ended.append("given up")

    async def main():
        messages = [{"type": "http.request", "body": b"", "more_body": False}, {"type": "http.disconnect"}]

        async def receive():
            return messages.pop(0)

        guard = Guard(app, token=None, limits=Limits(), counters=counters)
        await guard(dict(SCOPE), receive, ended.append)

    asyncio.run(asyncio.wait_for(main(), 10))
    assert ended == ["given up"]
    assert dict(counters.requests) == {("other", GONE): 1}
    assert counters.in_flight == 0
