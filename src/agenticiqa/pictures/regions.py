"""From a name ("the vehicle") or a mask to pixels; and maps of quality drawn over them.

A score filed under an object is computed on that object's region, or it is labelled as the whole picture's. Here a
region is known when the user gave its box.
"""

import re
from collections.abc import Mapping, Sequence

import cv2
import numpy as np
import numpy.typing as npt

from agenticiqa.errors import RegionError
from agenticiqa.pictures.images import Box, FloatImage, LoadedImage, UInt8Image

_ARTICLE = re.compile(r"^(?:the|a|an|this|that)\s+", re.IGNORECASE)


def parse_region(text: str) -> tuple[str, Box]:
    """``NAME=x,y,width,height`` from the command line."""
    name, separator, numbers = text.partition("=")
    if not separator or not name.strip():
        raise RegionError(f"{text!r} names no region.")
    return name.strip(), Box.parse(numbers)


def check_regions(regions: Mapping[str, Sequence[int]], image: LoadedImage) -> None:
    """Refuse boxes that leave the picture before anything is spent on them."""
    for name, numbers in regions.items():
        Box.parse(",".join(map(str, numbers))).check_inside(image.size, name)


def find_region(name: str, regions: Mapping[str, Sequence[int]] | None) -> Box | None:
    """The box of a named object, or None where its place is not known."""
    wanted = without_article(name)
    boxes = {without_article(known): Box(*numbers) for known, numbers in (regions or {}).items()}
    if wanted in boxes:
        return boxes[wanted]
    # A question may say more of the object than the box's name does: "building on the left" is the box "building".
    return next((box for known, box in boxes.items() if wanted.startswith(f"{known} ")), None)


def known_boxes(names: Sequence[str], regions: Mapping[str, Sequence[int]] | None) -> dict[str, Box]:
    """The boxes of those objects whose place is known."""
    found = {name: find_region(name, regions) for name in names}
    return {name: box for name, box in found.items() if box is not None}


def without_article(name: str) -> str:
    return _ARTICLE.sub("", name.strip()).casefold()


# --- From a mask (which pixels belong to a thing) to a rectangle that can be judged and measured ---


Mask = npt.NDArray[np.bool_]
LONGEST_SEARCHED = 128
"""The rectangle is searched in a mask reduced to this longer side."""
WHOLE_CELL = 0.97
"""A reduced pixel counts as inside when this share of what it stands for is."""


def bounding_box(mask: Mask) -> Box | None:
    """The smallest box around all pixels of a mask; None for an empty one."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not len(rows):
        return None
    left, top = int(columns[0]), int(rows[0])
    return Box(left, top, int(columns[-1]) + 1 - left, int(rows[-1]) + 1 - top)


def inner_box(mask: Mask) -> Box | None:
    """About the largest box that holds pixels of the mask alone; None where there is none.

    >>> mask = np.zeros((60, 80), bool); mask[10:50, 20:70] = True
    >>> inner_box(mask)
    Box(x=20, y=10, width=50, height=40)
    """
    height, width = mask.shape
    step = max(1, -(-max(height, width) // LONGEST_SEARCHED))
    whole = mask[: height // step * step, : width // step * step].astype(np.float32)
    small = cv2.resize(whole, (width // step, height // step), interpolation=cv2.INTER_AREA) >= WHOLE_CELL
    best, found = 0, None
    heights: npt.NDArray[np.int64] = np.zeros(small.shape[1], np.int64)
    for bottom, row in enumerate(small):
        heights = np.where(row, heights + 1, 0)
        for left, right, high in _spans(heights):
            if high * (right - left) > best:
                best = high * (right - left)
                found = Box(left * step, (bottom + 1 - high) * step, (right - left) * step, high * step)
    return found


def _spans(heights: npt.NDArray[np.int64]) -> list[tuple[int, int, int]]:
    """For every bar of a histogram the widest span at least as high: (left, right, height)."""
    spans: list[tuple[int, int, int]] = []
    open_bars: list[tuple[int, int]] = []
    for place, high in enumerate([*(int(value) for value in heights), 0]):
        left = place
        while open_bars and open_bars[-1][1] > high:
            left, taller = open_bars.pop()
            spans.append((left, place, taller))
        if high and (not open_bars or open_bars[-1][1] < high):
            open_bars.append((left, high))
    return spans


# --- Quality as colours over a picture: red is worse, blue is better ---


def coloured(rgb: UInt8Image, badness: FloatImage) -> UInt8Image:
    """The picture in grey under a colour map of ``badness`` (0 blue, 1 red), which is scaled to the picture."""
    levels = (np.clip(badness, 0, 1) * 255).astype(np.uint8)
    interpolation = cv2.INTER_AREA if levels.shape[0] > rgb.shape[0] else cv2.INTER_CUBIC
    large = cv2.resize(levels, (rgb.shape[1], rgb.shape[0]), interpolation=interpolation)
    colours = cv2.cvtColor(cv2.applyColorMap(large, cv2.COLORMAP_TURBO), cv2.COLOR_BGR2RGB)
    grey = cv2.cvtColor(cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB)
    return np.asarray(cv2.addWeighted(grey, 0.55, colours, 0.45, 0), np.uint8)


def overlay(rgb: UInt8Image, quality: FloatImage) -> UInt8Image:
    """The picture under a map of quality, 1 (bad) to 5 (excellent)."""
    return coloured(rgb, np.asarray((5 - quality) / 4, np.float32))
