"""Noise: Gaussian, in colour components, impulse, multiplicative, and what a denoiser leaves behind."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.fft import dct

from agenticiqa.pictures.distortions.colour_spaces import Pixels, from_ycbcr, to_ycbcr

_SIDE = 8
_STEP = 2
_THRESHOLD = 2.7
_DCT = dct(np.eye(_SIDE), axis=0, norm="ortho").astype(np.float32)


def white_noise(rgb: Pixels, variance: float, rng: np.random.Generator) -> Pixels:
    return rgb + _gaussian(rgb, variance, rng)


def white_noise_color(rgb: Pixels, variance: float, rng: np.random.Generator) -> Pixels:
    """Gaussian noise on Y, Cb and Cr."""
    return from_ycbcr(to_ycbcr(rgb) + _gaussian(rgb, variance, rng))


def impulse_noise(rgb: Pixels, density: float, rng: np.random.Generator) -> Pixels:
    """Salt and pepper: this share of all samples becomes 0 or 1, each channel by itself."""
    draw = rng.random(rgb.shape, dtype=np.float32)
    noisy = rgb.copy()
    noisy[draw < density / 2] = 0
    noisy[draw > 1 - density / 2] = 1
    return np.asarray(noisy, np.float32)


def multiplicative_noise(rgb: Pixels, variance: float, rng: np.random.Generator) -> Pixels:
    """Speckle: uniform noise of this variance, times the picture."""
    half_width = np.float32((3 * variance) ** 0.5)
    factor = 1 + half_width * (2 * rng.random(rgb.shape, dtype=np.float32) - 1)
    return np.asarray(rgb * factor, np.float32)


def denoise(rgb: Pixels, variance: float, rng: np.random.Generator) -> Pixels:
    """Strong noise, then a denoiser that cannot undo it.

    KADID-10k uses a trained network (DnCNN) on each channel. Here a classical one stands in: overlapping 8×8 cosine
    transforms with hard thresholding, which smears texture and leaves faint waves in a similar way.
    """
    noisy = (rgb + _gaussian(rgb, variance, rng)).clip(0, 1)
    cut = np.float32(_THRESHOLD * variance**0.5)
    return np.stack([_thresholded(noisy[..., channel], cut) for channel in range(3)], axis=2)


def _gaussian(rgb: Pixels, variance: float, rng: np.random.Generator) -> Pixels:
    return np.asarray(np.float32(variance**0.5) * rng.standard_normal(rgb.shape, dtype=np.float32), np.float32)


def _thresholded(channel: Pixels, cut: np.float32) -> Pixels:
    height, width = channel.shape
    # Enough border that every pixel lies in as many blocks as any other, and the last block ends on the grid.
    bottom, right = _SIDE + (-height) % _STEP, _SIDE + (-width) % _STEP
    padded = np.pad(channel, ((_SIDE, bottom), (_SIDE, right)), mode="symmetric" if min(height, width) > 16 else "edge")
    blocks = sliding_window_view(padded, (_SIDE, _SIDE))[::_STEP, ::_STEP]
    spectrum = _DCT @ blocks @ _DCT.T
    average = spectrum[..., 0, 0].copy()
    spectrum[np.abs(spectrum) < cut] = 0
    spectrum[..., 0, 0] = average
    total = _overlapped(_DCT.T @ spectrum @ _DCT, padded.shape)
    # Away from the border, which is cut off, every pixel is the sum of as many blocks.
    average_of = (_SIDE // _STEP) ** 2
    return np.asarray(total[_SIDE : _SIDE + height, _SIDE : _SIDE + width] / average_of, np.float32)


def _overlapped(blocks: Pixels, shape: tuple[int, ...]) -> Pixels:
    """The sum of blocks laid out on a grid of ``_STEP`` pixels."""
    total = np.zeros(shape, np.float32)
    stride = _SIDE // _STEP
    for down in range(stride):
        for across in range(stride):
            # Blocks a whole side apart tile the plane without overlap and can be added at once.
            part = blocks[down::stride, across::stride]
            tiled = part.transpose(0, 2, 1, 3).reshape(part.shape[0] * _SIDE, part.shape[1] * _SIDE)
            top, left = down * _STEP, across * _STEP
            total[top : top + tiled.shape[0], left : left + tiled.shape[1]] += tiled
    return total
