"""How light is spread over the frame: from side to side, and from the middle to the corners."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agenticiqa.pictures.images import UInt8Image
from agenticiqa.vision.appearance.views import luminance, reduced

SIDE = 96
CELLS = 3
BRIGHT_PART = 80
"""Percentile of a cell: what reflects much there, so that it tells of the light rather than of the things."""
DARKEST = 0.002


@dataclass(frozen=True)
class Spread:
    """Light of the parts of a frame, in stops (factors of two)."""

    across: float
    """From the darkest to the brightest ninth of the frame."""
    brightest: str
    darkest: str
    corners: float
    """How much darker than the middle the brightest of the four corners is; negative where one is brighter."""


_ROWS, _COLUMNS = ("top", "", "bottom"), ("left", "", "right")


def light_spread(rgb: UInt8Image) -> Spread:
    """Measure a picture.

    >>> light_spread(np.full((90, 90, 3), 128, np.uint8)).across
    0.0
    """
    stops = np.log2(np.maximum(luminance(reduced(rgb, SIDE)), DARKEST))
    rows, columns = (np.array_split(np.arange(side), CELLS) for side in stops.shape)
    cells = np.array([[np.percentile(stops[np.ix_(down, across)], BRIGHT_PART) for across in columns] for down in rows])
    corners = cells[0, 0], cells[0, -1], cells[-1, 0], cells[-1, -1]
    return Spread(
        across=float(cells.max() - cells.min()),
        brightest=_place(int(cells.argmax())),
        darkest=_place(int(cells.argmin())),
        corners=float(cells[1, 1] - max(corners)),
    )


def _place(cell: int) -> str:
    """
    >>> _place(0), _place(4), _place(5)
    ('top left', 'middle', 'right')
    """
    row, column = divmod(cell, CELLS)
    return " ".join(filter(None, (_ROWS[row], _COLUMNS[column]))) or "middle"
