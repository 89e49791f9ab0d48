"""Colour cast probe: which way the picture as a whole leans."""

from __future__ import annotations

import math

import numpy as np

from agenticiqa.tools.metrics.base import Array, Measurement, MetricSpec
from agenticiqa.tools.metrics.ciede2000 import lab_of
from agenticiqa.tools.metrics.filters import strips
from agenticiqa.tools.metrics.views import Picture, Views

SPEC = MetricSpec(
    name="colour_cast",
    kind="probe",
    range=(0.0, 135.0),
    higher_is_better=False,
    variant="distance of the mean colour from grey in the a-b plane of CIE Lab (D65); the detail cast_factor "
    "divides it by the spread of colours: above about 1 the whole picture leans one way",
    paper="after Gasparini and Schettini, Color balancing of digital photos using simple image statistics, "
    "Pattern Recognition, 2004",
    good_at=("Color distortions",),
    unit="delta ab",
    bytes_per_pixel=2,
)


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    """Distance of the mean colour from grey.

    >>> round(measure(np.full((4, 4, 3), 0.5)).value, 2)
    0.0
    """
    views = Views.of(test, reference, SPEC)
    picture = views.test
    sums = np.zeros((2, 2))
    for start, stop in strips(*picture.size):
        lab = lab_of(np.clip(picture.rgb_rows(start, stop), 0, 1))
        for index in (0, 1):
            channel = lab[..., 1 + index]
            sums[index] += channel.sum(dtype=np.float64), np.square(channel).sum(dtype=np.float64)
    means, squares = (sums / (picture.height * picture.width)).T
    distance = math.hypot(*means)
    spread = math.sqrt(float(np.maximum(squares - means**2, 0).sum()))
    details = {
        "a": float(means[0]),
        "b": float(means[1]),
        "hue_degrees": math.degrees(math.atan2(means[1], means[0])) % 360,
        "cast_factor": distance / max(spread, 1.0),
    }
    return Measurement(distance, details=details)
