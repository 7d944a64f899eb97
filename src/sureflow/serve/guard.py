"""What stands before every request: the token, limits of size and time, counts and the log."""

import asyncio
import hashlib
import hmac
import json
import logging
import time
from base64 import b64decode
from binascii import Error as NotBase64
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from typing import Any

from sureflow.serve.origins import LOOPBACK, stranger
from sureflow.serve.served_model import Limits

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

OPEN = ("/v2/health/live", "/v2/health/ready")  # what a probe may ask without a token
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
GONE = 499  # in counts and the log: the client has not waited for the answer (the number is that of nginx)
LOG = logging.getLogger("sureflow.serve")


class TooLarge(Exception):
    """A body with more bytes than allowed."""


class TooSlow(Exception):
    """A body that does not arrive in time."""


class Gone(Exception):
    """A client that has closed its connection."""


class Counters:
    """What Prometheus is told: requests by route and status, their times, and those in flight."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.buckets = [0] * (len(BUCKETS) + 1)
        self.seconds = 0.0
        self.in_flight = 0

    def add(self, route: str, status: int, seconds: float) -> None:
        self.requests[route, status] += 1
        self.seconds += seconds
        self.buckets[next((k for k, edge in enumerate(BUCKETS) if seconds <= edge), len(BUCKETS))] += 1

    def text(self, gauges: dict[str, float]) -> str:
        lines = ["# TYPE sureflow_requests_total counter"]
        for (route, status), count in sorted(self.requests.items()):
            lines.append(f'sureflow_requests_total{{route="{route}",status="{status}"}} {count}')
        lines.append("# TYPE sureflow_request_seconds histogram")
        total = 0
        for edge, count in zip((*map(str, BUCKETS), "+Inf"), self.buckets, strict=True):
            total += count
            lines.append(f'sureflow_request_seconds_bucket{{le="{edge}"}} {total}')
        lines += [f"sureflow_request_seconds_sum {self.seconds:.6f}", f"sureflow_request_seconds_count {total}"]
        shown = {"sureflow_requests_in_flight": self.in_flight, **gauges}
        for kind in dict.fromkeys(name.partition("{")[0] for name in shown):  # of all models, one after the other
            lines.append(f"# TYPE {kind} gauge")
            lines += [f"{name} {value:g}" for name, value in shown.items() if name.partition("{")[0] == kind]
        return "\n".join(lines) + "\n"


class Guard:
    """ASGI middleware: refuses what lacks the token, is too large or too slow; counts and logs every request.

    Without a token, only requests for the names of this machine and for those in `hosts` are answered.
    """

    def __init__(
        self,
        app: Callable[..., Awaitable[None]],
        *,
        token: str | None,
        limits: Limits,
        counters: Counters,
        hosts: Collection[str] = (),
    ):
        self.app, self.limits, self.counters = app, limits, counters
        self.digest = None if token is None else hashlib.sha256(token.encode()).digest()
        self.hosts = tuple(dict.fromkeys((*LOOPBACK, *hosts)))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self.counters.in_flight += 1
        try:
            await self._answer(scope, receive, sent, lambda: status)
        finally:
            self.counters.in_flight -= 1
            seconds, status = time.perf_counter() - began, status or GONE
            # The path of a route, not of the request: an outsider must not make up names in the counts or the log.
            route = getattr(scope.get("route"), "path", "other")
            self.counters.add(route, status, seconds)
            LOG.info(
                json.dumps({"route": route, "method": scope["method"], "status": status, "ms": round(1e3 * seconds, 1)})
            )

    async def _answer(self, scope: Scope, receive: Receive, send: Send, status: Callable[[], int]) -> None:
        headers = {key.lower(): value for key, value in scope["headers"]}
        if self.digest is None:
            if (refused := stranger(scope["method"], headers, self.hosts)) is not None:
                await refuse(send, *refused)
                return
        elif scope["path"] not in OPEN and not self._knows(headers.get(b"authorization", b"")):
            ask = [(b"www-authenticate", b'Basic realm="sureflow"')]
            await refuse(send, 401, "this service needs its token, as in 'Authorization: Bearer ...'", ask)
            return
        try:
            await self._in_time(scope, headers, receive, send)
        except TooLarge:
            await refuse(send, 413, f"a request may have {self.limits.body_bytes} bytes")
        except TooSlow:
            await refuse(send, 408, "the body of the request did not arrive in time")
        except TimeoutError:
            if not status():
                await refuse(send, 504, f"the answer took longer than {self.limits.seconds:g} seconds: ask for less")
        except Gone:
            pass

    async def _in_time(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive, send: Send) -> None:
        """What the application answers, as long as somebody waits for it."""
        leaving: asyncio.Task[None] | None = None
        try:
            async with asyncio.timeout(self.limits.seconds) as deadline:
                body = await self._body(headers, receive)
                leaving = asyncio.create_task(_end_when_gone(receive, deadline))
                await self.app(scope, _given(body, receive), send)
        except TimeoutError:
            if leaving is not None and leaving.done():
                raise Gone from None
            raise
        finally:
            if leaving is not None:
                leaving.cancel()

    def _knows(self, given: bytes) -> bool:
        kind, _, rest = given.partition(b" ")
        if kind.lower() == b"basic":
            try:
                rest = b64decode(rest, validate=True).partition(b":")[2]
            except NotBase64:
                return False
        elif kind.lower() != b"bearer":
            return False
        assert self.digest is not None
        # Digests have one length, so that the comparison takes the same time whatever is given.
        return hmac.compare_digest(hashlib.sha256(rest.strip()).digest(), self.digest)

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes:
        length = headers.get(b"content-length", b"")
        if length.isdigit() and int(length) > self.limits.body_bytes:
            raise TooLarge
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(min(10.0, self.limits.seconds)):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return b"".join(parts)
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > self.limits.body_bytes:
                        raise TooLarge
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            raise TooSlow from None


def _given(body: bytes, receive: Receive) -> Receive:
    """The whole body in one message; after it, what the connection says."""
    given = False

    async def one() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return one


async def _end_when_gone(receive: Receive, deadline: asyncio.Timeout) -> None:
    """Lets the time end when the client has closed the connection: what it asked for would be computed for nobody."""
    while (await receive())["type"] != "http.disconnect":
        pass
    if not deadline.expired():
        deadline.reschedule(0.0)


async def refuse(send: Send, status: int, sentence: str, headers: list[tuple[bytes, bytes]] | None = None) -> None:
    body = json.dumps({"error": sentence}).encode()
    kind = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*kind, *(headers or [])]})
    await send({"type": "http.response.body", "body": body})
