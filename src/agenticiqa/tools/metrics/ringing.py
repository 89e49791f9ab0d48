"""Ringing probe: ripples beside strong edges."""

from __future__ import annotations

import cv2
import numpy as np

from agenticiqa.tools.metrics.base import Array, Measurement, MetricSpec
from agenticiqa.tools.metrics.filters import separable
from agenticiqa.tools.metrics.views import Picture, Views

SPEC = MetricSpec(
    name="ringing",
    kind="probe",
    range=(0.0, 255.0),
    higher_is_better=False,
    variant="median over the band 4 to 7 pixels from strong edges of the local mean ripple, less the "
    "ripple of the picture away from edges; no strong edges, no ringing",
    paper="after Marziliano, Dufaux, Winkler and Ebrahimi, Perceptual blur and ringing metrics, Signal "
    "Processing: Image Communication, 2004",
    good_at=("Compression", "Sharpness"),
    minimum_size=(24, 24),
    unit="8-bit levels",
    bytes_per_pixel=32,
)

STRONG_EDGE = 0.06
FEWEST_PIXELS = 64


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    """Ripple beside edges in 8-bit levels.

    >>> step = np.zeros((64, 64)); step[:, 32:] = 1
    >>> measure(step).value
    0.0
    """
    views = Views.of(test, reference, SPEC)
    luma = views.test.luma()
    across = cv2.Sobel(luma, cv2.CV_32F, 1, 0, scale=1 / 8)
    down = cv2.Sobel(luma, cv2.CV_32F, 0, 1, scale=1 / 8)
    edges = (cv2.magnitude(across, down) > STRONG_EDGE).astype(np.uint8)
    near = cv2.dilate(edges, np.ones((7, 7), np.uint8)) > 0
    around = cv2.dilate(edges, np.ones((15, 15), np.uint8)) > 0
    beside = around & ~near
    # A pixel against the mean of its neighbours two away sees ripples of four to twelve pixels, and reaches
    # too short to see the edge itself from here.
    comb = np.array([-0.5, 0, 1, 0, -0.5], np.float32)
    alone = np.ones(1, np.float32)
    ripple = np.maximum(np.abs(separable(luma, comb, alone)), np.abs(separable(luma, alone, comb)))
    local = np.asarray(cv2.blur(ripple, (3, 3)), np.float32)
    if np.count_nonzero(beside) < FEWEST_PIXELS:
        return Measurement(0.0, details={"beside_edges": 0.0, "elsewhere": 0.0})
    beside_edges = 255 * float(np.median(local[beside]))
    far = ~around
    elsewhere = 255 * float(np.median(local[far])) if np.count_nonzero(far) >= FEWEST_PIXELS else 0.0
    value = max(0.0, beside_edges - elsewhere)
    return Measurement(value if value > 0.5 else 0.0, details={"beside_edges": beside_edges, "elsewhere": elsewhere})
