"""Natural-scene statistics that NIQE, BRISQUE and PIQE build on.

Pictures divided by their local contrast have nearly Gaussian values when they are natural; distortions bend
that shape. The shapes are fitted by moment matching over a table of shape parameters.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import cv2
import numpy as np
from scipy.special import gammaln

from agenticiqa.tools.metrics.base import Array

WINDOW_SIZE, WINDOW_SIGMA = 7, 7 / 6
NEIGHBOURS = ((0, 1), (1, 0), (1, 1), (1, -1))


class Shapes(NamedTuple):
    """Asymmetric generalised Gaussians, one entry a block."""

    alpha: Array
    left: Array
    right: Array


@lru_cache(maxsize=1)
def _window() -> Array:
    """The Gaussian window along one axis.

    Other libraries keep the 7×7 window in float32, whose sum misses one by a hair. In flat areas that hair
    decides whether a value counts as positive or negative, so ours sums to the same.
    """
    offsets = np.arange(WINDOW_SIZE) - WINDOW_SIZE // 2
    kernel = np.exp(-(offsets**2) / (2 * WINDOW_SIGMA**2))
    square = np.outer(kernel, kernel)
    stored = (square / square.sum()).astype(np.float32).astype(np.float64)
    return np.asarray(kernel / kernel.sum() * np.sqrt(stored.sum()))


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
    filtered = cv2.sepFilter2D(
        luma.astype(np.float64), cv2.CV_64F, kernel, kernel, anchor=(3, 3), borderType=cv2.BORDER_REFLECT
    )
    return np.ascontiguousarray(filtered[::2, ::2])


@lru_cache(maxsize=1)
def _table() -> tuple[Array, Array]:
    gamma = np.arange(0.2, 10.001, 0.001)
    return gamma, np.exp(2 * gammaln(2 / gamma) - gammaln(1 / gamma) - gammaln(3 / gamma))


def shape_for(ratio: Array) -> Array:
    """Shape parameter whose (mean |x|)² / mean x² is nearest to ``ratio``."""
    gamma, ratios = _table()
    right = np.clip(np.searchsorted(ratios, ratio), 1, gamma.size - 1)
    left = right - 1
    nearer_left = ratio - ratios[left] <= ratios[right] - ratio
    return np.asarray(gamma[np.where(nearer_left, left, right)])


def fit_asymmetric(blocks: Array) -> Shapes:
    """Shape, left and right deviation of each row of ``blocks``; NaN where one side is empty."""
    negative = np.minimum(blocks, 0)
    positive = np.maximum(blocks, 0)
    left_squares = np.einsum("ij,ij->i", negative, negative)
    right_squares = np.einsum("ij,ij->i", positive, positive)
    left_count = np.count_nonzero(negative, axis=1)
    right_count = np.count_nonzero(positive, axis=1)
    size = blocks.shape[1]
    usable = (left_count > 0) & (right_count > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        left = np.sqrt(left_squares / left_count)
        right = np.sqrt(right_squares / right_count)
        balance = left / right
        mean_absolute = (positive.sum(axis=1) - negative.sum(axis=1)) / size
        ratio = mean_absolute**2 / ((left_squares + right_squares) / size)
        ratio *= (balance**3 + 1) * (balance + 1) / (balance**2 + 1) ** 2
    alpha = np.where(usable, shape_for(np.where(usable, ratio, 0.5)), np.nan)
    return Shapes(alpha, np.where(usable, left, np.nan), np.where(usable, right, np.nan))


def neighbour_products(blocks: Array) -> list[Array]:
    """Each block times itself moved by one pixel (wrapping round) in four directions, flattened."""
    count = blocks.shape[0]
    return [(blocks * np.roll(blocks, shift, axis=(1, 2))).reshape(count, -1) for shift in NEIGHBOURS]
