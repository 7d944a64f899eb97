import asyncio
import gc
import socket
import sys

import pytest
import uvicorn

from explore.trained import trained
from sureflow.errors import SureflowError
from sureflow.serve.guard import LOG
from sureflow.serve.hosting import host_models, listening, quick_answers, require_token, written_log
from sureflow.serve.prompt_requests import PromptRequests
from sureflow.serve.served_model import Limits


def test_the_settings_of_the_process_are_restored():
    def settings():
        return sys.getswitchinterval(), gc.get_freeze_count(), list(LOG.handlers), LOG.propagate, LOG.level

    before = settings()
    with written_log(), quick_answers():
        assert all(one != other for one, other in zip(settings(), before, strict=True))
    assert settings() == before


def test_the_service_waits_for_no_unfinished_request(monkeypatch):
    configs = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda server, sockets: configs.append(server.config))
    with listening("127.0.0.1", 0) as bound:
        host_models({"shock": trained("interpolation")}, bound, token=None, limits=Limits())
    assert [config.http for config in configs] == [PromptRequests]


def test_answers_are_sent_at_once():
    """Without this option the kernel holds small packets back until the client has said that it got the last one."""

    async def option() -> int:
        answered = asyncio.get_running_loop().create_future()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            answered.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        bound = listening("127.0.0.1", 0)
        async with await asyncio.start_server(connected, sock=bound):
            _, writer = await asyncio.open_connection(*bound.getsockname())
            found = await answered
            writer.close()
        return found

    assert asyncio.run(option())


@pytest.mark.parametrize("wrong", ["\n", "\r", "\0", "\x7f", "é", "€"])
def test_tokens_that_no_header_can_hold(wrong):
    for token in (f"a token of some{wrong}length", f"a token of some length{wrong}"):
        with pytest.raises(SureflowError, match=r"the token has the character .* where no header can hold it"):
            require_token(token, "127.0.0.1")


def test_spaces_in_tokens():
    require_token("a token of some length", "0.0.0.0")
    for token in (" a token of some length", "a token of some length "):
        with pytest.raises(SureflowError, match="without a space or line break at its ends"):
            require_token(token, "127.0.0.1")


@pytest.mark.parametrize("host", ["nonsense.invalid", "192.0.2.1", "a..b"])
def test_hosts_that_are_not_this_machine(host):
    with pytest.raises(SureflowError, match=f"host='{host}' .*choose another host, such as 127.0.0.1"):
        listening(host, 0)


def test_a_port_that_is_taken():
    with listening("127.0.0.1", 0) as taken:
        taken.listen()
        with pytest.raises(SureflowError, match=r"in use.*choose another port"):
            listening(*taken.getsockname())
