"""A recorded run as its owner sees it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from functools import partial
from html import escape
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response, StreamingResponse

from agenticiqa.reports.assessment import render_report, report_item
from agenticiqa.reports.comparison import render_page
from agenticiqa.runtime.config import ImageLimits
from agenticiqa.serve.http.access import AssessCaller, is_admin
from agenticiqa.serve.http.app_state import AppState, app_state_of, stored_pictures
from agenticiqa.serve.http.problems import ServiceError
from agenticiqa.serve.http.routes.pictures import drawing_need
from agenticiqa.serve.http.routes.request_documents import problems
from agenticiqa.serve.http.routes.run_views import RUN_KINDS, RunId, own_run, run_summary, run_view
from agenticiqa.serve.http.store.expiry import delete_run
from agenticiqa.serve.http.store.job_record import JobRow
from agenticiqa.serve.http.wire import Run, RunList
from agenticiqa.serve.http.work.jobs import ServiceJob
from agenticiqa.serve.http.work.pipeline_work import assessment_of, comparison_of

# --- Deleting what has ended, for the routes of runs and of batches ---


async def delete_ended(parts: AppState, row: JobRow) -> None:
    """Remove a run or batch; one that is still being worked on must be cancelled first."""
    job = parts.queue.find(row.id) or parts.batch_queue.find(row.id)
    if job is not None and job.outcome is None:
        raise ServiceError(409, "not_ended", "This is still being worked on: cancel it first.")
    parts.queue.forget(row.id)
    parts.batch_queue.forget(row.id)
    await asyncio.to_thread(delete_run, parts, row)


# --- Routes about runs: list, show, follow, cancel, pin, delete, and the page of each ---


router = APIRouter(prefix="/v1/runs", tags=["runs"])

HEARTBEAT_S = 10.0
REPORT_POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'; sandbox"
)
EVENT = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "event": {"type": "string", "enum": ["status", "step", "node", "progress", "done"]},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
    "required": ["id", "event", "data"],
}


@router.get("", summary="Your runs, newest first", response_model=RunList, responses=problems(422))
async def list_runs(
    request: Request,
    caller: AssessCaller,
    limit: Annotated[int, Query(ge=1, le=200)] = 20,
    before: Annotated[str | None, Query(pattern="^[0-9a-f]{12}$", description="Only runs before this one.")] = None,
    q: Annotated[str | None, Query(max_length=200, description="Words of questions, names or answers.")] = None,
    pinned: Annotated[bool | None, Query(description="Only pinned runs, or only others.")] = None,
) -> Response:
    parts = app_state_of(request)
    latest = partial(parts.record.latest, caller, RUN_KINDS, limit, before, words=q or None, pinned=pinned)
    rows = await asyncio.to_thread(latest)
    same = {"limit": limit, **({"q": q} if q else {}), **({} if pinned is None else {"pinned": str(pinned).lower()})}
    following = f"/v1/runs?{urlencode({**same, 'before': rows[-1].id})}" if len(rows) == limit else None
    listed = RunList(runs=[run_summary(row, parts.queue.find(row.id)) for row in rows], next=following)
    return JSONResponse(listed.model_dump(mode="json"))


@router.get("/{run_id}", summary="One run with its result", response_model=Run, responses=problems(404, 422))
async def show_run(request: Request, run_id: RunId, caller: AssessCaller) -> Response:
    parts = app_state_of(request)
    row = await own_run(parts, run_id, caller)
    return JSONResponse(run_view(row, parts.queue.find(run_id)).model_dump(mode="json"))


@router.post(
    "/{run_id}/cancel", summary="Stop a run at its next step", response_model=Run, responses=problems(404, 422)
)
async def cancel_run(request: Request, run_id: RunId, caller: AssessCaller) -> Response:
    parts = app_state_of(request)
    await own_run(parts, run_id, caller)
    job = parts.queue.cancel(run_id)
    row = await own_run(parts, run_id, caller)
    return JSONResponse(run_view(row, job).model_dump(mode="json"))


@router.delete(
    "/{run_id}",
    summary="Delete a run and its pictures",
    description="A picture that another run shows too stays. A key with the role `admin` may delete anybody's run.",
    status_code=204,
    response_class=Response,
    responses=problems(404, 409, 422),
)
async def delete_run_route(request: Request, run_id: RunId, caller: AssessCaller) -> Response:
    parts = app_state_of(request)
    row = await own_run(parts, run_id, None if is_admin(request) else caller)
    await delete_ended(parts, row)
    return Response(status_code=204)


@router.post("/{run_id}/pin", summary="Keep a run until it is unpinned", response_model=Run,
             responses=problems(404, 422))  # fmt: skip
async def pin_run(request: Request, run_id: RunId, caller: AssessCaller) -> Response:
    return await _pinned(request, run_id, caller, pinned=True)


@router.delete("/{run_id}/pin", summary="Let a run be forgotten with age", response_model=Run,
               responses=problems(404, 422))  # fmt: skip
async def unpin_run(request: Request, run_id: RunId, caller: AssessCaller) -> Response:
    return await _pinned(request, run_id, caller, pinned=False)


async def _pinned(request: Request, run_id: str, caller: str, *, pinned: bool) -> Response:
    parts = app_state_of(request)
    await own_run(parts, run_id, caller)
    await asyncio.to_thread(partial(parts.record.pin, run_id, pinned=pinned))
    return await show_run(request, run_id, caller)


# --- events ---


@router.get(
    "/{run_id}/events",
    summary="The steps of a run as server-sent events",
    description="Events `status`, `step`, `node` and `done`; the data of each is JSON. The stream begins with what "
    "has happened already (or behind `Last-Event-ID`) and ends after `done`.",
    response_class=StreamingResponse,
    responses={
        **problems(404, 422),
        200: {"content": {"text/event-stream": {"schema": EVENT}}, "description": "The events"},
    },
)
async def run_events(
    request: Request,
    run_id: RunId,
    caller: AssessCaller,
    last_event_id: Annotated[str | None, Header(description="Send only what came after this one.")] = None,
) -> Response:
    parts = app_state_of(request)
    row = await own_run(parts, run_id, caller)
    job = parts.queue.find(run_id)
    seen = int(last_event_id) if last_event_id and last_event_id.isdecimal() and len(last_event_id) < 10 else 0
    stream = _live(job, seen) if job is not None else _recorded(row, seen)
    return StreamingResponse(stream, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


async def _live(job: ServiceJob, seen: int) -> AsyncIterator[str]:
    while True:
        for event in job.events[seen:]:
            seen = event["id"]
            yield _sse(event)
        if job.outcome is not None and seen >= len(job.events):
            return
        before = len(job.events)
        await job.wait_for_news(HEARTBEAT_S)
        if len(job.events) == before and job.outcome is None:
            # A comment keeps the connection open, and finds out whether anybody is there.
            yield ": still here\n\n"


async def _recorded(row: JobRow, seen: int) -> AsyncIterator[str]:
    last = {"id": len(row.events) + 1, "event": "done", "data": {"status": row.status}}
    for event in [*row.events, last]:
        if event["id"] > seen:
            yield _sse(event)


def _sse(event: dict[str, Any]) -> str:
    return f"id: {event['id']}\nevent: {event['event']}\ndata: {json.dumps(event['data'])}\n\n"


# --- the page ---


@router.get(
    "/{run_id}/report",
    summary="The run as one self-contained page",
    response_class=HTMLResponse,
    responses=problems(404, 409, 422, 429),
)
async def run_report(request: Request, run_id: RunId, caller: AssessCaller) -> Response:
    parts = app_state_of(request)
    row = await own_run(parts, run_id, caller)
    if row.result is None:
        raise ServiceError(409, "no_result", "Only a run with a result has a report.")
    limits = parts.pipeline.limits
    kept = [picture for picture in stored_pictures(row.request).values() if picture.path.is_file()]
    page = await parts.render_queue.draw(
        lambda: _report_page(row, limits), lambda: drawing_need(kept, limits) if kept else 0
    )
    return HTMLResponse(page, headers={"Content-Security-Policy": REPORT_POLICY})


def _report_page(row: JobRow, limits: ImageLimits) -> str:
    pictures = stored_pictures(row.request)
    result = row.result or {}
    if row.kind == "compare":
        page = render_page(comparison_of(result, pictures), limits)
    else:
        page = render_report([report_item(assessment_of(result, pictures), limits)])
    # The page was made from the server's files: what they are called here is not the reader's business.
    for picture in pictures.values():
        page = page.replace(str(picture.path), escape(picture.name)).replace(picture.path.name, escape(picture.name))
    return page
