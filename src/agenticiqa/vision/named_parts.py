"""Where things of a few everyday kinds are, by what the vision model knows of each place of its view."""

from dataclasses import dataclass

import cv2
import numpy as np

from agenticiqa.pictures.images import Box
from agenticiqa.pictures.regions import inner_box
from agenticiqa.vision.network import Floats
from agenticiqa.vision.scene import Scene

SUREST = 8
"""So many places of the view, one in fifty, tell whether a kind is there."""
IN_IT = 0.5
"""A place is taken for the kind from this share of the surest places' chance on."""
SMALLEST = 48
"""Pixels per side of what is judged: less holds too little."""


@dataclass(frozen=True)
class SoughtPart:
    """What became of looking for a kind; neither found nor absent where it may be there, but cannot be placed."""

    box: Box | None = None
    chance: float = 0.0
    """How sure the model is of the surest places."""
    absent: bool = False


def find_part(scene: Scene, labels: frozenset[str], size: tuple[int, int], side: Box | None = None) -> SoughtPart:
    """The largest area of these kinds, with its centre on a side of the picture if one is named.

    The bounds of each kind were chosen when it was learnt: from ``found`` on it is hardly ever claimed in vain, below
    ``absent`` it is hardly ever there.
    """
    kinds = scene.vision.about["parts"]
    meant = [number for number, kind in enumerate(kinds) if kind["name"] in labels]
    if not meant:
        return SoughtPart()
    chances = np.asarray(scene.vision.parts(scene.features)[..., meant].sum(axis=-1), np.float32)
    if side is not None:
        chances = chances * _on_side(chances.shape, side, size)
    chance = surest(chances)
    if chance >= max(kinds[number]["found"] for number in meant):
        return SoughtPart(judged_box(chances, size), chance)
    known = labels <= {kind["name"] for kind in kinds} and side is None
    return SoughtPart(chance=chance, absent=known and chance < min(kinds[number]["absent"] for number in meant))


def surest(chances: Floats) -> float:
    """The mean chance of the surest places."""
    return float(np.sort(chances, axis=None)[-SUREST:].mean())


def judged_box(chances: Floats, size: tuple[int, int]) -> Box:
    """About the largest box inside the largest area that is taken for the kind, in pixels of a picture of this size."""
    taken = np.asarray(chances >= IN_IT * surest(chances), np.uint8)
    _, areas, figures, _ = cv2.connectedComponentsWithStats(taken, connectivity=4)
    largest = areas == 1 + int(figures[1:, cv2.CC_STAT_AREA].argmax())
    inner = inner_box(largest)
    if inner is None:
        raise ValueError("An area of whole places holds a box of at least one.")
    (rows, columns), (width, height) = chances.shape, size
    x, wide = _stretched(inner.x * width / columns, inner.width * width / columns, width)
    y, high = _stretched(inner.y * height / rows, inner.height * height / rows, height)
    return Box(x, y, wide, high)


def _stretched(start: float, length: float, whole: int) -> tuple[int, int]:
    """Whole pixels, about the same middle, and no fewer than can be judged as long as the picture has them.

    >>> _stretched(10.0, 20.0, 400), _stretched(380.0, 20.0, 400), _stretched(0.0, 200.4, 400)
    ((0, 48), (352, 48), (0, 200))
    """
    long = min(whole, max(SMALLEST, round(length)))
    return min(max(0, round(start + (length - long) / 2)), whole - long), long


def _on_side(shape: tuple[int, ...], side: Box, size: tuple[int, int]) -> Floats:
    (rows, columns), (width, height) = shape, size
    x, y = (np.arange(columns) + 0.5) * width / columns, (np.arange(rows) + 0.5) * height / rows
    across, down = (x >= side.x) & (x < side.x + side.width), (y >= side.y) & (y < side.y + side.height)
    return np.asarray(down[:, None] & across[None], np.float32)
