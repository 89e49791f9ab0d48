"""Routes about runs: list, show, follow, cancel, pin, delete, and the page of each."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from functools import partial
from html import escape
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import HTMLResponse, Response, StreamingResponse

from agenticiqa.nodes.results import Assessment, Comparison
from agenticiqa.reports.assessment import render_report, report_item
from agenticiqa.reports.comparison import render_page
from agenticiqa.runtime.config import ImageLimits
from agenticiqa.serve.http.access import AssessCaller
from agenticiqa.serve.http.app_state import State, stored_pictures
from agenticiqa.serve.http.problems import ServiceError
from agenticiqa.serve.http.routes.common import (
    RUN_KINDS,
    JobId,
    OwnRun,
    find_run,
    problems,
    reply_of,
    run_summary,
    run_view,
)
from agenticiqa.serve.http.routes.pictures import drawing_need
from agenticiqa.serve.http.store.job_record import JobRow
from agenticiqa.serve.http.wire import Run, RunList
from agenticiqa.serve.http.work.jobs import ServiceJob
from agenticiqa.serve.http.work.pipeline_work import with_picture_names

router = APIRouter(prefix="/v1/runs", tags=["runs"], responses=problems(404, 409, 422))

HEARTBEAT_S = 10.0
REPORT_POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'; sandbox"
)


@router.get("", summary="Your runs, newest first")
async def list_runs(
    state: State,
    caller: AssessCaller,
    limit: Annotated[int, Query(ge=1, le=200)] = 20,
    before: Annotated[str | None, Query(pattern="^[0-9a-f]{12}$", description="Only runs before this one.")] = None,
    q: Annotated[str | None, Query(max_length=200, description="Words of questions, names or answers.")] = None,
    pinned: Annotated[bool | None, Query(description="Only pinned runs, or only others.")] = None,
) -> RunList:
    latest = partial(state.record.latest, caller.owner, RUN_KINDS, limit, before, words=q or None, pinned=pinned)
    rows = await asyncio.to_thread(latest)
    same = {"limit": limit, **({"q": q} if q else {}), **({} if pinned is None else {"pinned": str(pinned).lower()})}
    following = f"/v1/runs?{urlencode({**same, 'before': rows[-1].id})}" if len(rows) == limit else None
    return RunList.model_validate(
        {"runs": [run_summary(row, state.queue.find(row.id)) for row in rows], "next": following}
    )


@router.get("/{run_id}", summary="One run with its result")
async def show_run(state: State, row: OwnRun) -> Run:
    return run_view(row, state.queue.find(row.id))


@router.post("/{run_id}/cancel", summary="Stop a run at its next step")
async def cancel_run(state: State, row: OwnRun) -> Run:
    job = state.queue.cancel(row.id)
    return run_view(await find_run(state, row.id, row.owner), job)


@router.delete(
    "/{run_id}",
    summary="Delete a run and its pictures",
    description="A picture that another run shows too stays. A key with the role `admin` may delete anybody's run.",
    status_code=204,
)
async def delete_run_route(state: State, run_id: JobId, caller: AssessCaller) -> None:
    await state.delete_ended(await find_run(state, run_id, caller.deletes_of))


@router.post("/{run_id}/pin", summary="Keep a run until it is unpinned")
@router.delete("/{run_id}/pin", summary="Let a run be forgotten with age")
async def pin_run(request: Request, state: State, row: OwnRun) -> Run:
    await asyncio.to_thread(partial(state.record.pin, row.id, pinned=request.method == "POST"))
    return run_view(await find_run(state, row.id, row.owner), state.queue.find(row.id))


# --- events ---


@router.get(
    "/{run_id}/events",
    summary="The steps of a run as server-sent events",
    description="Events `status`, `step`, `node` and `done`; the data of each is JSON. The stream begins with what "
    "has happened already (or behind `Last-Event-ID`) and ends after `done`.",
    response_class=StreamingResponse,
    responses=reply_of("text/event-stream", "The events"),
)
async def run_events(
    state: State,
    row: OwnRun,
    last_event_id: Annotated[str | None, Header(description="Send only what came after this one.")] = None,
) -> Response:
    job = state.queue.find(row.id)
    seen = int(last_event_id) if last_event_id and last_event_id.isdecimal() and len(last_event_id) < 10 else 0
    stream: AsyncIterator[str] | Iterator[str] = _live(job, seen) if job is not None else _recorded(row, seen)
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


def _recorded(row: JobRow, seen: int) -> Iterator[str]:
    last = {"id": len(row.events) + 1, "event": "done", "data": {"status": row.status}}
    return (_sse(event) for event in [*row.events, last] if event["id"] > seen)


def _sse(event: dict[str, Any]) -> str:
    return f"id: {event['id']}\nevent: {event['event']}\ndata: {json.dumps(event['data'])}\n\n"


# --- the page ---


@router.get(
    "/{run_id}/report",
    summary="The run as one self-contained page",
    response_class=HTMLResponse,
    responses=problems(429),
)
async def run_report(state: State, row: OwnRun) -> Response:
    if row.result is None:
        raise ServiceError(409, "no_result", "Only a run with a result has a report.")
    limits = state.pipeline.limits
    kept = [picture for picture in stored_pictures(row.request).values() if picture.path.is_file()]
    page = await state.render_queue.draw(
        lambda: _report_page(row, limits), lambda: drawing_need(kept, limits) if kept else 0
    )
    return HTMLResponse(page, headers={"Content-Security-Policy": REPORT_POLICY})


def _report_page(row: JobRow, limits: ImageLimits) -> str:
    pictures = stored_pictures(row.request)
    result = with_picture_names(row.result or {}, {name: str(picture.path) for name, picture in pictures.items()})
    if row.kind == "compare":
        page = render_page(Comparison.model_validate(result), limits)
    else:
        page = render_report([report_item(Assessment.model_validate(result), limits)])
    # The page was made from the server's files: what they are called here is not the reader's business.
    for picture in pictures.values():
        page = page.replace(str(picture.path), escape(picture.name)).replace(picture.path.name, escape(picture.name))
    return page
