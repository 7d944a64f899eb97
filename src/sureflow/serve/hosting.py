"""Runs the service on this machine: loads the models, takes the port, and stops gracefully."""

import contextlib
import errno
import gc
import logging
import re
import socket
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import uvicorn

from sureflow.errors import SureflowError
from sureflow.serve.guard import LOG
from sureflow.serve.origins import LOOPBACK
from sureflow.serve.prompt_requests import PromptRequests
from sureflow.serve.served_model import Limits
from sureflow.serve.service import create_app
from sureflow.surrogate.artifact import load
from sureflow.surrogate.model import Surrogate

SHORTEST_TOKEN = 16
UNFIT = re.compile(r"[^ -~]|^ | \Z")  # what the header of a request cannot hold, or loses
# Seconds after which a thread that computes lets the others run: by default 5 ms, which the thread that answers would wait for
# several times a request.
SHORT = 2e-4


def load_models(folders: Sequence[Path]) -> dict[str, Surrogate]:
    """Models by the names of their folders."""
    models: dict[str, Surrogate] = {}
    for folder in folders:
        name = folder.resolve().name
        if name in models:
            raise SureflowError(f"two models have the name {name!r}: rename the folder of one of them")
        models[name] = load(folder)
    return models


def require_token(token: str | None, host: str) -> None:
    """Refuse a token that can be guessed, and other machines without one."""
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise SureflowError(f"the token has {len(token)} characters: give at least {SHORTEST_TOKEN}, drawn at random")
    unfit = None if token is None else UNFIT.search(token)
    if unfit is not None:
        raise SureflowError(
            f"the token has the character {unfit[0]!r} where no header can hold it: draw the token from the letters, digits and "
            "signs of ASCII, without a space or line break at its ends"
        )
    if token is None and host not in LOOPBACK:
        raise SureflowError(
            f"host={host} lets other machines ask this service: give it a token with SUREFLOW_TOKEN or --token, or bind it to "
            "127.0.0.1"
        )


def listening(host: str, port: int) -> socket.socket:
    """A socket on the port, or a sentence about who has it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named by its protocol, or asyncio does not know that packets may go at once: every answer would wait for 40 ms.
    taken = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((host, port))
    except (OSError, UnicodeError) as error:
        taken.close()
        raise SureflowError(_unusable(host, port, error)) from None
    return taken


def _unusable(host: str, port: int, error: OSError | UnicodeError) -> str:
    if isinstance(error, UnicodeError):
        return f"host={host!r} is no name of a machine: choose another host, such as 127.0.0.1"
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return f"host={host!r} cannot be used ({error.strerror}): choose another host, such as 127.0.0.1"
    return f"port {port} of {host} cannot be used ({error.strerror}): choose another port"


@contextlib.contextmanager
def written_log() -> Iterator[None]:
    """One line of JSON for every request, on standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    before = LOG.handlers, LOG.propagate, LOG.level
    LOG.handlers, LOG.propagate = [handler], False
    LOG.setLevel(logging.INFO)
    try:
        yield
    finally:
        LOG.handlers, LOG.propagate = before[:2]
        LOG.setLevel(before[2])


@contextlib.contextmanager
def quick_answers() -> Iterator[None]:
    """Settings of the process with which the thread that answers does not wait for those that compute."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SHORT)
    gc.collect()
    gc.freeze()  # what is loaded stays: to search it for garbage again and again would hold requests up
    try:
        yield
    finally:
        gc.unfreeze()
        sys.setswitchinterval(before)


def host_models(models: dict[str, Surrogate], bound: socket.socket, *, token: str | None, limits: Limits) -> None:
    """Answer requests until the process is told to stop; those in flight are answered first."""
    app = create_app(models, token=token, limits=limits, hosts=[bound.getsockname()[0]])
    config = uvicorn.Config(
        app,
        http=PromptRequests,
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        h11_max_incomplete_event_size=32_768,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=int(limits.seconds),
        limit_concurrency=2000,
        backlog=2048,
    )
    try:
        with written_log(), quick_answers():
            uvicorn.Server(config).run(sockets=[bound])
    except KeyboardInterrupt as stop:
        stop.add_note("requests in flight were answered")
        raise
