"""SSIMULACRA 2: structural and edge differences in a perceptual colour space at six scales."""

import math
from collections.abc import Callable
from functools import lru_cache

import cv2
import numpy as np

from agenticiqa.tools.metrics.base import Array, FloatArray, Measurement, stored_parameters
from agenticiqa.tools.metrics.colour import linear_of
from agenticiqa.tools.metrics.filters import (
    REPLICATE,
    ZERO,
    power,
    separable,
    strips,
    strips_with_halo,
    transform_colours,
)
from agenticiqa.tools.metrics.views import Picture, Views

LOWEST = -1000.0
Reader = Callable[[slice], FloatArray]


SCALES = 6
SMALLEST_SIDE = 8
C2 = np.float32(0.0009)
SIGMA = 1.5
# Cone absorbance of libjxl's XYB colour space.
ABSORBANCE = (
    (0.30, 0.622, 0.078),
    (0.23, 0.692, 0.078),
    (0.24342268924547819, 0.20476744424496821, 0.5518098665095536),
)
BIAS = 0.0037930732552754493


def ssimulacra2(views: Views) -> Measurement:
    """SSIMULACRA 2. ``value``: 100 for equal pictures, falling without limit, below 0 for the worst."""
    one, other = _linear_reader(views.test), _linear_reader(views.reference)
    size = views.size
    norms = [_norms(one, other, size)]
    # A side may fall below the smallest one once: libjxl looks at the size before it halves, not after.
    while len(norms) < SCALES and min(size) >= SMALLEST_SIDE:
        half_one, half_other = _halved(one, size), _halved(other, size)
        size = (half_one.shape[0], half_one.shape[1])
        one, other = half_one.__getitem__, half_other.__getitem__
        norms.append(_norms(one, other, size))
    return Measurement(_score(np.stack(norms, axis=1)))


def _linear_reader(picture: Picture) -> Reader:
    """Rows of a picture in linear light, made when asked for: at full size they are never all in memory."""
    return lambda rows: linear_of(picture.rgb_rows(rows.start, rows.stop))


def _score(norms: Array) -> float:
    """Weights for channel, scale, norm (mean, then fourth), kind (structure, artefact, lost detail)."""
    ordered = norms.reshape(3, -1, 3, 2).swapaxes(2, 3).ravel()
    # Small pictures have fewer scales; libjxl then uses the first weights of its list, and so do we.
    raw = float(ordered @ stored_parameters("ssimulacra2")["weights"][: ordered.size]) * 0.9562382616834844
    curved = 2.326765642916932 * raw - 0.020884521182843837 * raw**2 + 6.248496625763138e-05 * raw**3
    return 100.0 if curved <= 0 else max(LOWEST, 100.0 - 10.0 * curved**0.6276336467831387)


@lru_cache(maxsize=1)
def smoothing() -> FloatArray:
    """The impulse response of libjxl's recursive Gaussian: three cosines on a short window."""
    radius = round(3.2795 * SIGMA + 0.2546)
    omega = np.array([1, 3, 5]) * math.pi / (2 * radius)
    signs = np.array([1, -1, 1])
    p = signs / np.tan(omega / 2)
    r = signs * p**2 / np.sin(omega)
    rho = np.exp(-0.5 * SIGMA**2 * omega**2) / radius
    d13, d35, d51 = p[0] * r[1] - r[0] * p[1], p[1] * r[2] - r[1] * p[2], p[2] * r[0] - r[2] * p[0]
    zeta = np.array([d35 / d13, d51 / d13, 1.0])
    target = np.array([1.0, radius**2 - SIGMA**2, float(zeta @ rho)])
    strengths = np.linalg.solve(np.stack([p, r, zeta]), target)
    taps = np.arange(-radius, radius + 1)
    return np.asarray((strengths[:, None] * np.cos(omega[:, None] * taps)).sum(axis=0), np.float32)


def _perceptual(linear: FloatArray) -> FloatArray:
    """XYB, shifted and scaled so that its three channels are positive and of like size."""
    cones = transform_colours(linear, ABSORBANCE)
    cones += np.float32(BIAS)
    cones = power(np.maximum(cones, 0), 1 / 3)
    # x = 14 (l - m) / 2 + 0.42, y = (l + m) / 2 + 0.01, b = s - y + 0.55; the biases cancel in x and b.
    mix = ((7.0, -7.0, 0.0), (0.5, 0.5, 0.0), (-0.5, -0.5, 1.0))
    xyb = transform_colours(cones, mix)
    root = float(np.cbrt(BIAS))
    xyb += np.array([0.42, 0.01 - root, 0.55], np.float32)
    return xyb


def _halved(read: Reader, size: tuple[int, int]) -> FloatArray:
    """2×2 means; an odd last row or column is repeated, which is the mean of what there is."""
    height, width = size
    out = np.empty(((height + 1) // 2, (width + 1) // 2, 3), np.float32)
    for start, stop in strips(height, width, 2):
        part = read(slice(start, stop))
        if part.shape[0] % 2 or part.shape[1] % 2:
            odd_row, odd_column = part.shape[0] % 2, part.shape[1] % 2
            padded = cv2.copyMakeBorder(part, 0, odd_row, 0, odd_column, REPLICATE)
            part = np.asarray(padded, np.float32)
        half = (part.shape[1] // 2, part.shape[0] // 2)
        out[start // 2 : (stop + 1) // 2] = cv2.resize(part, half, interpolation=cv2.INTER_AREA)
    return out


def _norms(one: Reader, other: Reader, size: tuple[int, int]) -> Array:
    """Mean and fourth norm of three error maps for each channel: (3 channels, 6)."""
    kernel = smoothing()
    height, width = size
    sums = np.zeros((3, 6))
    for read, keep in strips_with_halo(height, width * 3, kernel.size // 2):
        errors = _errors(_perceptual(one(read)), _perceptual(other(read)), keep, kernel)
        for index, error in enumerate(errors):
            square = error * error
            sums[:, 2 * index] += cv2.sumElems(error)[:3]
            square *= square
            sums[:, 2 * index + 1] += cv2.sumElems(square)[:3]
    sums /= height * width
    sums[:, 1::2] **= 0.25
    return sums


def _errors(x: FloatArray, y: FloatArray, keep: slice, kernel: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Loss of structure, added edges and lost edges of the test ``x`` against the reference ``y``."""
    mean_x, mean_y = _smooth(x, kernel, keep), _smooth(y, kernel, keep)
    gap = x - y
    # (2 cov + C2) / (var + var + C2) is one minus the variance of the difference over the same sum: written
    # so, float32 loses no digits where the pictures nearly agree.
    variances = _smooth(x * x + y * y, kernel, keep)
    variances -= mean_x * mean_x
    variances -= mean_y * mean_y
    variances += C2
    lost = _smooth(gap * gap, kernel, keep)
    mean_gap = mean_x - mean_y
    mean_gap *= mean_gap
    lost -= mean_gap
    lost /= variances
    structure = lost + mean_gap * (1 - lost)
    edges = (1 + np.abs(x[keep] - mean_x)) / (1 + np.abs(y[keep] - mean_y))
    edges -= 1
    return np.maximum(structure, 0), np.maximum(edges, 0), np.maximum(-edges, 0)


def _smooth(image: FloatArray, kernel: FloatArray, keep: slice) -> FloatArray:
    return separable(image, kernel, kernel, ZERO)[keep]
