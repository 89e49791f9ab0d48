"""Whether text could be read: how high letters are, how wide their strokes, and how far they stand out. A guess."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from agenticiqa.models.offline.looking import Look
from agenticiqa.models.offline.readings.scales import chances_at, pixels_of, placed
from agenticiqa.models.offline.readings.told import Told, reader
from agenticiqa.pictures.images import UInt8Image
from agenticiqa.vision.appearance.views import lightness, reduced

SIDE = 1600
LOWEST, HIGHEST = 5, 0.25
"""A letter is at least so many pixels and at most so much of the frame high."""
FEWEST = 12
"""Letters that stand in lines, below which nothing is called text."""
HEIGHT = (5.0, 7.0, 9.0, 12.0, 18.0)
"""Pixels of a small letter's height at illegible to easy."""
CONTRAST = (0.05, 0.15, 0.25, 0.40, 0.60)
"""Of lightness between strokes and ground."""


@dataclass(frozen=True)
class Letters:
    """What looks like letters in lines."""

    count: int
    height: float
    stroke: float
    contrast: float


@reader("legible")
def legible(look: Look) -> Told | None:
    """None where nothing looks like lines of letters."""
    found = letters_in(pixels_of(look))
    if found is None:
        return None
    amount = min(placed(found.height, HEIGHT), placed(found.contrast, CONTRAST))
    said = "can probably be read" if amount >= 0.5 else "is probably hard to read"
    return Told(
        f"What looks like text {said}: letters are {found.height:.0f} px high, strokes {found.stroke:.1f} px wide, and "
        f"stand out by {found.contrast:.0%} of lightness.",
        amounts=chances_at(amount, 0.18),
        guess=True,
        numbers={"letters": found.count, "height": round(found.height, 1), "contrast": round(found.contrast, 3)},
    )


def letters_in(rgb: UInt8Image) -> Letters | None:
    """Connected strokes darker or lighter than what is around them, of like height and side by side."""
    small = reduced(rgb, SIDE)
    light = lightness(small)
    around = cv2.GaussianBlur(light, (0, 0), 12)
    best: Letters | None = None
    for sign in (-1, 1):
        found = _lines_of_letters(sign * (light - around), light)
        if found and (best is None or found.count > best.count):
            best = found
    return best


def _lines_of_letters(stands_out: npt.NDArray[Any], light: npt.NDArray[Any]) -> Letters | None:
    mask = (stands_out > 0.05).astype(np.uint8)
    _, labels, stats, centres = cv2.connectedComponentsWithStats(mask, connectivity=8)
    height, width, area = stats[:, cv2.CC_STAT_HEIGHT], stats[:, cv2.CC_STAT_WIDTH], stats[:, cv2.CC_STAT_AREA]
    fill = area / np.maximum(height * width, 1)
    letter = (height >= LOWEST) & (height <= HIGHEST * light.shape[0]) & (width <= 3 * height)
    letter &= (fill > 0.15) & (fill < 0.9)
    letter[0] = False
    places = np.flatnonzero(letter)
    if len(places) < FEWEST:
        return None
    kept = [at for at in places.tolist() if _stands_in_a_line(at, places, stats, centres)]
    if len(kept) < FEWEST:
        return None
    inside = np.isin(labels, kept)
    ground = (cv2.dilate(inside.astype(np.uint8), np.ones((5, 5), np.uint8)) > 0) & (mask == 0)
    contrast = abs(float(np.median(light[inside])) - float(np.median(light[ground]))) if ground.any() else 0.0
    depth = np.asarray(cv2.distanceTransform(inside.astype(np.uint8), cv2.DIST_L2, 3), np.float32)
    stroke = 2 * float(np.percentile(depth[inside], 80))
    return Letters(len(kept), float(np.median(np.asarray(height, np.float64)[kept])), stroke, contrast)


def _stands_in_a_line(at: int, places: npt.NDArray[Any], stats: npt.NDArray[Any], centres: npt.NDArray[Any]) -> bool:
    """At least four others of like height beside it whose feet stand on the same line to a pixel or two.

    Leaves and bricks are as large as each other too, but do not stand on a line.
    """
    height = stats[:, cv2.CC_STAT_HEIGHT]
    feet = stats[:, cv2.CC_STAT_TOP] + height
    beside = np.abs(centres[places, 0] - centres[at, 0]) < 5 * height[at]
    alike = (height[places] < 1.7 * height[at]) & (height[places] > height[at] / 1.7)
    on_line = np.abs(feet[places] - feet[at]) <= max(1, round(0.06 * height[at]))
    return int((beside & alike & on_line).sum()) > 4
