"""VIF: visual information fidelity over a steerable pyramid."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import numpy as np

from agenticiqa.tools.metrics.base import Array, FloatArray, Measurement, MetricSpec, checkpoint, stored_parameters
from agenticiqa.tools.metrics.filters import MIRROR, correlate, placed
from agenticiqa.tools.metrics.views import Picture, Views

SPEC = MetricSpec(
    name="VIF",
    kind="FR",
    range=(0.0, 10.0),
    higher_is_better=True,
    variant="wavelet domain (steerable pyramid, 4 levels, 2 of 6 orientations, 3×3 vectors, visual noise "
    "variance 0.4) on BT.601 luma rounded to 0..255: equals pyiqa's vif; above 1 when contrast was raised",
    paper="Sheikh and Bovik, Image information and visual quality, IEEE TIP, 2006",
    good_at=("Blurs", "Noise", "Compression", "Contrast"),
    minimum_size=(128, 128),
    map_range=(0.0, 1.0),
    bytes_per_pixel=36,
)

LEVELS = 4
BLOCK = 3
NOISE = 0.4
TINY = np.float32(1e-12)
LITTLE = 0.01  # of the mean information: places that tell less have nothing to lose worth showing


@dataclass(frozen=True)
class _Band:
    """Information about the scene in each 3×3 block of one band: what the test still tells, what the reference told."""

    level: int
    seen: Array
    available: Array
    margin: int
    """Blocks left out at each side, because the window does not fit there."""


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    """Visual information fidelity (wavelet domain), 1 for equal pictures.

    >>> rng = np.random.default_rng(0)
    >>> picture = rng.random((128, 128))
    >>> round(measure(picture, picture).value, 4)
    1.0
    """
    views = Views.of(test, reference, SPEC)
    seen, available = np.zeros(LEVELS), np.zeros(LEVELS)
    for band in _bands(views):
        seen[band.level] += band.seen.sum()
        available[band.level] += band.available.sum()
    shares = np.minimum(SPEC.range[1], seen / (available + 1e-12))
    details = {f"level_{level + 1}": float(share) for level, share in enumerate(shares)}
    if available.sum() < 1e-9:
        # A reference without any structure carries no information to lose.
        return Measurement(1.0 if seen.sum() < 1e-9 else 0.0, details=details)
    return Measurement(float(min(SPEC.range[1], seen.sum() / (available.sum() + 1e-12))), details=details)


def make_map(test: Array | Views, reference: Array | None = None) -> FloatArray:
    """Share of the information that was kept at each pixel; 1 where the reference tells next to nothing."""
    views = Views.of(test, reference, SPEC)
    seen, available = np.zeros(views.size, np.float32), np.zeros(views.size, np.float32)
    for band in _bands(views):
        if band.seen.size == 0:
            continue
        step = 2**band.level
        block = BLOCK * step
        # A coarse block spreads its information over more pixels.
        spread, offset = np.float32(1 / block**2), step + band.margin * block
        seen += placed(band.seen.astype(np.float32) * spread, views.size, block, offset)
        available += placed(band.available.astype(np.float32) * spread, views.size, block, offset)
    little = np.float32(LITTLE) * available.mean() + TINY
    return np.asarray(np.minimum((seen + little) / (available + little), 1), np.float32)


def _bands(views: Views) -> Iterator[_Band]:
    filters = stored_parameters("steerable_pyramid", np.float32)
    one = correlate(views.test.luma8(), filters["lowpass_first"], MIRROR)
    other = correlate(views.reference.luma8(), filters["lowpass_first"], MIRROR)
    for level in range(LEVELS):
        for band in ("band_0", "band_3"):
            yield _information(correlate(one, filters[band], MIRROR), correlate(other, filters[band], MIRROR), level)
        if level < LEVELS - 1:
            one = np.ascontiguousarray(correlate(one, filters["lowpass"], MIRROR)[::2, ::2])
            other = np.ascontiguousarray(correlate(other, filters["lowpass"], MIRROR)[::2, ::2])


def _information(test: FloatArray, reference: FloatArray, level: int) -> _Band:
    height, width = (side // BLOCK * BLOCK for side in reference.shape)
    test = np.ascontiguousarray(test[:height, :width])
    reference = np.ascontiguousarray(reference[:height, :width])
    window = 2 ** (LEVELS - level) + 1
    gain, left_over = _channel(test, reference, window)
    energy, eigenvalues = _scene(reference)
    margin = math.ceil((window - 1) / 2 / BLOCK)
    inside = np.s_[margin : gain.shape[0] - margin, margin : gain.shape[1] - margin]
    gain, left_over, energy = gain[inside], left_over[inside], energy[inside]
    through = gain * gain
    through *= energy
    through /= left_over + np.float32(NOISE)
    return _Band(level, _bits(through, eigenvalues), _bits(energy, eigenvalues / NOISE), margin)


def _bits(values: FloatArray, factors: Array) -> Array:
    """Sum over the factors of log2(1 + value × factor): one logarithm of a product instead of nine logarithms."""
    product = np.ones(values.shape)
    for factor in factors:
        checkpoint()
        product *= 1 + values * max(float(factor), 0.0)
    return np.asarray(np.log2(product, out=product))


def _local_mean(image: FloatArray, window: int) -> FloatArray:
    mean = cv2.boxFilter(image, cv2.CV_32F, (window, window), borderType=MIRROR)
    # Copied: a view would keep the whole mean in memory.
    return np.ascontiguousarray(mean[1::BLOCK, 1::BLOCK], np.float32)


def _channel(test: FloatArray, reference: FloatArray, window: int) -> tuple[FloatArray, FloatArray]:
    """The distortion as a local gain and what that gain does not explain."""
    count = np.float32(window * window)
    mean_test, mean_reference = _local_mean(test, window), _local_mean(reference, window)
    covariance = (_local_mean(test * reference, window) - mean_test * mean_reference) * count
    spread = np.maximum((_local_mean(reference * reference, window) - mean_reference**2) * count, 0)
    spread_test = np.maximum((_local_mean(test * test, window) - mean_test**2) * count, 0)
    gain = covariance / (spread + TINY)
    left_over = (spread_test - gain * covariance) / count
    flat, flat_test = spread < TINY, spread_test < TINY
    gain[flat] = 0
    left_over[flat] = spread_test[flat]
    gain[flat_test] = 0
    left_over[flat_test] = 0
    inverted = gain < 0
    left_over[inverted] = spread_test[inverted]
    gain[inverted] = 0
    return gain, np.maximum(left_over, TINY)


def _scene(reference: FloatArray) -> tuple[FloatArray, Array]:
    """Local energy of the reference's 3×3 vectors, and the eigenvalues of their covariance."""
    height, width = reference.shape
    covariance = _vector_covariance(reference)
    blocks = reference.reshape(height // BLOCK, BLOCK, width // BLOCK, BLOCK)
    # Vectors run down the columns first, like the covariance below.
    vectors = blocks.transpose(0, 2, 3, 1).reshape(-1, BLOCK * BLOCK)
    inverse = np.linalg.pinv(covariance, rcond=1e-15, hermitian=False).astype(np.float32)
    energy = np.einsum("ij,ij->i", vectors @ inverse, vectors) / (BLOCK * BLOCK)
    shape = (height // BLOCK, width // BLOCK)
    energy = np.asarray(np.maximum(energy, 0).reshape(shape), np.float32)
    return energy, np.linalg.eigvalsh(covariance)


def _vector_covariance(image: FloatArray) -> Array:
    """Covariance of all overlapping 3×3 neighbourhoods."""
    height, width = image.shape[0] - BLOCK + 1, image.shape[1] - BLOCK + 1
    total = np.zeros((BLOCK * BLOCK, BLOCK * BLOCK))
    sums = np.zeros(BLOCK * BLOCK)
    rows = max(1, (1 << 16) // width)
    for start in range(0, height, rows):
        checkpoint()
        stop = min(height, start + rows)
        shifted = np.stack(
            [
                image[start + down : stop + down, across : across + width].ravel()
                for across in range(BLOCK)
                for down in range(BLOCK)
            ]
        )
        total += shifted @ shifted.T
        sums += shifted.sum(axis=1, dtype=np.float64)
    count = height * width
    return np.asarray(total / count - np.outer(sums, sums) / count**2)
