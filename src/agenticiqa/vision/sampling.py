"""Large pictures are measured in samples: windows of native pixels, or every n-th pixel.

What a probe says of twelve megapixels it says of nine windows as well, at a tenth of the cost. Quantities of single
pixels (brightness, colour) come from a grid of pixels over the whole frame, quantities of neighbours (edges, noise,
blocks) from windows in which every neighbour is there. :func:`clipped` says what
of a picture reached the end of its range.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, sqrt
from statistics import NormalDist
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from agenticiqa.pictures.images import UInt8Image

Array = npt.NDArray[Any]

LARGE = 3_000_000
"""Pictures with more pixels than this are sampled."""
WINDOW, ACROSS = 384, 3
GRID_PIXELS = 1_000_000
BLOCK = 8
"""Windows begin on the grid of JPEG's blocks, so that a block pattern stays where it was."""


def is_large(pixels: Array) -> bool:
    return bool(pixels.shape[0] * pixels.shape[1] > LARGE)


def windows(pixels: Array) -> list[Array]:
    """Nine windows spread over the frame; the whole picture where it is not large or too narrow for them."""
    height, width = pixels.shape[:2]
    if not is_large(pixels) or min(height, width) < WINDOW:
        return [pixels]
    return [pixels[y : y + WINDOW, x : x + WINDOW] for y in _starts(height) for x in _starts(width)]


def _starts(side: int) -> Iterator[int]:
    """Beginnings of windows, each in the middle of its third as far as the frame allows.

    >>> list(_starts(3000))
    [304, 1304, 2304]
    """
    for place in range(ACROSS):
        middle = side * (2 * place + 1) // (2 * ACROSS)
        start = min(max(middle - WINDOW // 2, 0), side - WINDOW)
        yield start // BLOCK * BLOCK


def pixel_grid(pixels: Array) -> Array:
    """Every n-th pixel of every n-th row, about a million of them; the whole picture where it is not large."""
    if not is_large(pixels):
        return pixels
    step = ceil(sqrt(pixels.shape[0] * pixels.shape[1] / GRID_PIXELS))
    return pixels[::step, ::step]


# --- What of a picture reached the end of its range: lights that clipping flattened ---


CLIPPED_WHITE, CLIPPED_REST = 8.0, 0.13
"""Percent of pure white, and share of the rest that lost one or two of its channels, beyond which light was too much.
Of 200 photographs for training and 300 ordinary ones as they are none reaches both, of the first with 2.5 stops more
two in three do; white grounds of things for sale have the first alone."""
FULL, SPENT = 253, 250
SIDE = 512


@dataclass(frozen=True)
class Clipped:
    """How much of a picture is as bright as can be."""

    white: float
    """Percent of the pixels that are pure white."""
    partly: float
    """Of the others, the share with a channel at its end: bright colours that lost their hue."""

    @property
    def chance(self) -> float:
        """That a photograph got too much light."""
        return NormalDist(CLIPPED_WHITE, 1.5).cdf(self.white) * NormalDist(CLIPPED_REST, 0.02).cdf(self.partly)


def clipped(rgb: UInt8Image) -> Clipped:
    """
    >>> clipped(np.full((8, 8, 3), 255, np.uint8))
    Clipped(white=100.0, partly=0.0)
    """
    red, green, blue = cv2.split(np.ascontiguousarray(rgb))
    return clipped_between(cv2.min(cv2.min(red, green), blue), cv2.max(cv2.max(red, green), blue))


def clipped_between(smallest: Array, largest: Array) -> Clipped:
    """The same from the smallest and the largest channel of every pixel."""
    step = max(1, max(smallest.shape) // SIDE)
    smallest, largest = smallest[::step, ::step], largest[::step, ::step]
    rest = smallest < SPENT
    white, spent, others = (int(np.count_nonzero(each)) for each in (smallest >= FULL, rest & (largest >= SPENT), rest))
    return Clipped(100 * white / smallest.size, spent / max(1, others))
