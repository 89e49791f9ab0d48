"""Routes about audits, jobs of many pictures: send, follow, read what was found, cancel, delete."""

import asyncio
import hmac
import secrets
from functools import partial
from pathlib import Path as FilePath
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import FileResponse, JSONResponse

from agenticiqa.reports.contact_sheet.page import SheetLinks, sheet_policy
from agenticiqa.runtime.runs import new_run_id
from agenticiqa.serve.http import app_state
from agenticiqa.serve.http.app_state import AppState, BatchAdmitted, BatchCaller, BatchDeleter, State
from agenticiqa.serve.http.keys import KeyRecord
from agenticiqa.serve.http.problems import ServiceError
from agenticiqa.serve.http.routes import common
from agenticiqa.serve.http.routes.runs import MaxSide, drawn_picture, picture_gone
from agenticiqa.serve.http.store.job_record import JobRow
from agenticiqa.serve.http.wire import AuditList, AuditState
from agenticiqa.serve.http.work import audits

router = APIRouter(prefix="/v1/audits", tags=["audits"], responses=common.problems(404, 409, 422))

SheetToken = Annotated[str, Query(alias="pass", max_length=100, description="As `links.sheet` has it.")]


async def _find(state: AppState, job_id: str, owner: str | None) -> JobRow:
    return await app_state.own_job(state, job_id, owner, ("audit",), "audit")


async def _own(state: State, job_id: common.JobId, caller: BatchCaller) -> JobRow:
    return await _find(state, job_id, caller.owner)


Own = Annotated[JobRow, Depends(_own)]
"""The audit of the address, which must be the caller's."""


def _view(state: AppState, row: JobRow) -> AuditState:
    """How far an audit is."""
    job = state.batch_queue.find(row.id)
    events = job.events if job is not None else row.events
    counted = [event["data"]["finished"] for event in events if event["event"] == "progress"]
    here = f"/v1/audits/{row.id}"
    links = {"self": here, "rows": f"{here}/rows", "cancel": f"{here}/cancel"}
    if row.finished_at and row.status != "ok":
        links["resume"] = f"{here}/resume"
    if row.result is not None:
        links["sheet"] = f"{here}/sheet?pass={quote(row.request['pass'])}"
    return AuditState(
        **common.job_state(row, job),
        total=row.request["total"],
        finished=counted[-1] if counted else None if job is None else 0,
        summary=row.result,
        error=row.error,
        links=links,
    )


@router.get("", summary="Your audits, newest first")
async def latest(
    state: State,
    caller: BatchCaller,
    limit: Annotated[int, Query(ge=1, le=200)] = 20,
    before: Annotated[str | None, Query(pattern="^[0-9a-f]{12}$", description="Only audits before this one.")] = None,
) -> AuditList:
    rows = await asyncio.to_thread(state.record.latest, caller.owner, ("audit",), limit, before)
    following = f"/v1/audits?limit={limit}&before={rows[-1].id}" if len(rows) == limit else None
    return AuditList(audits=[_view(state, row) for row in rows], next=following)


@router.get("/{job_id}", summary="How far an audit is")
async def show(state: State, row: Own) -> AuditState:
    return _view(state, row)


@router.post("/{job_id}/cancel", summary="Stop an audit")
async def cancel(state: State, row: Own) -> AuditState:
    state.batch_queue.cancel(row.id)
    return _view(state, await _find(state, row.id, row.owner))


@router.delete("/{job_id}", summary="Delete an audit, its sheet and its pictures", status_code=204)
async def delete(state: State, job_id: common.JobId, caller: BatchDeleter) -> None:
    await state.delete_ended(await _find(state, job_id, caller.deletes_of))


_AUDIT_FORM = {
    "properties": {
        "files": {"type": "array", "items": common.FILE},
        "quick": {"type": "string", "enum": ["true", "false"], "description": "Without the model"},
    },
    "required": ["files"],
}


@router.post(
    "",
    summary="Look many pictures through: findings, duplicates, bursts, what to keep",
    response_model=AuditState,
    status_code=202,
    responses=common.WORK_PROBLEMS,
    openapi_extra=common.request_body(_AUDIT_FORM),
)
async def make_audit(request: Request, state: State, caller: BatchAdmitted) -> Response:
    samples: audits.Samples = {}
    try:
        return await _accepted_audit(request, state, caller, samples)
    except BaseException:
        await asyncio.to_thread(state.discard, [(caller.owner, picture.path) for picture in samples.values()])
        raise


async def _accepted_audit(request: Request, state: AppState, caller: KeyRecord, samples: audits.Samples) -> Response:
    quick = await audits.read_audit(request, state.reader, caller.owner, samples)
    pictures = {name: {"image": picture.as_recorded()} for name, picture in samples.items()}
    word = secrets.token_urlsafe(18)
    asked = {"quick": quick, "pass": word, "total": len(samples), "sample_pictures": pictures}
    return await _begun(state, caller, new_run_id(), asked, samples, resume=False)


async def _begun(
    state: AppState, caller: KeyRecord, audit_id: str, asked: dict[str, Any], samples: audits.Samples, *, resume: bool
) -> Response:
    picture = f"/v1/audits/{audit_id}/picture?pass={asked['pass']}&name={{path}}&max_side={{side}}"
    links, output = SheetLinks(picture=picture, messages=True), state.batch_output(audit_id)
    how = {"quick": asked["quick"], "resume": resume}
    work = partial(audits.audit_pictures, state.pipeline, samples, output, links, **how)
    holds = [picture.path for picture in samples.values()]
    await state.batch_queue.submit(audit_id, caller.owner, "audit", work, asked, holds, most=caller.at_once)
    view = _view(state, await _find(state, audit_id, caller.owner))
    return JSONResponse(view.model_dump(mode="json"), 202, headers={"Location": view.links["self"]})


@router.post(
    "/{job_id}/resume",
    summary="Go on with an audit that did not end",
    description="One that was cancelled or failed, or whose server ended, goes on where it stopped, under the same id, "
    "as long as its pictures are kept.",
    response_model=AuditState,
    status_code=202,
    responses=common.WORK_PROBLEMS,
)
async def resume_audit(state: State, job_id: common.JobId, caller: BatchAdmitted) -> Response:
    row = await _find(state, job_id, caller.owner)
    samples = {
        name: app_state.stored_pictures({"pictures": entry})["image"]
        for name, entry in row.request["sample_pictures"].items()
    }
    if not await asyncio.to_thread(lambda: all(picture.path.is_file() for picture in samples.values())):
        raise ServiceError(404, "picture_gone", "Pictures of this audit are no longer kept here. Send them again.")
    return await _begun(state, caller, row.id, row.request, samples, resume=True)


def _kept_file(state: AppState, row: JobRow, suffix: str) -> FilePath:
    file = state.batch_output(row.id).with_suffix(suffix)
    if not file.is_file():
        raise ServiceError(409, "not_ended", "This audit has no result yet, or none any more.")
    return file


@router.get(
    "/{job_id}/rows",
    summary="What was found, one JSON object per picture and line; while the audit runs, what was found so far",
    description="While it runs, a picture is told again when more is known of it: after the quick look all have a "
    "`decision` (null before), `settled` once its whole group was looked at with the model.",
    response_class=Response,
    responses=common.reply_of("application/jsonl", "JSON lines"),
)
async def audit_rows(
    state: State,
    row: Own,
    after: Annotated[
        int,
        Query(ge=0, description="While it runs: leave out so many lines. An ended audit gives each picture once."),
    ] = 0,
    thumbnails: Annotated[
        bool,
        Query(description="While it runs: a picture's first line has `thumbnail`, a JPEG file in base64, or null."),
    ] = False,
) -> Response:
    if row.finished_at:
        return FileResponse(_kept_file(state, row, audits.ROWS), media_type="application/jsonl")

    def lines() -> str:
        output = state.batch_output(row.id)
        return audits.row_lines(output, audits.told_rows(output, after, thumbnails=thumbnails))

    return Response(await asyncio.to_thread(lines), media_type="application/jsonl")


# The contact sheet is shown in a frame, which can send no key: its address has a password instead.


async def _audit_by_token(state: State, job_id: common.JobId, word: SheetToken) -> JobRow:
    """The audit whose sheet's address this is part of; the address itself is the permission."""
    row = await asyncio.to_thread(state.record.find, job_id, None)
    known = str(row.request.get("pass", "")) if row is not None and row.kind == "audit" else ""
    if row is None or not known or not hmac.compare_digest(known.encode(), word.encode("utf-8", "replace")):
        raise ServiceError(404, "audit_not_found", "You have no audit of this id.")
    return row


AuditByToken = Annotated[JobRow, Depends(_audit_by_token)]


@router.get(
    "/{job_id}/sheet",
    summary="The contact sheet: all pictures on one page",
    response_class=Response,
    responses=common.reply_of("text/html", "One page"),
)
async def audit_sheet(state: State, row: AuditByToken) -> Response:
    policy = f"{sheet_policy()}; frame-ancestors 'self'"
    headers = {"Content-Security-Policy": policy, "Cache-Control": "private, no-cache"}
    return FileResponse(_kept_file(state, row, audits.SHEET), media_type="text/html", headers=headers)


@router.get(
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
        picture = app_state.kept_picture(state, row.owner, f"{row.id}/{name}")
    except LookupError:
        raise picture_gone() from None
    return await drawn_picture(state, row.owner, picture, max_side)
