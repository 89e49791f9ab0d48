"""Where in a picture quality is lost: the vision model's score for every cell, and the worst place."""

from dataclasses import dataclass

import cv2
import numpy as np

from agenticiqa.pictures.images import Box, LoadedImage
from agenticiqa.vision.network import Floats, LRUCache, load_vision
from agenticiqa.vision.scene import Scene

_maps = LRUCache[Floats](max_size=8)


def quality_map(image: LoadedImage, scene: Scene | None = None) -> Floats:
    """Rows × columns of cells (32×32 pixels), 1 (bad) to 5 (excellent), kept a while; ``scene``: if known already."""

    def make() -> Floats:
        found = (scene or Scene.of(load_vision(), image.rgb)).score_map()
        found.flags.writeable = False
        return found

    return _maps.get(image.sha256, make)


# --- The worst place of a picture: where to look first ---


SHARE = 0.3
"""Of the shorter side: a place that is looked at as a whole."""
CLEARLY = 0.25
"""Points of five: less than that below the picture's mean is no place of its own."""


@dataclass(frozen=True)
class WorstPlace:
    box: Box
    score: float
    whole: float
    size: tuple[int, int]
    """Of the picture."""

    @property
    def position(self) -> str:
        """Where in the frame it is."""
        return position_of(self.box, self.size)

    @property
    def even(self) -> bool:
        """No place is clearly worse than the rest."""
        return self.whole - self.score < CLEARLY


def position_of(box: Box, size: tuple[int, int]) -> str:
    """The third of a frame, across and down, that holds the middle of a box.

    >>> position_of(Box(0, 0, 10, 10), (90, 90)), position_of(Box(40, 70, 10, 10), (90, 90))
    ('top left', 'bottom')
    """
    across = _third((box.x + box.width / 2) / size[0], "left", "right")
    down = _third((box.y + box.height / 2) / size[1], "top", "bottom")
    return f"{down} {across}".strip() or "center"


def _third(share: float, first: str, last: str) -> str:
    return first if share < 1 / 3 else last if share > 2 / 3 else ""


def worst_place(quality: Floats, size: tuple[int, int]) -> WorstPlace:
    """The window of the lowest mean quality; ``quality`` has rows × columns of cells, 1 to 5, over ``size`` pixels.

    >>> cells = np.full((6, 8), 4, np.float32)
    >>> cells[4:, 6:] = 2
    >>> found = worst_place(cells, (800, 600))
    >>> found.box, found.score, found.even, found.position
    (Box(x=600, y=400, width=200, height=200), 2.0, False, 'bottom right')
    """
    rows, columns = quality.shape
    side = max(1, round(SHARE * min(rows, columns)))
    sums = cv2.integral(np.asarray(quality, np.float64))
    means = (sums[side:, side:] - sums[:-side, side:] - sums[side:, :-side] + sums[:-side, :-side]) / side**2
    row, column = np.unravel_index(int(np.argmin(means)), means.shape)
    width, height = size
    left, right = (round(float(at) * width / columns) for at in (column, column + side))
    top, bottom = (round(float(at) * height / rows) for at in (row, row + side))
    box = Box(left, top, max(1, right - left), max(1, bottom - top))
    return WorstPlace(box, round(float(means[row, column]), 2), round(float(np.mean(quality)), 2), size)
