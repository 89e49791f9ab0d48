"""Saturation probe."""

from __future__ import annotations

import numpy as np

from agenticiqa.tools.metrics.base import Array, Measurement, MetricSpec
from agenticiqa.tools.metrics.filters import channel_extremes, strips, total
from agenticiqa.tools.metrics.views import Picture, Views

SPEC = MetricSpec(
    name="saturation",
    kind="probe",
    range=(0.0, 1.0),
    higher_is_better=None,
    variant="mean HSV saturation, each pixel weighted by its value so that the unstable colours of "
    "near-black pixels do not count",
    paper="Smith, Color gamut transform pairs, SIGGRAPH, 1978",
    good_at=("Color distortions",),
    bytes_per_pixel=2,
)


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    """Mean saturation, 0 for grey, 1 for pure colours.

    >>> measure(np.array([[[1.0, 0.0, 0.0]]])).value
    1.0
    """
    views = Views.of(test, reference, SPEC)
    picture = views.test
    spread = value = 0.0
    for start, stop in strips(*picture.size):
        rgb = np.clip(picture.rgb_rows(start, stop), 0, 1)
        high, low = channel_extremes(rgb)
        value += total(high)
        spread += total(high) - total(low)
    # Saturation is (max - min) / max; weighted by max, the mean becomes a ratio of sums.
    return Measurement(min(1.0, spread / value) if value > 0 else 0.0)
