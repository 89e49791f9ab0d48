"""PSNR: the peak signal-to-noise ratio over all RGB values."""

from __future__ import annotations

import math

import cv2
import numpy as np

from agenticiqa.tools.metrics.base import Array, FloatArray, Measurement, MetricSpec
from agenticiqa.tools.metrics.filters import strips
from agenticiqa.tools.metrics.views import Picture, Views

CAP = 100.0
CACHED_PIXELS = 1 << 16  # two strips of floats, looked at twice, stay in the inner cache

SPEC = MetricSpec(
    name="PSNR",
    kind="FR",
    range=(0.0, CAP),
    higher_is_better=True,
    variant="mean squared error over R, G and B together, peak 1; identical pictures give the cap of 100 dB "
    "(pyiqa's psnr adds 1e-8 to the error instead and so ends at 80 dB)",
    paper="no single source; see Huynh-Thu and Ghanbari, Scope of validity of PSNR in image/video quality "
    "assessment, Electronics Letters, 2008",
    good_at=("Noise", "Brightness change"),
    unit="dB",
    map_higher_is_better=False,
    bytes_per_pixel=2,
)


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    """PSNR in decibels, 100 at most.

    >>> grey = np.full((8, 8, 3), 0.5)
    >>> round(measure(grey + 0.1, grey).value, 4)
    20.0
    >>> measure(grey, grey).value
    100.0
    """
    views = Views.of(test, reference, SPEC)
    error = _squared_error(views)
    return Measurement(_decibels(error), details={"mse": error})


def _decibels(error: float) -> float:
    return CAP if error <= 0 else min(CAP, max(0.0, -10 * math.log10(error)))


def _squared_error(views: Views) -> float:
    one, other = views.test, views.reference
    same_layout = one.dtype == other.dtype and one.is_grey == other.is_grey
    total = 0.0
    for start, stop in strips(one.height, one.width, pixels=CACHED_PIXELS):
        if same_layout and one.dtype == np.uint8:
            # Integer differences are exact and need no float copy of the picture.
            total += cv2.norm(one.pixels[start:stop], other.pixels[start:stop], cv2.NORM_L2SQR) / 255**2
        elif same_layout:
            total += cv2.norm(one.rows(start, stop), other.rows(start, stop), cv2.NORM_L2SQR)
        else:
            total += cv2.norm(one.rgb_rows(start, stop), other.rgb_rows(start, stop), cv2.NORM_L2SQR)
    channels = 1 if same_layout and one.is_grey else 3
    return total / (one.height * one.width * channels)


def make_map(test: Array | Views, reference: Array | None = None) -> FloatArray:
    """Squared error of each pixel, mean over the channels."""
    views = Views.of(test, reference, SPEC)
    kept = np.empty(views.size, np.float32)
    for start, stop in strips(*views.size):
        difference = views.test.rgb_rows(start, stop) - views.reference.rgb_rows(start, stop)
        difference *= difference
        kept[start:stop] = difference.mean(axis=2)
    return kept
