"""How alike a picture is to its mirror image or to itself turned round."""

from __future__ import annotations

import cv2
import numpy as np

from agenticiqa.pictures.images import UInt8Image
from agenticiqa.vision.appearance.views import Floats, band_passed, oklab

SIDE = 96
SHIFT = 12
"""The axis may lie so many of the 96 cells off the middle."""
FINE, COARSE = 1.0, 8.0
WEIGHTS = (1.0, 2.0, 2.0)
"""Of lightness and of the two colour axes, whose numbers are smaller."""

AXES = ("left_right_mirror", "top_bottom_mirror", "rotational")


def likeness(rgb: UInt8Image) -> dict[str, float]:
    """Correlation with the picture mirrored left and right, up and down, and turned by half a circle: 1 is the same.

    >>> half = np.random.default_rng(1).integers(0, 256, (64, 32, 3), dtype=np.uint8)
    >>> round(likeness(np.concatenate([half, half[:, ::-1]], axis=1))["left_right_mirror"], 2)
    1.0
    """
    small = np.asarray(cv2.resize(rgb, (SIDE, SIDE), interpolation=cv2.INTER_AREA), np.uint8)
    lab = oklab(small)
    channels = np.stack(
        [band_passed(np.ascontiguousarray(lab[..., at]), FINE, COARSE) * w for at, w in enumerate(WEIGHTS)],
        axis=-1,
    )
    return {
        "left_right_mirror": _best(channels, channels[:, ::-1], axis=1),
        "top_bottom_mirror": _best(channels, channels[::-1], axis=0),
        "rotational": _best(channels, channels[::-1, ::-1], axis=1),
    }


def _best(one: Floats, other: Floats, axis: int) -> float:
    return max(_correlation(one, other, shift, axis) for shift in range(-SHIFT, SHIFT + 1))


def _correlation(one: Floats, other: Floats, shift: int, axis: int) -> float:
    """Of the overlap when one is moved by a shift: that moves the axis by half of it.

    What runs straight across the axis (a horizon, of left and right) mirrors itself in every picture and is left out.
    """
    kept = SIDE - abs(shift)
    first, second = (slice(shift, None), slice(0, kept)) if shift >= 0 else (slice(0, kept), slice(-shift, None))
    a, b = (one[first], other[second]) if axis == 0 else (one[:, first], other[:, second])
    a, b = a - a.mean(axis=axis, keepdims=True), b - b.mean(axis=axis, keepdims=True)
    power = float(np.sqrt((a**2).sum() * (b**2).sum()))
    return float((a * b).sum()) / power if power > 1e-6 else 0.0
