"""Blurs: Gaussian, out of focus, and motion. Borders repeat the outermost pixel."""

from __future__ import annotations

import math

import cv2
import numpy as np

from agenticiqa.pictures.distortions.colour_spaces import Pixels

_SUBPIXELS = 16


def gaussian_blur(rgb: Pixels, sigma: float, rng: np.random.Generator) -> Pixels:
    del rng
    side = 2 * math.ceil(2 * sigma) + 1
    return np.asarray(cv2.GaussianBlur(rgb, (side, side), sigma, borderType=cv2.BORDER_REPLICATE), np.float32)


def lens_blur(rgb: Pixels, radius: float, rng: np.random.Generator) -> Pixels:
    del rng
    return _filtered(rgb, disk(radius))


def motion_blur(rgb: Pixels, length: float, rng: np.random.Generator) -> Pixels:
    return _filtered(rgb, line(length, float(rng.uniform(0, math.pi))))


def disk(radius: float) -> Pixels:
    """The share of each pixel that a disk covers, summing to one.

    >>> disk(1).shape, round(float(disk(1)[1, 1]), 2)
    ((3, 3), 0.32)
    """
    reach = math.ceil(radius - 0.5)
    fine = (np.arange((2 * reach + 1) * _SUBPIXELS) + 0.5) / _SUBPIXELS - reach - 0.5
    inside = (fine[:, None] ** 2 + fine[None, :] ** 2 <= radius**2).astype(np.float32)
    side = 2 * reach + 1
    kernel = inside.reshape(side, _SUBPIXELS, side, _SUBPIXELS).mean(axis=(1, 3))
    return np.asarray(kernel / kernel.sum(), np.float32)


def line(length: float, angle: float) -> Pixels:
    """A line of ``length`` pixels through the centre, its points shared among the pixels around them.

    >>> line(1, 0.7).tolist()
    [[1.0]]
    """
    half = max(0.0, (length - 1) / 2)
    reach = math.ceil(half)
    steps = np.linspace(-half, half, 64 * reach + 1)
    x, y = reach + steps * math.cos(angle), reach - steps * math.sin(angle)
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    kernel = np.zeros((2 * reach + 2, 2 * reach + 2))
    for down, across in ((0, 0), (0, 1), (1, 0), (1, 1)):
        weight = (1 - np.abs(x - left - across)) * (1 - np.abs(y - top - down))
        np.add.at(kernel, (top + down, left + across), weight)
    inner = kernel[: 2 * reach + 1, : 2 * reach + 1]
    return np.asarray(inner / inner.sum(), np.float32)


def _filtered(rgb: Pixels, kernel: Pixels) -> Pixels:
    return np.asarray(cv2.filter2D(rgb, -1, kernel, borderType=cv2.BORDER_REPLICATE), np.float32)
