"""How far the long lines of a picture are off level or plumb."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from agenticiqa.pictures.images import UInt8Image
from agenticiqa.vision.appearance.views import luma, reduced

SIDE = 512
REACH = 20.0
"""Degrees up to which a line counts as meant to be level or plumb."""
SHORTEST = 0.12
"""Of the longer side."""
STEP = 0.25


@dataclass(frozen=True)
class Tilt:
    """The angle that most of the long lines agree on."""

    degrees: float
    """Positive where the picture must be turned clockwise to be level: its right side is too high."""
    support: float
    """Total length of the lines that agree, in lengths of the longer side."""
    agreement: float
    """Their share of all long lines that are nearly level or plumb."""


def tilt(rgb: UInt8Image) -> Tilt | None:
    """None where no long line is nearly level or plumb."""
    grey = np.rint(luma(reduced(rgb, SIDE)) * 255).astype(np.uint8)
    longer = max(grey.shape)
    found = cv2.createLineSegmentDetector(cv2.LSD_REFINE_STD).detect(grey)[0]
    if found is None:
        return None
    x1, y1, x2, y2 = found.reshape(-1, 4).T
    lengths = np.hypot(x2 - x1, y2 - y1) / longer
    angles = np.degrees(np.arctan2(-(y2 - y1), x2 - x1))
    level = (angles + 90) % 180 - 90
    plumb = angles % 180 - 90
    # Both turn with the picture by the same angle. Plumb lines lean by perspective: they count half.
    off = np.where(np.abs(level) <= np.abs(plumb), level, plumb)
    weight = np.where(np.abs(level) <= np.abs(plumb), 1.0, 0.5) * lengths
    long = (lengths >= SHORTEST) & (np.abs(off) <= REACH)
    if not long.any():
        return None
    centres = np.arange(-REACH, REACH + STEP, STEP)
    votes = (weight[long][None] * np.exp(-(((off[long][None] - centres[:, None]) / 0.8) ** 2))).sum(axis=1)
    best = int(votes.argmax())
    near = np.abs(off[long] - centres[best]) <= 1.5
    support = float(weight[long][near].sum())
    mean = float((weight[long][near] * off[long][near]).sum() / max(support, 1e-9))
    return Tilt(mean, support, support / float(weight[long].sum()))
