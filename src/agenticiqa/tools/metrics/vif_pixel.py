"""VIFp: visual information fidelity computed on pixels instead of wavelets."""

from __future__ import annotations

import math

import numpy as np

from agenticiqa.tools.metrics.base import Array, FloatArray, Measurement, MetricSpec
from agenticiqa.tools.metrics.filters import gaussian, smooth_valid, strips
from agenticiqa.tools.metrics.views import Picture, Views

SPEC = MetricSpec(
    name="VIFp",
    kind="FR",
    range=(0.0, 10.0),
    higher_is_better=True,
    variant="pixel domain, four scales, visual noise variance 2, BT.601 luma on 0..255: equals piq's "
    "vif_p; above 1 when contrast was raised (pyiqa's vif is the wavelet one: see VIF)",
    paper="Sheikh and Bovik, Image information and visual quality, IEEE TIP, 2006 (pixel version of the "
    "authors' released code)",
    good_at=("Blurs", "Noise", "Compression", "Contrast"),
    minimum_size=(41, 41),
)

NOISE = np.float32(2.0)
TINY = np.float32(1e-8)
MIDDLE = np.float32(128)
SCALES = 4


def vif_pixel(test: Array | Views, reference: Array | None = None) -> float:
    """Visual information fidelity in the pixel domain, 1 for equal pictures.

    >>> ramp = np.tile(np.linspace(0, 1, 64), (64, 1))
    >>> round(vif_pixel(ramp, ramp), 5)
    1.0
    """
    return measure(test, reference).value


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    views = Views.of(test, reference, SPEC)
    # A constant offset changes no variance, and taking it off saves digits of float32.
    one = views.test.luma() * np.float32(255) - MIDDLE
    other = views.reference.luma() * np.float32(255) - MIDDLE
    seen = available = 0.0
    details = {}
    for scale in range(SCALES):
        size = 2 ** (SCALES - scale) + 1
        window = gaussian(size, size / 5)
        if scale > 0:
            one = np.ascontiguousarray(smooth_valid(one, window)[::2, ::2])
            other = np.ascontiguousarray(smooth_valid(other, window)[::2, ::2])
        scale_seen, scale_available = _information(one, other, window)
        details[f"scale_{2**scale}"] = (scale_seen + 1e-8) / (scale_available + 1e-8)
        seen += scale_seen
        available += scale_available
    value = (seen + 1e-8) / (available + 1e-8)
    return Measurement(min(value, SPEC.range[1]), details=_bounded(details))


def _bounded(details: dict[str, float]) -> dict[str, float]:
    return {name: min(value, SPEC.range[1]) for name, value in details.items()}


def _information(one: FloatArray, other: FloatArray, window: FloatArray) -> tuple[float, float]:
    """What the test picture and the reference tell about the scene, over the area where the window fits."""
    reach = window.size - 1
    seen = available = 0.0
    for start, stop in strips(one.shape[0] - reach, one.shape[1]):
        x, y = one[start : stop + reach], other[start : stop + reach]
        mean_x, mean_y = smooth_valid(x, window), smooth_valid(y, window)
        variance_x = np.maximum(smooth_valid(x * x, window) - mean_x * mean_x, 0)
        variance_y = np.maximum(smooth_valid(y * y, window) - mean_y * mean_y, 0)
        covariance = smooth_valid(x * y, window) - mean_x * mean_y

        gain = covariance / (variance_y + TINY)
        left_over = variance_x - gain * covariance
        usable = (variance_x >= TINY) & (variance_y >= TINY) & (gain >= 0)
        gain *= usable
        # Where the reference is flat or the gain negative, everything in the test picture is distortion.
        np.copyto(left_over, variance_x, where=~usable)
        np.maximum(left_over, TINY, out=left_over)
        variance_y[variance_y < TINY] = 0

        left_over += NOISE
        gain *= gain
        gain *= variance_y
        gain /= left_over
        seen += float(np.log1p(gain, out=gain).sum(dtype=np.float64))
        variance_y /= NOISE
        available += float(np.log1p(variance_y, out=variance_y).sum(dtype=np.float64))
    return seen / math.log(10), available / math.log(10)
