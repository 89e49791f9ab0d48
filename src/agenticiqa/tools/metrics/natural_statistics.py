"""Natural-scene statistics that NIQE, BRISQUE and PIQE build on.

Pictures divided by their local contrast have nearly Gaussian values when they are natural; distortions bend
that shape. The shapes are fitted by moment matching over a table of shape parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

import cv2
import numpy as np

from agenticiqa.tools.metrics.base import Array
from agenticiqa.tools.metrics.filters import strips

WINDOW_SIZE, WINDOW_SIGMA = 7, 7 / 6
HALF_REACH = 4
NEIGHBOURS = ((0, 1), (1, 0), (1, 1), (1, -1))


class Shapes(NamedTuple):
    """Asymmetric generalised Gaussians, one entry per block."""

    alpha: Array
    left: Array
    right: Array


@lru_cache(maxsize=1)
def _stored_window() -> Array:
    """The 7×7 Gaussian window in float32, as other libraries keep it."""
    kernel = _gaussian()
    square = np.outer(kernel, kernel)
    return np.asarray((square / square.sum()).astype(np.float32))


@lru_cache(maxsize=1)
def _window() -> Array:
    """The Gaussian window along one axis.

    The sum of the stored window misses one by a hair. In flat areas that hair decides whether a value counts as
    positive or negative, so ours sums to the same.
    """
    kernel = _gaussian()
    return np.asarray(kernel / kernel.sum() * np.sqrt(_stored_window().sum(dtype=np.float64)))


def _gaussian() -> Array:
    offsets = np.arange(WINDOW_SIZE) - WINDOW_SIZE // 2
    return np.asarray(np.exp(-(offsets**2) / (2 * WINDOW_SIGMA**2)))


def contrast_normalised(luma: Array, border: int) -> Array:
    """(x - mean) / (deviation + 1) with a 7×7 Gaussian window, for luma on the 0..255 scale."""
    kernel = _window()
    # Double precision: in flat areas the variance is a small difference of large numbers.
    x = luma.astype(np.float64)
    mean: Array = cv2.sepFilter2D(x, cv2.CV_64F, kernel, kernel, borderType=border)
    square: Array = cv2.sepFilter2D(x * x, cv2.CV_64F, kernel, kernel, borderType=border)
    square -= mean * mean
    deviation = np.sqrt(np.abs(square, out=square), out=square)
    deviation += 1
    x -= mean
    x /= deviation
    return x


def contrast_normalised_single(luma: Array, border: int) -> Array:
    """The same in float32 all through, as pyiqa's BRISQUE computes it.

    In areas of one colour what is left is rounding, and its sign decides a side of the histogram: only the same
    arithmetic (the whole window, row by row, multiplied and added in one step) puts it on the same side.
    """
    window = _stored_window()
    x = luma.astype(np.float32)
    mean: Array = cv2.filter2D(x, cv2.CV_32F, window, borderType=border)
    square: Array = cv2.filter2D(x * x, cv2.CV_32F, window, borderType=border)
    deviation = np.sqrt(np.abs(square - mean * mean))
    return np.asarray((x - mean) / (deviation + 1), np.float64)


def normalised_strips(
    luma: Array, border: int, multiple: int = 1, normalise: Callable[[Array, int], Array] = contrast_normalised
) -> Iterator[Array]:
    """A whole picture divided by its local contrast, a few rows at a time: in double precision it is large."""
    height, reach = luma.shape[0], WINDOW_SIZE // 2
    for start, stop in strips(height, luma.shape[1], multiple):
        top, bottom = max(0, start - reach), min(height, stop + reach)
        yield normalise(luma[top:bottom], border)[start - top : stop - top]


@lru_cache(maxsize=1)
def _half_band() -> Array:
    """Bicubic kernel (a = -0.5) stretched for halving, as MATLAB's ``imresize`` applies it."""
    distance = np.abs(np.arange(8) - 3.5) / 2
    near = 1.5 * distance**3 - 2.5 * distance**2 + 1
    far = -0.5 * distance**3 + 2.5 * distance**2 - 4 * distance + 2
    weights = np.where(distance <= 1, near, far)
    return np.asarray(weights / weights.sum())


def halved(luma: Array) -> Array:
    """Half size with an antialiased bicubic filter; borders mirrored with the edge repeated."""
    kernel = _half_band()
    height, width = luma.shape
    half = np.empty(((height + 1) // 2, (width + 1) // 2))
    for start, stop in strips(height, width, multiple=2):
        top, bottom = max(0, start - HALF_REACH), min(height, stop + HALF_REACH)
        part = luma[top:bottom].astype(np.float64)
        filtered = cv2.sepFilter2D(part, cv2.CV_64F, kernel, kernel, anchor=(3, 3), borderType=cv2.BORDER_REFLECT)
        half[start // 2 : (stop + 1) // 2] = filtered[start - top : stop - top : 2, ::2]
    return half


def log_gamma(values: Array) -> Array:
    """The logarithm of the gamma function. Imported here: SciPy takes longer to import than most metrics to run."""
    from scipy.special import gammaln

    return np.asarray(gammaln(values))


@lru_cache(maxsize=1)
def _table() -> tuple[Array, Array]:
    gamma = np.arange(0.2, 10.001, 0.001)
    return gamma, np.exp(2 * log_gamma(2 / gamma) - log_gamma(1 / gamma) - log_gamma(3 / gamma))


def shape_for(ratio: Array) -> Array:
    """Shape parameter whose (mean |x|)² / mean x² is nearest to ``ratio``."""
    gamma, ratios = _table()
    right = np.clip(np.searchsorted(ratios, ratio), 1, gamma.size - 1)
    left = right - 1
    nearer_left = ratio - ratios[left] <= ratios[right] - ratio
    return np.asarray(gamma[np.where(nearer_left, left, right)])


def fit_asymmetric(blocks: Array) -> Shapes:
    """Shape, left and right deviation of each row of ``blocks``; NaN where one side is empty."""
    return shapes_of(moments(blocks), blocks.shape[1])


def moments(blocks: Array) -> Array:
    """What a fit needs of each row of ``blocks``, one column per row: add up columns to fit several rows as one.

    Squares left and right of zero, counts left and right, and the sum of absolute values.
    """
    negative = np.minimum(blocks, 0)
    positive = np.maximum(blocks, 0)
    return np.stack(
        [
            np.einsum("ij,ij->i", negative, negative),
            np.einsum("ij,ij->i", positive, positive),
            np.count_nonzero(negative, axis=1),
            np.count_nonzero(positive, axis=1),
            positive.sum(axis=1) - negative.sum(axis=1),
        ]
    )


def shapes_of(found: Array, size: int) -> Shapes:
    """The fit to the :func:`moments` of ``size`` values."""
    left_squares, right_squares, left_count, right_count, absolute = found
    usable = (left_count > 0) & (right_count > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        left = np.sqrt(left_squares / left_count)
        right = np.sqrt(right_squares / right_count)
        balance = left / right
        mean_absolute = absolute / size
        ratio = mean_absolute**2 / ((left_squares + right_squares) / size)
        ratio *= (balance**3 + 1) * (balance + 1) / (balance**2 + 1) ** 2
    alpha = np.where(usable, shape_for(np.where(usable, ratio, 0.5)), np.nan)
    return Shapes(alpha, np.where(usable, left, np.nan), np.where(usable, right, np.nan))


def neighbour_products(blocks: Array) -> list[Array]:
    """Each block times itself moved by one pixel (wrapping round) in four directions, flattened."""
    count = blocks.shape[0]
    return [(blocks * np.roll(blocks, shift, axis=(1, 2))).reshape(count, -1) for shift in NEIGHBOURS]
