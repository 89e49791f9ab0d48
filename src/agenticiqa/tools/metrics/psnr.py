"""PSNR, the ratio of peak signal to noise: over all RGB values, and of what the eye can see (PSNR-HVS-M)."""

import math
from pathlib import Path

import cv2
import numpy as np

from agenticiqa.tools.metrics.base import Array, FloatArray, Measurement
from agenticiqa.tools.metrics.filters import shrink, strips
from agenticiqa.tools.metrics.views import Views

# --- PSNR: the peak signal-to-noise ratio over all RGB values ---


CAP = 100.0
"""In decibels: where nothing differs."""
CACHED_PIXELS = 1 << 16  # two strips of floats, looked at twice, stay in the inner cache


def psnr(views: Views) -> Measurement:
    """Peak signal-to-noise ratio. ``value`` in dB, 0 to 100 (equal pictures); ``details``: ``mse``."""
    error = _squared_error(views)
    decibels = CAP if error <= 0 else min(CAP, max(0.0, -10 * math.log10(error)))
    return Measurement(decibels, details={"mse": error})


def _squared_error(views: Views) -> float:
    one, other = views.test, views.reference
    same_layout = one.dtype == other.dtype and one.is_grey == other.is_grey
    total = 0.0
    for start, stop in strips(one.height, one.width, pixels=CACHED_PIXELS):
        if same_layout and one.dtype == np.uint8:
            # Integer differences are exact and need no float copy of the picture.
            total += cv2.norm(one.pixels[start:stop], other.pixels[start:stop], cv2.NORM_L2SQR) / 255**2
        elif same_layout:
            total += cv2.norm(one.rows(start, stop), other.rows(start, stop), cv2.NORM_L2SQR)
        else:
            total += cv2.norm(one.rgb_rows(start, stop), other.rgb_rows(start, stop), cv2.NORM_L2SQR)
    channels = 1 if same_layout and one.is_grey else 3
    return total / (one.height * one.width * channels)


def psnr_map(views: Views) -> FloatArray:
    """Squared error of each pixel, mean over the channels."""
    kept = np.empty(views.size, np.float32)
    for start, stop in strips(*views.size):
        difference = views.test.rgb_rows(start, stop) - views.reference.rgb_rows(start, stop)
        difference *= difference
        kept[start:stop] = difference.mean(axis=2)
    return kept


# --- PSNR-HVS-M: PSNR of what the eye can see, with contrast sensitivity and masking in 8×8 blocks ---


BLOCK = 8
# Contrast sensitivity and masking strength of the 64 cosine basis functions: tables of the authors.
_TABLES = np.loadtxt(Path(__file__).with_name("parameters") / "psnr_hvs_m.txt", np.float32)
SENSITIVITY, MASKING = _TABLES[:BLOCK], _TABLES[BLOCK:]
ALTERNATING_MASKING = MASKING.copy()
ALTERNATING_MASKING[0, 0] = 0
# The mean of a block cannot be masked.
THRESHOLDS: FloatArray = np.asarray(1 / MASKING, np.float32)
THRESHOLDS[0, 0] = 0


def _cosines() -> FloatArray:
    order, place = np.arange(BLOCK)[:, None], np.arange(BLOCK)[None, :]
    matrix = np.cos(math.pi * order * (2 * place + 1) / (2 * BLOCK)) * math.sqrt(2 / BLOCK)
    matrix[0] /= math.sqrt(2)
    return np.asarray(matrix, np.float32)


COSINES = _cosines()


def psnr_hvs_m(views: Views) -> Measurement:
    """PSNR weighted by contrast sensitivity and masking (PSNR-HVS-M).

    ``value`` in dB, 0 to 100 (equal pictures); ``map``: visible error of each 8×8 block; ``details``: ``psnr_hvs``.
    """
    one, other = views.test.luma8(), views.reference.luma8()
    height, width = (side // BLOCK * BLOCK for side in one.shape)
    kept = np.empty((height // BLOCK, width // BLOCK), np.float32)
    seen = 0.0
    for start, stop in strips(height, width, BLOCK):
        visible, unmasked = _errors(one[start:stop, :width], other[start:stop, :width])
        kept[start // BLOCK : stop // BLOCK] = visible
        seen += unmasked
    pixels = height * width
    masked_error = float(kept.sum(dtype=np.float64)) / pixels
    kept /= BLOCK * BLOCK
    return Measurement(
        _visible_decibels(masked_error), map=kept, details={"psnr_hvs": _visible_decibels(seen / pixels)}
    )


def _visible_decibels(error: float) -> float:
    return CAP if error <= 0 else min(CAP, max(0.0, 10 * math.log10(255**2 / error)))


def _errors(one: Array, other: Array) -> tuple[FloatArray, float]:
    """Visible squared error of each block, and the sum of what would be seen without masking."""
    x, y = one.astype(np.float32), other.astype(np.float32)
    cosines_x, cosines_y = _transform(x), _transform(y)
    mask = np.maximum(_mask(x, cosines_x), _mask(y, cosines_y))
    error = np.abs(cosines_x - cosines_y)
    weights = _over_blocks(SENSITIVITY, error)
    unmasked = _rows(error) * weights
    plain = float(np.vdot(unmasked, unmasked))
    hidden = np.repeat(mask, BLOCK, axis=1)[:, None, :] * _over_blocks(THRESHOLDS, error)
    visible = _rows(error)
    visible -= hidden
    np.maximum(visible, 0, out=visible)
    visible *= weights
    visible *= visible
    return _block_sums(error, BLOCK), plain


def _rows(image: FloatArray) -> FloatArray:
    """The same pixels as (block row, row in block, column)."""
    return image.reshape(-1, BLOCK, image.shape[1])


def _over_blocks(table: FloatArray, image: FloatArray) -> FloatArray:
    """An 8×8 table repeated along a row of blocks."""
    return np.tile(table, (1, image.shape[1] // BLOCK))


def _transform(image: FloatArray) -> FloatArray:
    """Cosine transform of every 8×8 block, each in its block's place."""
    down = COSINES @ _rows(image)
    return np.asarray((down.reshape(-1, BLOCK) @ COSINES.T).reshape(image.shape), np.float32)


def _mask(image: FloatArray, cosines: FloatArray) -> FloatArray:
    """How much error the block's own texture hides; less where one quarter differs from the rest."""
    weighted = _rows(cosines * cosines)
    weighted *= _over_blocks(ALTERNATING_MASKING, image)
    energy = _block_sums(weighted.reshape(image.shape), BLOCK)
    half = BLOCK // 2
    centred = image - np.float32(128)
    sums = _block_sums(centred, half)
    squares = _block_sums(centred * centred, half)
    # Unbiased variances times their counts, as in the authors' code.
    variances = (squares - sums * sums / half**2) * np.float32(half**2 / (half**2 - 1))
    quarters = _block_sums(np.asarray(variances, np.float32), 2)
    all_sums, all_squares = _block_sums(sums, 2), _block_sums(squares, 2)
    whole = (all_squares - all_sums**2 / BLOCK**2) * np.float32(BLOCK**2 / (BLOCK**2 - 1))
    textured = whole > 1e-3
    ratio = np.divide(quarters, whole, out=np.zeros_like(whole), where=textured)
    return np.asarray(np.sqrt(energy * np.maximum(ratio, 0)) / 32, np.float32)


def _block_sums(image: FloatArray, size: int) -> FloatArray:
    return np.asarray(shrink(image, size) * np.float32(size * size), np.float32)
