"""Processes on this machine, for work that needs the processor. A worker that dies takes only its own sample along."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import connection, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from agenticiqa.batch.engines.base import overtime
from agenticiqa.batch.engines.courier import Courier
from agenticiqa.batch.engines.worker import READY, Results, receive, serve
from agenticiqa.batch.work import Job, Outcome, Task, failure
from agenticiqa.errors import WorkerDiedError

# The next task is there before the last one ends: a worker never waits for the runner. Quick tasks are handed out
# further ahead; with slow ones that would leave some workers idle at the end.
FEWEST_AHEAD, MOST_AHEAD = 2, 128
AHEAD_S = 0.1
# Rows of a size that fills memory when many are on their way, in the runner and in every worker, are not.
AHEAD_BYTES = 2 * 1024 * 1024
# While quick tasks wait at the workers the runner rests, then takes all results at once: waking it for each would cost
# as much as a small sample. It is back long before any worker has nothing left to do.
REST_SHARE = 0.25
TRIES = 2
FRUITLESS_STARTS = 3
# What is finished reaches the runner within milliseconds, unless the next task keeps the whole worker busy.
UNSENT_GRACE_S = 1.0


@dataclass(eq=False)
class _Worker:
    process: BaseProcess
    pipe: Connection
    courier: Courier
    scratch: str
    finished: ctypes.c_uint64
    """Shared: how many tasks the worker has done since it was started."""
    tasks: deque[Task] = field(default_factory=deque)
    """In the order in which they are worked on: first those whose results are on their way, then the one being done."""
    received: int = 0
    """How many results of it have arrived."""
    ready: bool = False
    since: float = 0.0

    @property
    def unsent(self) -> int:
        """How many of the first tasks are done, though their results have not arrived."""
        return self.finished.value - self.received

    def take_running(self) -> Task | None:
        """What it was working on, the only task that it can be blamed for; the last one if all were done."""
        if not self.ready or not self.tasks:
            return None
        at = min(self.unsent, len(self.tasks) - 1)
        task = self.tasks[at]
        del self.tasks[at]
        return task

    def is_overdue(self, limit_s: float) -> bool:
        if self.unsent:
            limit_s += UNSENT_GRACE_S
        return self.ready and bool(self.tasks) and time.monotonic() - self.since > limit_s


class ProcessEngine:
    """A fixed number of worker processes, each with models of its own, replaced when they die or overrun."""

    target: Callable[[Connection, Job, int, str, ctypes.c_uint64], None] = staticmethod(serve)
    """What a worker process runs."""

    def __init__(self, job: Job, workers: int, threads_each: int | None = None) -> None:
        self._job = job
        self._usual_s = AHEAD_S
        self._usual_bytes = 0.0
        self._threads = threads_each or max(1, usable_cores() // workers)
        self._waiting: deque[Task] = deque()
        self._tries: dict[int, int] = {}
        self._fruitless = 0
        # A fresh interpreter: a copied one would inherit locks, threads and the output's lock file.
        self._context = multiprocessing.get_context("spawn")
        self._workers = [self._started() for _ in range(workers)]

    def _started(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        # A folder of its own: what a killed worker leaves behind can be removed.
        scratch = tempfile.mkdtemp(prefix="agenticiqa-worker-")
        finished = self._context.RawValue(ctypes.c_uint64, 0)
        arguments = (theirs, self._job, self._threads, scratch, finished)
        process = self._context.Process(target=self.target, args=arguments, daemon=True)
        with _thread_limits(self._threads), _interrupts_held_back():
            process.start()
        theirs.close()
        return _Worker(process, ours, Courier(ours), scratch, finished)

    # --- tasks ---

    def submit(self, task: Task) -> None:
        # Handed out with others in `finished`: one message for several.
        self._waiting.append(task)
        self._usual_bytes += 0.1 * (task.row.size - self._usual_bytes)

    @property
    def slots(self) -> int:
        return len(self._workers) * self._at_once

    @property
    def _at_once(self) -> int:
        in_time, in_room = AHEAD_S / max(self._usual_s, 1e-6), AHEAD_BYTES / max(self._usual_bytes, 1.0)
        return max(FEWEST_AHEAD, int(min(MOST_AHEAD, in_time, in_room)))

    def _hand_out(self) -> None:
        """Level by level, so that one worker does not hold two tasks while another has none."""
        parcels: dict[int, list[Task]] = {}
        for level in range(self._at_once):
            for number, worker in enumerate(self._workers):
                if self._waiting and len(worker.tasks) == level:
                    if not worker.tasks:
                        worker.since = time.monotonic()
                    worker.tasks.append(self._waiting.popleft())
                    parcels.setdefault(number, []).append(worker.tasks[-1])
        for number, parcel in parcels.items():
            # One that has just died is found out by `finished`, which gives its tasks to another.
            self._workers[number].courier.send(parcel)

    def finished(self, timeout_s: float) -> list[Outcome]:
        done: list[Outcome] = []
        self._hand_out()
        if self._at_once > FEWEST_AHEAD:
            time.sleep(min(REST_SHARE * AHEAD_S, REST_SHARE * self._usual_s * self._at_once, timeout_s))
        for pipe in connection.wait([worker.pipe for worker in self._workers], timeout_s):
            worker = next(each for each in self._workers if each.pipe is pipe)
            try:
                self._received(worker, receive(worker.pipe), done)
                while worker.pipe.poll():
                    self._received(worker, receive(worker.pipe), done)
            except (EOFError, OSError):
                done += self._replace_dead(worker)
        done += self._replace_overdue()
        return done

    def _received(self, worker: _Worker, message: object, done: list[Outcome]) -> None:
        worker.since = time.monotonic()
        if message == READY:
            worker.ready = True
            return
        if not isinstance(message, Results):
            raise TypeError(f"a worker sent {type(message).__name__}")
        self._fruitless = 0
        worker.received += len(message.outcomes)
        each_s = message.seconds / len(message.outcomes)
        for outcome in message.outcomes:
            self._usual_s += 0.1 * (each_s - self._usual_s)
            worker.tasks.popleft()
            self._tries.pop(outcome.position, None)
        done += message.outcomes

    # --- workers that end early ---

    def _replace_dead(self, worker: _Worker) -> list[Outcome]:
        worker.process.join()
        code = worker.process.exitcode or 0
        self._fruitless += 1
        if not worker.ready and self._fruitless >= FRUITLESS_STARTS:
            raise WorkerDiedError("No worker process can be started.", hint="Its own messages stand above.")
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        blamed = worker.take_running()
        self._replace(worker)
        if blamed is None:
            return []
        tries = self._tries.get(blamed.position, 0) + 1
        self._tries[blamed.position] = tries
        if tries < TRIES:
            self._waiting.appendleft(blamed)
            return []
        del self._tries[blamed.position]
        error = WorkerDiedError(f"The worker process died {tries} times on this sample (last: {how}).")
        return [failure(self._job, blamed, error)]

    def _replace_overdue(self) -> list[Outcome]:
        done = []
        for worker in [each for each in self._workers if each.is_overdue(self._job.timeout_s)]:
            if blamed := worker.take_running():
                done.append(overtime(self._job, blamed))
            self._replace(worker)
        return done

    def _replace(self, worker: _Worker) -> None:
        self._waiting.extendleft(reversed(worker.tasks))
        worker.process.kill()
        worker.process.join()
        worker.courier.close_pipe()
        worker.courier.wait()
        shutil.rmtree(worker.scratch, ignore_errors=True)
        self._workers[self._workers.index(worker)] = self._started()

    def close(self) -> None:
        for worker in self._workers:
            # A closed pipe is how an idle worker learns that there is nothing left to do.
            worker.courier.close_pipe()
        end = time.monotonic() + 2.0
        for worker in self._workers:
            if not worker.tasks:
                worker.process.join(max(0.0, end - time.monotonic()))
            if worker.process.is_alive():
                worker.process.kill()
            worker.process.join()
            worker.courier.wait()
            shutil.rmtree(worker.scratch, ignore_errors=True)


def usable_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _thread_limits(threads: int) -> Iterator[None]:
    """Numeric libraries read these when they are loaded: workers together must not start more threads than cores."""
    names = [name for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS") if name not in os.environ]
    os.environ.update(dict.fromkeys(names, str(threads)))
    try:
        yield
    finally:
        for name in names:
            del os.environ[name]


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """A process started inside hears no Ctrl-C, not even before it can say so itself; here it is heard afterwards."""
    if sys.platform == "win32":
        yield
        return
    # Started with the first process otherwise, and lets interrupts through again.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
