"""Which places of a large picture are worth a closer look: by rule, from what costs nothing, at most four.

What is clearly odd in the picture's own pixels comes first, then the parts that the user named, a face, places that are
perhaps odd, the likeliest first, the worst place of the quality map, and the subject. Dark places are shown with their
shadows lifted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import cv2
import numpy as np

from agenticiqa.pictures.images import Box, LoadedImage
from agenticiqa.state import MOST_VIEWS, Oddity, View
from agenticiqa.vision.locators import load_locators, overlap, saliency_map
from agenticiqa.vision.network import Floats
from agenticiqa.vision.odd_places import odd_places
from agenticiqa.vision.quality_map import quality_map, worst_place
from agenticiqa.vision.views import SIDE, place_around, scale_for

DARK = 45.0
"""Mean brightness of 255 below which a place shows little unless its shadows are lifted."""
SAME = 0.4
"""Share of their union that two views have in common when one of them is enough."""
SUBJECT = 0.5

ODD: dict[Oddity, str] = {
    "blur": "softer than everything around it",
    "blocks": "steps on a grid of 8 pixels, as of strong compression, unlike the rest",
    "noise": "grain that the places around do not have",
    "scratch": "a thin line, lighter or darker than both its sides",
    "seam": "a straight border at which neighbouring pixels do not fit",
}
"""What each oddity looks like, in the middle of a sentence."""


def plan_views(
    image: LoadedImage,
    *,
    regions: Mapping[str, Sequence[int]] | None = None,
    reference: LoadedImage | None = None,
    side: int = SIDE,
) -> tuple[View, ...]:
    """The closer looks at a picture, best first; ``side`` is the most pixels that a view may have."""
    quality, longest = quality_map(image), min(SIDE, side)
    chosen: list[View] = []
    for place, reason, oddity in _candidates(image, regions or {}, quality, longest):
        if len(chosen) == MOST_VIEWS:
            break
        # A small place is shown with what lies around it, which is what it is to be compared with.
        box = _around(place, max(place.width, longest // 2), max(place.height, longest // 2), image.size, longest)
        if any(overlap(box, Box(*view.box)) > SAME for view in chosen):
            continue
        chosen.append(_view(image, box, reason, oddity, quality, longest))
    if reference is not None and reference.size == image.size and chosen:
        # Beside a reference the first place is shown as it differs, too; one place fewer then.
        first = chosen[0].model_copy(
            update={
                "kind": "difference",
                "oddity": None,
                "reason": f"how it differs from the reference there ({chosen[0].reason})",
            }
        )
        chosen = [chosen[0], first, *chosen[1 : MOST_VIEWS - 1]]
    return tuple(chosen)


def _candidates(
    image: LoadedImage, regions: Mapping[str, Sequence[int]], quality: Floats, side: int
) -> Iterator[tuple[Box, str, Oddity | None]]:
    odd = odd_places(image)
    for place in odd:
        if place.sure:
            yield _around(place.box, side, side, image.size, side), ODD[place.oddity], place.oddity
    for name, numbers in regions.items():
        yield Box(*numbers), f"the part that was marked as {name!r}", None
    for box in load_locators().faces(image.rgb)[:1]:
        yield box, "what looks like a face", None
    for place in odd:
        at = _around(place.box, side, side, image.size, side)
        yield at, f"perhaps {ODD[place.oddity]}", None
    worst = worst_place(quality, image.size)
    if not worst.even:
        at = _around(worst.box, side, side, image.size, side)
        yield at, f"the worst place of the quality map ({worst.score:.1f} of 5)", None
    stands_out = saliency_map(image)
    if float(stands_out.max()) >= SUBJECT:
        row, column = np.unravel_index(int(cv2.GaussianBlur(stands_out, (0, 0), 12).argmax()), stands_out.shape)
        step = image.size[0] / stands_out.shape[1]
        at = place_around(float(column) * step, float(row) * step, side, side, image.size, side)
        yield at, "what stands out most", None
    yield _around(Box(0, 0, *image.size), side, side, image.size, side), "the middle", None


def _around(box: Box, width: int, height: int, size: tuple[int, int], side: int) -> Box:
    return place_around(box.x + box.width / 2, box.y + box.height / 2, width, height, size, side)


def _view(image: LoadedImage, box: Box, reason: str, oddity: Oddity | None, quality: Floats, side: int) -> View:
    pixels = image.rgb[box.rows, box.columns]
    dark = float(pixels[::4, ::4].mean()) < DARK
    return View(
        kind="shadows" if dark else "magnified",
        box=(box.x, box.y, box.width, box.height),
        scale=scale_for(box, side),
        reason=reason,
        quality=round(quality_in(quality, box, image.size), 2),
        oddity=oddity,
    )


def quality_in(quality: Floats, box: Box, size: tuple[int, int]) -> float:
    """The mean of the quality map's cells that a box touches.

    >>> cells = np.array([[1, 2], [3, 4]], np.float32)
    >>> quality_in(cells, Box(0, 0, 50, 100), (100, 100)), quality_in(cells, Box(60, 10, 10, 10), (100, 100))
    (2.0, 2.0)
    """
    rows, columns = quality.shape
    (width, height), right, bottom = size, box.x + box.width, box.y + box.height
    top, left = box.y * rows // height, box.x * columns // width
    return float(quality[top : -(-bottom * rows // height), left : -(-right * columns // width)].mean())
