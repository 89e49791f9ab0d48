"""Deleting what has ended, for the routes of runs and of batches."""

from __future__ import annotations

import asyncio

from agenticiqa.serve.http.parts import Parts
from agenticiqa.serve.http.problems import ServiceError
from agenticiqa.serve.http.store.expiry import delete_run
from agenticiqa.serve.http.store.job_record import JobRow


async def delete_ended(parts: Parts, row: JobRow) -> None:
    """Remove a run or batch; one that is still being worked on must be cancelled first."""
    job = parts.queue.find(row.id) or parts.batch_queue.find(row.id)
    if job is not None and job.outcome is None:
        raise ServiceError(409, "not_ended", "This is still being worked on: cancel it first.")
    parts.queue.forget(row.id)
    parts.batch_queue.forget(row.id)
    await asyncio.to_thread(delete_run, parts, row)
