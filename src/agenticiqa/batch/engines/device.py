"""Rating on a GPU: processes decode and prepare pictures, two threads see them in batches.

Pixels travel through memory that both sides share; what a worker says of a picture is small. A worker that dies costs
its own picture only, as in the engine that this one extends.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.shared_memory import SharedMemory
from weakref import WeakKeyDictionary

import numpy as np

from agenticiqa.batch.engines.processes import ProcessEngine, WorkerProcess, serve_with
from agenticiqa.batch.rating import Opened, opened, rating_of, record_of
from agenticiqa.batch.results import result_line
from agenticiqa.batch.work import BatchJob, InternalError, SampleOutcome, Task, failure
from agenticiqa.errors import AgenticIQAError, ImageTooLargeError, WorkerDiedError
from agenticiqa.runtime.memory import process_budget
from agenticiqa.vision.accelerator import vision_on
from agenticiqa.vision.network import WEIGHTS, Bytes, Prepared, described, prepared
from agenticiqa.vision.picture_facts import PictureFacts, facts_of
from agenticiqa.vision.scene import Scene

BATCH = 128
AHEAD = 4
"""Batches that may wait for the GPU or for being written down."""
GPU_THREADS = 2
"""While the GPU sees one batch, the next is put together, or words are made of the last."""


@dataclass(frozen=True)
class InSharedMemory:
    """A prepared picture: what is known of it, and where its arrays lie."""

    about: Opened
    facts: PictureFacts
    scale: float
    memory: str
    shapes: list[tuple[int, ...]]
    far: bool
    """Whether the third array is the picture reduced; windows follow."""


@dataclass(frozen=True)
class Ready:
    """A picture that the networks can take."""

    task: Task
    about: Opened
    picture: Prepared
    facts: PictureFacts


class BatchRater:
    """Opens pictures and makes of each what the networks take; rates several together on the GPU."""

    def __init__(self, job: BatchJob) -> None:
        self._job, pipeline = job, job.settings.pipeline
        self._limits, self._budget = pipeline.images, process_budget(pipeline.memory)
        about = described(WEIGHTS)
        self._prepare = partial(prepared, side=int(about["view"]), cell=int(about["cell"]))

    def prepare(self, task: Task) -> Ready | SampleOutcome:
        """The picture, or its result where it cannot be opened."""
        try:
            with opened(task.sample, self._limits, self._budget) as image:
                about = Opened(image.size, image.sha256)
                return Ready(task, about, self._prepare(image.rgb), facts_of(image.rgb))
        except AgenticIQAError as error:
            return failure(self._job, task, error)
        except Exception as error:  # noqa: BLE001
            # A defect, not a failure we know: one sample must not take the others with it.
            return failure(self._job, task, InternalError(f"{type(error).__name__}: {error}"))

    def rate(self, pictures: Sequence[Ready | SampleOutcome]) -> list[SampleOutcome]:
        """Results of all; where they do not fit into the GPU's memory together, of some at a time."""
        found = [each for each in pictures if isinstance(each, SampleOutcome)]
        batch = [each for each in pictures if isinstance(each, Ready)]
        if not batch:
            return found
        try:
            scenes = Scene.of_all(vision_on("cuda"), [(each.picture, each.facts) for each in batch])
        except RuntimeError as error:
            if type(error).__name__ != "OutOfMemoryError":
                hint = "--resume goes on from here, with --device cpu also without the GPU."
                raise WorkerDiedError(f"The GPU failed: {error}", hint=hint) from error
            if len(batch) == 1:
                why = ImageTooLargeError("The picture does not fit into the GPU's memory.", hint="Use --device cpu.")
                return [*found, failure(self._job, batch[0].task, why)]
            half = len(batch) // 2
            return [*found, *self.rate(batch[:half]), *self.rate(batch[half:])]
        return [*found, *(self._outcome(each, scene) for each, scene in zip(batch, scenes, strict=True))]

    def _outcome(self, ready: Ready, scene: Scene) -> SampleOutcome:
        sample = ready.task.sample
        try:
            line = result_line(sample, record_of(sample, ready.task.run_id, ready.about, rating_of(scene)))
        except ValueError as error:
            # Numbers that are none: of this picture alone.
            return failure(self._job, ready.task, InternalError(f"{type(error).__name__}: {error}"))
        return SampleOutcome(ready.task.position, line, "ok")


class PreparingWorker:
    """Prepares pictures in a process of its own, and puts them where the runner finds them."""

    def __init__(self, job: BatchJob) -> None:
        self._rater = BatchRater(job)
        self._memory: SharedMemory | None = None

    def work(self, task: Task) -> SampleOutcome | InSharedMemory:
        ready = self._rater.prepare(task)
        if isinstance(ready, SampleOutcome):
            return ready
        picture = ready.picture
        far = [picture.farther] if picture.farther is not None else []
        arrays = [picture.view, picture.whole, *far, *picture.windows]
        memory, start = self._room_for(sum(each.nbytes for each in arrays)), 0
        for each in arrays:
            _array_in(memory, each.shape, start)[...] = each
            start += each.nbytes
        shapes = [each.shape for each in arrays]
        return InSharedMemory(ready.about, ready.facts, picture.scale, memory.name, shapes, bool(far))

    def _room_for(self, need: int) -> SharedMemory:
        if self._memory is None or self._memory.size < need:
            self.close()
            self._memory = SharedMemory(create=True, size=need)
        return self._memory

    def close(self) -> None:
        if self._memory is not None:
            self._memory.close()
            self._memory.unlink()
            self._memory = None


def serve(pipe: Connection, job: BatchJob, threads: int, scratch: str) -> None:
    serve_with(lambda: PreparingWorker(job), pipe, threads, scratch)


class DeviceEngine(ProcessEngine):
    """Worker processes that prepare, and the GPU."""

    target = staticmethod(serve)

    def __init__(self, job: BatchJob, workers: int) -> None:
        super().__init__(job, workers)
        self.slots = 2 * workers + AHEAD * BATCH
        self._ready: list[Ready] = []
        self._batches: queue.SimpleQueue[list[Ready] | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[list[SampleOutcome] | BaseException] = queue.SimpleQueue()
        self._on_gpu = 0
        self._memories: WeakKeyDictionary[WorkerProcess, SharedMemory] = WeakKeyDictionary()
        """What each worker puts its pictures into, as it was opened last."""
        for _ in range(GPU_THREADS):
            threading.Thread(target=self._see, daemon=True, name="gpu").start()

    def finished(self, timeout_s: float) -> list[SampleOutcome]:
        found = super().finished(min(timeout_s, 0.01) if self._on_gpu or self._ready else timeout_s)
        idle = not self._waiting and all(worker.task is None for worker in self._workers)
        while len(self._ready) >= BATCH or (self._ready and idle):
            some, self._ready = self._ready[:BATCH], self._ready[BATCH:]
            self._batches.put(some)
            self._on_gpu += 1
        try:
            while True:
                done = (
                    self._done.get(timeout=timeout_s)
                    if idle and self._on_gpu and not found
                    else self._done.get_nowait()
                )
                if isinstance(done, BaseException):
                    raise done
                self._on_gpu -= 1
                found += done
        except queue.Empty:
            return found

    def _received(self, worker: WorkerProcess, message: object) -> list[SampleOutcome]:
        if not isinstance(message, InSharedMemory) or worker.task is None:
            return super()._received(worker, message)
        task = worker.task
        self._died_once.discard(task.position)
        worker.task, self._failed_starts = None, 0
        try:
            # Copied before the worker is given the next picture.
            self._ready.append(Ready(task, message.about, self._from_shared(worker, message), message.facts))
        except OSError as error:
            return [failure(self._job, task, WorkerDiedError(f"The shared memory cannot be read: {error}."))]
        return []

    def _from_shared(self, worker: WorkerProcess, message: InSharedMemory) -> Prepared:
        opened = self._memories.get(worker)
        if opened is None or opened.name != message.memory:
            if opened is not None:
                opened.close()
            opened = self._memories[worker] = SharedMemory(message.memory)
        start, arrays = 0, list[Bytes]()
        for shape in message.shapes:
            arrays.append(_array_in(opened, shape, start).copy())
            start += arrays[-1].nbytes
        view, whole, *rest = arrays
        farther = rest.pop(0) if message.far else None
        return Prepared(view, whole, message.scale, farther, tuple(rest))

    def _see(self) -> None:
        rater = BatchRater(self._job)
        try:
            while (batch := self._batches.get()) is not None:
                self._done.put(rater.rate(batch))
        except BaseException as error:  # noqa: BLE001 - told by the thread that asks for results
            self._done.put(error)

    def close(self) -> None:
        for _ in range(GPU_THREADS):
            self._batches.put(None)
        super().close()


def _array_in(memory: SharedMemory, shape: tuple[int, ...], start: int) -> Bytes:
    return np.ndarray(shape, np.uint8, memory.buf, start)
