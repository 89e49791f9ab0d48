"""Rating on a Ray cluster: actors on all its machines, with a GPU each where the cluster has some.

Pictures are read where the actors run: on a cluster the sources lie on storage that all its machines see. Results come
back to the runner, which writes them down one by one, so that a run is resumed picture by picture.
"""

from __future__ import annotations

import faulthandler
import logging
import os
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

from agenticiqa.batch.engines.base import overtime
from agenticiqa.batch.work import BatchJob, SampleOutcome, SampleWorker, Task, failure
from agenticiqa.errors import ConfigError, MissingExtraError, WorkerDiedError
from agenticiqa.vision.accelerator import Device

Given = TypeVar("Given")
Result = TypeVar("Result")
AT_ONCE, AT_ONCE_ON_GPU = 8, 64
"""Pictures in one call of an actor."""
CALLS_AHEAD = 2
TRIES = 3
"""So often an actor may die with a picture before the picture fails."""


class RayEngine:
    """An actor for each core of the cluster, or for each of its GPUs; every submitted task comes back exactly once."""

    def __init__(self, job: BatchJob, actors: int | None, device: Device) -> None:
        try:
            ray: Any = import_module("ray")
        except ImportError:
            raise MissingExtraError("--engine ray needs Ray.", hint="pip install 'agenticiqa[ray]'") from None
        self._ray, self._job = ray, job
        if not ray.is_initialized():
            ray.init(logging_level=logging.WARNING, log_to_driver=False, include_dashboard=False)
        # What is free: an actor that finds no place would wait for ever.
        free = ray.available_resources()
        gpus = int(free.get("GPU", 0)) if device != "cpu" else 0
        if device == "cuda" and not gpus:
            raise ConfigError("No GPU of the Ray cluster is free.", hint="--device cpu works without one.")
        places = gpus or int(free.get("CPU", 0))
        if not places:
            raise ConfigError("No core of the Ray cluster is free.", hint="Wait for the other work, or add machines.")
        count = min(actors or places, places)
        self._size = AT_ONCE_ON_GPU if gpus else AT_ONCE
        kind = ray.remote(num_gpus=1 if gpus else 0, num_cpus=1, max_restarts=-1)(RatingActor)
        self._actors: list[Any] = [kind.remote(job, bool(gpus)) for _ in range(count)]
        try:
            ray.get([actor.__ray_ready__.remote() for actor in self._actors])
        except ray.exceptions.RayError as error:
            raise _lost(error, "All machines of the cluster need this version of agenticiqa.") from error
        self.slots = count * self._size * CALLS_AHEAD
        self._waiting: deque[Task] = deque()
        self._suspects: deque[tuple[Task, int]] = deque()
        """Pictures that were with an actor when it died, and how often that was."""
        self._calls: dict[Any, _Call] = {}

    def submit(self, task: Task) -> None:
        self._waiting.append(task)

    def finished(self, timeout_s: float) -> list[SampleOutcome]:
        self._hand_out()
        if not self._calls:
            return []
        ready, _ = self._ray.wait(list(self._calls), num_returns=1, timeout=timeout_s)
        done: list[SampleOutcome] = []
        for each in ready:
            call = self._calls.pop(each)
            try:
                done += self._ray.get(each)
            except self._ray.exceptions.ActorUnavailableError:
                # Nothing but an empty call until it stands again: what is sent to it now would fail as well.
                self._call(call.actor, [], 0)
                done += self._after_death(call)
            except self._ray.exceptions.RayError as error:
                raise _lost(error, "--resume goes on from here.") from error
        self._hand_out()
        return done

    def _hand_out(self) -> None:
        for number in range(len(self._actors)):
            running = [call for call in self._calls.values() if call.actor == number]
            if self._suspects:
                # Alone: what stood behind it would fall with the actor, and count as at fault.
                if not running:
                    task, deaths = self._suspects.popleft()
                    self._call(number, [task], deaths)
            elif not any(call.deaths or not call.tasks for call in running):
                for _ in range(CALLS_AHEAD - len(running)):
                    if some := [self._waiting.popleft() for _ in range(min(self._size, len(self._waiting)))]:
                        self._call(number, some, 0)

    def _call(self, number: int, tasks: list[Task], deaths: int) -> None:
        self._calls[self._actors[number].work.remote(tasks)] = _Call(number, tasks, deaths, time.monotonic())

    def _after_death(self, call: _Call) -> list[SampleOutcome]:
        """Pictures of an actor that died are tried again one by one, so that only the one at fault fails."""
        deaths = call.deaths + 1
        if deaths < TRIES:
            self._suspects.extend((task, deaths) for task in call.tasks)
            return []
        (task,) = call.tasks
        if time.monotonic() - call.since > self._job.timeout_s:
            return [overtime(self._job, task)]
        return [failure(self._job, task, WorkerDiedError(f"The actor died {TRIES} times on this sample."))]

    def close(self) -> None:
        for actor in self._actors:
            self._ray.kill(actor)


@dataclass(frozen=True)
class _Call:
    """Pictures that an actor works on, how often one died with them, and since when."""

    actor: int
    tasks: list[Task]
    deaths: int
    since: float


def _lost(error: Exception, hint: str) -> WorkerDiedError:
    return WorkerDiedError(f"A Ray actor failed for good ({str(error).strip().splitlines()[-1]}).", hint=hint)


class RatingActor:
    """Rates some pictures at a time, where it runs; its process ends when one takes longer than the job allows."""

    def __init__(self, job: BatchJob, on_gpu: bool) -> None:
        # Each machine's own memory, for as many actors as it has cores.
        self._job = job = job.with_memory_of_one(os.cpu_count() or 1)
        self._worker = None if on_gpu else SampleWorker(job)
        if on_gpu:
            from agenticiqa.batch.engines.device import BatchRater

            self._rater = BatchRater(job, threads=8)

    def work(self, tasks: list[Task]) -> list[SampleOutcome]:
        if self._worker is not None:
            return [self._timed(self._worker.work, task) for task in tasks]
        return self._timed(self._rater.work_all, tasks)

    def _timed(self, work: Callable[[Given], Result], given: Given) -> Result:
        # Not a thread of Python's: some decoders hold its lock for as long as they take.
        faulthandler.dump_traceback_later(self._job.timeout_s, exit=True, file=2)
        try:
            return work(given)
        finally:
            faulthandler.cancel_dump_traceback_later()
