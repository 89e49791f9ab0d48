"""Run the cells that are not done yet, within a budget; whatever is done stays done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from agenticiqa.batch.engines.base import Engine
from agenticiqa.batch.manifest import open_manifest
from agenticiqa.batch.preparing import (
    BatchRequest,
    CostEstimate,
    asks_elsewhere,
    engine_factory,
    estimate,
    expected_cost,
    prepare_job,
)
from agenticiqa.batch.rate_limits import RateLimits
from agenticiqa.batch.results import StoredLine, read_results
from agenticiqa.batch.runner import Batch, BatchSummary, ProgressListener, StopSwitch
from agenticiqa.batch.work import BatchJob
from agenticiqa.errors import BackendUnavailableError, MissingExtraError, OutputError, ToolUnavailableError
from agenticiqa.models.backends import readiness_of
from agenticiqa.research.datasets.checking import Check
from agenticiqa.research.reproduction.methods import Cell
from agenticiqa.runtime.files import ScratchFolder

State = Literal["done", "unfinished", "cannot run", "not run"]
CANNOT_RUN = (BackendUnavailableError, ToolUnavailableError, MissingExtraError)
MakeEngine = Callable[[BatchJob], Engine]


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

    state: State
    reason: str | None = None
    summary: BatchSummary | None = None


@dataclass(frozen=True)
class Listener:
    """Who wants to hear how it goes."""

    cell: Callable[[int, int, Cell], None] = field(default=lambda _place, _count, _cell: None)
    progress: ProgressListener = field(default=lambda _: None)


@dataclass(frozen=True)
class Forecast:
    """What a cell would still take."""

    cell: Cell
    samples: int
    done: int
    estimate: CostEstimate | None
    """None where it cannot run here."""
    reason: str | None = None


def distinct(cells: Iterable[Cell]) -> list[Cell]:
    """Each set and method once: tables that share a cell share its results."""
    return list({cell.results: cell for cell in cells}.values())


def job_of(cell: Cell, conditions: Conditions) -> BatchJob:
    """Raises one of ``CANNOT_RUN`` where a tool or a backend is not here at all."""
    request = cell.method.request(conditions.request)
    job = prepare_job(request)
    # Limits belong to models that are asked elsewhere; a cell that asks none would refuse them.
    return prepare_job(replace(request, limits=conditions.limits)) if asks_elsewhere(job.backends) else job


def what_is_missing(job: BatchJob) -> str | None:
    """Why a job cannot run here although it is well formed: a model without its key, say."""
    for backend in dict.fromkeys(job.backends.values()):
        readiness = readiness_of(backend, job.settings)
        if not readiness.ready:
            return f"{backend} cannot be used: {readiness.reason}"
    return None


def write_manifests(cells: Iterable[Cell]) -> dict[str, Check]:
    """One manifest for each set, made before anything is spent."""
    checks: dict[str, Check] = {}
    for cell in cells:
        if cell.judged.key not in checks:
            checks[cell.judged.key] = cell.judged.write_manifest(cell.manifest)
    return checks


# --- what it would take ----------------------------------------------------------------------------------


def forecast(cells: Sequence[Cell], conditions: Conditions) -> list[Forecast]:
    """What is left to do, in samples, calls and money; nothing is written or asked."""
    with ScratchFolder("reproduce") as folder:
        counts: dict[str, int] = {}
        found = []
        for cell in cells:
            key = cell.judged.key
            if key not in counts:
                cell.judged.write_manifest(folder / f"{key}.jsonl")
                counts[key] = lines_in(folder / f"{key}.jsonl")
            found.append(_forecast(cell, counts[key], conditions))
    return found


def _forecast(cell: Cell, samples: int, conditions: Conditions) -> Forecast:
    done = _answered(cell.results)
    try:
        job = job_of(cell, conditions)
    except CANNOT_RUN as error:
        return Forecast(cell, samples, done, None, str(error))
    # Who has no key yet wants to know the cost all the more.
    return Forecast(cell, samples, done, estimate(job, max(samples - done, 0)), what_is_missing(job))


def lines_in(path: Path) -> int:
    with path.open("rb") as stream:
        return sum(1 for _ in stream)


def _answered(results: Path) -> int:
    latest = {line.record["sample_id"]: line.record["status"] for line in _stored(results)}
    return sum(status != "error" for status in latest.values())


def _stored(results: Path) -> Iterable[StoredLine]:
    return read_results(results) if results.exists() else ()


def spent(results: Path) -> float:
    """What the results of a cell cost, as far as prices are known."""
    return sum((line.record.get("metadata") or {}).get("cost_usd") or 0.0 for line in _stored(results))


# --- running ---------------------------------------------------------------------------------------------


def run_cells(
    cells: Sequence[Cell],
    conditions: Conditions,
    *,
    listener: Listener | None = None,
    stop: StopSwitch | None = None,
    make_engine: MakeEngine | None = None,
) -> dict[Path, CellState]:
    """Do what is left of every cell, one after the other; by the file of its results, what became of it.

    A cell that cannot run here (no key, no extra) keeps no other from running. A folder that another process works in
    is refused.
    """
    listener, stop = listener or Listener(), stop or StopSwitch()
    jobs: dict[Path, BatchJob] = {}
    states: dict[Path, CellState] = {}
    for cell in cells:
        try:
            jobs[cell.results] = job_of(cell, conditions)
            missing = what_is_missing(jobs[cell.results])
        except CANNOT_RUN as error:
            missing = str(error)
        if missing:
            states[cell.results] = CellState("cannot run", missing)
            continue
        if conditions.budget_usd is not None:
            # Asked now, because a budget that cannot be kept must be refused before anything is spent.
            expected_cost(jobs[cell.results])
    paid = {cell.results: spent(cell.results) for cell in cells} if conditions.budget_usd is not None else {}
    for place, cell in enumerate(cells, 1):
        if cell.results in states:
            continue
        if stop.asked:
            states[cell.results] = CellState("not run", "stopped before its turn")
            continue
        listener.cell(place, len(cells), cell)
        others = sum(paid.values()) - paid.get(cell.results, 0.0)
        summary = _run(cell, jobs[cell.results], conditions, others, listener.progress, stop, make_engine)
        states[cell.results] = _state(summary)
        if paid:
            paid[cell.results] = spent(cell.results)
    return states


def _run(
    cell: Cell,
    job: BatchJob,
    conditions: Conditions,
    spent_elsewhere: float,
    on_progress: ProgressListener,
    stop: StopSwitch,
    make_engine: MakeEngine | None,
) -> BatchSummary:
    budget = conditions.budget_usd
    cell.results.parent.mkdir(parents=True, exist_ok=True)
    with closing(open_manifest(str(cell.manifest))) as manifest:
        batch = Batch(
            manifest=manifest,
            job=job,
            output=cell.results,
            make_engine=(lambda: make_engine(job)) if make_engine else engine_factory(job, conditions.workers),
            resume=True,
            budget_usd=None if budget is None else max(0.0, budget - spent_elsewhere),
            expected_cost_usd=expected_cost(job) if budget is not None else 0.0,
            on_progress=on_progress,
            stop=stop,
        )
        try:
            return batch.run()
        except OutputError as error:
            hint = f"Give another --output, or remove {cell.results.parent}. {error.hint}"
            raise OutputError(error.message, hint=hint) from error


def _state(summary: BatchSummary) -> CellState:
    if summary.not_done:
        why = "the budget is used up" if summary.stopped == "budget" else "stopped"
        return CellState("unfinished", f"{summary.not_done} of {summary.total} not done: {why}", summary)
    return CellState("done", None, summary)
