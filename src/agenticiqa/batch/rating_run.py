"""A pass of the fast lane over all pictures of its sources, on whichever engine fits."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from agenticiqa.batch.containers import open_sources
from agenticiqa.batch.engines.base import Engine
from agenticiqa.batch.engines.processes import ProcessEngine, usable_cores
from agenticiqa.batch.runner import Batch, BatchSummary, ProgressListener, StopSwitch
from agenticiqa.batch.work import BatchJob
from agenticiqa.runtime.config import load_settings
from agenticiqa.vision.accelerator import Device, chosen_device


@dataclass
class RatingRequest:
    """What to rate, where, and where the results grow."""

    sources: Sequence[str]
    lines: Path
    """The file that grows while pictures are rated, and that ``resume`` continues."""
    others: tuple[Path, ...] = ()
    """What is made of the results at the end: none of it may be a picture that is rated."""
    device: Device = "auto"
    engine: Literal["processes", "ray"] = "processes"
    resume: bool = False
    overwrite: bool = False
    workers: int | None = None
    timeout_s: float = 600.0
    memory: str | None = None
    config: Path | None = None
    on_progress: ProgressListener = field(default=lambda _: None)
    stop: StopSwitch = field(default_factory=StopSwitch)

    def place(self) -> str:
        """What it runs on, in words; raises where that cannot be."""
        if self.engine == "ray":
            return "Ray"
        device, why = chosen_device(self.device)
        cores = self.workers or usable_cores()
        if device == "cuda":
            return f"the GPU ({why}), {cores} cores decoding"
        return f"the CPU, {cores} processes" + (f" ({why})" if self.device == "auto" else "")


def run_rating(request: RatingRequest) -> BatchSummary:
    """Rate what has no score yet; every result is on disk as soon as it is there."""
    overrides: dict[str, Any] = {"pipeline.runs.enabled": False, "pipeline.memory": request.memory}
    settings = load_settings(request.config, overrides)
    job = BatchJob(settings, choices={}, rate=True, timeout_s=request.timeout_s, no_trace=True)
    with closing(open_sources(*request.sources, outputs=request.others)) as manifest:
        return Batch(
            manifest=manifest,
            job=job,
            output=request.lines,
            others=request.others,
            make_engine=partial(_engine, job, request),
            resume=request.resume,
            overwrite=request.overwrite,
            on_progress=request.on_progress,
            stop=request.stop,
        ).run()


def _engine(job: BatchJob, request: RatingRequest) -> Engine:
    workers = request.workers or usable_cores()
    if request.engine == "ray":
        from agenticiqa.batch.engines.on_ray import RayEngine

        return RayEngine(job, request.workers, request.device)
    if chosen_device(request.device)[0] == "cuda":
        from agenticiqa.batch.engines.device import DeviceEngine

        return DeviceEngine(job, workers)
    return ProcessEngine(job, workers)
