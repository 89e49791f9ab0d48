"""Accepted work: a bounded queue, a few worker threads, and a way to stop each job between two steps or two tiles.

Everything about a job changes on the event loop's thread; workers post to it. Threads rather than processes: most of
the time goes into ONNX Runtime and NumPy, which let other threads run, and the models are loaded once.

What a run needs of memory is known before it starts. Small runs have memory of their own and start whenever a worker
is free. Large ones share the rest: they have workers of their own, with the processor time that small ones leave, and
wait for each other. So large pictures do not keep other users' small ones waiting.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
import math
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, cast

from agenticiqa.errors import ImageError, client_messages
from agenticiqa.runtime.memory import MemoryBudget, given
from agenticiqa.runtime.runs import INTERRUPTED
from agenticiqa.runtime.stopping import Cancelled, stoppable
from agenticiqa.serve.http.problems import ServiceError, service_error
from agenticiqa.serve.http.store.job_record import QUEUED, JobOutcome, JobRecord

logger = logging.getLogger(__name__)

StopReason = Literal["cancelled", "client_left", "timed_out", "interrupted"]
Work = Callable[["ServiceJob"], JobOutcome]
"""What a job does: its result and how that counts (``ok``, ``partial`` or ``error``)."""
RUNNING = "running"
CLOSING_TIMEOUT_S = 5.0
"""How long a stopping server waits for running jobs to reach their next step."""
MOST_RETRY_S = 60
KEY_SHARE = 0.5
"""Of all places: what one key may hold."""
LARGE_WAITING = 2
"""Large runs that may wait for memory; more of them are refused."""
KEPT_AFTER_END = 64
"""Ended jobs whose events are still at hand for late listeners; older ones are read from the record."""

_STOPPED: dict[StopReason, tuple[str, int, str]] = {
    "cancelled": ("cancelled", 409, "The run was cancelled."),
    "client_left": ("cancelled", 409, "The run was cancelled because its client left."),
    "timed_out": ("timed_out", 504, "The run took longer than this server allows."),
    "interrupted": (INTERRUPTED, 503, "The server stopped before the run was finished. Ask again."),
}


@dataclass(eq=False)
class ServiceJob:
    """One piece of accepted work."""

    id: str
    owner: str
    kind: str
    work: Work = field(repr=False)
    deadline: float
    """On the monotonic clock."""
    recorded: bool
    holds: frozenset[Path]
    """Files that must not go before the job ends."""
    loop: asyncio.AbstractEventLoop = field(repr=False)
    need: int = 0
    """Bytes of memory."""
    status: str = QUEUED
    stop_reason: StopReason | None = None
    outcome: JobOutcome | None = None
    events: list[dict[str, Any]] = field(default_factory=list, repr=False)
    done: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    _new_event: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    # --- from the worker's thread ---

    def checkpoint(self) -> None:
        """Between two steps: raises :class:`Cancelled` once the job was told to stop, or its time is over."""
        if self.stop_reason is None and time.monotonic() > self.deadline:
            self.stop_reason = "timed_out"
        if self.stop_reason is not None:
            raise Cancelled(_STOPPED[self.stop_reason][0])

    def report(self, event: str, data: dict[str, Any]) -> None:
        self.checkpoint()
        self.loop.call_soon_threadsafe(self.add_event, event, data)

    # --- on the event loop ---

    def add_event(self, event: str, data: dict[str, Any]) -> None:
        if self.outcome is not None:
            return
        self.events.append({"id": len(self.events) + 1, "event": event, "data": data})
        self.announce()

    def announce(self) -> None:
        self._new_event.set()
        self._new_event = asyncio.Event()

    async def wait_for_event(self, seconds: float) -> None:
        """Until something happened, or the time is over."""
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._new_event.wait(), seconds)

    def stop(self, reason: StopReason) -> None:
        if self.stop_reason is None and self.outcome is None:
            self.stop_reason = reason


def stopped_error(reason: StopReason, job_id: str) -> ServiceError:
    _, status, detail = _STOPPED[reason]
    return ServiceError(status, reason, detail, run_id=job_id, retry_s=5 if status == 503 else None)


def _stopped(job: ServiceJob, reason: StopReason) -> JobOutcome:
    return JobOutcome(_STOPPED[reason][0], problem=stopped_error(reason, job.id), events=list(job.events))


def _events_so_far(job: ServiceJob) -> list[dict[str, Any]]:
    """All events so far, asked for on the event loop: the last ones may still be on their way there."""
    events: Future[list[dict[str, Any]]] = Future()
    job.loop.call_soon_threadsafe(lambda: events.set_result(list(job.events)))
    try:
        return events.result(CLOSING_TIMEOUT_S)
    except FutureTimeoutError:
        return list(job.events)


# --- where work waits ---

SMALL_SHARE = 1 / 3
"""Of the memory for work: what small runs have for themselves."""
MOST_WAITING = 32
DRAWING_THREADS = 2
Drawn = TypeVar("Drawn")
Waiting = TypeVar("Waiting", "ServiceJob", "_Drawing")


class Lane(Generic[Waiting]):
    """Waiting jobs, taken round-robin from their owners; of one owner at most ``of_one`` at a time."""

    def __init__(self, of_one: int | None = None) -> None:
        self._of_one = of_one
        self._waiting: list[Waiting] = []
        self._taken: Counter[str] = Counter()
        self._last_turns: dict[str, int] = {}
        """The number of each owner's last turn: who has waited longest for one is next."""
        self._changed = threading.Condition()
        self._closed = False

    def put(self, job: Waiting) -> None:
        with self._changed:
            self._waiting.append(job)
            self._changed.notify()

    def take(self) -> Waiting | None:
        """The next job, waited for; None when the lane is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._ready or self._closed)
            if not self._ready:
                return None
            job = min(self._ready, key=lambda each: self._last_turns.get(each.owner, 0))
            self._waiting.remove(job)
            self._taken[job.owner] += 1
            self._last_turns[job.owner] = max(self._last_turns.values(), default=0) + 1
            return job

    @property
    def _ready(self) -> list[Waiting]:
        most = math.inf if self._of_one is None else self._of_one
        return [each for each in self._waiting if self._taken[each.owner] < most]

    def done(self, job: Waiting) -> None:
        """What was taken has ended: its owner may have another turn."""
        with self._changed:
            self._taken[job.owner] -= 1
            self._changed.notify_all()

    def remove(self, job: Waiting) -> bool:
        """Take out a cancelled job; False where a worker has it already."""
        with self._changed:
            waits = job in self._waiting
            if waits:
                self._waiting.remove(job)
            return waits

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
        # More than workers: pictures and maps of runs are drawn meanwhile.
        return cls(budget, part // (workers + DRAWING_THREADS), part)

    def reserved(self) -> AbstractContextManager[None]:
        return self.budget.without(self.set_aside)

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
    """Give the calling thread, and what it starts, only the time that others leave; nothing where there is no such way.

    A higher nice value is not enough: whoever works for a small run wakes often, and would wait each time.
    """
    with suppress(AttributeError, OSError):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


@dataclass(eq=False)
class _Drawing:
    owner: str
    work: Callable[[], Any]
    done: Future[Any] = field(default_factory=Future)


MUCH_MEMORY = 512 * 1024 * 1024
"""A run that needs more gives it back at once, whatever the budget is: its pictures hang in cycles of references."""


def give_memory_back() -> None:
    """Free what a large run left in cycles of references, and let the C library return it to the system if it can."""
    gc.collect()
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


class RenderQueue:
    """Threads that draw pictures, with a bounded queue. Keys take turns, and one key has one thread at most."""

    def __init__(
        self,
        memory: MemoryShares | None = None,
        *,
        timeout_s: float = 120.0,
        shared: bool = False,
        most_waiting: int = MOST_WAITING,
    ) -> None:
        self._memory = memory
        self._timeout_s = timeout_s
        self._most_waiting = most_waiting
        self._of_one = most_waiting * KEY_SHARE if shared else most_waiting
        self._drawings: set[_Drawing] = set()
        self._closed = False
        self.failed: Callable[[str, float], None] = lambda _owner, _seconds: None
        """Told of a picture that cannot be drawn: whose, and how long it took to find out."""
        self._lane: Lane[_Drawing] = Lane(1 if shared else None)
        for _ in range(DRAWING_THREADS):
            threading.Thread(target=self._serve, daemon=True, name="drawing").start()

    async def draw(self, owner: str, work: Callable[[], Drawn], need: Callable[[], int] = lambda: 0) -> Drawn:
        """``need`` says what the work takes of memory; asked in the thread, because it may look at files."""
        own = sum(each.owner == owner for each in self._drawings)
        if len(self._drawings) >= self._most_waiting or own >= self._of_one:
            raise ServiceError(429, "queue_full", "Too many pictures are being drawn. Try again.", retry_s=2)
        drawing = _Drawing(owner, partial(self._drawn, work, need, time.monotonic() + self._timeout_s))
        self._drawings.add(drawing)
        self._lane.put(drawing)
        try:
            return await asyncio.wrap_future(cast("Future[Drawn]", drawing.done))
        except Cancelled:
            if self._closed:
                raise ServiceError(503, "stopping", "The server is stopping.", retry_s=5) from None
            raise ServiceError(504, "timed_out", "Drawing took longer than this server allows.") from None
        finally:
            self._drawings.discard(drawing)

    def _drawn(self, work: Callable[[], Drawn], need: Callable[[], int], deadline: float) -> Drawn:
        def check() -> None:
            if self._closed or time.monotonic() > deadline:
                raise Cancelled

        with stoppable(check), client_messages():
            check()
            with self._memory.admitted(need()) if self._memory else nullcontext():
                return work()

    def _serve(self) -> None:
        while (drawing := self._lane.take()) is not None:
            started = time.monotonic()
            if drawing.done.set_running_or_notify_cancel():
                try:
                    drawing.done.set_result(drawing.work())
                except BaseException as error:  # noqa: BLE001 - raised again, in the route that waits
                    if isinstance(error, ImageError):
                        self.failed(drawing.owner, time.monotonic() - started)
                    drawing.done.set_exception(error)
            self._lane.done(drawing)
            # What was drawn does not wait here for the next.
            del drawing

    def close(self) -> None:
        """What is being drawn ends at its next step, and what waits at once."""
        self._closed = True
        for drawing in list(self._drawings):
            if self._lane.remove(drawing):
                drawing.done.set_exception(Cancelled())
        self._lane.close()


class JobQueue:
    """Takes work, hands it to workers, remembers what is under way."""

    def __init__(
        self,
        record: JobRecord,
        *,
        workers: int,
        queue_length: int,
        timeout_s: float,
        memory: MemoryShares | None = None,
        shared: bool = False,
    ) -> None:
        """With ``memory``, large runs get workers of their own; ``shared`` keeps each owner to a part of the places."""
        self._record = record
        self._workers = workers
        self._places = workers + queue_length
        self._of_one = max(1, math.ceil(self._places * KEY_SHARE)) if shared else self._places
        self._timeout_s = timeout_s
        self._memory = memory
        self._usual_s = 1.0
        self._lanes: dict[bool, Lane[ServiceJob]] = {False: Lane(), True: Lane()}
        """By whether jobs are large."""
        self._large_workers = max(1, workers // 2) if memory else 0
        self._jobs: dict[str, ServiceJob] = {}
        self._unkept: dict[str, JobOutcome] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self.draining = False
        self.ended: Callable[[ServiceJob, JobOutcome], None] = lambda _job, _outcome: None
        for large in [False] * workers + [True] * self._large_workers:
            # Daemons: a tool that hangs must not keep a stopping server alive.
            threading.Thread(target=self._serve, args=(large,), daemon=True).start()

    # --- places ---

    @property
    def active(self) -> list[ServiceJob]:
        return [job for job in self._jobs.values() if job.outcome is None]

    @property
    def running(self) -> int:
        return sum(job.status == RUNNING for job in self.active)

    @property
    def taken(self) -> int:
        return len(self.active)

    @property
    def is_full(self) -> bool:
        return self.taken >= self._places

    def check_room(self, owner: str, most: int | None = None) -> None:
        """Raise ServiceError, with when to retry, if the queue has no place; ``most`` is the owner's own limit."""
        if self.draining:
            raise ServiceError(503, "stopping", "The server is stopping.", retry_s=5)
        if self.is_full:
            raise self._busy("queue_full", "All workers are busy and the queue is full.")
        if sum(job.owner == owner for job in self.active) >= min(self._of_one, most or self._of_one):
            raise self._busy("share_full", "This key has as many runs here as it may have at a time.")

    def _busy(self, kind: str, detail: str, status: int = 429) -> ServiceError:
        wait = max(1, min(MOST_RETRY_S, math.ceil(self._usual_s * (self.taken / self._workers) / 2)))
        return ServiceError(status, kind, f"{detail} Try again in {wait} seconds.", retry_s=wait)

    # --- jobs ---

    def find(self, job_id: str) -> ServiceJob | None:
        return self._jobs.get(job_id)

    def forget(self, job_id: str) -> None:
        """A job that has ended and was deleted is not at hand for late listeners either."""
        self._jobs.pop(job_id, None)

    def cancel(self, job_id: str) -> None:
        """Ask a job to stop at its next step; one that has ended stays as it is."""
        if job := self.find(job_id):
            self.stop(job, "cancelled")

    def stop(self, job: ServiceJob, reason: StopReason) -> None:
        """Tell a job to stop: at its next step or tile, or at once where it has not begun."""
        job.stop(reason)
        if self._lanes[self._is_large(job)].remove(job):
            ending = asyncio.get_running_loop().create_task(self._end_stopped(job, reason))
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)

    async def _end_stopped(self, job: ServiceJob, reason: StopReason) -> None:
        outcome = _stopped(job, reason)
        await asyncio.to_thread(self._keep, job, outcome)
        self._finish(job, outcome)

    async def submit(
        self,
        job_id: str,
        owner: str,
        kind: str,
        work: Work,
        request: dict[str, Any] | None = None,
        holds: Iterable[Path] = (),
        need: int = 0,
        most: int | None = None,
        keep: Callable[[], None] | None = None,
        idempotency_key: str | None = None,
    ) -> ServiceJob:
        """Queue work, or refuse it as :meth:`check_room` does; with a ``request`` it is on record before this returns.

        ``need`` is what the work takes of memory: more than there will ever be is refused. ``keep`` stores what the
        work reads, once nothing speaks against it. A recorded job goes on under its id, if it did not reach its end.
        Raises sqlite3.IntegrityError where the owner has another job under the ``idempotency_key``.
        """
        self.check_room(owner, most)
        if (known := self.find(job_id)) is not None and known.outcome is None:
            raise ServiceError(409, "not_ended", "This is being worked on.")
        deadline, loop = time.monotonic() + self._timeout_s, asyncio.get_running_loop()
        job = ServiceJob(job_id, owner, kind, work, deadline, request is not None, frozenset(holds), loop, need)
        if self._memory is not None and self._is_large(job):
            self._memory.budget.check(need, "This run")
            if sum(map(self._is_large, self.active)) >= self._large_workers + LARGE_WAITING:
                raise self._busy("memory_busy", "Other large pictures are being worked on.", 503)
        self._jobs[job_id] = job
        try:
            if keep is not None:
                await asyncio.to_thread(keep)
            if request is not None:
                await asyncio.to_thread(self._record.begin, job_id, owner, kind, request, idempotency_key)
        except BaseException:
            del self._jobs[job_id]
            raise
        job.add_event("status", {"status": QUEUED})
        self._lanes[self._is_large(job)].put(job)
        return job

    def _is_large(self, job: ServiceJob) -> bool:
        return self._memory is not None and self._memory.is_large(job.need)

    async def drain(self, grace_s: float) -> None:
        """Let accepted work finish; record as interrupted what does not in time. Nothing is accepted meanwhile.

        All of it takes ``grace_s``, the last seconds of which are for work to stop; where there is none, only these.
        """
        self.draining = True
        closing = min(CLOSING_TIMEOUT_S, grace_s / 4 or CLOSING_TIMEOUT_S)
        await self._until_idle(grace_s - closing)
        for job in self.active:
            job.stop("interrupted")
        await self._until_idle(closing)
        for job in self.active:
            # Its thread is inside a long step and ends with the process.
            await self._end_stopped(job, "interrupted")
        for lane in self._lanes.values():
            lane.close()

    async def _until_idle(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while self.active and time.monotonic() < end:
            await asyncio.sleep(0.05)

    # --- workers ---

    def _serve(self, large: bool) -> None:
        if large:
            lower_priority()
        while (job := self._lanes[large].take()) is not None:
            started = time.monotonic()
            outcome = self._carried_out(job)
            outcome = replace(outcome, seconds=round(time.monotonic() - started, 4), events=_events_so_far(job))
            self._keep(job, outcome)
            job.loop.call_soon_threadsafe(self._finish, job, outcome)
            gives_back = job.need > MUCH_MEMORY
            del job, outcome
            if gives_back:
                give_memory_back()

    def _carried_out(self, job: ServiceJob) -> JobOutcome:
        try:
            memory = self._memory.admitted(job.need) if self._memory else nullcontext()
            with stoppable(job.checkpoint), client_messages(), memory:
                job.checkpoint()
                job.loop.call_soon_threadsafe(self._start, job)
                outcome = job.work(job)
        except Cancelled:
            return _stopped(job, job.stop_reason or "cancelled")
        except Exception as error:  # noqa: BLE001 - whatever it is, it is logged and answered
            return JobOutcome("error", problem=service_error(f"Job {job.id}", error).fresh())
        if job.stop_reason in ("cancelled", "client_left"):
            # Of many pictures, what was found until then is a result.
            return replace(_stopped(job, job.stop_reason), result=outcome.result if job.kind == "audit" else None)
        # Work that was finished a little late is still finished.
        return outcome

    def _keep(self, job: ServiceJob, outcome: JobOutcome) -> None:
        if not job.recorded:
            return
        try:
            self._record.finish(job.id, outcome)
        except Exception:
            logger.exception("The outcome of job %s could not be recorded; trying again later", job.id)
            self._unkept[job.id] = outcome

    @property
    def has_unkept(self) -> bool:
        """Whether the outcome of some job is not on record yet."""
        return bool(self._unkept)

    def keep_again(self) -> None:
        """Record the outcomes that could not be recorded when their jobs ended: a disk may have been full."""
        for job_id, outcome in list(self._unkept.items()):
            self._record.finish(job_id, outcome)
            self._unkept.pop(job_id, None)

    # --- on the event loop ---

    def _start(self, job: ServiceJob) -> None:
        if job.outcome is None:
            job.status = RUNNING
            job.add_event("status", {"status": RUNNING})

    def _finish(self, job: ServiceJob, outcome: JobOutcome) -> None:
        if job.outcome is not None:
            return
        job.add_event("done", {"status": outcome.status})
        job.status = outcome.status
        job.outcome = outcome
        if outcome.seconds is not None and not self._is_large(job):
            # Large runs take much longer and do not keep others waiting.
            self._usual_s += 0.2 * (outcome.seconds - self._usual_s)
        job.done.set()
        job.announce()
        self.ended(job, outcome)
        # Those that are not on record are at hand here alone.
        ended = [each for each in self._jobs.values() if each.outcome is not None and each.id not in self._unkept]
        for old in ended[: max(0, len(ended) - KEPT_AFTER_END)]:
            del self._jobs[old.id]
        if not job.recorded:
            self._jobs.pop(job.id, None)
