"""Runs and batches that are forgotten."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path

from agenticiqa.serve.http.app_state import AppState
from agenticiqa.serve.http.problems import ServiceError
from agenticiqa.serve.http.store.job_record import JobRow

logger = logging.getLogger(__name__)


def forget_old_runs(state: AppState) -> int:
    """Remove what has been kept long enough; returns how many runs and batches went."""
    oldest_kept = datetime.now(tz=timezone.utc) - timedelta(days=state.settings.keep_runs_days)
    gone = state.record.forget_ended_before(oldest_kept)
    if not gone:
        return 0
    _forget_what_was_kept(state, gone)
    logger.info("Forgot %d runs that ended before %s", len(gone), oldest_kept.date())
    return len(gone)


async def delete_ended(state: AppState, row: JobRow) -> None:
    """Remove a run or batch, and its pictures unless another run shows them; one that still runs is refused."""
    job = state.queue.find(row.id) or state.batch_queue.find(row.id)
    if job is not None and job.outcome is None:
        raise ServiceError(409, "not_ended", "This is still being worked on: cancel it first.")
    state.queue.forget(row.id)
    state.batch_queue.forget(row.id)
    await asyncio.to_thread(_delete, state, row)


def _delete(state: AppState, row: JobRow) -> None:
    state.record.delete(row.id)
    _forget_what_was_kept(state, [row])
    logger.info("Deleted %s %s", row.kind, row.id)


def _forget_what_was_kept(state: AppState, gone: Sequence[JobRow]) -> None:
    for row in gone:
        for file in state.batch_output(row.id).parent.glob(f"{row.id}.*"):
            file.unlink(missing_ok=True)
    state.pipeline.assessor().forget([run_id for row in gone for run_id in _library_runs(row)])
    in_use = state.files_in_use()
    for picture in {path for row in gone for path in _pictures(row)}:
        if picture not in in_use and not state.record.mentions(picture.name):
            state.uploads.remove(picture)


def _library_runs(row: JobRow) -> list[str]:
    """The runs of the package behind a job: its own, or those of a comparison's two pictures."""
    inside = ((row.result or {}).get("metadata") or {}).get("run_ids") or []
    return [row.id, *(run_id for run_id in inside if run_id)]


def _pictures(row: JobRow) -> list[Path]:
    groups = [row.request.get("pictures", {}), *row.request.get("sample_pictures", {}).values()]
    return [Path(entry["file"]) for group in groups for entry in group.values()]
