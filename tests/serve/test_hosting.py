import asyncio
import gc
import socket
import sys

import uvicorn

from explore.trained import trained
from sureflow.serve.guard import LOG
from sureflow.serve.hosting import host_models, listening, quick_answers, written_log
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
