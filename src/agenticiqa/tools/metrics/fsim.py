"""FSIM: feature similarity, from phase congruency, gradients and colour."""

import math
from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np

from agenticiqa.tools.metrics.base import Array, FloatArray, Measurement
from agenticiqa.tools.metrics.filters import (
    YIQ,
    magnitude,
    scharr_magnitude,
    similarity,
    total,
    transform_colours,
    viewing_factor,
)
from agenticiqa.tools.metrics.views import Picture, Views

# --- FSIM: feature similarity, from phase congruency, gradients and colour ---


T_PHASE, T_GRADIENT, T_COLOUR, COLOUR_POWER = 0.85, 160.0, 200.0, 0.03


def _features(picture: Picture, factor: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    def make() -> tuple[FloatArray, FloatArray, FloatArray]:
        yiq = transform_colours(picture.pooled_rgb(factor), YIQ)
        luma = np.ascontiguousarray(yiq[..., 0])
        return yiq, phase_congruency(luma), scharr_magnitude(luma)

    return picture.share("fsim", make)


def fsim(views: Views) -> Measurement:
    """Feature similarity with colour (FSIMc). ``value``, 0 to 1 (equal pictures); ``map``: local similarity."""
    factor = viewing_factor(views.size)
    features = views.on_both(lambda picture: _features(picture, factor))
    (yiq_one, phase_one, gradient_one), (yiq_other, phase_other, gradient_other) = features
    found = similarity(phase_one, phase_other, T_PHASE)
    found *= similarity(gradient_one, gradient_other, T_GRADIENT)
    colour = similarity(yiq_one[..., 1], yiq_other[..., 1], T_COLOUR)
    colour *= similarity(yiq_one[..., 2], yiq_other[..., 2], T_COLOUR)
    found *= np.abs(colour) ** np.float32(COLOUR_POWER)
    weights = np.maximum(phase_one, phase_other)
    weight = total(weights)
    # Two pictures without a single feature leave nothing to weight by.
    value = float(np.vdot(found, weights)) / weight if weight > 0 else total(found) / found.size
    return Measurement(min(value, 1.0), map=found)


# --- Phase congruency after Kovesi, with the constants that FSIM uses ---


SCALES = 4
ORIENTATIONS = 4
SHORTEST_WAVE = 6
BANDWIDTH = 0.55
ANGULAR_SPREAD = 1.2
NOISE_DEVIATIONS = 2.0
# Kovesi's empirical correction of the noise estimate for this measure of congruency.
NOISE_OVERESTIMATE = 1.7
CUTOFF, SHARPNESS = 0.45, 15


@dataclass(frozen=True)
class _Bank:
    """Filters in the frequency domain and, per orientation, how noise passes through them."""

    filters: tuple[tuple[FloatArray, ...], ...]
    noise_gain: tuple[float, ...]


def _frequencies(count: int) -> FloatArray:
    """Frequencies in FFT order; for odd counts the published code divides by ``count - 1``."""
    divisor = count - 1 if count % 2 and count > 1 else count
    steps = np.fft.ifftshift(np.arange(count) - count // 2)
    return np.asarray(steps / divisor, np.float32)


@lru_cache(maxsize=4)
def _bank(height: int, width: int) -> _Bank:
    # The published code runs its "x" down the rows; with the angles below that only names the axes.
    along_rows = _frequencies(height)[:, None].astype(np.float64)
    along_columns = _frequencies(width)[None, :].astype(np.float64)
    radius = np.sqrt(along_rows**2 + along_columns**2)
    angle = np.arctan2(-along_columns, along_rows + np.zeros_like(along_columns))
    lowpass = 1 / (1 + (radius / CUTOFF) ** (2 * SHARPNESS))
    radius[0, 0] = 1
    radial = []
    for scale in range(SCALES):
        centre = 1 / (SHORTEST_WAVE * 2**scale)
        gabor = np.exp(-(np.log(radius / centre) ** 2) / (2 * math.log(BANDWIDTH) ** 2)) * lowpass
        gabor[0, 0] = 0
        radial.append(gabor)
    spread_sigma = math.pi / (ORIENTATIONS * ANGULAR_SPREAD)
    filters, gains = [], []
    for orientation in range(ORIENTATIONS):
        turn = angle - orientation * math.pi / ORIENTATIONS
        distance = np.abs(np.arctan2(np.sin(turn), np.cos(turn)))
        spread = np.exp(-(distance**2) / (2 * spread_sigma**2))
        bank = [spread * gabor for gabor in radial]
        gains.append(_noise_gain(bank))
        filters.append(tuple(one.astype(np.float32) for one in bank))
    return _Bank(tuple(filters), tuple(gains))


def _noise_gain(bank: list[FloatArray]) -> float:
    """Threshold per square root of the median squared response of the finest filter.

    If the finest scale holds noise only, its squared response is chi-squared with two degrees of freedom,
    whose median gives its mean; the filters then tell how much of it reaches the summed energy, which is
    Rayleigh distributed.
    """
    from scipy import fft

    height, width = bank[0].shape
    kernels = [fft.ifft2(one).real * math.sqrt(height * width) for one in bank]
    own = sum(float((kernel**2).sum()) for kernel in kernels)
    crossed = sum(
        float((kernels[first] * kernels[second]).sum())
        for first in range(SCALES)
        for second in range(first + 1, SCALES)
    )
    finest_power = float((bank[0] ** 2).sum())
    noise_power = 1 / (-math.log(0.5) * finest_power)
    energy_squared = 2 * noise_power * own + 4 * noise_power * crossed
    rayleigh = math.sqrt(max(energy_squared, 0.0) / 2)
    expected = rayleigh * math.sqrt(math.pi / 2)
    deviation = rayleigh * math.sqrt(2 - math.pi / 2)
    return (expected + NOISE_DEVIATIONS * deviation) / NOISE_OVERESTIMATE


def phase_congruency(luma: FloatArray) -> FloatArray:
    """Phase congruency of a luma picture on the 0..255 scale, 0 (none) to 1.

    >>> float(phase_congruency(np.zeros((16, 16), np.float32)).max())
    0.0
    """
    # Imported when first needed: SciPy takes longer to import than many a metric to run.
    from scipy import fft

    height, width = luma.shape
    bank = _bank(height, width)
    spectrum = fft.fft2(luma.astype(np.float32, copy=False))
    tiny = np.finfo(np.float32).eps
    energy_sum = np.zeros(luma.shape, np.float32)
    amplitude_sum = np.full(luma.shape, tiny, np.float32)
    for filters, noise_gain in zip(bank.filters, bank.noise_gain, strict=True):
        responses = [_response(spectrum * one) for one in filters]
        total_even, total_odd = (part.copy() for part in responses[0])
        for even, odd in responses[1:]:
            total_even += even
            total_odd += odd
        strength = magnitude(total_even, total_odd)
        finest = magnitude(*responses[0])
        amplitude_sum += finest
        for even, odd in responses[1:]:
            amplitude_sum += magnitude(even, odd)
        # Part of every response that is out of phase with the sum, by the cross product.
        across = np.zeros(luma.shape, np.float32)
        for even, odd in responses:
            cross = np.multiply(even, total_odd, out=even)
            cross -= np.multiply(odd, total_even, out=odd)
            across += np.abs(cross, out=cross)
        across /= strength + tiny
        middle = (finest.size - 1) // 2
        median = float(np.partition(finest, middle, axis=None)[middle])
        strength -= across
        strength -= np.float32(noise_gain * median)
        energy_sum += np.maximum(strength, 0, out=strength)
    energy_sum /= amplitude_sum
    return energy_sum


def _response(spectrum: Array) -> tuple[FloatArray, FloatArray]:
    """Even and odd filter response: real and imaginary part of the inverse transform."""
    pairs = np.ascontiguousarray(spectrum, np.complex64).view(np.float32).reshape(*spectrum.shape, 2)
    even, odd = cv2.split(cv2.dft(pairs, flags=cv2.DFT_INVERSE | cv2.DFT_SCALE))
    return np.asarray(even, np.float32), np.asarray(odd, np.float32)
