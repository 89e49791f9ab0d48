"""Where accepted work waits: small runs beside large ones, and everybody's in turn.

What a run needs of memory is known before it starts. Small runs have memory of their own and start whenever a worker
is free. Large ones share the rest: they have workers of their own, at a lower priority of the processor, and wait for
each other. So nobody's large pictures keep other people's small ones waiting.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from agenticiqa.errors import client_messages
from agenticiqa.runtime.memory import MemoryBudget, given
from agenticiqa.serve.http.problems import ServiceError

if TYPE_CHECKING:
    from agenticiqa.serve.http.work.jobs import ServiceJob

SMALL_SHARE = 1 / 3
"""Of the memory for work: what small runs have for themselves."""
LOWER_PRIORITY = 10
"""What large runs add to their nice value: under full load they get a twentieth of the processor."""
MOST_WAITING = 32
Drawn = TypeVar("Drawn")


class Lane:
    """Jobs that wait, taken in turn from everybody who has some."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[ServiceJob]] = {}
        self._changed = threading.Condition()
        self._closed = False

    def put(self, job: ServiceJob) -> None:
        with self._changed:
            self._waiting.setdefault(job.owner, deque()).append(job)
            self._changed.notify()

    def take(self) -> ServiceJob | None:
        """The next job, waited for; None when the lane is closed."""
        with self._changed:
            while not self._waiting and not self._closed:
                self._changed.wait()
            if not self._waiting:
                return None
            owner, jobs = next(iter(self._waiting.items()))
            job = jobs.popleft()
            # Behind everybody else who waits.
            del self._waiting[owner]
            if jobs:
                self._waiting[owner] = jobs
            return job

    def remove(self, job: ServiceJob) -> bool:
        """Take out a job that nobody wants any more; False where a worker has it already."""
        with self._changed:
            jobs = self._waiting.get(job.owner, deque())
            if job not in jobs:
                return False
            jobs.remove(job)
            if not jobs:
                del self._waiting[job.owner]
            return True

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()


@dataclass(frozen=True)
class MemoryShares:
    """What small runs may take each, and what all large ones share."""

    budget: MemoryBudget
    small_run: int
    set_aside: int

    @classmethod
    def of(cls, budget: MemoryBudget, workers: int) -> MemoryShares:
        """Small runs' part is taken off the budget once :meth:`reserved` is entered."""
        part = int(budget.largest * SMALL_SHARE)
        # One more than workers: pictures and maps of runs are drawn meanwhile.
        return cls(budget, part // (workers + 1), part)

    @contextmanager
    def reserved(self) -> Iterator[None]:
        with self.budget.without(self.set_aside):
            yield

    def is_large(self, need: int) -> bool:
        return need > self.small_run

    @contextmanager
    def admitted(self, need: int) -> Iterator[None]:
        """Memory for a job inside its worker's thread."""
        if not self.is_large(need):
            with given(self.small_run):
                yield
            return
        with self.budget.hold(need, "This run") as memory, given(memory):
            yield


def lower_priority() -> None:
    """Let the calling thread, and threads it starts, go behind others; where the system has no such thing, nothing."""
    with suppress(AttributeError, OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWER_PRIORITY)


class RenderQueue:
    """One thread that draws pictures, with a bounded queue."""

    def __init__(self, most_waiting: int = MOST_WAITING, memory: MemoryShares | None = None) -> None:
        self._memory = memory
        self._most_waiting = most_waiting
        self._waiting = 0
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="render_queue")

    async def draw(self, work: Callable[[], Drawn], need: Callable[[], int] = lambda: 0) -> Drawn:
        """``need`` says what the work takes of memory; asked in the thread, because it may look at files."""
        if self._waiting >= self._most_waiting:
            raise ServiceError(429, "queue_full", "Too many pictures are being drawn. Try again.", retry_s=2)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, self._drawn, work, need)
        finally:
            self._waiting -= 1

    def _drawn(self, work: Callable[[], Drawn], need: Callable[[], int]) -> Drawn:
        with client_messages(), self._memory.admitted(need()) if self._memory else nullcontext():
            return work()

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
