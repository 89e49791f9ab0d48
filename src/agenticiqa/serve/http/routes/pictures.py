"""Pictures of a run as PNG: the picture itself, its reference, and maps of where quality is lost.

What was sent is never sent back as it is: it is decoded and encoded afresh, so that nothing hidden in a file (scripts,
metadata, a second file) comes out again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response
from PIL import Image

from agenticiqa.errors import ImageNotFoundError, ToolError
from agenticiqa.pictures.file_facts import read_file_facts
from agenticiqa.pictures.images import Box, LoadedImage, load_image, peek_size, png_bytes
from agenticiqa.pictures.inputs import aligned
from agenticiqa.pictures.regions import coloured, overlay
from agenticiqa.runtime.config import ImageLimits
from agenticiqa.serve.http.access import AssessCaller
from agenticiqa.serve.http.app_state import AppState, app_state_of, stored_pictures
from agenticiqa.serve.http.problems import ServiceError
from agenticiqa.serve.http.routes.request_documents import problems
from agenticiqa.serve.http.routes.run_views import RunId, own_run
from agenticiqa.serve.http.store.job_record import JobRow
from agenticiqa.serve.http.store.uploads import StoredPicture
from agenticiqa.serve.http.wire import PictureFile, WorstPlace
from agenticiqa.tools.maps import badness_of
from agenticiqa.tools.measuring import ToolJob, ToolRunner
from agenticiqa.tools.needs import pictures_need, pixels_of, sizes_once_scaled, tool_need
from agenticiqa.tools.registry import Tool, ToolRegistry

DRAWING_BYTES = 40
"""Per pixel: colours over the picture, and the file that is made of it."""
QUALITY = "quality"
"""The map of the embedded model, which needs no tool."""
DIFFERENCE = "difference"
"""The map of a comparison: who is better where."""


def drawing_need(
    pictures: Sequence[StoredPicture], limits: ImageLimits, tool: Tool | None = None, *, align: bool = False
) -> int:
    """What drawing these pictures takes of memory, with a map of a tool over one of them."""
    sizes = sizes_once_scaled([peek_size(picture.path, limits) for picture in pictures], resize=align)
    pixels = max(map(pixels_of, sizes))
    return pictures_need(sizes) + DRAWING_BYTES * pixels + (tool_need(tool, pixels) if tool else 0)


def shown_picture(picture: StoredPicture, limits: ImageLimits, max_side: int | None) -> bytes:
    return png_bytes(_scaled(load_image(picture.path, limits).pil, max_side))


def preview(picture: StoredPicture, limits: ImageLimits, max_side: int) -> tuple[bytes, tuple[int, int]]:
    """The picture for a screen, and its own size."""
    image = load_image(picture.path, limits)
    return png_bytes(_scaled(image.pil, max_side)), image.size


def worst_place_of(picture: StoredPicture, limits: ImageLimits) -> WorstPlace:
    from agenticiqa.vision.quality_map import quality_map, worst_place

    image = load_image(picture.path, limits)
    found = worst_place(quality_map(image), image.size)
    return WorstPlace(box=found.box.as_list(), score=found.score, whole=found.whole, even=found.even)


def file_facts(picture: StoredPicture, limits: ImageLimits) -> PictureFile:
    found = read_file_facts(picture.path, limits)
    return PictureFile(
        name=picture.name,
        format=found.format,
        bytes=found.bytes,
        width=found.size[0],
        height=found.size[1],
        frames=found.frames,
        notes=list(found.notes),
        taken=found.taken,
    )


def quality_overlay(picture: StoredPicture, limits: ImageLimits, max_side: int | None) -> bytes:
    """The picture under the embedded model's map, 1 (red) to 5 (blue)."""
    from agenticiqa.vision.quality_map import quality_map

    image = load_image(picture.path, limits)
    return png_bytes(_scaled(Image.fromarray(overlay(image.rgb, quality_map(image))), max_side))


def difference_map(
    first: StoredPicture,
    second: StoredPicture,
    reference: StoredPicture | None,
    limits: ImageLimits,
    max_side: int | None,
) -> bytes:
    """Where the first of two pictures is better (blue) and where the second (orange)."""
    from agenticiqa.reports.comparison import difference_of, open_pictures

    pictures = open_pictures(first.path, second.path, reference.path if reference else None, limits)
    difference = difference_of(pictures)
    if difference is None:
        raise ToolError("No difference map can be made of these pictures.")
    return png_bytes(_scaled(Image.fromarray(difference.picture(pictures.a.rgb)), max_side))


def tool_overlay(
    tools: ToolRegistry,
    name: str,
    picture: StoredPicture,
    reference: StoredPicture | None,
    region: Box | None,
    limits: ImageLimits,
    max_side: int | None,
    *,
    align: bool = False,
) -> bytes:
    """The picture as it was measured, or a region of it, under one tool's map."""
    tool = tools.find(name)
    image = load_image(picture.path, limits)
    original = load_image(reference.path, limits) if reference else None
    if original is not None and align:
        image = aligned(image, original)
    bench = ToolRunner(image, original, keep_maps=True)
    result = bench.measure(ToolJob(tool, region))
    if result.map is None:
        raise ToolError(result.error or f"{tool.name} makes no map.")
    shown = coloured(_pixels(image, region), badness_of(result.map, tool.spec))
    return png_bytes(_scaled(Image.fromarray(shown), max_side))


def _pixels(image: LoadedImage, region: Box | None) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return image.rgb if region is None else image.rgb[region.rows, region.columns]


def _scaled(picture: Image.Image, max_side: int | None) -> Image.Image:
    if max_side is None or max(picture.size) <= max_side:
        return picture
    copy = picture.copy()
    copy.thumbnail((max_side, max_side), Image.Resampling.LANCZOS)
    return copy


# --- Routes about the pictures of a run ---


router = APIRouter(prefix="/v1/runs", tags=["runs"])

Drawn = TypeVar("Drawn")
MaxSide = Annotated[int | None, Query(ge=16, le=8192, description="Scale down so that no side is longer.")]
Which = Annotated[Literal["a", "b"] | None, Query(description="Of a comparison.")]
PNG: dict[int | str, dict[str, Any]] = {
    200: {"content": {"image/png": {"schema": {"type": "string", "format": "binary"}}}, "description": "PNG"}
}


async def _looked(
    parts: AppState,
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
    parts: AppState,
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
    parts = app_state_of(request)
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
    parts = app_state_of(request)
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
    parts = app_state_of(request)
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
    parts = app_state_of(request)
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
    parts = app_state_of(request)
    row = await own_run(parts, run_id, caller)
    picture = _picture(row, _chosen(row, which))
    found = await _looked(parts, lambda: file_facts(picture, parts.pipeline.limits), [picture])
    return JSONResponse(found.model_dump(mode="json"), headers={"Cache-Control": "private, max-age=300"})
