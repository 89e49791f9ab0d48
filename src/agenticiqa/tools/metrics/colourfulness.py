"""Colourfulness probe."""

from __future__ import annotations

import math

import numpy as np

from agenticiqa.tools.metrics.base import Array, Measurement, MetricSpec
from agenticiqa.tools.metrics.filters import strips
from agenticiqa.tools.metrics.views import Picture, Views

SPEC = MetricSpec(
    name="colourfulness",
    kind="probe",
    range=(0.0, 400.0),
    higher_is_better=None,
    variant="spread and offset of the red-green and yellow-blue opponents on the 0..255 scale; about 0 "
    "grey, 33 moderately, 59 quite, 82 highly colourful",
    paper="Hasler and Süsstrunk, Measuring colorfulness in natural images, Human Vision and Electronic Imaging, 2003",
    good_at=("Color distortions",),
    bytes_per_pixel=2,
)


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    """Hasler and Süsstrunk's M3.

    >>> measure(np.full((4, 4, 3), 0.3)).value
    0.0
    """
    views = Views.of(test, reference, SPEC)
    picture = views.test
    sums = np.zeros((2, 2))
    for start, stop in strips(*picture.size):
        rgb = picture.rgb_rows(start, stop) * np.float32(255)
        red, green, blue = rgb[..., 0], rgb[..., 1], rgb[..., 2]
        for index, opponent in enumerate((red - green, (red + green) * np.float32(0.5) - blue)):
            sums[index] += opponent.sum(dtype=np.float64), np.square(opponent).sum(dtype=np.float64)
    means, squares = (sums / (picture.height * picture.width)).T
    spread = math.sqrt(float(np.maximum(squares - means**2, 0).sum()))
    offset = math.hypot(*means)
    return Measurement(spread + 0.3 * offset, details={"spread": spread, "offset": offset})
