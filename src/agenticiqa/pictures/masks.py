"""From a mask (which pixels belong to a thing) to a rectangle that can be judged and measured."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from agenticiqa.pictures.images import Box

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
