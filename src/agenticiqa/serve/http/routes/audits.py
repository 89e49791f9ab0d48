"""Routes about audits: send many pictures, follow, read the rows, look at the contact sheet."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from pathlib import Path as FilePath
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import FileResponse, JSONResponse, Response

from agenticiqa.reports.contact_sheet.page import SheetLinks, sheet_policy
from agenticiqa.runtime.runs import new_run_id
from agenticiqa.serve.http.access import BatchCaller, admit
from agenticiqa.serve.http.app_state import AppState, app_state_of, kept_picture
from agenticiqa.serve.http.problems import ServiceError
from agenticiqa.serve.http.routes.many_pictures import ManyPictures, progress_of
from agenticiqa.serve.http.routes.pictures import PNG, MaxSide, drawn, picture_gone, shown_picture
from agenticiqa.serve.http.routes.request_documents import WORK_PROBLEMS, problems
from agenticiqa.serve.http.store.job_record import JobRow
from agenticiqa.serve.http.wire import AuditList, AuditState
from agenticiqa.serve.http.work.jobs import ServiceJob
from agenticiqa.serve.http.work.many import AuditFiles, AuditIntake, carry_out, read_audit

router = APIRouter(prefix="/v1/audits", tags=["audits"])

KIND = "audit"
AuditId = Annotated[str, Path(pattern="^[0-9a-f]{12}$", description="The audit's id")]
Pass = Annotated[str, Query(alias="pass", max_length=100, description="As `links.sheet` has it.")]
_REQUEST_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "files": {"type": "array", "items": {"type": "string", "format": "binary"}},
                        "quick": {"type": "string", "enum": ["true", "false"], "description": "Without the model"},
                    },
                    "required": ["files"],
                }
            }
        },
    }
}


@router.post(
    "",
    summary="Look many pictures through: findings, duplicates, bursts, what to keep",
    status_code=202,
    response_model=AuditState,
    responses=WORK_PROBLEMS,
    openapi_extra=_REQUEST_BODY,
)
async def make_audit(request: Request, caller: BatchCaller) -> Response:
    parts = app_state_of(request)
    admit(request, caller, parts.batch_queue)
    intake = await read_audit(request, parts.reader)
    audit_id, word = new_run_id(), secrets.token_urlsafe(18)
    files = AuditFiles(parts.batch_output(audit_id))
    links = SheetLinks(picture=f"/v1/audits/{audit_id}/picture?pass={word}&name={{path}}", messages=True)
    return await jobs.sent(
        request,
        caller,
        audit_id,
        lambda job: carry_out(job, parts.pipeline, intake, files, links),
        _asked(intake, word),
        intake.files,
    )


def _asked(intake: AuditIntake, word: str) -> dict[str, Any]:
    return {
        "quick": intake.quick,
        "total": len(intake.pictures),
        "pass": word,
        "sample_pictures": {
            name: {"image": {"file": str(picture.path), "name": name.rpartition("/")[2]}}
            for name, picture in intake.pictures.items()
        },
    }


def _state(row: JobRow, job: ServiceJob | None) -> AuditState:
    here = f"/v1/audits/{row.id}"
    links = {"self": here, "rows": f"{here}/rows", "cancel": f"{here}/cancel"}
    if row.result is not None:
        links["sheet"] = f"{here}/sheet?pass={quote(row.request['pass'])}"
    return AuditState.model_validate({**progress_of(row, job), "links": links})


jobs = ManyPictures(KIND, _state)


@router.get("", summary="Your audits, newest first", response_model=AuditList, responses=problems(422))
async def list_audits(
    request: Request, caller: BatchCaller, limit: Annotated[int, Query(ge=1, le=200)] = 20
) -> Response:
    listed = AuditList(audits=await jobs.latest(request, caller, limit))
    return JSONResponse(listed.model_dump(mode="json"))


@router.get("/{audit_id}", summary="How far an audit is", response_model=AuditState, responses=problems(404, 422))
async def show_audit(request: Request, audit_id: AuditId, caller: BatchCaller) -> Response:
    return await jobs.shown(request, audit_id, caller)


@router.post("/{audit_id}/cancel", summary="Stop an audit", response_model=AuditState, responses=problems(404, 422))
async def cancel_audit(request: Request, audit_id: AuditId, caller: BatchCaller) -> Response:
    return await jobs.cancelled(request, audit_id, caller)


@router.delete(
    "/{audit_id}",
    summary="Delete an audit, its sheet and its pictures",
    status_code=204,
    response_class=Response,
    responses=problems(404, 409, 422),
)
async def delete_audit(request: Request, audit_id: AuditId, caller: BatchCaller) -> Response:
    return await jobs.deleted(request, audit_id, caller)


@router.get(
    "/{audit_id}/rows",
    summary="What was found, one JSON object per picture and line",
    response_class=Response,
    responses={
        **problems(404, 409, 422),
        200: {"content": {"application/jsonl": {"schema": {"type": "string"}}}, "description": "JSON lines"},
    },
)
async def audit_rows(request: Request, audit_id: AuditId, caller: BatchCaller) -> Response:
    parts = app_state_of(request)
    await jobs.row(parts, audit_id, caller)
    return FileResponse(_ended(AuditFiles(parts.batch_output(audit_id)).rows), media_type="application/jsonl")


def _ended(file: FilePath) -> FilePath:
    if not file.is_file():
        raise ServiceError(409, "not_ended", "This audit has no result yet, or none any more.")
    return file


# --- the contact sheet, which a frame shows and which can send no key ---


async def _row_by_pass(parts: AppState, audit_id: str, word: str) -> JobRow:
    """The audit whose sheet's address this is part of: whoever was told the address may look."""
    row = await asyncio.to_thread(parts.record.find, audit_id, None)
    known = str(row.request.get("pass", "")) if row is not None and row.kind == KIND else ""
    if row is None or not known or not hmac.compare_digest(known.encode(), word.encode("utf-8", "replace")):
        raise ServiceError(404, "audit_not_found", "You have no audit of this id.")
    return row


@router.get(
    "/{audit_id}/sheet",
    summary="The contact sheet: all pictures on one page",
    response_class=Response,
    responses={
        **problems(404, 409, 422),
        200: {"content": {"text/html": {"schema": {"type": "string"}}}, "description": "One page"},
    },
)
async def audit_sheet(request: Request, audit_id: AuditId, word: Pass) -> Response:
    parts = app_state_of(request)
    await _row_by_pass(parts, audit_id, word)
    policy = f"{sheet_policy()}; frame-ancestors 'self'"
    headers = {"Content-Security-Policy": policy, "Cache-Control": "private, no-cache"}
    return FileResponse(_ended(AuditFiles(parts.batch_output(audit_id)).sheet), media_type="text/html", headers=headers)


@router.get(
    "/{audit_id}/picture",
    summary="One picture of an audit",
    response_class=Response,
    responses={**problems(404, 422, 429), **PNG},
)
async def audit_picture(
    request: Request,
    audit_id: AuditId,
    word: Pass,
    name: Annotated[str, Query(max_length=1200, description="Its path on the sheet.")],
    max_side: MaxSide = 2048,
) -> Response:
    parts = app_state_of(request)
    row = await _row_by_pass(parts, audit_id, word)
    picture = kept_picture(parts, row.owner, f"{audit_id}/{name}")
    if picture is None or not picture.path.is_file():
        raise picture_gone()
    return await drawn(parts, lambda: shown_picture(picture, parts.pipeline.limits, max_side), [picture])
