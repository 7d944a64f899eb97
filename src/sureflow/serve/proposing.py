"""Proposals of the next runs: they take seconds, so that one is computed at a time, beside all else, and told again."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sureflow.acquire.proposals import propose
from sureflow.surrogate.model import Surrogate


class Proposing:
    """What a model proposes, by the number of conditions; the same each time, since candidates are drawn by a fixed seed."""

    def __init__(self, surrogate: Surrogate):
        self.surrogate = surrogate
        self.thread = ThreadPoolExecutor(1)
        self.one_at_a_time = asyncio.Lock()
        self.told: dict[int, dict[str, Any]] = {}

    async def first(self, count: int) -> dict[str, Any]:
        """The criterion and the first conditions."""
        # What waits here, or has not begun in the thread, ends with the request that asked for it.
        async with self.one_at_a_time:
            return await asyncio.get_running_loop().run_in_executor(self.thread, self._told, count)

    def close(self) -> None:
        self.thread.shutdown(wait=False, cancel_futures=True)

    def _told(self, count: int) -> dict[str, Any]:
        if count not in self.told:
            found = propose(self.surrogate, count=count)
            self.told[count] = {"criterion": found.attrs["criterion"], "conditions": found.to_dict("records")}
        return self.told[count]
