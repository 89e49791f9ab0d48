"""Routes about batches: send, follow, read the results, cancel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from agenticiqa.runtime.runs import new_run_id
from agenticiqa.serve.http.access import BatchCaller, admit
from agenticiqa.serve.http.app_state import AppState, app_state_of
from agenticiqa.serve.http.routes.many_pictures import ManyPictures, progress_of
from agenticiqa.serve.http.routes.request_documents import COMPONENTS, WORK_PROBLEMS, examples_of, problems
from agenticiqa.serve.http.store.job_record import JobRow
from agenticiqa.serve.http.wire import BatchBody, BatchList, BatchState
from agenticiqa.serve.http.work.jobs import ServiceJob
from agenticiqa.serve.http.work.many import BatchIntake, public_lines, read_batch, run_batch

router = APIRouter(prefix="/v1/batches", tags=["batches"])

KIND = "batch"
BatchId = Annotated[str, Path(pattern="^[0-9a-f]{12}$", description="The batch's id")]
_BODY = {"$ref": f"{COMPONENTS}{BatchBody.__name__}"}
_REQUEST_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": _BODY, "examples": examples_of(BatchBody)},
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "batch": {
                            "type": "string",
                            "contentMediaType": "application/json",
                            "description": "What the JSON form holds; pictures may be given as `upload`",
                        },
                        "files": {"type": "array", "items": {"type": "string", "format": "binary"}},
                    },
                    "required": ["batch"],
                },
            },
        },
    }
}


@router.post(
    "",
    summary="Assess or measure many pictures",
    status_code=202,
    response_model=BatchState,
    responses=WORK_PROBLEMS,
    openapi_extra=_REQUEST_BODY,
)
async def make_batch(request: Request, caller: BatchCaller) -> Response:
    parts = app_state_of(request)
    admit(request, caller, parts.batch_queue)
    intake = await read_batch(request, parts.reader)
    _check(parts, intake.body)
    batch_id = new_run_id()
    output = parts.batch_output(batch_id)
    return await jobs.sent(
        request,
        caller,
        batch_id,
        lambda job: run_batch(job, parts.pipeline, intake, output),
        _asked(intake),
        intake.files,
    )


def _check(parts: AppState, body: BatchBody) -> None:
    parts.pipeline.check_backend(body.backend)
    for query in (body.query, *(sample.query for sample in body.samples)):
        parts.pipeline.check_query(query)
    for name in body.tools or ():
        parts.pipeline.assessor().tools.find(name)


def _asked(intake: BatchIntake) -> dict[str, Any]:
    body = intake.body
    return {
        "query": body.query,
        "backend": body.backend,
        "tools": body.tools,
        "align": body.align,
        "total": len(body.samples),
        "sample_pictures": {
            sample.sample_id: {
                name: {"file": str(picture.path), "name": picture.name} for name, picture in pictures.items()
            }
            for sample, pictures in zip(body.samples, intake.pictures, strict=True)
        },
    }


def _state(row: JobRow, job: ServiceJob | None) -> BatchState:
    here = f"/v1/batches/{row.id}"
    links = {"self": here, "results": f"{here}/results", "cancel": f"{here}/cancel"}
    return BatchState.model_validate({**progress_of(row, job), "links": links})


jobs = ManyPictures(KIND, _state)


@router.get("", summary="Your batches, newest first", response_model=BatchList, responses=problems(422))
async def list_batches(
    request: Request, caller: BatchCaller, limit: Annotated[int, Query(ge=1, le=200)] = 20
) -> Response:
    listed = BatchList(batches=await jobs.latest(request, caller, limit))
    return JSONResponse(listed.model_dump(mode="json"))


@router.get("/{batch_id}", summary="How far a batch is", response_model=BatchState, responses=problems(404, 422))
async def show_batch(request: Request, batch_id: BatchId, caller: BatchCaller) -> Response:
    return await jobs.shown(request, batch_id, caller)


@router.post("/{batch_id}/cancel", summary="Stop a batch", response_model=BatchState, responses=problems(404, 422))
async def cancel_batch(request: Request, batch_id: BatchId, caller: BatchCaller) -> Response:
    return await jobs.cancelled(request, batch_id, caller)


@router.delete(
    "/{batch_id}",
    summary="Delete a batch, its results and its pictures",
    status_code=204,
    response_class=Response,
    responses=problems(404, 409, 422),
)
async def delete_batch(request: Request, batch_id: BatchId, caller: BatchCaller) -> Response:
    return await jobs.deleted(request, batch_id, caller)


@router.get(
    "/{batch_id}/results",
    summary="The results so far",
    description="One JSON object per line, in the order of the samples once the batch has ended.",
    response_class=StreamingResponse,
    responses={
        **problems(404, 422),
        200: {"content": {"application/jsonl": {"schema": {"type": "string"}}}, "description": "JSON lines"},
    },
)
async def batch_results(request: Request, batch_id: BatchId, caller: BatchCaller) -> Response:
    parts = app_state_of(request)
    row = await jobs.row(parts, batch_id, caller)
    # A plain iterator is read in a thread, line by line.
    lines: Iterator[str] = public_lines(parts.batch_output(batch_id), row.request)
    return StreamingResponse(lines, media_type="application/jsonl")
