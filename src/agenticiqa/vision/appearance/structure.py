"""Fine structure: how much there is, whether pixels hold what their number promises, colour fringes, repetition."""

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from agenticiqa.pictures.images import UInt8Image
from agenticiqa.vision.appearance.views import Floats, band_passed, luma, reduced

CELL = 32
MOST = 1024
SMALLEST = 64
SHOWN = 768


def middle(pixels: npt.NDArray[Any], side: int = MOST) -> npt.NDArray[Any]:
    """The middle of a large picture in its own pixels."""
    height, width = pixels.shape[:2]
    top, left = max(0, (height - side) // 2), max(0, (width - side) // 2)
    return pixels[top : top + side, left : left + side]


def detail_strength(rgb: UInt8Image) -> float:
    """How strong fine structure is where there is most of it (of 255), at the size at which a picture is looked at."""
    detail = band_passed(luma(reduced(rgb, SHOWN)), 0.0, 1.5)
    height, width = (max(1, side // CELL) for side in detail.shape)
    power = cv2.resize(detail**2, (width, height), interpolation=cv2.INTER_AREA)
    return 255 * float(np.percentile(np.sqrt(power), 95))


LEAST_MIDDLE, LEAST_END = -1.45, -2.0
"""How far the spectrum falls, in powers of ten, from a third of the way up to two thirds, and to the last pixels. No
sharp photograph of sixty falls farther; hardly any that was enlarged twofold falls less."""


def detail_loss(rgb: UInt8Image) -> float | None:
    """How much farther than in sharp photographs the spectrum falls: above 0, pixels hold less; None: too small."""
    grey = luma(middle(rgb))
    side = min(grey.shape) // 2 * 2
    if side < SMALLEST:
        return None
    part = middle(grey, side)
    window = np.outer(np.hanning(side), np.hanning(side))
    power = np.abs(np.fft.rfft2((part - part.mean()) * window)) ** 2
    down, across = np.fft.fftfreq(side)[:, None], np.fft.rfftfreq(side)[None, :]
    rings = (np.hypot(down, across) * 100).astype(int).ravel()
    by_ring = np.log10(np.bincount(rings, power.ravel()) / np.maximum(np.bincount(rings), 1) + 1e-9)
    to_middle = float(by_ring[28:36].mean() - by_ring[10:16].mean())
    to_end = float(by_ring[42:50].mean() - by_ring[12:20].mean())
    return max(LEAST_MIDDLE - to_middle, LEAST_END - to_end)


def fringe_width(rgb: UInt8Image) -> float:
    """How many pixels, at the corners, red or blue is magnified against green: what lateral aberration does."""
    part = reduced(rgb, FRINGE_SIDE).astype(np.float32) / 255
    height, width = part.shape[:2]
    corner = float(np.hypot(height, width)) / 2
    edges = [band_passed(np.ascontiguousarray(part[..., at]), 0.7, 3.0) for at in range(3)]
    found = [_magnification(edges[1], edges[at]) for at in (0, 2)]
    return max(abs(each) for each in found) * corner


FRINGE_SIDE = 1280
CLEARLY_BETTER = 0.01
"""In correlation: of sixty photographs none fits better by more, parted colours do by 0.05."""
MAGNIFICATIONS = np.arange(-0.012, 0.01201, 0.001)


def _magnification(green: Floats, other: Floats) -> float:
    """The relative size at which another channel's edges fit those of green best; 0 where none fits clearly better."""
    height, width = green.shape
    y, x = np.mgrid[:height, :width].astype(np.float32)
    outside = np.hypot((y - height / 2) / height, (x - width / 2) / width) > 0.25
    scores = []
    for more in MAGNIFICATIONS:
        turn = cv2.getRotationMatrix2D(((width - 1) / 2, (height - 1) / 2), 0, 1 + float(more))
        moved = cv2.warpAffine(other, turn, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
        a, b = green[outside], moved[outside]
        scores.append(float((a * b).sum() / np.sqrt((a**2).sum() * (b**2).sum() + 1e-12)))
    best = int(np.argmax(scores))
    unmoved = scores[len(scores) // 2]
    return float(MAGNIFICATIONS[best]) if scores[best] - unmoved > CLEARLY_BETTER else 0.0


# --- Whether something comes back at regular distances ---


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
