"""The few image operations that metrics are made of, on OpenCV's vectorised filters.

Everything works on float32. Pictures are gone through in strips of rows where the operation is local: a
strip and its intermediate results stay in the processor's cache, which is both faster than whole-picture
passes and what keeps 100-megapixel pictures within memory.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np

from agenticiqa.tools.metrics.base import Array, FloatArray, checkpoint

STRIP_PIXELS = 1 << 17
ZERO = cv2.BORDER_CONSTANT  # OpenCV pads with zeros unless told otherwise
MIRROR = cv2.BORDER_REFLECT_101
SYMMETRIC = cv2.BORDER_REFLECT
REPLICATE = cv2.BORDER_REPLICATE


def strips(height: int, width: int, multiple: int = 1, pixels: int | None = None) -> Iterator[tuple[int, int]]:
    """Row ranges that cover ``height``, each a multiple of ``multiple`` rows but the last."""
    rows = max(multiple, (pixels or STRIP_PIXELS) // width // multiple * multiple)
    for start in range(0, height, rows):
        checkpoint()
        yield start, min(height, start + rows)


def strips_with_halo(height: int, width: int, halo: int) -> Iterator[tuple[slice, slice]]:
    """Slices to read and slices to keep of what was read, for filters that reach ``halo`` rows.

    >>> list(strips_with_halo(3, 1 << 17, 1))[1]
    (slice(0, 3, None), slice(1, 2, None))
    """
    for start, stop in strips(height, width):
        top = max(0, start - halo)
        yield slice(top, min(height, stop + halo)), slice(start - top, stop - top)


@lru_cache(maxsize=64)
def gaussian(size: int, sigma: float) -> FloatArray:
    """A normalised one-dimensional Gaussian; its outer product is MATLAB's ``fspecial('gaussian')``."""
    offsets = np.arange(size) - (size - 1) / 2
    weights = np.exp(-(offsets**2) / (2 * sigma * sigma))
    kernel: FloatArray = np.asarray(weights / weights.sum(), np.float32)
    kernel.setflags(write=False)
    return kernel


def separable(image: Array, across: Array, down: Array, border: int = REPLICATE) -> FloatArray:
    """Correlate with ``across`` along rows and ``down`` along columns; same size out."""
    checkpoint()
    return np.asarray(cv2.sepFilter2D(image, cv2.CV_32F, across, down, borderType=border), np.float32)


def smooth_valid(image: Array, kernel: FloatArray) -> FloatArray:
    """``image`` smoothed by ``kernel`` both ways, where the kernel fits entirely."""
    half = kernel.size // 2
    full = separable(image, kernel, kernel)
    return full[half : full.shape[0] - half, half : full.shape[1] - half]


def correlate(image: Array, kernel: Array, border: int = REPLICATE) -> FloatArray:
    """Correlate with a two-dimensional kernel; same size out."""
    checkpoint()
    return np.asarray(cv2.filter2D(image, cv2.CV_32F, kernel, borderType=border), np.float32)


def magnitude(across: Array, down: Array) -> FloatArray:
    return np.asarray(cv2.magnitude(across, down), np.float32)


def scharr_magnitude(image: FloatArray) -> FloatArray:
    """Scharr gradient, scaled by 1/16 and zero outside the picture, as FSIM and VSI define it."""
    across = cv2.Scharr(image, cv2.CV_32F, 1, 0, scale=1 / 16, borderType=ZERO)
    down = cv2.Scharr(image, cv2.CV_32F, 0, 1, scale=1 / 16, borderType=ZERO)
    return magnitude(across, down)


_PREWITT_STEP = np.array([-1, 0, 1], np.float32)
_PREWITT_MEAN = np.full(3, 1 / 3, np.float32)


def prewitt_magnitude(image: FloatArray) -> FloatArray:
    """Prewitt gradient, scaled by 1/3 and zero outside the picture, as GMSD and MDSI define it."""
    return magnitude(
        separable(image, _PREWITT_STEP, _PREWITT_MEAN, ZERO), separable(image, _PREWITT_MEAN, _PREWITT_STEP, ZERO)
    )


def power(image: Array, exponent: float) -> FloatArray:
    """``image`` (not negative) to a power; NumPy's own roots and powers are several times slower without AVX-512."""
    out = np.asarray(cv2.log(image), np.float32)
    out *= np.float32(exponent)
    return np.asarray(cv2.exp(out, out), np.float32)


def channel_extremes(image: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Largest and smallest channel of each pixel."""
    red, green, blue = (np.asarray(channel, np.float32) for channel in cv2.split(image))
    high, low = np.maximum(red, green), np.minimum(red, green)
    return np.maximum(high, blue, out=high), np.minimum(low, blue, out=low)


def total(image: Array) -> float:
    """Sum of a float32 picture in double precision; far faster than NumPy's sum with a wider type."""
    return float(cv2.sumElems(image)[0])


def similarity(one: FloatArray, other: FloatArray, constant: float) -> FloatArray:
    """``(2ab + c) / (a² + b² + c)``, the comparison nearly all of these metrics share."""
    product = one * other
    product *= 2
    product += np.float32(constant)
    squares = one * one
    squares += other * other
    squares += np.float32(constant)
    product /= squares
    return product


# Matrices for transform_colours: YIQ of RGB, and CIE Lab of the cube roots of XYZ (L without its offset of -16).
YIQ = ((0.299, 0.587, 0.114), (0.5959, -0.2746, -0.3213), (0.2115, -0.5227, 0.3112))
LAB = ((0.0, 116.0, 0.0), (500.0, -500.0, 0.0), (0.0, 200.0, -200.0))


def transform_colours(image: FloatArray, matrix: Sequence[Sequence[float]] | Array) -> FloatArray:
    """Each pixel multiplied by a colour matrix (rows are the channels that come out)."""
    return np.asarray(cv2.transform(image, np.asarray(matrix, np.float32)), np.float32)


def luma_to_round(image: FloatArray) -> FloatArray:
    """The same luma, summed without fused operations.

    One value in a thousand lies exactly between two integers, and the last bit decides which way it is
    rounded; plain products and sums, red to blue, decide like the libraries we are compared with.
    """
    red, green, blue = (np.asarray(channel, np.float32) for channel in cv2.split(image))
    red *= np.float32(0.299)
    green *= np.float32(0.587)
    red += green
    blue *= np.float32(0.114)
    red += blue
    return red


def luma_of(image: FloatArray) -> FloatArray:
    """BT.601 luma (0.299 R + 0.587 G + 0.114 B) of float RGB."""
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), np.float32)


def shrink(image: Array, factor: int) -> FloatArray:
    """Mean over ``factor``×``factor`` squares; rows and columns that fill no square are left out."""
    height, width = image.shape[0] // factor, image.shape[1] // factor
    whole = image[: height * factor, : width * factor]
    if factor == 1:
        return np.asarray(whole, np.float32)
    if whole.dtype != np.float32:
        whole = whole.astype(np.float32)
    return np.asarray(cv2.resize(whole, (width, height), interpolation=cv2.INTER_AREA), np.float32)


@dataclass(frozen=True)
class Padding:
    """Rows and columns added before and after a picture, alike both ways."""

    before: int = 0
    after: int = 0
    border: int = ZERO


NO_PADDING = Padding()


def average_pool(
    rows: Callable[[int, int], FloatArray], size: tuple[int, int], factor: int, padding: Padding = NO_PADDING
) -> FloatArray:
    """:func:`shrink` of a whole padded picture that is read strip by strip, on the 0..255 scale."""
    height, width = size
    before, after = padding.before, padding.after
    pooled = np.empty(((height + before + after) // factor, (width + before + after) // factor, 3), np.float32)
    for start, stop in strips(pooled.shape[0] * factor, width, factor):
        top, bottom = max(0, start - before), min(height, stop - before)
        part = rows(top, bottom)
        above, below = top - (start - before), stop - before - bottom
        if above or below:
            part = np.asarray(cv2.copyMakeBorder(part, above, below, 0, 0, padding.border), np.float32)
        _shrink_padded(part, factor, padding, pooled[start // factor : stop // factor])
    pooled *= np.float32(255)
    return pooled


def _shrink_padded(part: FloatArray, factor: int, padding: Padding, out: FloatArray) -> None:
    """Shrink rows that are still to be padded left and right; only the outermost squares are copied for that."""
    before, after = padding.before, padding.after
    first = factor - before if before else 0
    whole = (part.shape[1] - first) // factor
    left = int(before > 0)
    out[:, left : left + whole] = shrink(part[:, first:], factor)
    if before:
        border = cv2.copyMakeBorder(part[:, :first], 0, 0, before, 0, padding.border)
        out[:, :1] = shrink(np.asarray(border, np.float32), factor)
    if left + whole < out.shape[1]:
        border = cv2.copyMakeBorder(part[:, first + whole * factor :], 0, 0, 0, after, padding.border)
        out[:, left + whole :] = shrink(np.asarray(border, np.float32), factor)


def placed(local: FloatArray, size: tuple[int, int], step: float, offset: float) -> FloatArray:
    """A coarse map at the size of the picture: its value ``i`` belongs to the pixel ``offset + i * step``."""
    back = np.array([[1 / step, 0, -offset / step], [0, 1 / step, -offset / step]])
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    large = cv2.warpAffine(local, back, (size[1], size[0]), flags=flags, borderMode=REPLICATE)
    return np.asarray(large, np.float32)


def viewing_factor(size: tuple[int, int]) -> int:
    """How far FSIM, VSI and MDSI shrink a picture so that its short side is near 256 pixels."""
    return max(1, round(min(size) / 256))
