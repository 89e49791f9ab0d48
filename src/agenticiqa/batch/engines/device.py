"""Rating on a GPU: every worker process decodes pictures in a few threads and sees them in batches.

Several processes share the GPU: while one waits for it, the others decode, and no process is the neck of the bottle. A
worker that dies costs its own pictures one more try each, as in the engine that this one extends.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from multiprocessing.connection import Connection

from agenticiqa.batch.engines.processes import ProcessEngine, serve_with
from agenticiqa.batch.rating import Opened, opened, rating_of, record_of
from agenticiqa.batch.results import result_line
from agenticiqa.batch.work import BatchJob, InternalError, SampleOutcome, Task, failure
from agenticiqa.errors import AgenticIQAError, ImageTooLargeError, WorkerDiedError
from agenticiqa.runtime.memory import process_budget
from agenticiqa.vision.accelerator import gpu_memory, vision_on
from agenticiqa.vision.network import WEIGHTS, Prepared, described, prepared
from agenticiqa.vision.picture_facts import PictureFacts, facts_of
from agenticiqa.vision.scene import Scene

BATCH = 128
"""Pictures that a worker is given together."""
SEEN_AT_ONCE = 64
CORES_OF_A_WORKER = 1
"""Each has a thread more than that: one of them mostly waits for the GPU."""
GPU_BYTES = 6 << 30
"""What a worker takes of the GPU's memory: its programs, weights, and a batch."""


@dataclass(frozen=True)
class Ready:
    """A picture that the networks can take."""

    task: Task
    about: Opened
    picture: Prepared
    facts: PictureFacts


class BatchRater:
    """Opens pictures in threads and makes of each what the networks take; rates several together on the GPU."""

    def __init__(self, job: BatchJob, threads: int) -> None:
        self._job, pipeline = job, job.settings.pipeline
        self._limits, self._budget = pipeline.images, process_budget(pipeline.memory)
        self._prepare = partial(prepared, side=None, cell=int(described(WEIGHTS)["cell"]))
        self._threads = ThreadPoolExecutor(threads)
        # Loaded before the first picture's time is counted.
        self._vision = vision_on("cuda")

    def work_all(self, tasks: Sequence[Task]) -> list[SampleOutcome]:
        """While some are seen, the threads open those behind them."""
        ready, found = self._threads.map(self._prepared, tasks), list[SampleOutcome]()
        while some := list(islice(ready, SEEN_AT_ONCE)):
            found += self.rate(some)
        return found

    def _prepared(self, task: Task) -> Ready | SampleOutcome:
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
            scenes = Scene.of_all(self._vision, [(each.picture, each.facts) for each in batch])
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

    def close(self) -> None:
        self._threads.shutdown()


def serve(pipe: Connection, job: BatchJob, threads: int, scratch: str) -> None:
    serve_with(lambda: BatchRater(job, threads + 1), pipe, threads, scratch)


class DeviceEngine(ProcessEngine):
    """Worker processes that share the GPU."""

    target = staticmethod(serve)
    at_once = BATCH

    def __init__(self, job: BatchJob, cores: int) -> None:
        workers = max(1, min(-(-cores // CORES_OF_A_WORKER), gpu_memory() // GPU_BYTES))
        super().__init__(job, workers, threads=-(-cores // workers))
