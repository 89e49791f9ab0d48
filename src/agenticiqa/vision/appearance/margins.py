"""The outermost part of a picture: bars of one colour along its sides, and whether the ground there is plain."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from agenticiqa.pictures.images import UInt8Image

SAMPLES = 100
"""Places along each side that are looked at."""
LIKE = 12
"""Levels by which pixels of a frame may differ: compression leaves some."""
LEAST, LEAST_SHARE, MOST_SHARE = 4, 0.008, 0.45
"""How wide a frame is: pixels, and of a side."""
STRAYS = 0.02
STRAIGHT = 0.6
"""Share of a frame's inner edge beyond which the picture differs from it; of a subject on plain ground less does."""
SOFT_EDGE = 3
"""Pixels within which it does."""
STEP = 20
"""Levels by which it does."""
MARGIN = 0.05
"""Of a side: where the ground is looked at."""
NEAR_WHITE = 238
PLAIN_REACH = 16


@dataclass(frozen=True)
class Margins:
    """What lies along the sides of a picture."""

    border: int
    """Pixels of the widest bar of one colour along a side; 0 where there is none."""
    white_margin: float
    """Share of the outer twentieth that is nearly white."""
    plain_margin: float
    """Share of it that is near its most usual colour."""


def margins_of(rgb: UInt8Image) -> Margins:
    """
    >>> picture = np.random.default_rng(0).integers(0, 256, (100, 100, 3), np.uint8)
    >>> picture[:10] = 0
    >>> margins_of(picture).border
    10
    """
    border = max(_bar(np.rot90(rgb, turns)) for turns in range(4))
    outer = np.concatenate([_outer(np.rot90(rgb, turns)) for turns in range(4)])
    usual = np.median(outer, axis=0)
    plain = np.abs(outer - usual).max(axis=1) <= PLAIN_REACH
    white = outer.min(axis=1) >= NEAR_WHITE
    return Margins(border, round(float(white.mean()), 4), round(float(plain.mean()), 4))


def _bar(rgb: UInt8Image) -> int:
    """Rows of one colour at the top, if they end at a straight edge."""
    height, width = rgb.shape[:2]
    sampled = rgb[: int(MOST_SHARE * height) + SOFT_EDGE, :: max(1, width // SAMPLES)]
    # Most pictures begin with no such row, and need not be looked at further.
    first = sampled[:2].astype(np.int16)
    tone = np.median(first[0], axis=0)
    if (np.abs(first - tone).max(axis=2) > LIKE).mean() > STRAYS:
        return 0
    rows = sampled.astype(np.int16)
    other = (np.abs(rows - tone).max(axis=2) > LIKE).mean(axis=1)
    ends = np.flatnonzero(other > 1 - STRAIGHT)
    if not ends.size or ends[0] < max(LEAST, LEAST_SHARE * height):
        return 0
    end = int(ends[0])
    # Compression rings into a bar from its edge; a sky has no edge.
    is_plain = other[: 2 * end // 3].max() <= STRAYS
    step = np.abs(rows[min(end + SOFT_EDGE, len(rows)) - 1] - rows[end - SOFT_EDGE]).max(axis=1) > STEP
    return end if is_plain and step.mean() >= STRAIGHT else 0


def _outer(rgb: UInt8Image) -> npt.NDArray[np.int16]:
    height, width = rgb.shape[:2]
    rows = rgb[: max(1, int(MARGIN * height)), :: max(1, width // SAMPLES)]
    return rows[:: max(1, len(rows) // 8)].reshape(-1, 3).astype(np.int16)
