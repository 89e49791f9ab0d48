"""Contrast probe: how far luma spreads around its mean."""

from __future__ import annotations

import numpy as np

from agenticiqa.tools.metrics.base import Array, Measurement, MetricSpec
from agenticiqa.tools.metrics.views import Picture, Views

SPEC = MetricSpec(
    name="contrast",
    kind="probe",
    range=(0.0, 0.5),
    higher_is_better=None,
    variant="RMS contrast: standard deviation of BT.601 luma in 0..1; black and white in equal parts give 0.5",
    paper="Peli, Contrast in complex images, Journal of the Optical Society of America A, 1990",
    good_at=("Contrast",),
    bytes_per_pixel=18,
)


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    """RMS contrast.

    >>> measure(np.array([[0.0, 1.0]])).value
    0.5
    """
    views = Views.of(test, reference, SPEC)
    luma = views.test.luma()
    low, high = (float(value) for value in np.percentile(luma[:: 1 + luma.shape[0] // 1024], (1, 99)))
    total = high + low
    return Measurement(
        min(0.5, float(luma.std(dtype=np.float64))),
        details={"tonal_range": high - low, "michelson": (high - low) / total if total > 0 else 0.0},
    )
