"""Haze probe: how bright the darkest nearby colour is."""

from __future__ import annotations

import cv2
import numpy as np

from agenticiqa.tools.metrics.base import Array, Measurement, MetricSpec
from agenticiqa.tools.metrics.views import Picture, Views

SPEC = MetricSpec(
    name="haze",
    kind="probe",
    range=(0.0, 1.0),
    higher_is_better=False,
    variant="mean of the dark channel: smallest of R, G and B within 15×15 pixels; clear scenes with "
    "shadows or colours stay near 0, mist and veiling glare raise it",
    paper="He, Sun and Tang, Single image haze removal using dark channel prior, CVPR, 2009",
    good_at=("Contrast", "Brightness change"),
    bytes_per_pixel=24,
)

REACH = 15


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    """Mean dark channel.

    >>> measure(np.zeros((20, 20, 3))).value
    0.0
    """
    views = Views.of(test, reference, SPEC)
    rgb = views.test.rgb()
    darkest = np.minimum(np.minimum(rgb[..., 0], rgb[..., 1]), rgb[..., 2])
    kernel = np.ones((REACH, REACH), np.uint8)
    dark_channel = np.asarray(cv2.erode(darkest, kernel), np.float32)
    mean = float(np.clip(dark_channel.mean(dtype=np.float64), 0, 1))
    return Measurement(mean, map=dark_channel)
