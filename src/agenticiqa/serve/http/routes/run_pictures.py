"""Routes about the pictures of a run: themselves, maps over them, where they are worst, what their files say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response

from agenticiqa.errors import ImageNotFoundError
from agenticiqa.pictures.images import Box
from agenticiqa.serve.http.guard.access import AssessCaller
from agenticiqa.serve.http.parts import Parts, parts_of, stored_pictures
from agenticiqa.serve.http.problems import ServiceError
from agenticiqa.serve.http.routes.picture_views import (
    DIFFERENCE,
    QUALITY,
    difference_map,
    drawing_need,
    file_facts,
    quality_overlay,
    shown_picture,
    tool_overlay,
    worst_place_of,
)
from agenticiqa.serve.http.routes.request_documents import problems
from agenticiqa.serve.http.routes.run_views import RunId, own_run
from agenticiqa.serve.http.store.job_record import JobRow
from agenticiqa.serve.http.store.upload_store import StoredPicture
from agenticiqa.serve.http.wire import PictureFile, WorstPlace

router = APIRouter(prefix="/v1/runs", tags=["runs"])

Drawn = TypeVar("Drawn")
MaxSide = Annotated[int | None, Query(ge=16, le=8192, description="Scale down so that no side is longer.")]
Which = Annotated[Literal["a", "b"] | None, Query(description="Of a comparison.")]
PNG: dict[int | str, dict[str, Any]] = {
    200: {"content": {"image/png": {"schema": {"type": "string", "format": "binary"}}}, "description": "PNG"}
}


async def _looked(
    parts: Parts,
    look: Callable[[], Drawn],
    pictures: Sequence[StoredPicture],
    tool: str | None = None,
    *,
    align: bool = False,
) -> Drawn:
    def need() -> int:
        named = parts.pipeline.assessor().tools.find(tool) if tool else None
        return drawing_need(pictures, parts.pipeline.limits, named, align=align)

    try:
        return await parts.render_queue.draw(look, need)
    except ImageNotFoundError:
        # It went between a look at the upload store and its turn to be drawn.
        raise picture_gone() from None


async def drawn(
    parts: Parts,
    draw: Callable[[], bytes],
    pictures: Sequence[StoredPicture],
    tool: str | None = None,
    *,
    align: bool = False,
) -> Response:
    data = await _looked(parts, draw, pictures, tool, align=align)
    return Response(data, media_type="image/png", headers={"Cache-Control": "private, max-age=300"})


def picture_gone() -> ServiceError:
    return ServiceError(404, "picture_gone", "This picture is no longer kept here.")


def _chosen(row: JobRow, which: str | None) -> str:
    return "image" if row.kind == "assess" else f"image_{which or 'a'}"


def _picture(row: JobRow, name: str) -> StoredPicture:
    picture = stored_pictures(row.request).get(name)
    if picture is None:
        raise ServiceError(404, "no_such_picture", "This run has no such picture.")
    if not picture.path.is_file():
        raise picture_gone()
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
    which: Which = None,
) -> Response:
    parts = parts_of(request)
    row = await own_run(parts, run_id, caller)
    picture = _picture(row, _chosen(row, which))
    return await drawn(parts, lambda: shown_picture(picture, parts.pipeline.limits, max_side), [picture])


@router.get(
    "/{run_id}/reference",
    summary="The reference picture of a run",
    response_class=Response,
    responses={**problems(404, 422, 429), **PNG},
)
async def run_reference(request: Request, run_id: RunId, caller: AssessCaller, max_side: MaxSide = None) -> Response:
    parts = parts_of(request)
    picture = _picture(await own_run(parts, run_id, caller), "reference")
    return await drawn(parts, lambda: shown_picture(picture, parts.pipeline.limits, max_side), [picture])


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
    which: Which = None,
    region: Annotated[str | None, Query(max_length=100, description="A region of the request, by name.")] = None,
    max_side: MaxSide = None,
) -> Response:
    parts = parts_of(request)
    row = await own_run(parts, run_id, caller)
    picture = _picture(row, _chosen(row, which))
    limits = parts.pipeline.limits
    if tool == QUALITY:
        return await drawn(parts, lambda: quality_overlay(picture, limits, max_side), [picture])
    reference = _picture(row, "reference") if "reference" in stored_pictures(row.request) else None
    if tool == DIFFERENCE and row.kind == "compare":
        first, second = _picture(row, "image_a"), _picture(row, "image_b")
        pictures = [first, second, *([reference] if reference else [])]
        return await drawn(parts, lambda: difference_map(first, second, reference, limits, max_side), pictures)
    boxes = row.request.get("regions") or {}
    if region is not None and region not in boxes:
        raise ServiceError(422, "unknown_region", "This run has no region of this name.")
    box = Box(*boxes[region]) if region is not None else None
    tools = parts.pipeline.assessor().tools
    pictures = [picture, *([reference] if reference else [])]
    align = row.request.get("align") == "resize"
    return await drawn(
        parts,
        lambda: tool_overlay(tools, tool, picture, reference, box, limits, max_side, align=align),
        pictures,
        tool,
        align=align,
    )


@router.get(
    "/{run_id}/worst",
    summary="Where the picture is worst",
    description="By the embedded model's map, whatever model answered.",
    response_model=WorstPlace,
    responses=problems(404, 422, 429),
)
async def run_worst(request: Request, run_id: RunId, caller: AssessCaller, which: Which = None) -> Response:
    parts = parts_of(request)
    row = await own_run(parts, run_id, caller)
    picture = _picture(row, _chosen(row, which))
    found = await _looked(parts, lambda: worst_place_of(picture, parts.pipeline.limits), [picture])
    return JSONResponse(found.model_dump(mode="json"), headers={"Cache-Control": "private, max-age=300"})


@router.get(
    "/{run_id}/file",
    summary="What the picture's file says",
    description="Format, size, and how it was taken. Where it was taken, by whom, and numbers of devices are left out.",
    response_model=PictureFile,
    responses=problems(404, 422, 429),
)
async def run_file(request: Request, run_id: RunId, caller: AssessCaller, which: Which = None) -> Response:
    parts = parts_of(request)
    row = await own_run(parts, run_id, caller)
    picture = _picture(row, _chosen(row, which))
    found = await _looked(parts, lambda: file_facts(picture, parts.pipeline.limits), [picture])
    return JSONResponse(found.model_dump(mode="json"), headers={"Cache-Control": "private, max-age=300"})
