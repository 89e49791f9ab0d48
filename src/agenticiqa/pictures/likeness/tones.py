"""Do the tones of two pictures of one view differ as those of two exposures do?

What makes versions of a file (encoding, scaling, cropping) leaves its tones alone, and plain brightening multiplies all
of them by one number, up to where they clip. A camera that exposes twice bends both exposures by its tone curve:
highlights move less than middle tones, and no single number leads from one to the other. So the tones of one picture
are multiplied to fit the other's, and what is left over, tone by tone, is the departure.
"""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from agenticiqa.pictures.likeness.same_scene import FINE, Floats, Match, moved_over

UNCLIPPED = 240
"""Tones up to here are compared: above, a copy that was brightened has lost them."""
DARKEST = 20
"""Tones from here on say by how much one picture is brighter; below, rounding does."""
SMOOTHING = 1.0
BANDS = 16
"""Tones are taken together in so many bands of equally many places: what is left of encoding then averages out."""
FEWEST = 200
"""Places that tell something of the tones; fewer, and nothing is said."""


def tone_departure(match: Match) -> float:
    """How far the tones are from a mere brightening, as a share of the contrast: 0 for any version of one file."""
    still, moved, inside = _overlaid(match)
    clipped = np.maximum(still, moved).max(axis=2) > UNCLIPPED
    compared = inside & ~(cv2.dilate(clipped.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0)
    grey, grey_moved = (np.asarray(cv2.cvtColor(each, cv2.COLOR_BGR2GRAY), np.float32) for each in (still, moved))
    smooth = (cv2.GaussianBlur(each, (0, 0), SMOOTHING) for each in (grey, grey_moved))
    here, there = (np.asarray(each, np.float32)[compared] for each in smooth)
    clear = here > DARKEST
    if clear.sum() < FEWEST:
        return 0.0
    gain = float(np.median(there[clear] / here[clear]))
    contrast = np.sqrt(float(grey[inside].std() * grey_moved[inside].std()))
    if gain <= 0 or contrast == 0:
        return 0.0
    left_over = (there - gain * here).ravel()[np.argsort(here, axis=None)]
    by_band = np.array([band.mean() for band in np.array_split(left_over, BANDS)])
    # Half of the gain is taken back, so that either picture may be the one that is multiplied.
    return float(np.sqrt(np.mean(by_band**2)) / np.sqrt(gain) / contrast)


def _overlaid(match: Match) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """Both with their colours, and where both are."""
    warp = match.warp.copy()
    warp[:, 2] *= FINE
    moved, inside = moved_over(match.moved.colours(FINE), warp)
    return match.still.colours(FINE), moved.clip(0, 255), inside
