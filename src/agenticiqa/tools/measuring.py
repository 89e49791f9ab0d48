"""Run tools on regions of a picture: in parallel, cached, each able to fail alone."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from agenticiqa.errors import AgenticIQAError, ToolError
from agenticiqa.pictures.images import Box, LoadedImage
from agenticiqa.runtime.cache import DiskCache, content_key
from agenticiqa.tools.metrics import Array, FloatArray, Measurement, MetricInputError, Views
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
    map: FloatArray | None = field(default=None, repr=False, compare=False)
    """Where the score comes from, if the bench keeps maps and the tool has one."""


# Small pictures are measured by the calling thread itself where that is sure to end in time: being handed a thread
# takes longer than measuring does, and with tiny ones also longer than several threads save. Every tool of our own
# gives its score of a small picture in a second, on any machine in far less than ten.
SMALL_PIXELS = 512 * 512
TINY_PIXELS = 128 * 128
AMPLE_S = 10.0

OVERRAN = "took longer than"
"""How the error begins of a tool that was too slow: the one failure that may not happen again."""

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
    """A tool that overran keeps its thread until it ends; nobody waits for it, and the next picture gets new ones."""
    _kept.pools = {workers: kept for workers, kept in _kept.pools.items() if kept is not pool}
    pool.shutdown(wait=False, cancel_futures=True)


class Bench:
    """A picture, perhaps its reference, and the tools applied to them."""

    def __init__(
        self,
        test: LoadedImage,
        reference: LoadedImage | None,
        cache: DiskCache | None = None,
        *,
        keep_maps: bool = False,
    ) -> None:
        self._test = test
        self._reference = reference
        self._cache = cache
        self._keep_maps = keep_maps
        self._views: dict[tuple[Box | None, bool], Views] = {}

    def run(self, jobs: Sequence[ToolJob], *, max_workers: int, timeout_s: float) -> list[JobResult]:
        """Results in the order of ``jobs``, which must be distinct."""
        if not jobs:
            return []
        self._prepare(jobs)
        threads = min(max_workers, len(jobs))
        small = SMALL_PIXELS if threads == 1 else TINY_PIXELS
        if self._test.size[0] * self._test.size[1] <= small and all(_is_in_time(job, timeout_s) for job in jobs):
            return [self.measure(job) for job in jobs]
        pool = _kept_pool(threads)
        # Each thread takes one job after the other, and all threads are waited for together: handing over and waking
        # up for each job would cost small pictures as much as a tool does.
        waiting = deque(enumerate(jobs))
        overran = f"{OVERRAN} {timeout_s:g} s"
        results = [JobResult(job, seconds=timeout_s, error=overran) for job in jobs]
        running = [pool.submit(self._run_waiting, waiting, results) for _ in range(threads)]
        ended, late = wait(running, timeout=timeout_s)
        if late:
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
            results[number] = self.measure(job)

    def measure(self, job: ToolJob) -> JobResult:
        """One job; failures of the tool become the result's error."""
        # Maps are not stored: a tool that is asked for its map runs.
        stored = self._cache.get(self._key(job)) if self._cache and not self._keep_maps else None
        if stored is not None:
            return JobResult(job, stored["raw"], stored["calibrated"], cached=True)
        started = time.perf_counter()
        try:
            raw, calibrated, local = self._score(job)
        except Exception as error:  # noqa: BLE001 - a tool may come from another package and must fail alone
            logger.warning("%s failed: %s", job.tool.name, error)
            return JobResult(job, seconds=time.perf_counter() - started, error=str(error) or type(error).__name__)
        if self._cache:
            self._cache.put(self._key(job), {"raw": raw, "calibrated": calibrated})
        return JobResult(job, raw, calibrated, seconds=time.perf_counter() - started, map=local)

    def _score(self, job: ToolJob) -> tuple[float, float | None, FloatArray | None]:
        if job.tool.needs_reference and self._reference is None:
            raise ToolError(f"{job.tool.name} compares with a reference picture, and none was given.")
        found = job.tool.metric.measure(self._view(job))
        raw = found.value
        if not math.isfinite(raw):
            raise ToolError(f"{job.tool.name} gave {raw}, which is not a score.")
        local = self._map(job, found) if self._keep_maps else None
        return raw, job.tool.calibration(raw) if job.tool.calibration else None, local

    def _map(self, job: ToolJob, found: Measurement) -> FloatArray | None:
        make = job.tool.metric.make_map
        return make(self._view(job)) if found.map is None and make else found.map

    def _prepare(self, jobs: Sequence[ToolJob]) -> None:
        """Make shared views before threads start; a pair that does not fit fails in its own jobs instead."""
        for job in jobs:
            try:
                self._view(job)
            except (AgenticIQAError, MetricInputError) as error:
                logger.debug("No view for %s: %s", job.tool.name, error)

    def _view(self, job: ToolJob) -> Views:
        """Tools that need no reference must not fail because the reference does not fit."""
        key = (job.region, job.tool.needs_reference)
        if key not in self._views:
            reference = _pixels(self._reference, job.region) if job.tool.needs_reference and self._reference else None
            self._views[key] = Views(_pixels(self._test, job.region), reference)
        return self._views[key]

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


def _is_in_time(job: ToolJob, timeout_s: float) -> bool:
    return job.tool.is_predictable and timeout_s >= AMPLE_S


def _pixels(image: LoadedImage, region: Box | None) -> Array:
    return image.crop(region) if region else image.measurable
