"""GMSD: how unevenly gradient similarity is spread over the picture."""

from __future__ import annotations

import math

import numpy as np

from agenticiqa.tools.metrics.base import Array, FloatArray, Measurement, MetricSpec
from agenticiqa.tools.metrics.filters import prewitt_magnitude, shrink, strips_with_halo, total
from agenticiqa.tools.metrics.views import Picture, Views

SPEC = MetricSpec(
    name="GMSD",
    kind="FR",
    range=(0.0, 1.0),
    higher_is_better=False,
    variant="BT.601 luma rounded to 0..255, halved by 2×2 means, Prewitt gradients with zeros outside, T = "
    "170, sample standard deviation: equals pyiqa's gmsd",
    paper="Xue, Zhang, Mou and Bovik, Gradient magnitude similarity deviation, IEEE TIP, 2014",
    good_at=("Blurs", "Compression", "Noise"),
    minimum_size=(4, 4),
    map_higher_is_better=True,
    bytes_per_pixel=14,
)

T = np.float32(170)


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    """Gradient magnitude similarity deviation, 0 for equal pictures.

    >>> ramp = np.tile(np.linspace(0, 1, 32), (32, 1))
    >>> round(measure(ramp, ramp).value, 9)
    0.0
    """
    views = Views.of(test, reference, SPEC)
    one, other = views.on_both(lambda picture: shrink(picture.luma8(), 2))
    similarity = np.empty(one.shape, np.float32)
    losses = squares = 0.0
    for read, keep in strips_with_halo(one.shape[0], one.shape[1], 1):
        loss = _loss(prewitt_magnitude(one[read])[keep], prewitt_magnitude(other[read])[keep])
        losses += total(loss)
        squares += float(np.vdot(loss, loss))
        start = read.start + keep.start
        np.subtract(1, loss, out=similarity[start : start + loss.shape[0]])
    count = similarity.size
    variance = max(0.0, (squares - losses * losses / count) / (count - 1))
    return Measurement(math.sqrt(variance), map=similarity, details={"mean_similarity": 1 - losses / count})


def _loss(one: FloatArray, other: FloatArray) -> FloatArray:
    """One minus the similarity; taken directly it keeps the digits that 1 - x would lose."""
    difference = one - other
    difference *= difference
    one *= one
    other *= other
    one += other
    one += T
    difference /= one
    return difference
