"""Runs and batches that are forgotten."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path

from agenticiqa.serve.http.app_state import AppState
from agenticiqa.serve.http.store.job_record import JobRow

logger = logging.getLogger(__name__)


def forget_old_runs(parts: AppState) -> int:
    """Remove what has been kept long enough; returns how many runs and batches went."""
    oldest_kept = datetime.now(tz=timezone.utc) - timedelta(days=parts.settings.keep_runs_days)
    gone = parts.record.forget_ended_before(oldest_kept)
    if not gone:
        return 0
    _forget_what_was_kept(parts, gone)
    logger.info("Forgot %d runs that ended before %s", len(gone), oldest_kept.date())
    return len(gone)


def delete_run(parts: AppState, row: JobRow) -> None:
    """Remove one run or batch that has ended, and its pictures unless another run shows them too."""
    parts.record.delete(row.id)
    _forget_what_was_kept(parts, [row])
    logger.info("Deleted %s %s", row.kind, row.id)


def _forget_what_was_kept(parts: AppState, gone: Sequence[JobRow]) -> None:
    for row in gone:
        results = parts.batch_output(row.id)
        for file in results.parent.glob(f"{row.id}.*"):
            file.unlink(missing_ok=True)
    parts.pipeline.assessor().forget([run_id for row in gone for run_id in _library_runs(row)])
    in_use = parts.files_in_use()
    for picture in {path for row in gone for path in _pictures(row)}:
        if picture not in in_use and not parts.record.mentions(picture.name):
            parts.uploads.remove(picture)


def _library_runs(row: JobRow) -> list[str]:
    """The runs of the package behind a job: its own, or those of a comparison's two pictures."""
    inside = ((row.result or {}).get("metadata") or {}).get("run_ids") or []
    return [row.id, *(run_id for run_id in inside if run_id)]


def _pictures(row: JobRow) -> list[Path]:
    groups = [row.request.get("pictures", {}), *row.request.get("sample_pictures", {}).values()]
    return [Path(entry["file"]) for group in groups for entry in group.values()]
