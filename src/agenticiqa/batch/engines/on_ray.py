"""Rating on a Ray cluster: actors on all its machines, with a GPU each where the cluster has some.

Pictures are read where the actors run: on a cluster the sources lie on storage that all its machines see. Results come
back to the runner, which writes them down one by one, so that a run is resumed picture by picture.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

from agenticiqa.batch.work import BatchJob, SampleOutcome, SampleWorker, Task, failure
from agenticiqa.errors import ConfigError, MissingExtraError, WorkerDiedError
from agenticiqa.vision.accelerator import Device

AT_ONCE, AT_ONCE_ON_GPU = 8, 64
"""Pictures in one call of an actor."""
CALLS_AHEAD = 2
TRIES = 3
"""How often pictures are handed out again whose actor died."""


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
        self.slots = count * self._size * CALLS_AHEAD
        self._waiting: deque[Task] = deque()
        self._calls: dict[Any, tuple[int, list[Task], int]] = {}
        """Running calls: the actor's number, its pictures, and how often they were tried."""

    def submit(self, task: Task) -> None:
        self._waiting.append(task)

    def finished(self, timeout_s: float) -> list[SampleOutcome]:
        self._hand_out()
        if not self._calls:
            return []
        ready, _ = self._ray.wait(list(self._calls), num_returns=1, timeout=timeout_s)
        done: list[SampleOutcome] = []
        for call in ready:
            number, tasks, tries = self._calls.pop(call)
            try:
                done += self._ray.get(call)
            except self._ray.exceptions.RayError as error:
                done += self._again(number, tasks, tries, error)
        self._hand_out()
        return done

    def _hand_out(self) -> None:
        busy = [number for number, _, _ in self._calls.values()]
        for number in range(len(self._actors)):
            for _ in range(CALLS_AHEAD - busy.count(number)):
                if not self._waiting:
                    return
                some = [self._waiting.popleft() for _ in range(min(self._size, len(self._waiting)))]
                self._call(number, some, 1)

    def _call(self, number: int, tasks: list[Task], tries: int) -> None:
        self._calls[self._actors[number].work.remote(tasks)] = (number, tasks, tries)

    def _again(self, number: int, tasks: list[Task], tries: int, error: Exception) -> list[SampleOutcome]:
        """Pictures of an actor that died are tried again, one by one, so that only the one at fault fails."""
        if tries < TRIES or len(tasks) > 1:
            for task in tasks:
                self._call(number, [task], tries + 1 if len(tasks) == 1 else 1)
            return []
        died = WorkerDiedError(f"The actor died {TRIES} times on this sample (last: {type(error).__name__}).")
        return [failure(self._job, tasks[0], died)]

    def close(self) -> None:
        for actor in self._actors:
            self._ray.kill(actor)


class RatingActor:
    """Rates some pictures at a time, where it runs."""

    def __init__(self, job: BatchJob, on_gpu: bool) -> None:
        # Each machine's own memory, for as many actors as it has cores.
        job = job.with_memory_of_one(os.cpu_count() or 1)
        self._worker = None if on_gpu else SampleWorker(job)
        if on_gpu:
            from agenticiqa.batch.engines.device import BatchRater

            self._rater, self._threads = BatchRater(job), ThreadPoolExecutor(8)

    def work(self, tasks: list[Task]) -> list[SampleOutcome]:
        if self._worker is not None:
            return [self._worker.work(task) for task in tasks]
        return self._rater.rate(list(self._threads.map(self._rater.prepare, tasks)))
