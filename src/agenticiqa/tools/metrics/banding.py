"""Banding probe: false contours in what should be smooth."""

from __future__ import annotations

import cv2
import numpy as np

from agenticiqa.tools.metrics.base import Array, ByteArray, Measurement, MetricSpec
from agenticiqa.tools.metrics.filters import strips
from agenticiqa.tools.metrics.views import Picture, Views

SPEC = MetricSpec(
    name="banding",
    kind="probe",
    range=(0.0, 100.0),
    higher_is_better=False,
    variant="share of pixels on a contour: a step of 2 to 24 levels with at least four equal pixels on "
    "either side, along rows or columns",
    paper="after Tu, Lin, Wang, Adsumilli and Bovik, BBAND index, ICASSP, 2020",
    good_at=("Compression", "Spatial distortions", "Color distortions"),
    minimum_size=(16, 16),
    unit="percent",
    bytes_per_pixel=30,
)

FLAT = 4
SMALLEST_STEP, LARGEST_STEP = 2, 24


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    """Percent of pixels on false contours.

    >>> staircase = np.tile(np.repeat(np.arange(8), 8) * 8 / 255, (64, 1))
    >>> measure(staircase).value > 5
    True
    """
    views = Views.of(test, reference, SPEC)
    luma = views.test.luma8()
    value = 100 * (_contours(luma, axis=1) + _contours(luma, axis=0)) / luma.size
    levels = float(np.count_nonzero(cv2.calcHist([luma], [0], None, [256], (0, 256))))
    return Measurement(min(value, SPEC.range[1]), details={"grey_levels_used": levels})


def _contours(luma: ByteArray, axis: int) -> int:
    """Steps along one axis with FLAT equal pairs of neighbours before and after them."""
    places = luma.shape[axis] - 1 - 2 * FLAT
    if places < 1:
        return 0
    rows = places if axis == 0 else luma.shape[0]
    reach = 2 * FLAT + 1 if axis == 0 else 0
    return sum(_contours_of(luma[start : stop + reach], axis) for start, stop in strips(rows, luma.shape[1]))


def _contours_of(luma: ByteArray, axis: int) -> int:
    def part(array: Array, start: int, length: int) -> Array:
        return array[start : start + length] if axis == 0 else array[:, start : start + length]

    steps = luma.shape[axis] - 1
    step = np.asarray(cv2.absdiff(part(luma, 1, steps), part(luma, 0, steps)), np.uint8)
    equal = step == 0
    runs = steps - FLAT + 1
    flat = part(equal, 0, runs).copy()
    for shift in range(1, FLAT):
        flat &= part(equal, shift, runs)
    places = steps - 2 * FLAT
    # Below the smallest step the difference wraps round to large values, so one comparison sees both ends.
    contour = part(step, FLAT, places) - np.uint8(SMALLEST_STEP) <= LARGEST_STEP - SMALLEST_STEP
    contour &= part(flat, 0, places)
    contour &= part(flat, FLAT + 1, places)
    return int(np.count_nonzero(contour))
