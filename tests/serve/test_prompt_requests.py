"""A running service on a port, with clients that do not finish what they begin."""

import socket
import threading
import time

import pytest
import uvicorn

from explore.trained import trained
from sureflow.serve.hosting import listening
from sureflow.serve.prompt_requests import PromptRequests
from sureflow.serve.service import create_app

SECONDS = 0.5
WHOLE = b"GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Hasty(PromptRequests):
    seconds = SECONDS


@pytest.fixture(scope="module")
def address():
    bound = listening("127.0.0.1", 0)
    bound.listen()
    config = uvicorn.Config(create_app({"shock": trained("interpolation")}), log_level="error", http=Hasty)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    yield bound.getsockname()
    server.should_exit = True
    thread.join()


def until_closed(connection, drip=b""):
    """Seconds until the service closes the connection, and what it said before."""
    began, said = time.monotonic(), b""
    connection.settimeout(0.1)
    while time.monotonic() < began + 20 * SECONDS:
        try:
            part = connection.recv(1 << 16)
        except TimeoutError:
            if drip:
                connection.sendall(drip)
            continue
        except ConnectionError:
            part = b""
        if not part:
            return time.monotonic() - began, said
        said += part
    raise AssertionError("the connection stays open")


@pytest.mark.parametrize(("begun", "drip"), [(b"", b""), (WHOLE[:-2], b""), (WHOLE[:-2], b"X: y\r\n")])
def test_a_header_that_never_ends(address, begun, drip):
    with socket.create_connection(address) as connection:
        connection.sendall(begun)
        seconds, said = until_closed(connection, drip)
    assert SECONDS / 2 < seconds < 10 * SECONDS
    assert not said


def test_a_second_header_that_never_ends(address):
    with socket.create_connection(address) as connection:
        connection.sendall(WHOLE + WHOLE[:20])
        connection.settimeout(10)
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200")
        until_closed(connection, b"x")


def test_a_body_that_goes_on_after_its_answer(address):
    with socket.create_connection(address) as connection:
        connection.sendall(b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999999\r\n\r\n")
        seconds, said = until_closed(connection, b"x" * 100)
    assert said.startswith(b"HTTP/1.1 413")
    assert seconds < 10 * SECONDS


def test_a_connection_that_is_kept_alive(address):
    with socket.create_connection(address) as connection:
        connection.settimeout(10)
        for _ in range(2):
            connection.sendall(WHOLE[:10])
            connection.sendall(WHOLE[10:])
            said = b""
            while not said.endswith(b"}"):
                said += connection.recv(1 << 16)
            assert said.startswith(b"HTTP/1.1 200")
            time.sleep(1.5 * SECONDS)


@pytest.mark.parametrize("wrong", [b"Content-Length: x\r\n\r\n", b"nonsense\r\n\r\n"])
def test_what_is_no_http_is_answered_in_json(address, wrong):
    with socket.create_connection(address) as connection:
        connection.sendall(WHOLE[:-2] + wrong)
        said = until_closed(connection)[1]
    head, _, body = said.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400")
    assert b"content-type: application/json" in head.lower()
    assert b'{"error": "this is no valid HTTP/1.1: ' in body
