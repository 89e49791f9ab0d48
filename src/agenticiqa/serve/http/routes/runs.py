"""Routes about runs: list, show, follow, cancel, and the pictures and page of each."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from html import escape
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response, StreamingResponse

from agenticiqa.errors import ImageNotFoundError
from agenticiqa.pictures.images import Box
from agenticiqa.reports.assessment import render_report, report_item
from agenticiqa.reports.comparison import render_page
from agenticiqa.runtime.config import ImageLimits
from agenticiqa.serve.http.guard.access import AssessCaller, is_admin
from agenticiqa.serve.http.parts import Parts, own_job, parts_of, stored_pictures
from agenticiqa.serve.http.problems import ServiceError
from agenticiqa.serve.http.routes.deleting import delete_ended
from agenticiqa.serve.http.routes.picture_views import (
    DIFFERENCE,
    QUALITY,
    difference_map,
    drawing_need,
    quality_overlay,
    shown_picture,
    tool_overlay,
)
from agenticiqa.serve.http.routes.request_documents import problems
from agenticiqa.serve.http.routes.run_views import RUN_KINDS, run_summary, run_view
from agenticiqa.serve.http.store.job_record import JobRow
from agenticiqa.serve.http.store.upload_store import StoredPicture
from agenticiqa.serve.http.wire import Run, RunList
from agenticiqa.serve.http.work.jobs import ServiceJob
from agenticiqa.serve.http.work.pipeline_work import assessment_of, comparison_of

router = APIRouter(prefix="/v1/runs", tags=["runs"])

HEARTBEAT_S = 10.0
REPORT_POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'; sandbox"
)
RunId = Annotated[str, Path(pattern="^[0-9a-f]{12}$", description="The run's id")]
MaxSide = Annotated[int | None, Query(ge=16, le=8192, description="Scale down so that no side is longer.")]
EVENT = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "event": {"type": "string", "enum": ["status", "step", "node", "progress", "done"]},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
    "required": ["id", "event", "data"],
}
PNG: dict[int | str, dict[str, Any]] = {
    200: {"content": {"image/png": {"schema": {"type": "string", "format": "binary"}}}, "description": "PNG"}
}


async def _row(parts: Parts, run_id: str, caller: str | None) -> JobRow:
    return await own_job(parts, run_id, caller, RUN_KINDS, "run")


@router.get("", summary="Your runs, newest first", response_model=RunList, responses=problems(422))
async def list_runs(
    request: Request,
    caller: AssessCaller,
    limit: Annotated[int, Query(ge=1, le=200)] = 20,
    before: Annotated[str | None, Query(pattern="^[0-9a-f]{12}$", description="Only runs before this one.")] = None,
) -> Response:
    parts = parts_of(request)
    rows = await asyncio.to_thread(parts.record.latest, caller, RUN_KINDS, limit, before)
    following = f"/v1/runs?limit={limit}&before={rows[-1].id}" if len(rows) == limit else None
    listed = RunList(runs=[run_summary(row, parts.queue.find(row.id)) for row in rows], next=following)
    return JSONResponse(listed.model_dump(mode="json"))


@router.get("/{run_id}", summary="One run with its result", response_model=Run, responses=problems(404, 422))
async def show_run(request: Request, run_id: RunId, caller: AssessCaller) -> Response:
    parts = parts_of(request)
    row = await _row(parts, run_id, caller)
    return JSONResponse(run_view(row, parts.queue.find(run_id)).model_dump(mode="json"))


@router.post(
    "/{run_id}/cancel", summary="Stop a run at its next step", response_model=Run, responses=problems(404, 422)
)
async def cancel_run(request: Request, run_id: RunId, caller: AssessCaller) -> Response:
    parts = parts_of(request)
    await _row(parts, run_id, caller)
    job = parts.queue.cancel(run_id)
    row = await _row(parts, run_id, caller)
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
    parts = parts_of(request)
    row = await _row(parts, run_id, None if is_admin(request) else caller)
    await delete_ended(parts, row)
    return Response(status_code=204)


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
    parts = parts_of(request)
    row = await _row(parts, run_id, caller)
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


# --- pictures and the page ---


async def _drawn(
    parts: Parts,
    draw: Callable[[], bytes],
    pictures: Sequence[StoredPicture],
    tool: str | None = None,
    *,
    align: bool = False,
) -> Response:
    def need() -> int:
        named = parts.pipeline.assessor().tools.find(tool) if tool else None
        return drawing_need(pictures, parts.pipeline.limits, named, align=align)

    try:
        data = await parts.render_queue.draw(draw, need)
    except ImageNotFoundError:
        # It went between a look at the upload store and its turn to be drawn.
        raise _gone() from None
    return Response(data, media_type="image/png", headers={"Cache-Control": "private, max-age=300"})


def _gone() -> ServiceError:
    return ServiceError(404, "picture_gone", "The picture of this run is no longer kept here.")


def _picture(row: JobRow, name: str) -> StoredPicture:
    picture = stored_pictures(row.request).get(name)
    if picture is None:
        raise ServiceError(404, "no_such_picture", "This run has no such picture.")
    if not picture.path.is_file():
        raise _gone()
    return picture


@router.get(
    "/{run_id}/image",
    summary="The picture of a run",
    response_class=Response,
    responses={**problems(404, 422, 429), **PNG},
)
async def run_image(
    request: Request,
    run_id: RunId,
    caller: AssessCaller,
    max_side: MaxSide = None,
    which: Annotated[Literal["a", "b"] | None, Query(description="Of a comparison.")] = None,
) -> Response:
    parts = parts_of(request)
    row = await _row(parts, run_id, caller)
    name = "image" if row.kind == "assess" else f"image_{which or 'a'}"
    picture = _picture(row, name)
    return await _drawn(parts, lambda: shown_picture(picture, parts.pipeline.limits, max_side), [picture])


@router.get(
    "/{run_id}/reference",
    summary="The reference picture of a run",
    response_class=Response,
    responses={**problems(404, 422, 429), **PNG},
)
async def run_reference(request: Request, run_id: RunId, caller: AssessCaller, max_side: MaxSide = None) -> Response:
    parts = parts_of(request)
    picture = _picture(await _row(parts, run_id, caller), "reference")
    return await _drawn(parts, lambda: shown_picture(picture, parts.pipeline.limits, max_side), [picture])


@router.get(
    "/{run_id}/map",
    summary="Where quality is lost, over the picture",
    description="Red is worse, blue is better. `tool=quality` is the embedded model's map with fixed colours, 1 to 5; "
    "a tool's own map is coloured relative to its worst places; `tool=difference` shows who is better where in a "
    "comparison.",
    response_class=Response,
    responses={**problems(404, 422, 429), **PNG},
)
async def run_map(
    request: Request,
    run_id: RunId,
    caller: AssessCaller,
    tool: Annotated[str, Query(max_length=100, description="`quality`, `difference` or a tool.")] = QUALITY,
    which: Annotated[Literal["a", "b"] | None, Query(description="Of a comparison.")] = None,
    region: Annotated[str | None, Query(max_length=100, description="A region of the request, by name.")] = None,
    max_side: MaxSide = None,
) -> Response:
    parts = parts_of(request)
    row = await _row(parts, run_id, caller)
    picture = _picture(row, "image" if row.kind == "assess" else f"image_{which or 'a'}")
    limits = parts.pipeline.limits
    if tool == QUALITY:
        return await _drawn(parts, lambda: quality_overlay(picture, limits, max_side), [picture])
    reference = _picture(row, "reference") if "reference" in stored_pictures(row.request) else None
    if tool == DIFFERENCE and row.kind == "compare":
        first, second = _picture(row, "image_a"), _picture(row, "image_b")
        pictures = [first, second, *([reference] if reference else [])]
        return await _drawn(parts, lambda: difference_map(first, second, reference, limits, max_side), pictures)
    boxes = row.request.get("regions") or {}
    if region is not None and region not in boxes:
        raise ServiceError(422, "unknown_region", "This run has no region of this name.")
    box = Box(*boxes[region]) if region is not None else None
    tools = parts.pipeline.assessor().tools
    pictures = [picture, *([reference] if reference else [])]
    align = row.request.get("align") == "resize"
    return await _drawn(
        parts,
        lambda: tool_overlay(tools, tool, picture, reference, box, limits, max_side, align=align),
        pictures,
        tool,
        align=align,
    )


@router.get(
    "/{run_id}/report",
    summary="The run as one self-contained page",
    response_class=HTMLResponse,
    responses=problems(404, 409, 422, 429),
)
async def run_report(request: Request, run_id: RunId, caller: AssessCaller) -> Response:
    parts = parts_of(request)
    row = await _row(parts, run_id, caller)
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
