"""MDSI: mean deviation of combined gradient and chromaticity similarity."""

from __future__ import annotations

import cv2
import numpy as np

from agenticiqa.tools.metrics.base import Array, FloatArray, Measurement, MetricSpec
from agenticiqa.tools.metrics.filters import (
    Padding,
    prewitt_magnitude,
    similarity,
    transform_colours,
    viewing_factor,
)
from agenticiqa.tools.metrics.views import Picture, Views

SPEC = MetricSpec(
    name="MDSI",
    kind="FR",
    range=(0.0, 1.0),
    higher_is_better=False,
    variant="picture shrunk so that its short side is near 256 pixels, sum of the two similarities, alpha "
    "0.6, q = o = 0.25: equals piq's mdsi",
    paper="Ziaei Nafchi, Shahkolaei, Hedjam and Cheriet, Mean deviation similarity index, IEEE Access, 2016",
    good_at=("Blurs", "Compression", "Noise", "Color distortions"),
    minimum_size=(3, 3),
    map_higher_is_better=True,
    bytes_per_pixel=4,
)

LHM = ((0.2989, 0.587, 0.114), (0.3, 0.04, -0.35), (0.34, -0.6, 0.17))
C1, C2, C3 = 140.0, 55.0, 550.0
ALPHA = np.float32(0.6)
POWER = 0.25


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    """Mean deviation similarity index, 0 for equal pictures.

    >>> ramp = np.tile(np.linspace(0, 1, 32), (32, 1))
    >>> measure(ramp, ramp).value
    0.0
    """
    views = Views.of(test, reference, SPEC)
    factor = viewing_factor(views.size)
    padding = Padding((factor - 1) // 2, factor // 2)
    one, other = views.on_both(lambda picture: _planes(picture, factor, padding))
    combined = ALPHA * _structure(one[0], other[0])
    combined += (1 - ALPHA) * _chromaticity(one, other)
    return Measurement(_deviation(combined), map=combined)


def _planes(picture: Picture, factor: int, padding: Padding) -> list[FloatArray]:
    lhm = transform_colours(picture.pooled_rgb(factor, padding), LHM)
    return [np.asarray(plane, np.float32) for plane in cv2.split(lhm)]


def _structure(one: FloatArray, other: FloatArray) -> FloatArray:
    between = prewitt_magnitude((one + other) * np.float32(0.5))
    one, other = prewitt_magnitude(one), prewitt_magnitude(other)
    # The difference first: for equal pictures it is exactly zero, and the fourth roots below magnify dust.
    found = similarity(one, between, C2)
    found -= similarity(other, between, C2)
    found += similarity(one, other, C1)
    return found


def _chromaticity(one: list[FloatArray], other: list[FloatArray]) -> FloatArray:
    (_, h1, m1), (_, h2, m2) = one, other
    product = 2 * (h1 * h2 + m1 * m2) + C3
    return np.asarray(product / ((h1 * h1 + m1 * m1) + (h2 * h2 + m2 * m2) + C3), np.float32)


def _deviation(combined: FloatArray) -> float:
    """Mean distance from the mean of the fourth root; a negative value has a complex root."""
    root = np.sqrt(np.sqrt(np.abs(combined)))
    negative = combined < 0
    if negative.any():
        turned = np.where(negative, root * np.exp(1j * np.pi * POWER), root)
        distance = np.abs(turned - turned.mean())
    else:
        distance = np.abs(root - root.mean(dtype=np.float64).astype(np.float32))
    return float(distance.mean(dtype=np.float64) ** POWER)
