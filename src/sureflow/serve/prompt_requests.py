"""HTTP for clients that finish what they begin: uvicorn alone waits forever for the rest of a header."""

import asyncio
import json

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


class PromptRequests(H11Protocol):
    """Closes a connection on which a header, or a body that is answered already, is not complete in time.

    Time counts from its first byte, or from the connection: a client that sends a byte now and then gains none. While a body
    is still awaited, the application limits its time.
    """

    seconds = 10.0
    deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.conn.their_state is not h11.IDLE:  # which is kept alive
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_watching()

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP, answered as every other mistake is: in JSON."""
        words = "this is no valid HTTP/1.1: check the first line, Content-Length and the size of the headers"
        kind = [("content-type", "application/json"), ("connection", "close")]
        body = h11.Data(data=json.dumps({"error": words}).encode())
        for event in (h11.Response(status_code=400, headers=kind), body, h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _watch(self) -> None:
        answered = self.cycle is not None and self.cycle.response_complete
        state = self.conn.their_state
        if not (state is h11.IDLE or (state is h11.SEND_BODY and answered)):
            self._stop_watching()
        elif self.deadline is None:
            self.deadline = self.loop.call_later(self.seconds, self._close)

    def _stop_watching(self) -> None:
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None

    def _close(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()
