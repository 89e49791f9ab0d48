"""Whether something comes back at regular distances: peaks of the autocorrelation away from its middle."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from agenticiqa.pictures.images import UInt8Image
from agenticiqa.vision.appearance.views import Floats, band_passed, luma, reduced

Doubles = npt.NDArray[np.float64]

SIDE = 256
FINE, COARSE = 1.0, 12.0
SHORTEST, LONGEST = 0.03, 0.4
"""Distances that count, as shares of the side."""


@dataclass(frozen=True)
class Repeat:
    """The strongest repetition found."""

    strength: float
    """How alike the picture is to itself moved by the distance, 0 to 1, above what its neighbourhood is anyway."""
    across: float
    """The distance as shares of width and height."""
    down: float


def repetition(rgb: UInt8Image) -> Repeat:
    """Look for the distance at which a picture repeats itself best.

    >>> stripes = np.tile(np.repeat([0, 255], 8)[None, :, None], (128, 8, 3)).astype(np.uint8)
    >>> found = repetition(stripes)
    >>> found.strength > 0.5, round(found.across * 128)
    (True, 16)
    """
    grey = luma(reduced(rgb, SIDE))
    height, width = grey.shape
    detail = band_passed(grey, FINE, COARSE)
    # A single strong edge must not decide: every place counts by what its surroundings vary.
    around = np.sqrt(cv2.GaussianBlur(detail**2, (0, 0), COARSE)) + np.float32(0.02)
    detail = detail / around
    detail -= detail.mean()
    window = np.outer(np.hanning(height + 2)[1:-1], np.hanning(width + 2)[1:-1])
    of_detail = _autocorrelation(np.asarray(detail * window, np.float64))
    correlation = of_detail / np.maximum(_autocorrelation(window), 1e-3 * (window**2).sum())
    scaled = np.asarray(correlation / max(correlation[0, 0], 1e-9), np.float32)
    middle: Floats = np.fft.fftshift(scaled)
    down = np.abs(np.arange(height) - height // 2)[:, None] / height
    across = np.abs(np.arange(width) - width // 2)[None, :] / width
    reach = np.maximum(down, across)
    inside = (reach >= SHORTEST) & (reach <= LONGEST)
    ring = np.hypot(down * height, across * width)
    peak = np.asarray(middle == cv2.dilate(middle, np.ones((5, 5), np.uint8))) & inside & (ring >= 4)
    if not peak.any():
        return Repeat(0.0, 0.0, 0.0)
    # A peak stands out from the valley between it and the middle.
    rows, columns = np.nonzero(peak)
    strengths = [_prominence(middle, int(row), int(column)) for row, column in zip(rows, columns, strict=True)]
    # What repeats after ten steps repeats after twenty: the shortest distance is meant.
    alike = [at for at, each in enumerate(strengths) if each >= 0.9 * max(strengths)]
    best = min(alike, key=lambda at: float(ring[rows[at], columns[at]]))
    return Repeat(max(0.0, strengths[best]), float(across[0, columns[best]]), float(down[rows[best], 0]))


def _autocorrelation(values: Doubles) -> Doubles:
    height, width = values.shape
    spectrum = np.fft.rfft2(values, (2 * height, 2 * width))
    full = np.fft.irfft2(np.abs(spectrum) ** 2, (2 * height, 2 * width))
    rows, columns = np.fft.fftfreq(height, 1 / height).astype(int), np.fft.fftfreq(width, 1 / width).astype(int)
    return np.asarray(full[np.ix_(rows, columns)])


def _prominence(middle: Floats, row: int, column: int) -> float:
    height, width = middle.shape
    steps = np.linspace(0.25, 0.75, 9)
    y = np.rint(height // 2 + (row - height // 2) * steps).astype(int)
    x = np.rint(width // 2 + (column - width // 2) * steps).astype(int)
    valley = float(middle[y, x].min())
    value = float(middle[row, column])
    return value if valley < 0.5 * value else value - valley
