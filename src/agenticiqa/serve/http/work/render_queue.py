"""Draws pictures, maps and reports, one at a time, so that looking at runs does not slow them down."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import TypeVar

from agenticiqa.errors import told_to_clients
from agenticiqa.serve.http.problems import ServiceError
from agenticiqa.serve.http.work.lanes import MemoryShares

MOST_WAITING = 32
Drawn = TypeVar("Drawn")


class RenderQueue:
    """One thread with a bounded queue."""

    def __init__(self, most_waiting: int = MOST_WAITING, memory: MemoryShares | None = None) -> None:
        self._memory = memory
        self._most_waiting = most_waiting
        self._waiting = 0
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="render_queue")

    async def draw(self, work: Callable[[], Drawn], need: Callable[[], int] = lambda: 0) -> Drawn:
        """``need`` says what the work takes of memory; asked in the thread, because it may look at files."""
        if self._waiting >= self._most_waiting:
            raise ServiceError(
                429, "queue_full", "Too many pictures are being drawn. Try again.", headers={"Retry-After": "2"}
            )
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, self._drawn, work, need)
        finally:
            self._waiting -= 1

    def _drawn(self, work: Callable[[], Drawn], need: Callable[[], int]) -> Drawn:
        with told_to_clients(), self._memory.admitted(need()) if self._memory else nullcontext():
            return work()

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
