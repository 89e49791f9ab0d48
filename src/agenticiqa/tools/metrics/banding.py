"""Banding probe: false contours in what should be smooth."""

from __future__ import annotations

import numpy as np

from agenticiqa.tools.metrics.base import Array, Measurement, MetricSpec
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
)

FLAT = 4
SMALLEST_STEP, LARGEST_STEP = 2, 24


def banding(test: Array | Views) -> float:
    """Percent of pixels on false contours.

    >>> staircase = np.tile(np.repeat(np.arange(8), 8) * 8 / 255, (64, 1))
    >>> banding(staircase) > 5
    True
    """
    return measure(test).value


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    views = Views.of(test, reference, SPEC)
    luma = views.test.luma8()
    across = _contours(luma)
    down = _contours(np.ascontiguousarray(luma.T))
    value = 100 * (across + down) / luma.size
    levels = float(np.count_nonzero(np.bincount(luma.ravel(), minlength=256)))
    return Measurement(min(value, SPEC.range[1]), details={"grey_levels_used": levels})


def _contours(luma: Array) -> int:
    step = np.abs(np.diff(luma.astype(np.int16), axis=1))
    equal = step == 0
    # Runs of FLAT equal neighbours ending just before, and beginning just after, each step.
    runs = np.cumsum(equal, axis=1, dtype=np.int32)
    width = step.shape[1]
    inside = np.arange(FLAT, width - FLAT)
    before = runs[:, inside - 1] - np.where(inside > FLAT, runs[:, np.maximum(inside - 1 - FLAT, 0)], 0)
    after = runs[:, inside + FLAT] - runs[:, inside]
    middle = step[:, inside]
    contour = (middle >= SMALLEST_STEP) & (middle <= LARGEST_STEP)
    contour &= (before == FLAT) & (after == FLAT)
    return int(np.count_nonzero(contour))
