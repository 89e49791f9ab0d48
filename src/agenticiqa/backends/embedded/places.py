"""From a place or object named in a question to pixels, as far as that can be had by measurement.

Sides, halves, corners and the centre follow from the frame, the sky from its colour, smoothness and height. Anything
else cannot be located here: the caller then judges the whole picture and says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from agenticiqa.backends.embedded.noun_phrases import ScopeObject
from agenticiqa.images import Box, LoadedImage, UInt8Image

SKY_WORDS = frozenset({"sky", "skies", "heaven"})
# Less than this share of the frame is no sky to judge.
SMALLEST_SKY = 0.08


@dataclass(frozen=True)
class Place:
    """Where something is; ``box`` None stands for the whole picture, with ``note`` saying why."""

    box: Box | None
    note: str | None = None


def locate(item: ScopeObject, image: LoadedImage) -> Place:
    """The region a question means, or the whole picture with a note that says so."""
    width, height = image.size
    box = None
    if item.noun.casefold() in SKY_WORDS:
        box = sky_box(image.rgb)
    elif item.is_region and item.position:
        box = side_box(item.position, width, height)
    if box is not None:
        return Place(box)
    return Place(None, f"{item.name!r} cannot be located by this backend, so the whole picture was judged")


def side_box(position: str, width: int, height: int) -> Box | None:
    """The part of the frame that position words mean; None for corners, edges, fore- and background.

    >>> side_box("top left", 300, 200)
    Box(x=0, y=0, width=150, height=100)
    >>> side_box("center", 300, 200)
    Box(x=75, y=50, width=150, height=100)
    """
    words = set(position.split())
    if not words or words - {"left", "right", "top", "bottom", "center"}:
        return None
    half_w, half_h = max(1, width // 2), max(1, height // 2)
    if words == {"center"}:
        return Box((width - half_w) // 2, (height - half_h) // 2, half_w, half_h)
    x, box_width = 0, width
    if "left" in words or "right" in words:
        x, box_width = (0 if "left" in words else width - half_w), half_w
    y, box_height = 0, height
    if "top" in words or "bottom" in words:
        y, box_height = (0 if "top" in words else height - half_h), half_h
    return Box(x, y, box_width, box_height)


def sky_box(rgb: UInt8Image) -> Box | None:
    """The upper part of the frame that is smooth, bright and not green, as long as it is large enough."""
    scale = 128 / max(rgb.shape[:2])
    small = cv2.resize(rgb, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA) if scale < 1 else rgb
    rows = _sky_rows(np.asarray(small, np.float32))
    if rows < SMALLEST_SKY * small.shape[0]:
        return None
    height = max(1, round(rows / small.shape[0] * rgb.shape[0]))
    return Box(0, 0, rgb.shape[1], height)


def _sky_rows(small: npt.NDArray[np.float32]) -> int:
    """How many rows from the top look like sky over most of their width."""
    red, green, blue = (small[..., i] for i in range(3))
    luma = 0.299 * red + 0.587 * green + 0.114 * blue
    rough = cv2.blur(np.abs(cv2.Laplacian(luma, cv2.CV_32F)), (5, 5))
    skyish = (rough < 8) & (luma > 90) & (green < np.maximum(blue, red) + 8)
    covered = skyish.mean(axis=1) > 0.6
    return int(np.argmin(covered)) if not covered.all() else len(covered)
