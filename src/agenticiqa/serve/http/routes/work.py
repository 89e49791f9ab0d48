"""OpenAPI descriptions of bodies that come as JSON or as a form, and of what every route may answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.responses import JSONResponse, Response

from agenticiqa.nodes.results import Assessment, Comparison
from agenticiqa.runtime.runs import new_run_id
from agenticiqa.serve.http.access import AssessCaller, admit, place_for
from agenticiqa.serve.http.app_state import AppState, app_state_of, kept_picture
from agenticiqa.serve.http.problems import ServiceError
from agenticiqa.serve.http.routes.pictures import PNG, drawing_need, preview
from agenticiqa.serve.http.routes.request_documents import WORK_PROBLEMS, body_of
from agenticiqa.serve.http.routes.run_views import links_of, run_view
from agenticiqa.serve.http.wire import (
    AssessBody,
    AssessFields,
    CompareBody,
    CompareFields,
    MeasureBody,
    MeasureFields,
    MeasurementList,
    PreviewBody,
    PreviewFields,
    Run,
)
from agenticiqa.serve.http.work.intake import Intake
from agenticiqa.serve.http.work.jobs import ServiceJob, StopReason, WorkResult, stopped_error
from agenticiqa.serve.http.work.pipeline_work import failure_of, failures_by_sent_name

# --- Routes that make work: assess, measure, compare ---


router = APIRouter(prefix="/v1", tags=["work"])

ASSESS_PICTURES = {"image": True, "reference": False}
PREVIEW_PICTURES = {"image": True}
PREVIEW_SIDE = 2048
COMPARE_PICTURES = {"image_a": True, "image_b": True, "reference": False}
ACCEPTED: dict[int | str, dict[str, Any]] = {202: {"model": Run, "description": "Accepted; see `links.events`"}}
Question = TypeVar("Question", AssessFields, CompareFields)
LATE_S = 1.0
"""How long past its time limit a job may still report how it ended."""


def _wants_async(
    in_query: Annotated[bool, Query(alias="async", description="Answer 202 at once; follow the run's events.")] = False,
    prefer: Annotated[str | None, Header(description="`respond-async` does the same as `?async=true`.")] = None,
) -> bool:
    return in_query or "respond-async" in (prefer or "").lower()


Async = Annotated[bool, Depends(_wants_async)]


@router.post(
    "/assess",
    summary="Answer a question about a picture",
    response_model=Assessment,
    responses={**WORK_PROBLEMS, **ACCEPTED},
    openapi_extra=body_of(AssessBody, AssessFields, ASSESS_PICTURES),
)
async def assess(request: Request, caller: AssessCaller, respond_async: Async) -> Response:
    parts = app_state_of(request)
    admit(request, caller, parts.queue)
    intake = await parts.reader.read(
        request, AssessFields, AssessBody, ASSESS_PICTURES, partial(kept_picture, parts, caller)
    )
    return await _asked(request, caller, "assess", intake, parts.pipeline.assess, respond_async)


@router.post(
    "/compare",
    summary="Say which of two pictures is better, where and why",
    response_model=Comparison,
    responses={**WORK_PROBLEMS, **ACCEPTED},
    openapi_extra=body_of(CompareBody, CompareFields, COMPARE_PICTURES),
)
async def compare(request: Request, caller: AssessCaller, respond_async: Async) -> Response:
    parts = app_state_of(request)
    admit(request, caller, parts.queue)
    intake = await parts.reader.read(
        request, CompareFields, CompareBody, COMPARE_PICTURES, partial(kept_picture, parts, caller)
    )
    return await _asked(request, caller, "compare", intake, parts.pipeline.compare, respond_async)


@router.post(
    "/measure",
    summary="Measure a picture with tools, without any model",
    response_model=MeasurementList,
    responses=WORK_PROBLEMS,
    openapi_extra=body_of(MeasureBody, MeasureFields, ASSESS_PICTURES),
)
async def measure(request: Request, caller: AssessCaller) -> Response:
    parts = app_state_of(request)
    admit(request, caller, parts.queue)
    intake = await parts.reader.read(
        request, MeasureFields, MeasureBody, ASSESS_PICTURES, partial(kept_picture, parts, caller)
    )
    need = await asyncio.to_thread(parts.pipeline.measuring_need, intake)
    with place_for(request, caller, parts.queue) as slot:
        job = await parts.queue.submit(
            slot,
            new_run_id(),
            caller,
            "measure",
            lambda job: parts.pipeline.measure(job, intake),
            holds=intake.files,
            need=need,
        )
    await _finished(request, job)
    return JSONResponse(_reply_of(job))


@router.post(
    "/preview",
    summary="A picture as a screen can show it",
    description="For formats that browsers cannot show, and to learn whether a picture can be used before asking about "
    "it. The header `Picture-Size` has its own width and height. Nothing is recorded.",
    response_class=Response,
    responses={**WORK_PROBLEMS, **PNG},
    openapi_extra=body_of(PreviewBody, PreviewFields, PREVIEW_PICTURES),
)
async def make_preview(request: Request, caller: AssessCaller) -> Response:
    parts = app_state_of(request)
    admit(request, caller, parts.queue)
    intake = await parts.reader.read(
        request, PreviewFields, PreviewBody, PREVIEW_PICTURES, partial(kept_picture, parts, caller)
    )
    picture, limits = intake.pictures["image"], parts.pipeline.limits
    with failures_by_sent_name(intake.pictures):
        data, size = await parts.render_queue.draw(
            lambda: preview(picture, limits, PREVIEW_SIDE), lambda: drawing_need([picture], limits)
        )
    return Response(data, media_type="image/png", headers={"Picture-Size": f"{size[0]}x{size[1]}"})


async def _asked(
    request: Request,
    caller: str,
    kind: str,
    intake: Intake[Question],
    work: Callable[[ServiceJob, Intake[Question]], WorkResult],
    respond_async: bool,
) -> Response:
    """A question to the agents: recorded, and answered when it is done or at once with where to follow it."""
    parts: AppState = app_state_of(request)
    parts.pipeline.check_query(intake.fields.query)
    parts.pipeline.check_backend(intake.fields.backend)
    asked = {
        **intake.fields.model_dump(mode="json", exclude_none=True),
        "pictures": {
            name: {"file": str(picture.path), "name": picture.name} for name, picture in intake.pictures.items()
        },
    }
    need = await asyncio.to_thread(parts.pipeline.assessing_need, intake)
    with place_for(request, caller, parts.queue) as slot:
        job = await parts.queue.submit(
            slot, new_run_id(), caller, kind, lambda job: work(job, intake), asked, intake.files, need
        )
    links = links_of(job.id, kind, set(intake.pictures))
    if respond_async:
        row = await asyncio.to_thread(parts.record.find, job.id, caller)
        shown = run_view(row, job).model_dump(mode="json") if row else {}
        return JSONResponse(shown, 202, headers={"Location": links["self"], "Preference-Applied": "respond-async"})
    await _finished(request, job)
    return JSONResponse(_reply_of(job), headers={"Location": links["self"]})


async def _finished(request: Request, job: ServiceJob) -> None:
    """Until the job has ended; tells it to stop when the client leaves or its time is over."""
    parts = app_state_of(request)
    ended = asyncio.ensure_future(job.done.wait())
    left = asyncio.ensure_future(_client_left(request))
    try:
        limit = max(job.deadline - time.monotonic(), 0) + LATE_S
        await asyncio.wait({ended, left}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        if ended.done():
            return
        reason: StopReason = "client_left" if left.done() else "timed_out"
        parts.queue.stop(job, reason)
        raise stopped_error(reason, job.id)
    except asyncio.CancelledError:
        parts.queue.stop(job, "client_left")
        raise
    finally:
        ended.cancel()
        left.cancel()


async def _client_left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        continue


def _reply_of(job: ServiceJob) -> dict[str, Any]:
    outcome = job.outcome
    if outcome is None:
        raise RuntimeError(f"job {job.id} has no outcome")
    if outcome.problem is not None:
        document = {**outcome.problem, "run_id": job.id} if job.recorded else dict(outcome.problem)
        raise ServiceError.from_document(document)
    reply = outcome.result or {}
    if outcome.status == "error":
        raise failure_of(reply, job.id)
    return reply
