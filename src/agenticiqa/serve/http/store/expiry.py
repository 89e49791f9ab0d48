"""Runs and batches that ended long ago are forgotten, with everything that was kept of them."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta, timezone

from agenticiqa.serve.http.parts import Parts
from agenticiqa.serve.http.store.job_record import JobRow

logger = logging.getLogger(__name__)


def forget_old_runs(parts: Parts) -> int:
    """Remove what has been kept long enough; returns how many runs and batches went."""
    oldest_kept = datetime.now(tz=timezone.utc) - timedelta(days=parts.settings.keep_runs_days)
    gone = parts.record.forget_ended_before(oldest_kept)
    if not gone:
        return 0
    for row in gone:
        results = parts.batch_output(row.id)
        for file in results.parent.glob(f"{row.id}.*"):
            file.unlink(missing_ok=True)
    parts.pipeline.assessor().forget([run_id for row in gone for run_id in _library_runs(row)])
    logger.info("Forgot %d runs that ended before %s", len(gone), oldest_kept.date())
    return len(gone)


def _library_runs(row: JobRow) -> list[str]:
    """The runs of the package behind a job: its own, or those of a comparison's two pictures."""
    inside = ((row.result or {}).get("metadata") or {}).get("run_ids") or []
    return [row.id, *(run_id for run_id in inside if run_id)]
