"""Brightness probe: mean luminance."""

from __future__ import annotations

import numpy as np

from agenticiqa.tools.metrics.base import Array, Measurement, MetricSpec
from agenticiqa.tools.metrics.filters import strips, total
from agenticiqa.tools.metrics.views import Picture, Views

SPEC = MetricSpec(
    name="brightness",
    kind="probe",
    range=(0.0, 255.0),
    higher_is_better=None,
    variant="mean BT.601 luma; photographs that look well exposed mostly lie between 80 and 170",
    paper="no single source; luma as in ITU-R BT.601",
    good_at=("Brightness change",),
    unit="8-bit levels",
    bytes_per_pixel=2,
)


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    """Mean luma in 8-bit levels.

    >>> measure(np.ones((4, 4, 3))).value
    255.0
    """
    views = Views.of(test, reference, SPEC)
    picture = views.test
    counts = np.zeros(256, np.int64)
    luma_sum = 0.0
    for start, stop in strips(*picture.size):
        luma = picture.luma_rows(start, stop)
        luma_sum += total(luma)
        levels = np.clip(np.rint(luma * 255), 0, 255).astype(np.uint8)
        counts += np.bincount(levels.ravel(), minlength=256)
    pixels = picture.height * picture.width
    reached = np.cumsum(counts) / pixels
    percentiles = {f"percentile_{p}": float(np.searchsorted(reached, p / 100)) for p in (5, 50, 95)}
    return Measurement(float(np.clip(255 * luma_sum / pixels, 0, 255)), details=percentiles)
