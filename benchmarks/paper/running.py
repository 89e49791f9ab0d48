"""Run the cells that are not done yet, within a budget; whatever is done stays done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal

from benchmarks.paper.methods import Cell

from agenticiqa.batch.engines.base import Engine
from agenticiqa.batch.manifest import open_manifest
from agenticiqa.batch.preparing import (
    BatchRequest,
    CostEstimate,
    engine_factory,
    estimate,
    expected_cost,
    prepare_job,
    uses_remote_backend,
)
from agenticiqa.batch.rate_limits import RateLimits
from agenticiqa.batch.results import StoredLine, read_results
from agenticiqa.batch.runner import RERUN_HINT, Batch, BatchSummary, ProgressListener, StopSwitch
from agenticiqa.batch.work import BatchJob
from agenticiqa.errors import BackendUnavailableError, MissingExtraError, OutputError, ToolUnavailableError
from agenticiqa.models.backends import readiness_of
from agenticiqa.runtime.files import ScratchFolder

MakeEngine = Callable[[BatchJob], Engine]
Announce = Callable[[int, int, Cell], None]
"""Told the place of a cell, how many there are, and which one begins."""


@dataclass(frozen=True)
class Conditions:
    """What holds for every cell."""

    request: BatchRequest = field(default_factory=BatchRequest)
    limits: RateLimits = field(default_factory=RateLimits)
    workers: int | None = None
    budget_usd: float | None = None
    """For all cells together, earlier runs included."""


@dataclass(frozen=True)
class CellState:
    """What became of a cell."""

    state: Literal["done", "unfinished", "cannot run", "not run"]
    reason: str | None = None


@dataclass(frozen=True)
class Forecast:
    """What a cell would still take."""

    cell: Cell
    samples: int
    done: int
    estimate: CostEstimate | None
    """None where it cannot run here."""
    reason: str | None = None


def job_of(cell: Cell, conditions: Conditions) -> tuple[BatchJob | None, str | None]:
    """A cell's job, and why it cannot run here: without its key, say. No job where a tool or backend is not here."""
    request = cell.method.request(conditions.request, cell.judged)
    try:
        job = prepare_job(request)
        if uses_remote_backend(job.backends):
            # Limits belong to models that are asked elsewhere; a cell that asks none would refuse them.
            job = prepare_job(replace(request, limits=conditions.limits))
    except (BackendUnavailableError, ToolUnavailableError, MissingExtraError) as error:
        return None, str(error)
    for backend in dict.fromkeys(job.backends.values()):
        readiness = readiness_of(backend, job.settings)
        if not readiness.ready:
            return job, f"{backend} cannot be used: {readiness.reason}"
    return job, None


def forecast(cells: Sequence[Cell], conditions: Conditions) -> list[Forecast]:
    """What is left to do, in samples, calls and money; nothing is written or asked."""
    found = []
    with ScratchFolder("reproduce") as folder:
        for cell in cells:
            manifest = folder / f"{cell.judged.key}.jsonl"
            if not manifest.exists():
                cell.judged.write_manifest(manifest)
            samples = lines_in(manifest)
            latest = {line.record["sample_id"]: line.record["status"] for line in _stored(cell.results)}
            done = sum(status != "error" for status in latest.values())
            job, missing = job_of(cell, conditions)
            # Who has no key yet wants to know the cost all the more.
            found.append(Forecast(cell, samples, done, estimate(job, max(samples - done, 0)) if job else None, missing))
    return found


def lines_in(path: Path) -> int:
    with path.open("rb") as stream:
        return sum(1 for _ in stream)


def _stored(results: Path) -> Iterable[StoredLine]:
    return read_results(results) if results.exists() else ()


def spent(results: Path) -> float:
    """What the results of a cell cost, as far as prices are known."""
    return sum((line.record.get("metadata") or {}).get("cost_usd") or 0.0 for line in _stored(results))


def run_cells(
    cells: Sequence[Cell],
    conditions: Conditions,
    *,
    announce: Announce | None = None,
    on_progress: ProgressListener | None = None,
    stop: StopSwitch | None = None,
    make_engine: MakeEngine | None = None,
) -> dict[Path, CellState]:
    """Do what is left of every cell, one after the other; by the file of its results, what became of it.

    A cell that cannot run here (no key, no extra) keeps no other from running. A folder that another process works in
    is refused.
    """
    stop, budget = stop or StopSwitch(), conditions.budget_usd
    jobs: dict[Path, BatchJob] = {}
    states: dict[Path, CellState] = {}
    for cell in cells:
        job, missing = job_of(cell, conditions)
        if job is None or missing:
            states[cell.results] = CellState("cannot run", missing)
            continue
        jobs[cell.results] = job
        if budget is not None:
            # Asked now, because a budget that cannot be kept must be refused before anything is spent.
            expected_cost(job)
    paid = {} if budget is None else {cell.results: spent(cell.results) for cell in cells}
    for place, cell in enumerate(cells, 1):
        if cell.results in states:
            continue
        if stop.asked:
            states[cell.results] = CellState("not run", "stopped before its turn")
            continue
        if announce:
            announce(place, len(cells), cell)
        # A batch counts itself what its own file cost.
        left = None if budget is None else max(0.0, budget - sum(paid.values()) + paid[cell.results])
        job = jobs[cell.results]
        engines = partial(make_engine, job) if make_engine else engine_factory(job, workers=conditions.workers)
        summary = _run(cell, job, left, engines, on_progress or (lambda _: None), stop)
        states[cell.results] = CellState("done")
        if summary.not_done:
            why = "the budget is used up" if summary.stopped == "budget" else "stopped"
            reason = f"{summary.not_done} of {summary.total} not done: {why}"
            states[cell.results] = CellState("unfinished", reason)
        if budget is not None:
            paid[cell.results] = spent(cell.results)
    return states


def _run(
    cell: Cell,
    job: BatchJob,
    budget_usd: float | None,
    make_engine: Callable[[], Engine],
    on_progress: ProgressListener,
    stop: StopSwitch,
) -> BatchSummary:
    cell.results.parent.mkdir(parents=True, exist_ok=True)
    with closing(open_manifest(str(cell.manifest))) as manifest:
        batch = Batch(
            manifest=manifest,
            job=job,
            output=cell.results,
            make_engine=make_engine,
            resume=True,
            budget_usd=budget_usd,
            expected_cost_usd=0.0 if budget_usd is None else expected_cost(job),
            on_progress=on_progress,
            stop=stop,
        )
        try:
            return batch.run()
        except OutputError as error:
            hint = f"Give another --output, or remove {cell.results.parent}. {error.hint.removeprefix(RERUN_HINT)}"
            raise OutputError(error.message, hint=hint) from error
