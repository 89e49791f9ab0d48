"""Deterministic pictures for the tests and for the comparison with other libraries.

A scene holds what photographs hold: soft shading, hard edges, fine texture and colour. Everything comes
from seeded NumPy, so the same picture can be made again on any machine; values are multiples of 1/255 so
that a file format or a tensor cannot change them.
"""

from __future__ import annotations

import cv2
import numpy as np


def quantised(picture: np.ndarray) -> np.ndarray:
    return (np.rint(np.clip(picture, 0, 1) * 255) / 255).astype(np.float32)


def scene(height: int, width: int, seed: int = 0) -> np.ndarray:
    """A colourful synthetic scene, float32 RGB in [0, 1]."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    out = np.empty((height, width, 3))
    for channel in range(3):
        angle = rng.uniform(0, np.pi)
        ramp = (np.cos(angle) * x / width + np.sin(angle) * y / height) * 0.3
        out[:, :, channel] = rng.uniform(0.2, 0.5) + ramp
    # Clouds: a sum of upsampled noise fields whose strength falls with frequency, as in natural scenes.
    for octave in range(2, 8):
        field = rng.normal(0, 1, (2**octave, 2**octave, 3))
        out += cv2.resize(field, (width, height), interpolation=cv2.INTER_CUBIC) * 0.22 / octave**1.3
    for _ in range(12):
        colour = rng.uniform(0, 1, 3)
        cx, cy = rng.uniform(0, width), rng.uniform(0, height)
        if rng.random() < 0.5:
            inside = (x - cx) ** 2 + (y - cy) ** 2 < rng.uniform(0.03, 0.15) ** 2 * min(height, width) ** 2
        else:
            w, h = rng.uniform(0.04, 0.2, 2) * (width, height)
            inside = (np.abs(x - cx) < w) & (np.abs(y - cy) < h)
        out[inside] = 0.6 * colour + 0.4 * out[inside]
    stripes = (y > 0.7 * height) & (x < 0.4 * width)
    out[stripes] += 0.12 * np.sin(0.9 * x + 0.35 * y)[stripes][:, None]
    return quantised(out)


def blurred(picture: np.ndarray, sigma: float) -> np.ndarray:
    return quantised(cv2.GaussianBlur(picture, (0, 0), sigma))


def noisy(picture: np.ndarray, sigma: float, seed: int = 1) -> np.ndarray:
    """Gaussian noise of ``sigma`` 8-bit levels on every channel."""
    return quantised(picture + np.random.default_rng(seed).normal(0, sigma / 255, picture.shape))


def as_bytes(picture: np.ndarray) -> np.ndarray:
    return np.rint(picture * 255).astype(np.uint8)


def block_quantised(picture: np.ndarray, step: float) -> np.ndarray:
    """What a block codec does, without one: 8×8 cosine transform, coarse steps, back."""
    height, width = picture.shape[:2]
    padded = np.pad(picture, ((0, -height % 8), (0, -width % 8), (0, 0)), mode="edge").astype(np.float32)
    frequency = np.add.outer(np.arange(8), np.arange(8))
    steps = ((1 + frequency) * step / 255).astype(np.float32)
    for top in range(0, padded.shape[0], 8):
        for left in range(0, padded.shape[1], 8):
            for channel in range(3):
                block = np.ascontiguousarray(padded[top : top + 8, left : left + 8, channel])
                coefficients = np.rint(cv2.dct(block) / steps) * steps
                padded[top : top + 8, left : left + 8, channel] = cv2.idct(coefficients)
    return quantised(padded[:height, :width])


def motion_blurred(picture: np.ndarray, length: int, degrees: float) -> np.ndarray:
    """Uniform motion of ``length`` pixels at ``degrees`` from the horizontal (counter-clockwise)."""
    size = 2 * (length // 2 + 2) + 1
    fine = 16
    kernel = np.zeros((size * fine, size * fine), np.float32)
    middle = size * fine / 2
    t = np.linspace(-length / 2, length / 2, 64 * length) * fine
    columns = (middle + t * np.cos(np.radians(degrees))).astype(int)
    rows = (middle - t * np.sin(np.radians(degrees))).astype(int)
    np.add.at(kernel, (rows, columns), 1)
    kernel = cv2.resize(cv2.GaussianBlur(kernel, (0, 0), fine / 4), (size, size), interpolation=cv2.INTER_AREA)
    return quantised(cv2.filter2D(picture, -1, kernel / kernel.sum(), borderType=cv2.BORDER_REFLECT))
