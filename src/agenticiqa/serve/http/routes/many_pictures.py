"""What batches and audits have in common: a job of many pictures is sent, followed, stopped and deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from fastapi import Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel

from agenticiqa.serve.http.access import is_admin, place_for
from agenticiqa.serve.http.app_state import AppState, app_state_of, own_job
from agenticiqa.serve.http.routes.runs import delete_ended
from agenticiqa.serve.http.store.job_record import JobRow
from agenticiqa.serve.http.work.jobs import ServiceJob, WorkResult

State = TypeVar("State", bound=BaseModel)


@dataclass(frozen=True)
class ManyPictures(Generic[State]):
    """Jobs of one kind, and how the state of one is told."""

    kind: str
    state: Callable[[JobRow, ServiceJob | None], State]

    async def row(self, parts: AppState, job_id: str, caller: str | None) -> JobRow:
        return await own_job(parts, job_id, caller, (self.kind,), self.kind)

    async def sent(
        self,
        request: Request,
        caller: str,
        job_id: str,
        work: Callable[[ServiceJob], WorkResult],
        asked: dict[str, Any],
        holds: Iterable[Path],
    ) -> Response:
        parts = app_state_of(request)
        with place_for(request, caller, parts.batch_queue) as slot:
            job = await parts.batch_queue.submit(slot, job_id, caller, self.kind, work, asked, holds)
        shown = self.state(await self.row(parts, job_id, caller), job).model_dump(mode="json")
        return JSONResponse(shown, 202, headers={"Location": shown["links"]["self"]})

    async def latest(self, request: Request, caller: str, limit: int) -> list[State]:
        parts = app_state_of(request)
        rows = await asyncio.to_thread(parts.record.latest, caller, (self.kind,), limit)
        return [self.state(row, parts.batch_queue.find(row.id)) for row in rows]

    async def shown(self, request: Request, job_id: str, caller: str) -> Response:
        parts = app_state_of(request)
        return self._told(await self.row(parts, job_id, caller), parts.batch_queue.find(job_id))

    async def cancelled(self, request: Request, job_id: str, caller: str) -> Response:
        parts = app_state_of(request)
        await self.row(parts, job_id, caller)
        job = parts.batch_queue.cancel(job_id)
        return self._told(await self.row(parts, job_id, caller), job)

    async def deleted(self, request: Request, job_id: str, caller: str) -> Response:
        parts = app_state_of(request)
        await delete_ended(parts, await self.row(parts, job_id, None if is_admin(request) else caller))
        return Response(status_code=204)

    def _told(self, row: JobRow, job: ServiceJob | None) -> Response:
        return JSONResponse(self.state(row, job).model_dump(mode="json"))


def progress_of(row: JobRow, job: ServiceJob | None) -> dict[str, Any]:
    """How far a job of many pictures is."""
    events = job.events if job is not None else row.events
    counted = [event["data"]["finished"] for event in events if event["event"] == "progress"]
    return {
        "id": row.id,
        "status": row.status if row.finished_at or job is None else job.status,
        "created_at": row.created_at,
        "finished_at": row.finished_at,
        "seconds": row.seconds,
        "total": row.request["total"],
        "finished": counted[-1] if counted else None if job is None else 0,
        "summary": row.result,
        "error": row.error,
    }
