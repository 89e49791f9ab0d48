"""VSI: similarity of visual saliency, gradients and colour, weighted by saliency."""

from functools import lru_cache

import cv2
import numpy as np
import numpy.typing as npt

from agenticiqa.tools.metrics import filters
from agenticiqa.tools.metrics.base import Array, FloatArray, Measurement
from agenticiqa.tools.metrics.views import Picture, Views

LMN = ((0.06, 0.63, 0.27), (0.30, 0.04, -0.35), (0.34, -0.6, 0.17))
C_SALIENCY, C_GRADIENT, C_COLOUR = 1.27, 386.0, 130.0
GRADIENT_POWER, COLOUR_POWER = np.float32(0.4), 0.02
SIDE = 256
OMEGA, SIGMA_F, SIGMA_D, SIGMA_C = 0.021, 1.34, 145.0, 0.001
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
D50 = np.array([0.9642119944211994, 1.0, 0.8251882845188288])


def vsi(views: Views) -> Measurement:
    """Visual saliency-induced index (VSI). ``value``, 0 to 1 (equal pictures); ``map``: local similarity."""
    salient_one, gradient_one, lmn_one = _features(views.test)
    salient_other, gradient_other, lmn_other = _features(views.reference)
    found = filters.similarity(salient_one, salient_other, C_SALIENCY)
    found *= filters.similarity(gradient_one, gradient_other, C_GRADIENT) ** GRADIENT_POWER
    colour = filters.similarity(lmn_one[..., 1], lmn_other[..., 1], C_COLOUR)
    colour *= filters.similarity(lmn_one[..., 2], lmn_other[..., 2], C_COLOUR)
    found *= _real_power(colour, COLOUR_POWER)
    weights = np.maximum(salient_one, salient_other)
    weight = filters.total(weights)
    value = float(np.vdot(found, weights)) / weight if weight > 0 else filters.total(found) / found.size
    return Measurement(min(1.0, value), map=found)


def _real_power(base: FloatArray, power: float) -> FloatArray:
    root = np.abs(base) ** np.float32(power)
    root[base < 0] *= np.float32(np.cos(np.pi * power))
    return np.asarray(root, np.float32)


def _features(picture: Picture) -> tuple[FloatArray, FloatArray, FloatArray]:
    def make() -> tuple[FloatArray, FloatArray, FloatArray]:
        factor = filters.viewing_factor(picture.size)
        padding = filters.Padding(factor // 2, (factor - 1) // 2, filters.REPLICATE)
        lmn = filters.transform_colours(picture.pooled_rgb(factor, padding), LMN)
        gradient = filters.scharr_magnitude(np.ascontiguousarray(lmn[..., 0]))
        return _pooled_saliency(picture, factor, padding), gradient, lmn

    return picture.share("vsi", make)


def _pooled_saliency(picture: Picture, factor: int, padding: filters.Padding) -> FloatArray:
    """Saliency scaled to 0..1 at full size, then averaged: linear steps, so done as matrices."""
    salient = saliency(picture)
    low, high = _extremes_at_full_size(salient, picture.size)
    down = _pooling_matrix(picture.height, factor, padding)
    across = _pooling_matrix(picture.width, factor, padding)
    pooled = down @ salient @ across.T
    return np.asarray((pooled - low) / (high - low + np.finfo(np.float64).eps), np.float32)


def _small(picture: Picture) -> FloatArray:
    """256×256 samples by linear interpolation; only the rows that are needed are read."""
    position = np.clip((np.arange(SIDE) + 0.5) * picture.height / SIDE - 0.5, 0, picture.height - 1)
    above = position.astype(np.intp)
    below = np.minimum(above + 1, picture.height - 1)
    weight = (position - above).astype(np.float32)[:, None, None]
    rows = Picture(picture.pixels[np.concatenate([above, below])]).rgb()
    tall = rows[:SIDE] * (1 - weight)
    tall += rows[SIDE:] * weight
    return np.asarray(cv2.resize(tall, (SIDE, SIDE), interpolation=cv2.INTER_LINEAR), np.float32)


def saliency(picture: Picture) -> FloatArray:
    """SDSP saliency of a picture shrunk to 256×256, not normalised."""
    # Imported when first needed: SciPy takes longer to import than many a metric to run.
    from scipy import fft

    small = _small(picture)
    planes = [np.asarray(plane, np.float32) for plane in cv2.split(_lab(small))]
    bandpass, centre = _saliency_filters()
    energy = np.full((SIDE, SIDE), np.finfo(np.float64).eps, np.float32)
    for plane in planes:
        filtered = fft.irfft2(fft.rfft2(plane) * bandpass, s=(SIDE, SIDE))
        energy += filtered * filtered
    warmth = np.zeros((SIDE, SIDE), np.float32)
    for plane in planes[1:]:
        low, high = float(plane.min()), float(plane.max())
        warmth += ((plane - np.float32(low)) * np.float32(1 / (high - low + np.finfo(np.float64).eps))) ** 2
    # Beyond 87 the exponential is nothing in float32, and computing it slow.
    np.minimum(warmth, np.float32(87 * SIGMA_C**2), out=warmth)
    return np.asarray(np.sqrt(energy) * centre * -np.expm1(warmth * np.float32(-1 / SIGMA_C**2)), np.float32)


def _lab(rgb: FloatArray) -> FloatArray:
    bright = cv2.pow((rgb + np.float32(0.055)) * np.float32(1 / 1.055), 2.4)
    linear = np.where(rgb <= 0.04045, rgb * np.float32(1 / 12.92), bright)
    relative = filters.transform_colours(np.asarray(linear, np.float32), XYZ / D50[:, None])
    dark = (np.float32(903.3) * relative + 16) * np.float32(1 / 116)
    curved = np.where(relative <= 0.008856, dark, np.cbrt(relative))
    lab = filters.transform_colours(np.asarray(curved, np.float32), filters.LAB)
    lab[..., 0] -= 16
    return lab


@lru_cache(maxsize=1)
def _saliency_filters() -> tuple[FloatArray, FloatArray]:
    steps = (np.arange(SIDE) - SIDE // 2) / SIDE
    down, across = np.meshgrid(steps, steps, indexing="ij")
    radius = np.sqrt(down**2 + across**2)
    radius = np.fft.ifftshift(np.where(radius <= 0.5, radius, 0))
    band = np.zeros_like(radius)
    inside = radius > 0
    band[inside] = np.exp(-(np.log(radius[inside] / OMEGA) ** 2) / (2 * SIGMA_F**2))
    centre = np.exp(-((down * SIDE + 1) ** 2 + (across * SIDE + 1) ** 2) / SIGMA_D**2)
    return band[:, : SIDE // 2 + 1].astype(np.float32), centre.astype(np.float32)


@lru_cache(maxsize=8)
def _enlarging(size: int) -> tuple[Array, Array, FloatArray]:
    """Left neighbour, right neighbour and weight of the right one when 256 samples become ``size``."""
    position = np.arange(size) * (SIDE - 1) / max(size - 1, 1)
    left = np.minimum(position.astype(np.intp), SIDE - 2)
    return left, left + 1, np.asarray(position - left, np.float32)


@lru_cache(maxsize=8)
def _pooling_matrix(size: int, factor: int, padding: filters.Padding) -> FloatArray:
    left, right, weight = _enlarging(size)
    enlarged: npt.NDArray[np.float64] = np.zeros((size, SIDE))
    enlarged[np.arange(size), left] += 1 - weight
    enlarged[np.arange(size), right] += weight
    if factor > 1:
        enlarged = np.pad(enlarged, ((padding.before, padding.after), (0, 0)), mode="edge")
    pooled = enlarged.shape[0] // factor
    return np.asarray(enlarged[: pooled * factor].reshape(pooled, factor, SIDE).mean(axis=1), np.float32)


def _extremes_at_full_size(salient: FloatArray, size: tuple[int, int]) -> tuple[float, float]:
    """Smallest and largest value of the enlarged map, which need not hit those of the small one."""
    left, right, weight = _enlarging(size[1])
    wide = salient[:, right] - salient[:, left]
    wide *= weight
    wide += salient[:, left]
    return -_largest(-wide, size[0]), _largest(wide, size[0])


def _largest(wide: FloatArray, height: int) -> float:
    """Largest value once the rows are enlarged too; only rows that can hold it are computed."""
    up, down, weight = _enlarging(height)
    row_largest = wide.max(axis=1)
    bounds = row_largest[up] + weight * (row_largest[down] - row_largest[up])
    best = -np.inf
    for row in np.argsort(-bounds):
        if bounds[row] <= best:
            break
        mixed = wide[up[row]] + weight[row] * (wide[down[row]] - wide[up[row]])
        best = max(best, float(mixed.max()))
    return best
