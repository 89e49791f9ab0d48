"""MS-SSIM: structural similarity at five scales."""

from __future__ import annotations

import cv2
import numpy as np

from agenticiqa.tools.metrics.base import Array, FloatArray, Measurement, MetricSpec
from agenticiqa.tools.metrics.filters import ZERO, placed, shrink
from agenticiqa.tools.metrics.ssim import REACH, maps_of, similarity_of
from agenticiqa.tools.metrics.views import Picture, Views

SPEC = MetricSpec(
    name="MS-SSIM",
    kind="FR",
    range=(0.0, 1.0),
    higher_is_better=True,
    variant="five scales of SSIM on BT.601 luma rounded to 0..255, halved by 2×2 means (odd sides padded "
    "with zeros), product of powers: equals pyiqa's ms_ssim",
    paper="Wang, Simoncelli and Bovik, Multiscale structural similarity for image quality assessment, Asilomar, 2003",
    good_at=("Blurs", "Noise", "Compression", "Contrast"),
    minimum_size=(161, 161),
    bytes_per_pixel=10,
)

WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    """Multi-scale structural similarity, 1 for equal pictures.

    >>> ramp = np.tile(np.linspace(0, 1, 176), (176, 1))
    >>> round(measure(ramp, ramp).value, 6)
    1.0
    """
    views = Views.of(test, reference, SPEC)
    one: Array = views.test.luma8()
    other: Array = views.reference.luma8()
    value, details = 1.0, {}
    for level, weight in enumerate(WEIGHTS):
        last = level == len(WEIGHTS) - 1
        similarity, structure = similarity_of(one, other)
        term = similarity if last else structure
        details[f"scale_{2**level}"] = term
        value *= term**weight
        if not last:
            one, other = _halved(one), _halved(other)
    return Measurement(value, details=details)


def make_map(test: Array | Views, reference: Array | None = None) -> FloatArray:
    """The same product at every pixel; its mean is near the value, which multiplies means instead."""
    views = Views.of(test, reference, SPEC)
    one: Array = views.test.luma8()
    other: Array = views.reference.luma8()
    product = np.ones(views.size, np.float32)
    for level, weight in enumerate(WEIGHTS):
        last = level == len(WEIGHTS) - 1
        similarity, structure = maps_of(one, other)
        step = 2**level
        term = placed(similarity if last else structure, views.size, step, (REACH // 2 + 0.5) * step - 0.5)
        product *= term**weight
        if not last:
            one, other = _halved(one), _halved(other)
    return product


def _halved(image: Array) -> FloatArray:
    odd_rows, odd_columns = image.shape[0] % 2, image.shape[1] % 2
    if odd_rows or odd_columns:
        image = np.asarray(cv2.copyMakeBorder(image, odd_rows, odd_rows, odd_columns, odd_columns, ZERO, value=0))
    return shrink(image, 2)
