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

from agenticiqa.errors import ImageNotFoundError
from agenticiqa.reports.contact_sheet.page import SheetLinks, sheet_policy
from agenticiqa.runtime.runs import new_run_id
from agenticiqa.serve.http.guard.access import BatchCaller, admit, is_admin, place_for
from agenticiqa.serve.http.parts import Parts, kept_picture, own_job, parts_of
from agenticiqa.serve.http.problems import ServiceError
from agenticiqa.serve.http.routes.batches import progress_of
from agenticiqa.serve.http.routes.deleting import delete_ended
from agenticiqa.serve.http.routes.picture_views import drawing_need, shown_picture
from agenticiqa.serve.http.routes.request_documents import WORK_PROBLEMS, problems
from agenticiqa.serve.http.routes.run_pictures import PNG, MaxSide
from agenticiqa.serve.http.store.job_record import JobRow
from agenticiqa.serve.http.wire import AuditList, AuditState
from agenticiqa.serve.http.work.audits import AuditFiles, AuditIntake, carry_out, read_audit
from agenticiqa.serve.http.work.jobs import ServiceJob

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
    parts = parts_of(request)
    admit(request, caller, parts.batch_queue)
    intake = await read_audit(request, parts.reader)
    audit_id, word = new_run_id(), secrets.token_urlsafe(18)
    files = AuditFiles(parts.batch_output(audit_id))
    links = SheetLinks(picture=f"/v1/audits/{audit_id}/picture?pass={word}&name={{path}}", messages=True)
    with place_for(request, caller, parts.batch_queue) as slot:
        job = await parts.batch_queue.submit(
            slot,
            audit_id,
            caller,
            KIND,
            lambda job: carry_out(job, parts.pipeline, intake, files, links),
            _asked(intake, word),
            intake.files,
        )
    row = await _row(parts, audit_id, caller)
    shown = _state(row, job)
    return JSONResponse(shown.model_dump(mode="json"), 202, headers={"Location": shown.links["self"]})


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


async def _row(parts: Parts, audit_id: str, caller: str | None) -> JobRow:
    return await own_job(parts, audit_id, caller, (KIND,), "audit")


def _state(row: JobRow, job: ServiceJob | None) -> AuditState:
    here = f"/v1/audits/{row.id}"
    links = {"self": here, "rows": f"{here}/rows", "cancel": f"{here}/cancel"}
    if row.result is not None:
        links["sheet"] = f"{here}/sheet?pass={quote(row.request['pass'])}"
    return AuditState.model_validate({**progress_of(row, job), "links": links})


@router.get("", summary="Your audits, newest first", response_model=AuditList, responses=problems(422))
async def list_audits(
    request: Request, caller: BatchCaller, limit: Annotated[int, Query(ge=1, le=200)] = 20
) -> Response:
    parts = parts_of(request)
    rows = await asyncio.to_thread(parts.record.latest, caller, (KIND,), limit)
    listed = AuditList(audits=[_state(row, parts.batch_queue.find(row.id)) for row in rows])
    return JSONResponse(listed.model_dump(mode="json"))


@router.get("/{audit_id}", summary="How far an audit is", response_model=AuditState, responses=problems(404, 422))
async def show_audit(request: Request, audit_id: AuditId, caller: BatchCaller) -> Response:
    parts = parts_of(request)
    row = await _row(parts, audit_id, caller)
    return JSONResponse(_state(row, parts.batch_queue.find(audit_id)).model_dump(mode="json"))


@router.post("/{audit_id}/cancel", summary="Stop an audit", response_model=AuditState, responses=problems(404, 422))
async def cancel_audit(request: Request, audit_id: AuditId, caller: BatchCaller) -> Response:
    parts = parts_of(request)
    await _row(parts, audit_id, caller)
    job = parts.batch_queue.cancel(audit_id)
    return JSONResponse(_state(await _row(parts, audit_id, caller), job).model_dump(mode="json"))


@router.delete(
    "/{audit_id}",
    summary="Delete an audit, its sheet and its pictures",
    status_code=204,
    response_class=Response,
    responses=problems(404, 409, 422),
)
async def delete_audit(request: Request, audit_id: AuditId, caller: BatchCaller) -> Response:
    parts = parts_of(request)
    row = await _row(parts, audit_id, None if is_admin(request) else caller)
    await delete_ended(parts, row)
    return Response(status_code=204)


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
    parts = parts_of(request)
    await _row(parts, audit_id, caller)
    return FileResponse(_ended(AuditFiles(parts.batch_output(audit_id)).rows), media_type="application/jsonl")


def _ended(file: FilePath) -> FilePath:
    if not file.is_file():
        raise ServiceError(409, "not_ended", "This audit has no result yet, or none any more.")
    return file


# --- the contact sheet, which a frame shows and which can send no key ---


async def _row_by_pass(parts: Parts, audit_id: str, word: str) -> JobRow:
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
    parts = parts_of(request)
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
    parts = parts_of(request)
    row = await _row_by_pass(parts, audit_id, word)
    picture = kept_picture(parts, row.owner, f"{audit_id}/{name}")
    if picture is None or not picture.path.is_file():
        raise _gone()
    limits = parts.pipeline.limits
    try:
        data = await parts.render_queue.draw(
            lambda: shown_picture(picture, limits, max_side), lambda: drawing_need([picture], limits)
        )
    except ImageNotFoundError:
        raise _gone() from None
    return Response(data, media_type="image/png", headers={"Cache-Control": "private, max-age=300"})


def _gone() -> ServiceError:
    return ServiceError(404, "picture_gone", "This picture is no longer kept here.")
