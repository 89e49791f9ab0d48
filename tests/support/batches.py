"""Small batches on tiny pictures, run the same way in this process or in one that gets killed."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
from collections.abc import Iterable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from agenticiqa.batch.engines.base import Engine, ThreadEngine
from agenticiqa.batch.engines.on_ray import RatingActor
from agenticiqa.batch.engines.processes import ProcessEngine, serve
from agenticiqa.batch.manifest import open_manifest
from agenticiqa.batch.preparing import BatchRequest, prepare_job
from agenticiqa.batch.runner import Batch, BatchSummary
from agenticiqa.batch.work import BatchJob, SampleOutcome, SampleWorker, Task

TOOLS = ("PSNR", "SSIM")
VOLATILE = (
    "metadata.timings",
    "metadata.call_log[].seconds",
    "executor_evidence.tool_logs[].seconds",
    "measurements[].seconds",
)
"""All that differs between two runs of the same batch, apart from what a cache or a model's mood changes."""


def make_pictures(folder: Path, count: int = 4) -> None:
    """``noisy0.png`` and ``clean0.png``, and so on."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    for number in range(count):
        clean = np.kron(rng.integers(40, 216, (4, 5, 3)), np.ones((8, 8, 1))).astype(np.uint8)
        noisy = np.clip(clean + rng.normal(0, 12, clean.shape), 0, 255).astype(np.uint8)
        Image.fromarray(clean).save(folder / f"clean{number}.png")
        Image.fromarray(noisy).save(folder / f"noisy{number}.png")


def make_manifest(folder: Path, samples: int, pictures: int = 4) -> Path:
    """Pictures and a manifest that asks about them again and again."""
    make_pictures(folder, pictures)
    rows = (
        {
            "sample_id": f"s{number}",
            "image_path": f"noisy{number % pictures}.png",
            "reference_path": f"clean{number % pictures}.png",
            "mos": number % 5,
            "distortion": "noise",
        }
        for number in range(samples)
    )
    return write_jsonl(folder / "manifest.jsonl", rows)


def write_jsonl(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def measuring_job(**changes: Any) -> BatchJob:
    return prepare_job(BatchRequest(**{"tools": TOOLS, **changes}))


def run_batch(
    manifest: Path, output: Path, *, job: BatchJob | None = None, engine: Any = None, **options: Any
) -> BatchSummary:
    """A whole batch on two threads of this process, unless told otherwise."""
    job = job or measuring_job()

    def make_engine() -> Engine:
        made: Engine = engine(job) if engine else ThreadEngine(job, 2)
        return made

    opened = open_manifest(str(manifest))
    try:
        return Batch(opened, job, output, make_engine, **options).run()
    finally:
        opened.close()


def resume_batch(manifest: str, output: str) -> None:
    """For a process that may be killed at any moment."""
    run_batch(Path(manifest), Path(output), resume=True)


def run_faulty_batch(manifest: str, output: str) -> None:
    """For a process that is killed while one worker is busy."""
    run_batch(Path(manifest), Path(output), engine=lambda job: FaultyEngine(job, 1))


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def without_volatile(record: dict[str, Any]) -> dict[str, Any]:
    """A result without what :data:`VOLATILE` names, for comparing two runs."""
    copy: dict[str, Any] = json.loads(json.dumps(record))
    for path in VOLATILE:
        _remove(copy, path.split("."))
    return copy


def _remove(value: Any, path: list[str]) -> None:
    if not isinstance(value, dict):
        return
    name, *rest = path
    if not rest:
        value.pop(name, None)
        return
    inner = value.get(name.removesuffix("[]"))
    for each in (inner or []) if name.endswith("[]") else [inner]:
        _remove(each, rest)


def settled(path: Path) -> list[str]:
    """The file's lines without what differs from run to run; everything else byte for byte."""
    return [json.dumps(without_volatile(record), ensure_ascii=False) for record in records(path)]


# --- workers that misbehave ---


def add_faults() -> None:
    """From here on some samples, by their ids, end this process or never end."""
    result = SampleWorker._result

    def faulty(self: SampleWorker, task: Task) -> dict[str, Any]:
        name, image = task.sample.sample_id, task.sample.image_path
        flag = Path(image).with_name(f"{name}.seen")
        if name.startswith("once") and not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if name.startswith("crash"):
            os.kill(os.getpid(), signal.SIGSEGV)
        if name.startswith("slow"):
            Path(image).with_name(f"{name}.seen").touch()
            time.sleep(60)
        if name.startswith("loud"):
            sys.stdout.write("printed by a library\n")
            sys.stdout.flush()
            os.write(1, b"written by a library\n")
        if name.startswith("stuck"):
            ctypes.PyDLL(None).sleep(60)  # keeps every thread of the worker from running
        return result(self, task)

    SampleWorker._result = faulty  # type: ignore[method-assign]


def serve_with_faults(pipe: Connection, job: BatchJob, threads: int, scratch: str) -> None:
    """A real worker process with faults."""
    add_faults()
    serve(pipe, job, threads, scratch)


class FaultyActor(RatingActor):
    """A real actor of Ray with faults."""

    def work(self, tasks: list[Task]) -> list[SampleOutcome]:
        add_faults()
        return super().work(tasks)


def serve_interrupted(pipe: Connection, job: BatchJob, threads: int, scratch: str) -> None:
    """A worker that Ctrl-C reaches before it has begun."""
    os.kill(os.getpid(), signal.SIGINT)
    serve(pipe, job, threads, scratch)


def serve_nothing(pipe: Connection, job: BatchJob, threads: int, scratch: str) -> None:
    """A worker that cannot even start."""
    os._exit(9)


class FaultyEngine(ProcessEngine):
    target = staticmethod(serve_with_faults)


class InterruptedEngine(ProcessEngine):
    target = staticmethod(serve_interrupted)


class DeadEngine(ProcessEngine):
    target = staticmethod(serve_nothing)
