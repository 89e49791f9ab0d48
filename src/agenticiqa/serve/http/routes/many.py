"""Routes about batches and audits, jobs of many pictures: send, follow, read what was found, cancel, delete."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from pathlib import Path as FilePath
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.responses import FileResponse, StreamingResponse

from agenticiqa.reports.contact_sheet.page import SheetLinks, sheet_policy
from agenticiqa.runtime.runs import new_run_id
from agenticiqa.serve.http.access import BatchAdmitted, BatchCaller, CallerInfo
from agenticiqa.serve.http.app_state import AppState, State, kept_picture, own_job
from agenticiqa.serve.http.problems import ServiceError
from agenticiqa.serve.http.routes.common import (
    FILE,
    JSON_LINES,
    JSON_TEXT,
    PNG,
    WORK_PROBLEMS,
    job_state,
    problems,
    reply_of,
    request_body,
)
from agenticiqa.serve.http.routes.pictures import MaxSide, drawn_picture, picture_gone
from agenticiqa.serve.http.store.expiry import delete_ended
from agenticiqa.serve.http.store.job_record import JobOutcome, JobRow
from agenticiqa.serve.http.wire import AuditList, AuditState, BatchBody, BatchList, BatchState
from agenticiqa.serve.http.work.jobs import ServiceJob, Work
from agenticiqa.serve.http.work.many import (
    ROWS,
    SHEET,
    Samples,
    audit_pictures,
    public_lines,
    read_audit,
    read_batch,
    run_batch,
)

batches = APIRouter(prefix="/v1/batches", tags=["batches"])
audits = APIRouter(prefix="/v1/audits", tags=["audits"])

JOB_ID = "^[0-9a-f]{12}$"
BatchId = Annotated[str, Path(pattern=JOB_ID, description="The batch's id")]
AuditId = Annotated[str, Path(pattern=JOB_ID, description="The audit's id")]
Limit = Annotated[int, Query(ge=1, le=200)]
Pass = Annotated[str, Query(alias="pass", max_length=100, description="As `links.sheet` has it.")]
Shown = TypeVar("Shown", bound=BatchState)
_FILES = {"files": {"type": "array", "items": FILE}}


# --- both kinds ---


async def _find(state: AppState, kind: str, job_id: str, owner: str | None) -> JobRow:
    return await own_job(state, job_id, owner, (kind,), kind)


async def _own_batch(state: State, batch_id: BatchId, caller: BatchCaller) -> JobRow:
    return await _find(state, "batch", batch_id, caller.owner)


async def _own_audit(state: State, audit_id: AuditId, caller: BatchCaller) -> JobRow:
    return await _find(state, "audit", audit_id, caller.owner)


OwnBatch = Annotated[JobRow, Depends(_own_batch)]
OwnAudit = Annotated[JobRow, Depends(_own_audit)]


def _view(shown: type[Shown], state: AppState, row: JobRow) -> Shown:
    """How far a job of many pictures is."""
    job = state.batch_queue.find(row.id)
    events = job.events if job is not None else row.events
    counted = [event["data"]["finished"] for event in events if event["event"] == "progress"]
    here = f"/v1/{'audits' if row.kind == 'audit' else 'batches'}/{row.id}"
    results = "rows" if row.kind == "audit" else "results"
    links = {"self": here, results: f"{here}/{results}", "cancel": f"{here}/cancel"}
    if row.kind == "audit" and row.result is not None:
        links["sheet"] = f"{here}/sheet?pass={quote(row.request['pass'])}"
    return shown.model_validate(
        {
            **job_state(row, job),
            "total": row.request["total"],
            "finished": counted[-1] if counted else None if job is None else 0,
            "summary": row.result,
            "error": row.error,
            "links": links,
        }
    )


async def _sent(
    shown: type[Shown], kind: str, state: AppState, caller: CallerInfo, job_id: str, work: Work,
    asked: dict[str, Any], samples: Samples, response: Response,
) -> Shown:  # fmt: skip
    pictures = {name: {each: picture.as_recorded() for each, picture in own.items()} for name, own in samples.items()}
    request = {**asked, "total": len(samples), "sample_pictures": pictures}
    holds = [picture.path for own in samples.values() for picture in own.values()]
    await state.batch_queue.submit(job_id, caller.owner, kind, work, request, holds, most=caller.at_once)
    view = _view(shown, state, await _find(state, kind, job_id, caller.owner))
    response.headers["Location"] = view.links["self"]
    return view


async def _latest(shown: type[Shown], kind: str, state: AppState, caller: CallerInfo, limit: int) -> list[Shown]:
    rows = await asyncio.to_thread(state.record.latest, caller.owner, (kind,), limit)
    return [_view(shown, state, row) for row in rows]


async def _cancelled(shown: type[Shown], state: AppState, row: JobRow) -> Shown:
    state.batch_queue.cancel(row.id)
    return _view(shown, state, await _find(state, row.kind, row.id, row.owner))


# --- batches ---


_BATCH_FORM = {
    "properties": {
        "batch": {**JSON_TEXT, "description": "What the JSON form holds; pictures may be given as `upload`"},
        **_FILES,
    },
    "required": ["batch"],
}


@batches.post(
    "",
    summary="Assess or measure many pictures",
    status_code=202,
    responses=WORK_PROBLEMS,
    openapi_extra=request_body(_BATCH_FORM, BatchBody),
)
async def make_batch(request: Request, response: Response, state: State, caller: BatchAdmitted) -> BatchState:
    body, samples = await read_batch(request, state.reader)
    pipeline = state.pipeline
    pipeline.check_backend(body.backend)
    for query in (body.query, *(sample.query for sample in body.samples)):
        pipeline.check_query(query)
    for name in body.tools or ():
        pipeline.assessor().tools.find(name)
    batch_id = new_run_id()
    output = state.batch_output(batch_id)
    asked = body.model_dump(include={"query", "backend", "tools", "align"})
    return await _sent(
        BatchState, "batch", state, caller, batch_id, lambda job: run_batch(job, pipeline, body, samples, output),
        asked, samples, response,
    )  # fmt: skip


@batches.get("", summary="Your batches, newest first", responses=problems(422))
async def list_batches(state: State, caller: BatchCaller, limit: Limit = 20) -> BatchList:
    return BatchList(batches=await _latest(BatchState, "batch", state, caller, limit))


@batches.get("/{batch_id}", summary="How far a batch is", responses=problems(404, 422))
async def show_batch(state: State, row: OwnBatch) -> BatchState:
    return _view(BatchState, state, row)


@batches.post("/{batch_id}/cancel", summary="Stop a batch", responses=problems(404, 422))
async def cancel_batch(state: State, row: OwnBatch) -> BatchState:
    return await _cancelled(BatchState, state, row)


@batches.delete(
    "/{batch_id}",
    summary="Delete a batch, its results and its pictures",
    status_code=204,
    responses=problems(404, 409, 422),
)
async def delete_batch(state: State, batch_id: BatchId, caller: BatchCaller) -> None:
    await delete_ended(state, await _find(state, "batch", batch_id, caller.deletes_of))


@batches.get(
    "/{batch_id}/results",
    summary="The results so far",
    description="One JSON object per line, in the order of the samples once the batch has ended.",
    response_class=StreamingResponse,
    responses={**problems(404, 422), **JSON_LINES},
)
async def batch_results(state: State, row: OwnBatch) -> Response:
    # A plain iterator is read in a thread, line by line.
    return StreamingResponse(public_lines(state.batch_output(row.id), row.request), media_type="application/jsonl")


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
    status_code=202,
    responses=WORK_PROBLEMS,
    openapi_extra=request_body(_AUDIT_FORM),
)
async def make_audit(request: Request, response: Response, state: State, caller: BatchAdmitted) -> AuditState:
    quick, samples = await read_audit(request, state.reader)
    audit_id, word = new_run_id(), secrets.token_urlsafe(18)
    output = state.batch_output(audit_id)
    links = SheetLinks(picture=f"/v1/audits/{audit_id}/picture?pass={word}&name={{path}}", messages=True)

    def work(job: ServiceJob) -> JobOutcome:
        return audit_pictures(job, state.pipeline, samples, output, links, quick=quick)

    asked = {"quick": quick, "pass": word}
    return await _sent(AuditState, "audit", state, caller, audit_id, work, asked, samples, response)


@audits.get("", summary="Your audits, newest first", responses=problems(422))
async def list_audits(state: State, caller: BatchCaller, limit: Limit = 20) -> AuditList:
    return AuditList(audits=await _latest(AuditState, "audit", state, caller, limit))


@audits.get("/{audit_id}", summary="How far an audit is", responses=problems(404, 422))
async def show_audit(state: State, row: OwnAudit) -> AuditState:
    return _view(AuditState, state, row)


@audits.post("/{audit_id}/cancel", summary="Stop an audit", responses=problems(404, 422))
async def cancel_audit(state: State, row: OwnAudit) -> AuditState:
    return await _cancelled(AuditState, state, row)


@audits.delete(
    "/{audit_id}",
    summary="Delete an audit, its sheet and its pictures",
    status_code=204,
    responses=problems(404, 409, 422),
)
async def delete_audit(state: State, audit_id: AuditId, caller: BatchCaller) -> None:
    await delete_ended(state, await _find(state, "audit", audit_id, caller.deletes_of))


@audits.get(
    "/{audit_id}/rows",
    summary="What was found, one JSON object per picture and line",
    response_class=Response,
    responses={**problems(404, 409, 422), **JSON_LINES},
)
async def audit_rows(state: State, row: OwnAudit) -> Response:
    return FileResponse(_ended(state.batch_output(row.id).with_suffix(ROWS)), media_type="application/jsonl")


def _ended(file: FilePath) -> FilePath:
    if not file.is_file():
        raise ServiceError(409, "not_ended", "This audit has no result yet, or none any more.")
    return file


# The contact sheet is shown in a frame, which can send no key: its address has a password instead.


async def _audit_by_pass(state: State, audit_id: AuditId, word: Pass) -> JobRow:
    """The audit whose sheet's address this is part of: whoever was told the address may look."""
    row = await asyncio.to_thread(state.record.find, audit_id, None)
    known = str(row.request.get("pass", "")) if row is not None and row.kind == "audit" else ""
    if row is None or not known or not hmac.compare_digest(known.encode(), word.encode("utf-8", "replace")):
        raise ServiceError(404, "audit_not_found", "You have no audit of this id.")
    return row


AuditByPass = Annotated[JobRow, Depends(_audit_by_pass)]


@audits.get(
    "/{audit_id}/sheet",
    summary="The contact sheet: all pictures on one page",
    response_class=Response,
    responses={**problems(404, 409, 422), **reply_of("text/html", "One page")},
)
async def audit_sheet(state: State, row: AuditByPass) -> Response:
    policy = f"{sheet_policy()}; frame-ancestors 'self'"
    headers = {"Content-Security-Policy": policy, "Cache-Control": "private, no-cache"}
    sheet = _ended(state.batch_output(row.id).with_suffix(SHEET))
    return FileResponse(sheet, media_type="text/html", headers=headers)


@audits.get(
    "/{audit_id}/picture",
    summary="One picture of an audit",
    response_class=Response,
    responses={**problems(404, 422, 429), **PNG},
)
async def audit_picture(
    state: State,
    row: AuditByPass,
    name: Annotated[str, Query(max_length=1200, description="Its path on the sheet.")],
    max_side: MaxSide = 2048,
) -> Response:
    picture = kept_picture(state, row.owner, f"{row.id}/{name}")
    if picture is None or not picture.path.is_file():
        raise picture_gone()
    return await drawn_picture(state, picture, max_side)
