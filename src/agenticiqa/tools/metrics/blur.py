"""Probes of blur: how wide edges are, and direction and length of a straight smear."""

import math

import cv2
import numpy as np

from agenticiqa.tools.metrics.base import FloatArray, Measurement
from agenticiqa.tools.metrics.views import Views

# --- Sharpness probe: how many pixels wide the picture's edges are ---


WIDEST = 100.0
# An edge counts when it is at least this high (on 0..1) and stands out from this picture's other edges.
LOWEST_EDGE = 0.06
CLEAREST_SHARE = 0.3
LARGEST_SAMPLE = 1 << 22


def sharpness(views: Views) -> Measurement:
    """Median edge width in pixels: about 1 for a hard step, more for blur.

    ``details``: edge widths across and down, ``edges``, ``laplacian_variance``.
    """
    luma = _sample(views.test.luma())
    widths, heights = _edges(luma)
    widths_down, heights_down = _edges(np.ascontiguousarray(luma.T))
    width_across, width_down = _typical(widths, heights), _typical(widths_down, heights_down)
    typical = _typical(np.concatenate([widths, widths_down]), np.concatenate([heights, heights_down]))
    laplacian = cv2.Laplacian(luma, cv2.CV_32F)
    return Measurement(
        typical,
        details={
            "edge_width_across": width_across,
            "edge_width_down": width_down,
            "edges": float(widths.size + widths_down.size),
            "laplacian_variance": float(laplacian.var(dtype=np.float64)) * 255**2,
        },
    )


def _sample(luma: FloatArray) -> FloatArray:
    """The middle of a very large picture: edge widths must be measured at full resolution."""
    height, width = luma.shape
    if height * width <= LARGEST_SAMPLE:
        return luma
    keep = (LARGEST_SAMPLE / (height * width)) ** 0.5
    top, left = int(height * (1 - keep) / 2), int(width * (1 - keep) / 2)
    return luma[top : height - top, left : width - left]


def _edges(luma: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Width and height of each rise or fall along the rows."""
    slope = np.diff(luma, axis=1)
    direction = np.sign(slope).astype(np.int8)
    turns = np.ones(direction.shape, bool)
    turns[:, 1:] = direction[:, 1:] != direction[:, :-1]
    starts = np.flatnonzero(turns.ravel())
    flat = slope.ravel()
    heights = np.abs(np.add.reduceat(flat, starts, dtype=np.float32))
    steepest = np.maximum.reduceat(np.abs(flat), starts)
    clear = heights >= LOWEST_EDGE
    heights = heights[clear]
    return np.asarray(heights / steepest[clear], np.float32), np.asarray(heights, np.float32)


def _typical(widths: FloatArray, heights: FloatArray) -> float:
    if widths.size == 0:
        return WIDEST
    clearest = heights >= np.quantile(heights, 1 - CLEAREST_SHARE)
    return min(WIDEST, float(np.median(widths[clearest])))


# --- Motion blur probe: direction and length of a straight smear ---


LARGEST_SIDE = 768
# Below this, natural pictures without motion blur differ as much between directions.
DIRECTIONAL = 0.6
BAND = (0.04, 0.3)
SECTORS = 60
SHORTEST, LONGEST = 4, 200.0
HIGHEST_FREQUENCY = 0.3


def motion_blur(views: Views) -> Measurement:
    """Length of motion blur in pixels, 0 where none is found; ``details``: ``degrees``, ``directionality`` (0 to 1)."""
    luma = _middle(views.test.luma())
    radians, directionality = _direction(luma)
    length = _length(luma, radians) if directionality >= DIRECTIONAL else 0.0
    details = {"degrees": math.degrees(radians), "directionality": directionality}
    return Measurement(min(length, LONGEST), details=details)


def _middle(luma: FloatArray) -> FloatArray:
    height, width = luma.shape
    top, left = max(0, (height - LARGEST_SIDE) // 2), max(0, (width - LARGEST_SIDE) // 2)
    return np.ascontiguousarray(luma[top : top + LARGEST_SIDE, left : left + LARGEST_SIDE])


def _direction(luma: FloatArray) -> tuple[float, float]:
    """Direction of the smear and how clearly it shows, 0 to 1.

    Smearing takes power from frequencies along it and leaves those across. The logarithm of the power, by
    angle, then has a trough along the smear and a ridge across: its second harmonic. Upright and level edges,
    which most scenes are full of, cancel in that harmonic.
    """
    height, width = luma.shape
    window = np.outer(np.hanning(height), np.hanning(width)).astype(np.float32)
    spectrum = np.abs(np.fft.rfft2((luma - luma.mean()) * window)) ** 2
    down, across = np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None, :]
    radius = np.hypot(down, across)
    inside = (radius > BAND[0]) & (radius < BAND[1])
    power = np.log(spectrum[inside] + 1e-9 * spectrum.max() + 1e-12)
    # Rows run downwards, angles counter-clockwise.
    angles = np.arctan2(-down, across + np.zeros_like(down))[inside]
    # All power falls with frequency; only its dependence on the angle is wanted.
    rings = (radius[inside] * 200).astype(int)
    ring_counts = np.maximum(np.bincount(rings), 1)
    power = power - (np.bincount(rings, power) / ring_counts)[rings]
    sectors = np.minimum(((angles + np.pi / 2) / np.pi * SECTORS).astype(int), SECTORS - 1)
    filled = np.bincount(sectors, minlength=SECTORS)
    by_sector = np.bincount(sectors, power, minlength=SECTORS) / np.maximum(filled, 1)
    centres = (np.arange(SECTORS) + 0.5) / SECTORS * np.pi - np.pi / 2
    harmonic = complex((by_sector * np.exp(2j * centres)).mean())
    radians = (np.angle(harmonic) / 2 + np.pi / 2) % np.pi
    return float(radians), float(-np.expm1(-2 * abs(harmonic)))


def _length(luma: FloatArray, radians: float) -> float:
    """A smear of n pixels has no power at the frequencies k / n: the cepstrum dips at lag n."""
    height, width = luma.shape
    turn = cv2.getRotationMatrix2D((width / 2, height / 2), -math.degrees(radians), 1.0)
    turned = cv2.warpAffine(luma, turn, (width, height), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT)
    side = int(min(height, width) / math.sqrt(2))
    top, left = (height - side) // 2, (width - side) // 2
    slope = np.diff(turned[top : top + side, left : left + side], axis=1)
    power = (np.abs(np.fft.rfft(slope * np.hanning(side - 1), n=2 * side, axis=1)) ** 2).mean(axis=0)
    frequency = np.arange(power.size) / (2 * side)
    used = (frequency > 1 / side) & (frequency < HIGHEST_FREQUENCY)
    if power.max() <= 0:
        return 0.0
    logarithm = np.log(power[used] + 1e-6 * power.max())
    # What falls smoothly with frequency is the scene and the lens, not the smear.
    trend = np.polynomial.Polynomial.fit(frequency[used], logarithm, 3)
    comb = np.zeros_like(power)
    comb[used] = (logarithm - trend(frequency[used])) * np.hanning(2 * used.sum())[used.sum() :]
    cepstrum = np.fft.irfft(comb)[: max(SHORTEST + 2, side // 4)]
    lag = SHORTEST + int(cepstrum[SHORTEST:].argmin())
    return float(lag) if cepstrum[lag] < 0 else 0.0
