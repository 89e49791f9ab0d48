"""Motion blur probe: direction and length of a straight smear."""

from __future__ import annotations

import math

import cv2
import numpy as np

from agenticiqa.tools.metrics.base import Array, FloatArray, Measurement, MetricSpec
from agenticiqa.tools.metrics.views import Picture, Views

SPEC = MetricSpec(
    name="motion_blur",
    kind="probe",
    range=(0.0, 200.0),
    higher_is_better=False,
    variant="length of the smear: lag of the deepest dip in the cepstrum along the "
    "direction in which fine detail is weakest; 0 when no direction stands out. Details: degrees "
    "(counter-clockwise from horizontal) and directionality",
    paper="after Cannon, Blind deconvolution of spatially invariant image blurs with phase, IEEE TASSP, 1976 "
    "(the cepstral dip)",
    good_at=("Blurs",),
    minimum_size=(48, 48),
    unit="pixels",
    bytes_per_pixel=18,
)

LARGEST_SIDE = 768
# Below this, natural pictures without motion blur differ as much between directions.
DIRECTIONAL = 0.6
BAND = (0.04, 0.3)
SECTORS = 60
SHORTEST = 4
HIGHEST_FREQUENCY = 0.3


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    """Length of motion blur in pixels, 0 for none found.

    >>> measure(np.zeros((64, 64))).value
    0.0
    """
    views = Views.of(test, reference, SPEC)
    luma = _middle(views.test.luma())
    radians, directionality = _direction(luma)
    length = _length(luma, radians) if directionality >= DIRECTIONAL else 0.0
    details = {"degrees": math.degrees(radians), "directionality": directionality}
    return Measurement(min(length, SPEC.range[1]), details=details)


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
