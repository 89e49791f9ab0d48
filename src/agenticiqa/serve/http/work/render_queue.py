"""Draws pictures, maps and reports, one at a time, so that looking at runs does not slow them down."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from agenticiqa.serve.http.problems import ServiceError

MOST_WAITING = 32
Drawn = TypeVar("Drawn")


class RenderQueue:
    """One thread with a bounded queue."""

    def __init__(self, most_waiting: int = MOST_WAITING) -> None:
        self._most_waiting = most_waiting
        self._waiting = 0
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="render_queue")

    async def draw(self, work: Callable[[], Drawn]) -> Drawn:
        if self._waiting >= self._most_waiting:
            raise ServiceError(
                429, "queue_full", "Too many pictures are being drawn. Try again.", headers={"Retry-After": "2"}
            )
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
