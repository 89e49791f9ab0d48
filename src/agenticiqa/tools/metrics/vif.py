"""VIF: visual information fidelity over a steerable pyramid, and on pixels instead of wavelets (VIFp)."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import numpy as np

from agenticiqa.tools.metrics.base import Array, FloatArray, Measurement, checkpoint, stored_parameters
from agenticiqa.tools.metrics.filters import MIRROR, correlate, gaussian, placed, separable, smooth_valid, strips, total
from agenticiqa.tools.metrics.views import Views

# --- VIF: visual information fidelity over a steerable pyramid ---


MOST = 10.0
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


def vif(views: Views) -> Measurement:
    """Visual information fidelity, wavelet domain (VIF).

    ``value``: 1 for equal pictures, above 1 where contrast was enhanced; ``details``: ``level_1`` and so on.
    """
    seen, available = np.zeros(LEVELS), np.zeros(LEVELS)
    for band in _bands(views):
        seen[band.level] += band.seen.sum()
        available[band.level] += band.available.sum()
    shares = np.minimum(MOST, seen / (available + 1e-12))
    details = {f"level_{level + 1}": float(share) for level, share in enumerate(shares)}
    if available.sum() < 1e-9:
        # A reference without any structure carries no information to lose.
        return Measurement(1.0 if seen.sum() < 1e-9 else 0.0, details=details)
    return Measurement(float(min(MOST, seen.sum() / (available.sum() + 1e-12))), details=details)


def vif_map(views: Views) -> FloatArray:
    """Share of the information that was kept at each pixel; 1 where the reference tells next to nothing."""
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
    return _kept_share(seen, available, TINY)


def _kept_share(seen: FloatArray, available: FloatArray, tiny: np.float32) -> FloatArray:
    little = np.float32(LITTLE) * available.mean() + tiny
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


# --- VIFp: visual information fidelity computed on pixels instead of wavelets ---


PIXEL_NOISE = np.float32(2.0)
PIXEL_TINY = np.float32(1e-8)
MIDDLE = np.float32(128)
SCALES = 4


def vifp_map(views: Views) -> FloatArray:
    """Share of the information that was kept at each pixel; 1 where the reference tells next to nothing."""
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
        available += placed(np.log1p(variance / PIXEL_NOISE)[inside] * spread, views.size, step, place)
    return _kept_share(seen, available, PIXEL_TINY)


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


def vifp(views: Views) -> Measurement:
    """Visual information fidelity, pixel domain (VIFp).

    ``value``: 1 for equal pictures, above 1 where contrast was enhanced; ``details``: ``scale_1`` and so on.
    """
    seen = available = 0.0
    details = {}
    for scale, (one, other, window) in enumerate(_scales(views)):
        scale_seen, scale_available = _pixel_information(one, other, window)
        details[f"scale_{2**scale}"] = min((scale_seen + 1e-8) / (scale_available + 1e-8), MOST)
        seen += scale_seen
        available += scale_available
    value = (seen + 1e-8) / (available + 1e-8)
    return Measurement(min(value, MOST), details=details)


def _pixel_information(one: FloatArray, other: FloatArray, window: FloatArray) -> tuple[float, float]:
    """What the test picture and the reference tell about the scene, over the area where the window fits."""
    reach = window.size - 1
    seen = available = 0.0
    half = reach // 2
    inside = np.s_[half:-half, half:-half]
    for start, stop in strips(one.shape[0] - reach, one.shape[1]):
        x, y = one[start : stop + reach], other[start : stop + reach]
        gain, variance = _gain(x, y, window)
        gain += 1
        seen += total(cv2.log(gain, gain)[inside])
        variance *= 1 / PIXEL_NOISE
        variance += 1
        available += total(cv2.log(variance, variance)[inside])
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

    gain = np.add(variance_y, PIXEL_TINY, out=mean_y)
    np.divide(covariance, gain, out=gain)
    # Where the reference is flat or the gain negative, everything in the test picture is distortion.
    usable = (variance_x >= PIXEL_TINY) & (variance_y >= PIXEL_TINY) & (covariance >= 0)
    gain *= usable
    covariance *= gain
    left_over = np.subtract(variance_x, covariance, out=covariance)
    np.maximum(left_over, PIXEL_TINY, out=left_over)
    variance_y *= variance_y >= PIXEL_TINY
    left_over += PIXEL_NOISE
    gain *= gain
    gain *= variance_y
    gain /= left_over
    return gain, variance_y
