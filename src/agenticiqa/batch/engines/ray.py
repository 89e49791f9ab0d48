"""The same workers as actors on a Ray cluster. A killed actor or a lost node costs only the samples it held."""

from __future__ import annotations

import logging
import time
from collections import deque
from dataclasses import dataclass, field, replace
from typing import Any

from agenticiqa.batch.engines.base import TaskQueue, overtime
from agenticiqa.batch.rate_limits import ProviderLimits
from agenticiqa.batch.work import BatchJob, SampleOutcome, SampleWorker, Task
from agenticiqa.errors import ConfigError, MissingExtraError

EXTRA = "ray"
TASKS_AT_ONCE = 2
# One more than on a single machine: nodes are taken away for reasons of their own, and a sample whose worker was lost
# waits at a new one that is slow to start, so that it is often the only work left when the next one is lost.
TRIES = 3
NAMESPACE = "agenticiqa"


class ActorBody(SampleWorker):
    """What runs inside an actor: the local worker, with its share of the rate limits and of its node's memory."""

    def __init__(self, job: BatchJob, actors: int) -> None:
        limits = job.limits.shared_by(actors)
        # Whether the others are on this node or will be moved here is not known: as many as fit may come.
        own = job.with_memory_of_one(min(actors, _places_on_this_node()))
        super().__init__(replace(own, limits=limits), ProviderLimits(limits))


def _places_on_this_node() -> int:
    """How many actors fit on the node that this runs on: each takes one processor."""
    ray = _ray()
    here = ray.get_runtime_context().get_node_id()
    found = next((node["Resources"].get("CPU", 1) for node in ray.nodes() if node["NodeID"] == here), 1)
    return max(1, int(found))


@dataclass(eq=False)
class _Actor:
    handle: Any
    tasks: deque[Task] = field(default_factory=deque)
    """In the order in which they are worked on."""
    references: deque[Any] = field(default_factory=deque)
    since: float = field(default_factory=time.monotonic)


class RayEngine:
    """A fixed number of actors, each with models of its own; a dead one is replaced wherever there is room."""

    def __init__(self, job: BatchJob, workers: int, *, address: str | None = None) -> None:
        self._ray = _ray()
        self._job = job
        self._count = workers
        self.slots = workers * TASKS_AT_ONCE
        self._own_cluster = not self._ray.is_initialized()
        if self._own_cluster:
            self._connect(address)
        self._make = self._ray.remote(num_cpus=1, max_restarts=0)(ActorBody)
        # Stored once: the settings do not travel again with every new actor.
        self._stored_job = self._ray.put(job)
        self._queue = TaskQueue(job, TRIES)
        self._actors = [self._started() for _ in range(workers)]

    def _connect(self, address: str | None) -> None:
        try:
            self._ray.init(address=address, namespace=NAMESPACE, logging_level=logging.ERROR, log_to_driver=False)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise ConfigError(
                f"No Ray cluster answers at {address!r}: {error}.", hint="Start one with `ray start --head`."
            ) from error

    def _started(self) -> _Actor:
        return _Actor(self._make.remote(self._stored_job, self._count))

    # --- tasks ---

    def submit(self, task: Task) -> None:
        self._queue.waiting.append(task)
        self._hand_out()

    def _hand_out(self) -> None:
        for level in range(TASKS_AT_ONCE):
            for actor in self._actors:
                if self._queue.waiting and len(actor.tasks) == level:
                    task = self._queue.waiting.popleft()
                    if not actor.tasks:
                        actor.since = time.monotonic()
                    actor.tasks.append(task)
                    actor.references.append(actor.handle.work.remote(task))

    def finished(self, timeout_s: float) -> list[SampleOutcome]:
        done: list[SampleOutcome] = []
        heads = {actor.references[0]: actor for actor in self._actors if actor.references}
        for reference in self._ready(list(heads), timeout_s):
            done += self._received(heads[reference], reference)
        done += self._replace_overdue()
        self._hand_out()
        return done

    def _ready(self, references: list[Any], timeout_s: float) -> list[Any]:
        """Waits for the first, then takes along whatever else is there."""
        if not references or not self._ray.wait(references, num_returns=1, timeout=timeout_s)[0]:
            return []
        ready: list[Any] = self._ray.wait(references, num_returns=len(references), timeout=0)[0]
        return ready

    def _received(self, actor: _Actor, reference: Any) -> list[SampleOutcome]:
        try:
            outcome: SampleOutcome = self._ray.get(reference)
        except self._ray.exceptions.RayActorError as error:
            return self._replace_dead(actor, error)
        actor.references.popleft()
        actor.tasks.popleft()
        actor.since = time.monotonic()
        self._queue.done(outcome.position)
        return [outcome]

    # --- actors that end early ---

    def _replace_dead(self, actor: _Actor, error: Exception) -> list[SampleOutcome]:
        task = actor.tasks.popleft()
        self._replace(actor)
        return self._queue.worker_died(task, "Ray worker", str(error).strip().splitlines()[0])

    def _replace_overdue(self) -> list[SampleOutcome]:
        now = time.monotonic()
        done = []
        for actor in [each for each in self._actors if each.tasks and now - each.since > self._job.timeout_s]:
            done.append(overtime(self._job, actor.tasks.popleft()))
            self._ray.kill(actor.handle)
            self._replace(actor)
        return done

    def _replace(self, actor: _Actor) -> None:
        self._queue.waiting.extendleft(reversed(actor.tasks))
        self._actors[self._actors.index(actor)] = self._started()

    def close(self) -> None:
        for actor in self._actors:
            self._ray.kill(actor.handle)
        if self._own_cluster:
            self._ray.shutdown()


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise MissingExtraError("--engine ray needs Ray.", hint=f"pip install 'agenticiqa[{EXTRA}]'") from None
    return ray
