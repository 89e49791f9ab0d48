"""Large pictures are measured in samples: windows of native pixels, or every n-th pixel.

What a probe says of twelve megapixels it says of nine windows as well, at a tenth of the cost. Quantities of single
pixels (brightness, colour) come from a grid of pixels over the whole frame, quantities of neighbours (edges, noise,
blocks) from windows in which every neighbour is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, sqrt
from typing import Any

import numpy.typing as npt

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
