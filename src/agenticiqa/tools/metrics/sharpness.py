"""Sharpness probe: how many pixels wide the picture's edges are."""

from __future__ import annotations

import cv2
import numpy as np

from agenticiqa.tools.metrics.base import Array, FloatArray, Measurement, MetricSpec
from agenticiqa.tools.metrics.views import Picture, Views

SPEC = MetricSpec(
    name="sharpness",
    kind="probe",
    range=(1.0, 100.0),
    higher_is_better=False,
    variant="median edge width: height of an edge divided by its steepest slope, over the clearest edges "
    "along rows and columns; a step edge blurred by a Gaussian of sigma s measures about 2.5 s pixels; a "
    "picture without edges measures 100",
    paper="after Marziliano, Dufaux, Winkler and Ebrahimi, A no-reference perceptual blur metric, ICIP, 2002",
    good_at=("Blurs", "Sharpness"),
    minimum_size=(8, 8),
    unit="pixels",
    bytes_per_pixel=18,
)

WIDEST = 100.0
# An edge counts when it is at least this high (on 0..1) and stands out from this picture's other edges.
LOWEST_EDGE = 0.06
CLEAREST_SHARE = 0.3
LARGEST_SAMPLE = 1 << 22


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    """Median edge width in pixels: about 1 for a hard step, more for blur.

    >>> step = np.zeros((32, 32)); step[:, 16:] = 1
    >>> measure(step).value
    1.0
    >>> measure(cv2.GaussianBlur(step, (0, 0), 2.0)).value > 4
    True
    """
    views = Views.of(test, reference, SPEC)
    luma = _sample(views.test.luma())
    widths, heights = _edges(luma)
    widths_down, heights_down = _edges(np.ascontiguousarray(luma.T))
    width_across, width_down = _typical(widths, heights), _typical(widths_down, heights_down)
    typical = _typical(np.concatenate([widths, widths_down]), np.concatenate([heights, heights_down]))
    laplacian = cv2.Laplacian(luma, cv2.CV_32F)
    return Measurement(
        typical,
        details={
            "edge_width_across": width_across,
            "edge_width_down": width_down,
            "edges": float(widths.size + widths_down.size),
            "laplacian_variance": float(laplacian.var(dtype=np.float64)) * 255**2,
        },
    )


def _sample(luma: FloatArray) -> FloatArray:
    """The middle of a very large picture: edge widths must be measured at full resolution."""
    height, width = luma.shape
    if height * width <= LARGEST_SAMPLE:
        return luma
    keep = (LARGEST_SAMPLE / (height * width)) ** 0.5
    top, left = int(height * (1 - keep) / 2), int(width * (1 - keep) / 2)
    return luma[top : height - top, left : width - left]


def _edges(luma: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Width and height of each rise or fall along the rows."""
    slope = np.diff(luma, axis=1)
    direction = np.sign(slope).astype(np.int8)
    turns = np.ones(direction.shape, bool)
    turns[:, 1:] = direction[:, 1:] != direction[:, :-1]
    starts = np.flatnonzero(turns.ravel())
    flat = slope.ravel()
    heights = np.abs(np.add.reduceat(flat, starts, dtype=np.float32))
    steepest = np.maximum.reduceat(np.abs(flat), starts)
    clear = heights >= LOWEST_EDGE
    heights = heights[clear]
    return np.asarray(heights / steepest[clear], np.float32), np.asarray(heights, np.float32)


def _typical(widths: FloatArray, heights: FloatArray) -> float:
    if widths.size == 0:
        return WIDEST
    clearest = heights >= np.quantile(heights, 1 - CLEAREST_SHARE)
    return min(WIDEST, float(np.median(widths[clearest])))
