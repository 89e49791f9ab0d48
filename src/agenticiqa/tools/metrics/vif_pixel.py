"""VIFp: visual information fidelity computed on pixels instead of wavelets."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from agenticiqa.tools.metrics.base import Array, FloatArray, Measurement, MetricSpec
from agenticiqa.tools.metrics.filters import gaussian, placed, separable, smooth_valid, strips, total
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
    map_range=(0.0, 1.0),
    bytes_per_pixel=28,
)

NOISE = np.float32(2.0)
TINY = np.float32(1e-8)
MIDDLE = np.float32(128)
SCALES = 4
LITTLE = 0.01  # of the mean information: places that tell less have nothing to lose worth showing


def make_map(test: Array | Views, reference: Array | None = None) -> FloatArray:
    """Share of the information that was kept at each pixel; 1 where the reference tells next to nothing."""
    views = Views.of(test, reference, SPEC)
    seen, available = np.zeros(views.size, np.float32), np.zeros(views.size, np.float32)
    offset = 0
    for scale, (one, other, window) in enumerate(_scales(views)):
        half, step = window.size // 2, 2**scale
        # Halving leaves out what the window does not reach, at the step of the scale before.
        offset += half * step // 2 if scale else 0
        gain, variance = _gain(one, other, window)
        spread, place = np.float32(1 / step**2), offset + half * step
        inside = np.s_[half:-half, half:-half]
        # A coarse scale spreads its information over more pixels.
        seen += placed(np.log1p(gain)[inside] * spread, views.size, step, place)
        available += placed(np.log1p(variance / NOISE)[inside] * spread, views.size, step, place)
    little = np.float32(LITTLE) * available.mean() + TINY
    return np.asarray(np.minimum((seen + little) / (available + little), 1), np.float32)


def _scales(views: Views) -> Iterator[tuple[FloatArray, FloatArray, FloatArray]]:
    """Test, reference and window at each scale."""
    # A constant offset changes no variance, and taking it off saves digits of float32.
    one = views.test.luma() * np.float32(255) - MIDDLE
    other = views.reference.luma() * np.float32(255) - MIDDLE
    for scale in range(SCALES):
        size = 2 ** (SCALES - scale) + 1
        window = gaussian(size, size / 5)
        if scale > 0:
            one = np.ascontiguousarray(smooth_valid(one, window)[::2, ::2])
            other = np.ascontiguousarray(smooth_valid(other, window)[::2, ::2])
        yield one, other, window


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    """Visual information fidelity in the pixel domain, 1 for equal pictures.

    >>> ramp = np.tile(np.linspace(0, 1, 64), (64, 1))
    >>> round(measure(ramp, ramp).value, 5)
    1.0
    """
    views = Views.of(test, reference, SPEC)
    seen = available = 0.0
    details = {}
    for scale, (one, other, window) in enumerate(_scales(views)):
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
    half = reach // 2
    inside = np.s_[half:-half, half:-half]
    for start, stop in strips(one.shape[0] - reach, one.shape[1]):
        x, y = one[start : stop + reach], other[start : stop + reach]
        gain, variance = _gain(x, y, window)
        seen += total(np.log1p(gain, out=gain)[inside])
        variance *= 1 / NOISE
        available += total(np.log1p(variance, out=variance)[inside])
    return seen / math.log(10), available / math.log(10)


def _gain(x: FloatArray, y: FloatArray, window: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Signal-to-noise ratio of what passes through the distortion, and the reference's own variance."""
    mean_x, mean_y = separable(x, window, window), separable(y, window, window)
    variance_x, variance_y = separable(x * x, window, window), separable(y * y, window, window)
    covariance = separable(x * y, window, window)
    covariance -= mean_x * mean_y
    mean_x *= mean_x
    mean_y *= mean_y
    variance_x -= mean_x
    variance_y -= mean_y
    np.maximum(variance_x, 0, out=variance_x)
    np.maximum(variance_y, 0, out=variance_y)

    gain = np.add(variance_y, TINY, out=mean_y)
    np.divide(covariance, gain, out=gain)
    # Where the reference is flat or the gain negative, everything in the test picture is distortion.
    usable = (variance_x >= TINY) & (variance_y >= TINY) & (covariance >= 0)
    gain *= usable
    covariance *= gain
    left_over = np.subtract(variance_x, covariance, out=covariance)
    np.maximum(left_over, TINY, out=left_over)
    variance_y *= variance_y >= TINY
    left_over += NOISE
    gain *= gain
    gain *= variance_y
    gain /= left_over
    return gain, variance_y
