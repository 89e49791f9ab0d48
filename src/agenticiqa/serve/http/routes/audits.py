"""Routes about batches and audits, jobs of many pictures: send, follow, read what was found, cancel, delete."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from functools import partial
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse

from agenticiqa.reports.contact_sheet.page import SheetLinks, sheet_policy
from agenticiqa.runtime.runs import new_run_id
from agenticiqa.serve.http.app_state import AppState, BatchAdmitted, BatchCaller, State, kept_picture, own_job
from agenticiqa.serve.http.keys import KeyRecord
from agenticiqa.serve.http.problems import ServiceError
from agenticiqa.serve.http.routes import common
from agenticiqa.serve.http.routes.runs import MaxSide, drawn_picture, picture_gone
from agenticiqa.serve.http.store.job_record import JobOutcome, JobRow
from agenticiqa.serve.http.wire import BatchBody, BatchState
from agenticiqa.serve.http.work import many
from agenticiqa.serve.http.work.jobs import ServiceJob, Work

batches = APIRouter(prefix="/v1/batches", tags=["batches"], responses=common.problems(404, 409, 422))
audits = APIRouter(prefix="/v1/audits", tags=["audits"], responses=common.problems(404, 409, 422))

SheetToken = Annotated[str, Query(alias="pass", max_length=100, description="As `links.sheet` has it.")]
_FILES = {"files": {"type": "array", "items": common.FILE}}
_KINDS = {"batches": "batch", "audits": "audit"}


# --- both kinds ---


async def _find(request: Request, state: AppState, job_id: str, owner: str | None) -> JobRow:
    kind = _KINDS[request.url.path.split("/")[2]]
    return await own_job(state, job_id, owner, (kind,), kind)


async def _own(request: Request, state: State, job_id: common.JobId, caller: BatchCaller) -> JobRow:
    return await _find(request, state, job_id, caller.owner)


Own = Annotated[JobRow, Depends(_own)]
"""The batch or audit of the address, which must be the caller's."""


def _view(state: AppState, row: JobRow) -> BatchState:
    """How far a job of many pictures is."""
    job = state.batch_queue.find(row.id)
    events = job.events if job is not None else row.events
    counted = [event["data"]["finished"] for event in events if event["event"] == "progress"]
    here = f"/v1/{'audits' if row.kind == 'audit' else 'batches'}/{row.id}"
    results = "rows" if row.kind == "audit" else "results"
    links = {"self": here, results: f"{here}/{results}", "cancel": f"{here}/cancel"}
    if row.kind == "audit" and row.result is not None:
        links["sheet"] = f"{here}/sheet?pass={quote(row.request['pass'])}"
    return BatchState(
        **common.job_state(row, job),
        total=row.request["total"],
        finished=counted[-1] if counted else None if job is None else 0,
        summary=row.result,
        error=row.error,
        links=links,
    )


async def _sent(
    kind: str, state: AppState, caller: KeyRecord, job_id: str, work: Work, asked: dict[str, Any], samples: many.Samples
) -> Response:
    pictures = {name: {each: picture.as_recorded() for each, picture in own.items()} for name, own in samples.items()}
    request = {**asked, "total": len(samples), "sample_pictures": pictures}
    holds = [picture.path for own in samples.values() for picture in own.values()]
    await state.batch_queue.submit(job_id, caller.owner, kind, work, request, holds, most=caller.at_once)
    view = _view(state, await own_job(state, job_id, caller.owner, (kind,), kind))
    return JSONResponse(view.model_dump(mode="json"), 202, headers={"Location": view.links["self"]})


@batches.get("", summary="Your batches, newest first")
@audits.get("", summary="Your audits, newest first")
async def latest(
    request: Request, state: State, caller: BatchCaller, limit: Annotated[int, Query(ge=1, le=200)] = 20
) -> dict[Literal["batches", "audits"], list[BatchState]]:
    kinds: Literal["batches", "audits"] = "audits" if request.url.path.startswith("/v1/audits") else "batches"
    rows = await asyncio.to_thread(state.record.latest, caller.owner, (_KINDS[kinds],), limit)
    return {kinds: [_view(state, row) for row in rows]}


@batches.get("/{job_id}", summary="How far a batch is")
@audits.get("/{job_id}", summary="How far an audit is")
async def show(state: State, row: Own) -> BatchState:
    return _view(state, row)


@batches.post("/{job_id}/cancel", summary="Stop a batch")
@audits.post("/{job_id}/cancel", summary="Stop an audit")
async def cancel(request: Request, state: State, row: Own) -> BatchState:
    state.batch_queue.cancel(row.id)
    return _view(state, await _find(request, state, row.id, row.owner))


@batches.delete("/{job_id}", summary="Delete a batch, its results and its pictures", status_code=204)
@audits.delete("/{job_id}", summary="Delete an audit, its sheet and its pictures", status_code=204)
async def delete(request: Request, state: State, job_id: common.JobId, caller: BatchCaller) -> None:
    await state.delete_ended(await _find(request, state, job_id, caller.deletes_of))


# --- batches ---


_BATCH_FORM = {
    "properties": {
        "batch": {**common.JSON_TEXT, "description": "What the JSON form holds; pictures may be given as `upload`"},
        **_FILES,
    },
    "required": ["batch"],
}


@batches.post(
    "",
    summary="Assess or measure many pictures",
    response_model=BatchState,
    status_code=202,
    responses=common.WORK_PROBLEMS,
    openapi_extra=common.request_body(_BATCH_FORM, BatchBody),
)
async def make_batch(request: Request, state: State, caller: BatchAdmitted) -> Response:
    body, samples = await many.read_batch(request, state.reader, partial(kept_picture, state, caller.owner))
    pipeline = state.pipeline
    pipeline.check_backend(body.backend)
    for query in (body.query, *(sample.query for sample in body.samples)):
        pipeline.check_query(query)
    for name in body.tools or ():
        pipeline.assessor().tools.find(name)
    batch_id = new_run_id()

    def work(job: ServiceJob) -> JobOutcome:
        return many.run_batch(job, pipeline, body, samples, state.batch_output(batch_id))

    asked = body.model_dump(include={"query", "backend", "tools", "align"})
    return await _sent("batch", state, caller, batch_id, work, asked, samples)


@batches.get(
    "/{job_id}/results",
    summary="The results so far",
    description="One JSON object per line, in the order of the samples once the batch has ended.",
    response_class=StreamingResponse,
    responses=common.JSON_LINES,
)
async def batch_results(state: State, row: Own) -> Response:
    # A plain iterator is read in a thread, line by line.
    return StreamingResponse(many.public_lines(state.batch_output(row.id), row.request), media_type="application/jsonl")


# --- audits ---


_AUDIT_FORM = {
    "properties": {
        **_FILES,
        "quick": {"type": "string", "enum": ["true", "false"], "description": "Without the model"},
    },
    "required": ["files"],
}


@audits.post(
    "",
    summary="Look many pictures through: findings, duplicates, bursts, what to keep",
    response_model=BatchState,
    status_code=202,
    responses=common.WORK_PROBLEMS,
    openapi_extra=common.request_body(_AUDIT_FORM),
)
async def make_audit(request: Request, state: State, caller: BatchAdmitted) -> Response:
    quick, samples = await many.read_audit(request, state.reader)
    audit_id, word = new_run_id(), secrets.token_urlsafe(18)
    links = SheetLinks(picture=f"/v1/audits/{audit_id}/picture?pass={word}&name={{path}}", messages=True)

    def work(job: ServiceJob) -> JobOutcome:
        return many.audit_pictures(job, state.pipeline, samples, state.batch_output(audit_id), links, quick=quick)

    return await _sent("audit", state, caller, audit_id, work, {"quick": quick, "pass": word}, samples)


def _kept_file(state: AppState, row: JobRow, suffix: str) -> FilePath:
    file = state.batch_output(row.id).with_suffix(suffix)
    if not file.is_file():
        raise ServiceError(409, "not_ended", "This audit has no result yet, or none any more.")
    return file


@audits.get(
    "/{job_id}/rows",
    summary="What was found, one JSON object per picture and line",
    response_class=Response,
    responses=common.JSON_LINES,
)
async def audit_rows(state: State, row: Own) -> Response:
    return FileResponse(_kept_file(state, row, many.ROWS), media_type="application/jsonl")


# The contact sheet is shown in a frame, which can send no key: its address has a password instead.


async def _audit_by_token(state: State, job_id: common.JobId, word: SheetToken) -> JobRow:
    """The audit whose sheet's address this is part of; the address itself is the permission."""
    row = await asyncio.to_thread(state.record.find, job_id, None)
    known = str(row.request.get("pass", "")) if row is not None and row.kind == "audit" else ""
    if row is None or not known or not hmac.compare_digest(known.encode(), word.encode("utf-8", "replace")):
        raise ServiceError(404, "audit_not_found", "You have no audit of this id.")
    return row


AuditByToken = Annotated[JobRow, Depends(_audit_by_token)]


@audits.get(
    "/{job_id}/sheet",
    summary="The contact sheet: all pictures on one page",
    response_class=Response,
    responses=common.reply_of("text/html", "One page"),
)
async def audit_sheet(state: State, row: AuditByToken) -> Response:
    policy = f"{sheet_policy()}; frame-ancestors 'self'"
    headers = {"Content-Security-Policy": policy, "Cache-Control": "private, no-cache"}
    return FileResponse(_kept_file(state, row, many.SHEET), media_type="text/html", headers=headers)


@audits.get(
    "/{job_id}/picture",
    summary="One picture of an audit",
    response_class=Response,
    responses={**common.problems(429), **common.PNG},
)
async def audit_picture(
    state: State,
    row: AuditByToken,
    name: Annotated[str, Query(max_length=1200, description="Its path on the sheet.")],
    max_side: MaxSide = 2048,
) -> Response:
    try:
        picture = kept_picture(state, row.owner, f"{row.id}/{name}")
    except LookupError:
        raise picture_gone() from None
    return await drawn_picture(state, picture, max_side)
