"""What runs samples side by side: the interface of engines, and the one of threads."""

import queue
import threading
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from agenticiqa.batch.rate_limits import SampleClock, current_clock
from agenticiqa.batch.work import BatchJob, SampleOutcome, SampleWorker, Task, failure
from agenticiqa.errors import SampleTimeoutError
from agenticiqa.runtime.runs import INTERRUPTED
from agenticiqa.runtime.stopping import Cancelled, stoppable


class Engine(Protocol):
    """Whatever runs samples side by side. Every submitted task comes back exactly once."""

    @property
    def slots(self) -> int:
        """How many tasks it can hold without making one wait for long."""

    def submit(self, task: Task) -> None: ...

    def finished(self, timeout_s: float) -> list[SampleOutcome]:
        """What has ended; waits up to ``timeout_s`` for the first."""

    def close(self) -> None:
        """Give everything back; what is still being worked on is dropped."""


def overtime(job: BatchJob, task: Task) -> SampleOutcome:
    return failure(job, task, SampleTimeoutError(f"The sample took longer than {job.timeout_s:g} s."))


@dataclass
class _Running:
    task: Task
    clock: SampleClock
    abandoned: bool = False


class ThreadEngine:
    """Threads around one set of clients: for models that answer from elsewhere, where a worker mostly waits."""

    def __init__(self, job: BatchJob, workers: int) -> None:
        self.slots = workers
        self._job = job
        self._worker = SampleWorker(job, limited=True)
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._outcomes: queue.SimpleQueue[SampleOutcome] = queue.SimpleQueue()
        self._running: dict[int, _Running] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        for _ in range(workers):
            self._start_thread()

    def _start_thread(self) -> None:
        # Daemons: a call that never ends must not keep the program from ending.
        # In the context of the batch's caller: cancelling that stops its samples between two tiles.
        threading.Thread(target=copy_context().run, args=(self._work,), daemon=True, name="batch").start()

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            running = _Running(task, SampleClock())
            current_clock.set(running.clock)
            with self._lock:
                self._running[task.position] = running
            try:
                with stoppable(partial(self._check_wanted, running)):
                    outcome = self._worker.work(task)
            except Cancelled:
                # It took too long, or the whole batch was stopped: the sample is abandoned.
                return
            with self._lock:
                if running.abandoned:
                    return
                del self._running[task.position]
            self._outcomes.put(outcome)

    def _check_wanted(self, running: _Running) -> None:
        """Cancel an abandoned sample: its call to a model would keep the program from ending."""
        if self._closed.is_set() or running.abandoned:
            raise Cancelled(INTERRUPTED)

    def submit(self, task: Task) -> None:
        self._tasks.put(task)

    def finished(self, timeout_s: float) -> list[SampleOutcome]:
        done = self._abandon_overdue()
        try:
            done.append(self._outcomes.get(timeout=0 if done else timeout_s))
            while True:
                done.append(self._outcomes.get_nowait())
        except queue.Empty:
            return done

    def _abandon_overdue(self) -> list[SampleOutcome]:
        """A thread that does not look up cannot be stopped: its sample is given up, another thread takes its place."""
        with self._lock:
            overdue = [each for each in self._running.values() if each.clock.seconds() > self._job.timeout_s]
            for running in overdue:
                running.abandoned = True
                del self._running[running.task.position]
        for _ in overdue:
            self._start_thread()
        return [overtime(self._job, running.task) for running in overdue]

    def close(self) -> None:
        self._closed.set()
        for _ in range(self.slots):
            self._tasks.put(None)
        with self._lock:
            busy = bool(self._running)
        if not busy:
            self._worker.close()
