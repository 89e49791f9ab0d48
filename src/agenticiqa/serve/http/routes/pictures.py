"""Pictures of a run as PNG: the picture itself, its reference, and maps of where quality is lost.

What was sent is never sent back as it is: it is decoded and encoded afresh, so that nothing hidden in a file (scripts,
metadata, a second file) comes out again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from fastapi import APIRouter, Depends, Query
from fastapi.responses import JSONResponse, Response
from PIL import Image

from agenticiqa.errors import ImageNotFoundError, ToolError
from agenticiqa.pictures.file_facts import read_file_facts
from agenticiqa.pictures.images import Box, load_image, peek_size, png_bytes
from agenticiqa.pictures.inputs import aligned
from agenticiqa.pictures.regions import coloured, overlay
from agenticiqa.runtime.config import ImageLimits
from agenticiqa.serve.http.app_state import AppState, State, stored_pictures
from agenticiqa.serve.http.problems import ServiceError
from agenticiqa.serve.http.routes.common import PNG, OwnRun, problems
from agenticiqa.serve.http.store.job_record import JobRow
from agenticiqa.serve.http.store.uploads import StoredPicture
from agenticiqa.serve.http.wire import PictureFile, WorstPlace
from agenticiqa.tools.maps import badness_of
from agenticiqa.tools.measuring import ToolJob, ToolRunner
from agenticiqa.tools.needs import pictures_need, pixels_of, sizes_once_scaled, tool_need
from agenticiqa.tools.registry import Tool

DRAWING_BYTES = 40
"""Per pixel: colours over the picture, and the file that is made of it."""
QUALITY = "quality"
"""The map of the embedded model, which needs no tool."""
DIFFERENCE = "difference"
"""The map of a comparison: who is better where."""
CACHED = {"Cache-Control": "private, max-age=300"}


# --- drawing ---


def drawing_need(
    pictures: Sequence[StoredPicture], limits: ImageLimits, tool: Tool | None = None, *, align: bool = False
) -> int:
    """What drawing these pictures takes of memory, with a map of a tool over one of them."""
    sizes = sizes_once_scaled([peek_size(picture.path, limits) for picture in pictures], resize=align)
    pixels = max(map(pixels_of, sizes))
    return pictures_need(sizes) + DRAWING_BYTES * pixels + (tool_need(tool, pixels) if tool else 0)


def shown_picture(picture: StoredPicture, limits: ImageLimits, max_side: int | None) -> tuple[bytes, tuple[int, int]]:
    """The picture for a screen, and its own size."""
    image = load_image(picture.path, limits)
    return _png(image.pil, max_side), image.size


def quality_overlay(picture: StoredPicture, limits: ImageLimits, max_side: int | None) -> bytes:
    """The picture under the embedded model's map, 1 (red) to 5 (blue)."""
    from agenticiqa.vision.quality_map import quality_map

    image = load_image(picture.path, limits)
    return _png(overlay(image.rgb, quality_map(image)), max_side)


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
    return _png(difference.picture(pictures.a.rgb), max_side)


def tool_overlay(
    tool: Tool,
    picture: StoredPicture,
    reference: StoredPicture | None,
    region: Box | None,
    limits: ImageLimits,
    max_side: int | None,
    *,
    align: bool = False,
) -> bytes:
    """The picture as it was measured, or a region of it, under one tool's map."""
    image = load_image(picture.path, limits)
    original = load_image(reference.path, limits) if reference else None
    if original is not None and align:
        image = aligned(image, original)
    result = ToolRunner(image, original, keep_maps=True).measure(ToolJob(tool, region))
    if result.map is None:
        raise ToolError(result.error or f"{tool.name} makes no map.")
    pixels = image.rgb if region is None else image.rgb[region.rows, region.columns]
    return _png(coloured(pixels, badness_of(result.map, tool.spec)), max_side)


def _png(picture: Image.Image | np.ndarray[Any, Any], max_side: int | None) -> bytes:
    shown = picture if isinstance(picture, Image.Image) else Image.fromarray(picture)
    if max_side is not None and max(shown.size) > max_side:
        shown = shown.copy()
        shown.thumbnail((max_side, max_side), Image.Resampling.LANCZOS)
    return png_bytes(shown)


# --- routes ---


router = APIRouter(prefix="/v1/runs", tags=["runs"])

Result = TypeVar("Result")
MaxSide = Annotated[int | None, Query(ge=16, le=8192, description="Scale down so that no side is longer.")]
Which = Annotated[Literal["a", "b"] | None, Query(description="Of a comparison.")]


async def _looked(
    state: AppState,
    look: Callable[[], Result],
    pictures: Sequence[StoredPicture],
    tool: Tool | None = None,
    *,
    align: bool = False,
) -> Result:
    try:
        return await state.render_queue.draw(
            look, lambda: drawing_need(pictures, state.pipeline.limits, tool, align=align)
        )
    except ImageNotFoundError:
        # It went between a look at the upload store and its turn to be drawn.
        raise picture_gone() from None


async def drawn_picture(state: AppState, picture: StoredPicture, max_side: int | None) -> Response:
    data, _ = await _looked(state, lambda: shown_picture(picture, state.pipeline.limits, max_side), [picture])
    return _png_response(data)


def _png_response(data: bytes) -> Response:
    return Response(data, media_type="image/png", headers=CACHED)


def picture_gone() -> ServiceError:
    return ServiceError(404, "picture_gone", "This picture is no longer kept here.")


def _picture(row: JobRow, name: str) -> StoredPicture:
    picture = stored_pictures(row.request).get(name)
    if picture is None:
        raise ServiceError(404, "no_such_picture", "This run has no such picture.")
    if not picture.path.is_file():
        raise picture_gone()
    return picture


async def _chosen(row: OwnRun, which: Which = None) -> StoredPicture:
    return _picture(row, "image" if row.kind == "assess" else f"image_{which or 'a'}")


Chosen = Annotated[StoredPicture, Depends(_chosen)]
"""The picture of the run, or one of the two of a comparison."""


@router.get(
    "/{run_id}/image",
    summary="The picture of a run",
    response_class=Response,
    responses={**problems(404, 422, 429), **PNG},
)
async def run_image(state: State, picture: Chosen, max_side: MaxSide = None) -> Response:
    return await drawn_picture(state, picture, max_side)


@router.get(
    "/{run_id}/reference",
    summary="The reference picture of a run",
    response_class=Response,
    responses={**problems(404, 422, 429), **PNG},
)
async def run_reference(state: State, row: OwnRun, max_side: MaxSide = None) -> Response:
    return await drawn_picture(state, _picture(row, "reference"), max_side)


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
    state: State,
    row: OwnRun,
    picture: Chosen,
    tool: Annotated[str, Query(max_length=100, description="`quality`, `difference` or a tool.")] = QUALITY,
    region: Annotated[str | None, Query(max_length=100, description="A region of the request, by name.")] = None,
    max_side: MaxSide = None,
) -> Response:
    limits = state.pipeline.limits
    if tool == QUALITY:
        return _png_response(await _looked(state, lambda: quality_overlay(picture, limits, max_side), [picture]))
    reference = _picture(row, "reference") if "reference" in stored_pictures(row.request) else None
    originals = [reference] if reference else []
    if tool == DIFFERENCE and row.kind == "compare":
        a, b = _picture(row, "image_a"), _picture(row, "image_b")
        compared = await _looked(state, lambda: difference_map(a, b, reference, limits, max_side), [a, b, *originals])
        return _png_response(compared)
    boxes = row.request.get("regions") or {}
    if region is not None and region not in boxes:
        raise ServiceError(422, "unknown_region", "This run has no region of this name.")
    box = Box(*boxes[region]) if region is not None else None
    named = state.pipeline.assessor().tools.find(tool)
    align = row.request.get("align") == "resize"
    measured = await _looked(
        state,
        lambda: tool_overlay(named, picture, reference, box, limits, max_side, align=align),
        [picture, *originals],
        named,
        align=align,
    )
    return _png_response(measured)


@router.get(
    "/{run_id}/worst",
    summary="Where the picture is worst",
    description="By the embedded model's map, whatever model answered.",
    response_model=WorstPlace,
    responses=problems(404, 422, 429),
)
async def run_worst(state: State, picture: Chosen) -> Response:
    def look() -> WorstPlace:
        from agenticiqa.vision.quality_map import quality_map, worst_place

        image = load_image(picture.path, state.pipeline.limits)
        found = worst_place(quality_map(image), image.size)
        return WorstPlace(box=found.box.as_list(), score=found.score, whole=found.whole, even=found.even)

    found = await _looked(state, look, [picture])
    return JSONResponse(found.model_dump(mode="json"), headers=CACHED)


@router.get(
    "/{run_id}/file",
    summary="What the picture's file says",
    description="Format, size, and how it was taken. Where it was taken, by whom, and numbers of devices are left out.",
    response_model=PictureFile,
    responses=problems(404, 422, 429),
)
async def run_file(state: State, picture: Chosen) -> Response:
    found = await _looked(state, lambda: read_file_facts(picture.path, state.pipeline.limits), [picture])
    shown = PictureFile(
        name=picture.name,
        format=found.format,
        bytes=found.bytes,
        width=found.size[0],
        height=found.size[1],
        frames=found.frames,
        notes=list(found.notes),
        taken=found.taken,
    )
    return JSONResponse(shown.model_dump(mode="json"), headers=CACHED)
