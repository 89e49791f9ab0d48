"""Processes on this machine, for work that needs the processor. A worker that dies costs only its own sample.

A worker has a pipe of its own and one task at a time (or a few that are done together). So the runner always knows
which sample a dead or slow worker was busy with, and never writes to a pipe that is not read.
docs/many-pictures/batch.md says what this costs, and what other pools lack.
"""

import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice, takewhile
from multiprocessing import connection, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType
from typing import Protocol

from agenticiqa.batch.engines.base import overtime
from agenticiqa.batch.work import BatchJob, SampleOutcome, SampleWorker, Task, failure
from agenticiqa.errors import ConfigError, WorkerDiedError
from agenticiqa.runtime.files import ScratchFolder

FAILED_STARTS = 3
LAST_WAIT_S = 2.0
KEPT_MEMORY = {"MALLOC_TRIM_THRESHOLD_": str(64 << 20), "MALLOC_MMAP_THRESHOLD_": str(8 << 20)}
"""Tells glibc what to keep for the next picture: asked for again page by page, it takes longer than the work.

Larger blocks go back at once: of those that a network leaves, the free ones between others would be kept without bound.
"""

# --- Inside a worker process ---

READY = "ready"
ABANDONED = 70
"""The exit code of a worker whose runner is gone."""


class Worker(Protocol):
    """Does the tasks it is given; a :class:`WorkerDiedError` that it raises ends the run."""

    def work_all(self, tasks: Sequence[Task]) -> list[SampleOutcome]: ...

    def close(self) -> None: ...


def serve(pipe: Connection, job: BatchJob, threads: int, scratch: str) -> None:
    """Do tasks until the other end closes: the runner is done, or gone."""
    serve_with(lambda: SampleWorker(job.with_tool_threads(threads)), pipe, threads, scratch)


def serve_with(make: Callable[[], Worker], pipe: Connection, threads: int, scratch: str) -> None:
    """The same with any worker."""
    import cv2

    # Standard output is the runner's: whatever a tool or library prints here goes where messages go.
    with suppress(OSError):
        os.dup2(2, 1)
    # Ctrl-C reaches every process of a terminal; the runner decides what happens then.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_runner, args=(scratch,), daemon=True, name="watch").start()
    cv2.setNumThreads(threads)
    tempfile.tempdir = scratch
    worker = make()
    with suppress(EOFError, OSError):
        pipe.send(READY)
        while True:
            tasks = pipe.recv()
            try:
                pipe.send(worker.work_all(tasks))
            except WorkerDiedError as error:
                pipe.send((error.message, error.hint))
    worker.close()
    # The runner does this too, unless it was killed.
    shutil.rmtree(scratch, ignore_errors=True)


def _end_with_the_runner(scratch: str) -> None:
    """End this process when the runner dies, so that a sample that never ends does not outlive it."""
    runner = multiprocessing.parent_process()
    if runner is None:
        raise RuntimeError("a worker is started by a runner")
    connection.wait([runner.sentinel])
    shutil.rmtree(scratch, ignore_errors=True)
    os._exit(ABANDONED)


# --- The processes, seen from the runner ---


@dataclass(eq=False)
class WorkerProcess:
    process: BaseProcess
    pipe: Connection
    scratch: ScratchFolder
    ready: bool = False
    tasks: list[Task] = field(default_factory=list)
    since: float = 0.0
    """When it was given the tasks."""


class ProcessEngine:
    """A fixed number of worker processes, each with models of its own, replaced when they die or overrun."""

    target: Callable[[Connection, BatchJob, int, str], None] = staticmethod(serve)
    """What a worker process runs."""
    at_once = 1
    """How many tasks a worker is given together."""

    def __init__(self, job: BatchJob, workers: int, threads: int | None = None) -> None:
        # As many waiting here as are being worked on: the next one is handed out before results are written down.
        self.slots = 2 * workers * self.at_once
        self._job = job.with_memory_of_one(workers)
        self._threads = threads or max(1, usable_cores() // workers)
        self._waiting: deque[Task] = deque()
        self._died_once: set[int] = set()
        """Positions of samples with which a worker died: they are tried again alone, and the second time they fail."""
        self._failed_starts = 0
        if sys.version_info < (3, 11):
            refuse_foreign_modules(Path.cwd())
        # A fresh interpreter: a copied one would inherit locks, threads and the output's lock file.
        self._context = multiprocessing.get_context("spawn")
        self._workers = [self._started() for _ in range(workers)]

    def _started(self) -> WorkerProcess:
        parent_end, child_end = self._context.Pipe()
        # A folder of its own: what a killed worker leaves behind can be removed.
        scratch = ScratchFolder("worker")
        arguments = (child_end, self._job, self._threads, str(scratch.path))
        process = self._context.Process(target=self.target, args=arguments, daemon=True)
        with _process_environment(self._threads):
            process.start()
        child_end.close()
        return WorkerProcess(process, parent_end, scratch)

    # --- tasks ---

    def submit(self, task: Task) -> None:
        self._waiting.append(task)

    def finished(self, timeout_s: float) -> list[SampleOutcome]:
        self._hand_out()
        done: list[SampleOutcome] = []
        readable = connection.wait([worker.pipe for worker in self._workers], timeout_s)
        for worker in [each for each in self._workers if each.pipe in readable]:
            try:
                done += self._received(worker, worker.pipe.recv())
            except (EOFError, OSError):
                done += self._replace_dead(worker)
        for worker in self._workers[:]:
            if worker.tasks and time.monotonic() - worker.since > self._job.timeout_s:
                self._replace(worker)
                if len(worker.tasks) == 1:
                    done.append(overtime(self._job, worker.tasks[0]))
                else:
                    self._try_alone(worker.tasks)
        self._hand_out()
        return done

    def _hand_out(self) -> None:
        for worker in self._workers:
            if worker.ready and not worker.tasks and self._waiting:
                tasks = self._next_tasks()
                try:
                    # The worker waits for this, so it is read at once, however large it is.
                    worker.pipe.send(tasks)
                except OSError:
                    # It has died since; `finished` finds its pipe closed and replaces it.
                    continue
                worker.tasks, worker.since = tasks, time.monotonic()
                for _ in tasks:
                    self._waiting.popleft()

    def _next_tasks(self) -> list[Task]:
        """What a worker does next: one that a worker died with, or as many others as fall to each worker."""
        if self._waiting[0].position in self._died_once:
            return [self._waiting[0]]
        share = min(self.at_once, -(-len(self._waiting) // len(self._workers)))
        return list(takewhile(lambda task: task.position not in self._died_once, islice(self._waiting, share)))

    def _try_alone(self, tasks: Sequence[Task]) -> None:
        self._died_once.update(task.position for task in tasks)
        self._waiting.extendleft(reversed(tasks))

    def _received(self, worker: WorkerProcess, message: object) -> list[SampleOutcome]:
        if message == READY:
            worker.ready = True
            return []
        if isinstance(message, tuple):
            why, hint = message
            raise WorkerDiedError(why, hint=hint)
        if not isinstance(message, list):
            raise TypeError(f"a worker sent {type(message).__name__}")
        worker.tasks = []
        self._failed_starts = 0
        self._died_once.difference_update(outcome.position for outcome in message)
        return message

    # --- workers that end early ---

    def _replace_dead(self, worker: WorkerProcess) -> list[SampleOutcome]:
        # It is ending, or its pipe is broken and it never will.
        worker.process.join(LAST_WAIT_S)
        worker.process.kill()
        worker.process.join()
        self._failed_starts += not worker.ready
        if self._failed_starts >= FAILED_STARTS:
            raise WorkerDiedError("No worker process can be started.", hint="Its own messages stand above.")
        self._replace(worker)
        if not worker.tasks:
            return []
        task = worker.tasks[0]
        if task.position not in self._died_once:
            self._try_alone(worker.tasks)
            return []
        code = worker.process.exitcode or 0
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        error = WorkerDiedError(f"The worker process died twice on this sample (last: {how}).")
        return [failure(self._job, task, error)]

    def _replace(self, worker: WorkerProcess) -> None:
        _end(worker)
        self._workers[self._workers.index(worker)] = self._started()

    def close(self) -> None:
        for worker in self._workers:
            # A closed pipe is how an idle worker learns that there is nothing left to do.
            worker.pipe.close()
        end = time.monotonic() + LAST_WAIT_S
        for worker in self._workers:
            if not worker.tasks:
                worker.process.join(max(0.0, end - time.monotonic()))
            _end(worker)


def _end(worker: WorkerProcess) -> None:
    worker.process.kill()
    worker.process.join()
    worker.pipe.close()
    worker.scratch.close()


def usable_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def refuse_foreign_modules(folder: Path) -> None:
    """For Python 3.10, which does not know the variable: refuse a folder in which a worker would find foreign code."""
    for path in folder.iterdir():
        name = path.name.partition(".")[0]
        if name in sys.stdlib_module_names and (path.is_dir() or path.suffix in (".py", ".pyc", ".so", ".pyd")):
            raise ConfigError(
                f"{str(path)!r} has the name of a module of Python, and worker processes would run it.",
                hint="Run the batch from another folder, or use Python 3.11 or newer.",
            )


@contextmanager
def _process_environment(threads: int) -> Iterator[None]:
    """For a process that is started inside: its environment, no program of the user's to run again, and no Ctrl-C."""
    # Numeric libraries read these when they are loaded: workers together must not start more threads than cores.
    variables = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    variables |= KEPT_MEMORY
    # A new interpreter looks for its first modules in the working folder: a download that brings a multiprocessing.py
    # would have it run, with all keys in reach.
    variables["PYTHONSAFEPATH"] = "1"
    # What the user has set stays.
    new = {name: value for name, value in variables.items() if name not in os.environ}
    # A fresh interpreter would first run the user's program again, up to a guard that a short script has not.
    main = sys.modules["__main__"]
    os.environ.update(new)
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        # Inside: what it starts is a new interpreter too.
        with _interrupts_blocked():
            yield
    finally:
        sys.modules["__main__"] = main
        for name in new:
            del os.environ[name]


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
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
