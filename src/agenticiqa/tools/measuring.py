"""Run tools on regions of a picture: in parallel, cached, each able to fail alone."""

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass, field

from agenticiqa.errors import AgenticIQAError, MemoryLimitError, ToolError
from agenticiqa.pictures.images import Box, LoadedImage
from agenticiqa.runtime.cache import DiskCache, content_key
from agenticiqa.runtime.stopping import Cancelled, checkpoint, stoppable
from agenticiqa.tools.metrics import FloatArray, MetricInputError, Picture, Views
from agenticiqa.tools.metrics.base import checked_between_tiles
from agenticiqa.tools.needs import SHARED_BYTES, pictures_need, pixels_of, tool_need
from agenticiqa.tools.registry import Tool

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ToolJob:
    """One tool on one region; None is the whole picture."""

    tool: Tool
    region: Box | None = None


@dataclass(frozen=True)
class JobResult:
    """A score, or the reason why there is none."""

    job: ToolJob
    raw: float | None = None
    calibrated: float | None = None
    seconds: float = 0.0
    cached: bool = False
    error: str | None = None
    timed_out: bool = False
    """Whether the tool was only too slow: the one failure that may not happen again."""
    map: FloatArray | None = field(default=None, repr=False, compare=False)
    """Where the score comes from, if the bench keeps maps and the tool has one."""


# Small pictures are measured by the calling thread itself where that is sure to end in time: being handed a thread
# takes longer than measuring does, and with tiny ones also longer than several threads save. Every tool of our own
# gives its score of a small picture in a second, on any machine in far less than ten.
SMALL_PIXELS = 512 * 512
TINY_PIXELS = 128 * 128
AMPLE_S = 10.0

_kept = threading.local()


def _kept_pool(workers: int) -> ThreadPoolExecutor:
    """The calling thread's own pool: starting threads anew for every small picture would cost as much as measuring."""
    pools: dict[int, ThreadPoolExecutor] | None = getattr(_kept, "pools", None)
    if pools is None:
        pools = _kept.pools = {}
    if workers not in pools:
        pools[workers] = ThreadPoolExecutor(workers, thread_name_prefix="tool")
    return pools[workers]


def _forget(pool: ThreadPoolExecutor) -> None:
    """Drop the pool of a tool that overran: its thread runs on unawaited, and the next picture gets a new pool."""
    _kept.pools = {workers: kept for workers, kept in _kept.pools.items() if kept is not pool}
    pool.shutdown(wait=False, cancel_futures=True)


class ToolRunner:
    """A picture, perhaps its reference, and the tools applied to them."""

    def __init__(
        self,
        test: LoadedImage,
        reference: LoadedImage | None,
        cache: DiskCache | None = None,
        *,
        keep_maps: bool = False,
        memory: int | None = None,
    ) -> None:
        self._test = test
        self._reference = reference
        self._cache = cache
        self._keep_maps = keep_maps
        self._memory = memory
        """What the pictures and the tools may take together; None: whatever it takes."""
        self._pictures: dict[tuple[Box | None, str], Picture] = {}
        self._views: dict[tuple[Box | None, bool], Views] = {}
        self._shares = True

    def run(self, jobs: Sequence[ToolJob], *, max_workers: int, timeout_s: float) -> list[JobResult]:
        """Results in the order of ``jobs``, which must be distinct."""
        refused = {job: why for job in jobs if (why := self._too_much(job))}
        fitting = [job for job in jobs if job not in refused]
        done = dict(zip(fitting, self._run(fitting, max_workers, timeout_s), strict=True))
        return [done.get(job) or JobResult(job, error=str(refused[job])) for job in jobs]

    def _run(self, jobs: Sequence[ToolJob], max_workers: int, timeout_s: float) -> list[JobResult]:
        if not jobs:
            return []
        threads = self._make_room(jobs, min(max_workers, len(jobs)))
        if self._shares:
            self._prepare(jobs)
        small = SMALL_PIXELS if threads == 1 else TINY_PIXELS
        predictable = all(job.tool.is_predictable for job in jobs)
        if pixels_of(self._test.size) <= small and predictable and timeout_s >= AMPLE_S:
            return [self.measure(job) for job in jobs]
        pool = _kept_pool(threads)
        # Each thread takes one job after the other, and all threads are waited for together: handing over and waking
        # up for each job would cost small pictures as much as a tool does.
        waiting = deque(enumerate(jobs))
        overran = f"took longer than {timeout_s:g} s"
        results = [JobResult(job, seconds=timeout_s, error=overran, timed_out=True) for job in jobs]
        given_up = threading.Event()

        def check_wanted() -> None:
            if given_up.is_set():
                raise Cancelled

        def work() -> None:
            try:
                with stoppable(check_wanted), checked_between_tiles(checkpoint):
                    self._run_waiting(waiting, results)
            finally:
                if self._cache:
                    # A pool's thread stays, and its connection would keep SQLite's log beside the file.
                    self._cache.close()

        # In this thread's context each: what stops this run stops its tools.
        running = [pool.submit(copy_context().run, work) for _ in range(threads)]
        try:
            ended, late = wait(running, timeout=timeout_s)
        except BaseException:
            # Ctrl+C: the pending results are not wanted any more.
            given_up.set()
            waiting.clear()
            raise
        if late:
            given_up.set()
            waiting.clear()
            _forget(pool)
        for future in ended:
            future.result()
        return list(results)

    def _run_waiting(self, waiting: deque[tuple[int, ToolJob]], results: list[JobResult]) -> None:
        """Do jobs until none is left; other threads take theirs from the same place."""
        while True:
            try:
                number, job = waiting.popleft()
            except IndexError:
                return
            try:
                results[number] = self.measure(job)
            except Cancelled:
                waiting.clear()
                raise

    # --- memory ---

    def _too_much(self, job: ToolJob) -> MemoryLimitError | None:
        """Why a tool cannot run even alone."""
        opened = pictures_need(self._sizes())
        need = opened + tool_need(job.tool, self._pixels(job))
        return MemoryLimitError(job.tool.name, need, self._memory) if self._memory and need > self._memory else None

    def _make_room(self, jobs: Sequence[ToolJob], threads: int) -> int:
        """How many tools may run side by side; where memory is short, they share nothing either."""
        if self._memory is None:
            return threads
        left = self._memory - pictures_need(self._sizes())
        needs = sorted((tool_need(job.tool, self._pixels(job)) for job in jobs), reverse=True)
        pixels = sum({job.region: self._pixels(job) for job in jobs}.values())
        for shared in (SHARED_BYTES * pixels, 0):
            for side_by_side in range(threads, 0, -1):
                if shared + sum(needs[:side_by_side]) <= left:
                    self._shares = shared > 0
                    return side_by_side
        self._shares = False
        return 1

    def _sizes(self) -> list[tuple[int, int]]:
        return [self._test.size, *([self._reference.size] if self._reference else [])]

    def _pixels(self, job: ToolJob) -> int:
        return job.region.width * job.region.height if job.region else pixels_of(self._test.size)

    # --- one tool ---

    def measure(self, job: ToolJob) -> JobResult:
        """One job; failures of the tool become the result's error."""
        checkpoint()
        # Maps are not stored: a tool that is asked for its map runs.
        stored = self._cache.get(self._key(job)) if self._cache and not self._keep_maps else None
        if stored is not None:
            return JobResult(job, stored["raw"], stored["calibrated"], cached=True)
        started = time.perf_counter()
        try:
            raw, calibrated, local = self._score(job)
        except Cancelled:
            raise
        except Exception as error:  # noqa: BLE001 - a tool may come from another package and must fail alone
            logger.warning("%s failed: %s", job.tool.name, error)
            return JobResult(job, seconds=time.perf_counter() - started, error=str(error) or type(error).__name__)
        if self._cache:
            self._cache.put(self._key(job), {"raw": raw, "calibrated": calibrated})
        return JobResult(job, raw, calibrated, seconds=time.perf_counter() - started, map=local)

    def _score(self, job: ToolJob) -> tuple[float, float | None, FloatArray | None]:
        if job.tool.needs_reference and self._reference is None:
            raise ToolError(f"{job.tool.name} compares with a reference picture, and none was given.")
        view = self._view(job)
        found = job.tool.metric.measure(view)
        raw = found.value
        if not math.isfinite(raw):
            raise ToolError(f"{job.tool.name} gave {raw}, which is not a score.")
        local = None
        if self._keep_maps:
            make_map = job.tool.metric.make_map
            local = make_map(view) if found.map is None and make_map else found.map
        return raw, job.tool.calibration(raw) if job.tool.calibration else None, local

    def _prepare(self, jobs: Sequence[ToolJob]) -> None:
        """Make shared views before threads start; a pair that does not fit fails in its own jobs instead."""
        for job in jobs:
            try:
                self._view(job)
            except (AgenticIQAError, MetricInputError) as error:
                logger.debug("No view for %s: %s", job.tool.name, error)

    def _view(self, job: ToolJob) -> Views:
        """Tools that need no reference must not fail because the reference does not fit."""
        reference = self._reference if job.tool.needs_reference else None
        key = (job.region, reference is not None)
        found = self._views.get(key)
        if found is None:
            compared = self._picture(job.region, reference, "reference") if reference else None
            found = Views(self._picture(job.region, self._test, "test"), compared)
            if self._shares:
                self._views[key] = found
        return found

    def _picture(self, region: Box | None, image: LoadedImage, role: str) -> Picture:
        """What tools share of one picture, whether or not they compare it."""
        found = self._pictures.get((region, role))
        if found is None:
            found = Picture(image.crop(region) if region else image.measurable, role)
            if self._shares:
                self._pictures[region, role] = found
        return found

    def _key(self, job: ToolJob) -> str:
        return content_key(
            "score",
            {
                "tool": job.tool.name,
                "version": job.tool.version,
                "test": self._test.sha256,
                "reference": self._reference.sha256 if self._reference and job.tool.needs_reference else None,
                "region": job.region.as_list() if job.region else None,
            },
        )
