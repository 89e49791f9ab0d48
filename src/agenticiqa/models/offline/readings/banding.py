"""Banding: what the vision model sees, and how few colours are left."""

from __future__ import annotations

from math import log2

import numpy as np

from agenticiqa.models.offline.looking import Look
from agenticiqa.models.offline.readings.damage import READ, damage_told
from agenticiqa.models.offline.readings.scales import chance_above, chances_at, pixels_of, placed
from agenticiqa.models.offline.readings.told import Told, reader
from agenticiqa.pictures.images import UInt8Image

FEW_COLOURS = 110
"""A photograph of 200 pixels a side holds thousands of different ones."""
COLOURS_AT = (9.0, 6.5, 5.5, 4.5, 3.0)
"""Doublings of the number of colours at no to extreme posterisation."""
LEAST_PIXELS = 4096
SIDE = 512
_DRAWN = ("screen", "drawing", "sketch")


def number_of_colours(rgb: UInt8Image) -> int:
    """Different ones among pixels on a grid.

    >>> number_of_colours(np.zeros((8, 8, 3), np.uint8))
    1
    """
    step = max(1, max(rgb.shape) // SIDE)
    return len(np.unique(rgb[::step, ::step].astype(np.uint32) @ np.array([65536, 256, 1], np.uint32)))


@reader("banded")
def banded(look: Look) -> Told:
    """A photograph of few colours is posterised, whatever the model says; a drawing may have few."""
    told = damage_told(look, READ["banded"])
    pixels = pixels_of(look)
    drawn = sum(look.reading.sorts[name] for name in _DRAWN)
    if (told.presence or 0.0) >= 0.5 or drawn >= 0.5 or pixels.shape[0] * pixels.shape[1] < LEAST_PIXELS:
        return told
    colours = number_of_colours(pixels)
    there = chance_above(-log2(colours), -log2(FEW_COLOURS), 0.3)
    if there < 0.5:
        return told
    _, *visible = chances_at(max(0.25, placed(log2(colours), COLOURS_AT)))
    amounts = 1 - there, *(there * chance / sum(visible) for chance in visible)
    return Told(
        f"Posterised: only {colours} different colours are left.",
        amounts=amounts,
        guess=True,
        numbers={**told.numbers, "colours": float(colours)},
    )
