"""Pictures of a run as PNG: the picture itself, its reference, and maps of where quality is lost.

What was sent is never sent back as it is: it is decoded and encoded afresh, so that nothing hidden in a file (scripts,
metadata, a second file) comes out again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image

from agenticiqa.errors import ToolError
from agenticiqa.pictures.aligning import aligned
from agenticiqa.pictures.file_facts import read_file_facts
from agenticiqa.pictures.images import Box, LoadedImage, load_image, peek_size, png_bytes
from agenticiqa.pictures.overlays import coloured, overlay
from agenticiqa.runtime.config import ImageLimits
from agenticiqa.serve.http.store.upload_store import StoredPicture
from agenticiqa.serve.http.wire import PictureFile, WorstPlace
from agenticiqa.tools.maps import badness_of
from agenticiqa.tools.measuring import Bench, ToolJob
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
    from agenticiqa.vision.quality_map import quality_map
    from agenticiqa.vision.worst_place import worst_place

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
    from agenticiqa.reports.difference import difference_of, open_pictures

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
    bench = Bench(image, original, keep_maps=True)
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
