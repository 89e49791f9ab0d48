"""What breaks a picture: compression by the real codecs, noise, and spatial distortions."""

from __future__ import annotations

import io
from itertools import pairwise

import cv2
import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view
from PIL import Image, features
from scipy.fft import dct
from training.distortions.filters import Pixels, from_bytes, from_ycbcr, to_bytes, to_ycbcr
from training.distortions.protocol import DistortionError


def jpeg(rgb: Pixels, quality: float, _rng: np.random.Generator) -> Pixels:
    """Baseline JPEG with chroma at half resolution, as most encoders do by default."""
    buffer = io.BytesIO()
    Image.fromarray(to_bytes(rgb)).save(buffer, "JPEG", quality=round(quality), subsampling="4:2:0")
    return _decoded(buffer)


def jpeg2000(rgb: Pixels, ratio: float, _rng: np.random.Generator) -> Pixels:
    """JPEG 2000, lossy wavelet, at a ratio of raw size to compressed size."""
    if not features.check_codec("jpg_2000"):
        raise DistortionError(
            "This Pillow was built without JPEG 2000.", hint="Install Pillow's wheel from PyPI, or choose another kind."
        )
    picture = Image.fromarray(to_bytes(rgb))
    # Five wavelet levels need 32 pixels; smaller pictures get as many as they have room for.
    resolutions = max(1, min(6, min(picture.size).bit_length()))
    buffer = io.BytesIO()
    picture.save(
        buffer,
        "JPEG2000",
        quality_mode="rates",
        quality_layers=[float(ratio)],
        irreversible=True,
        num_resolutions=resolutions,
    )
    return _decoded(buffer)


def _decoded(buffer: io.BytesIO) -> Pixels:
    buffer.seek(0)
    with Image.open(buffer) as picture:
        return from_bytes(np.asarray(picture.convert("RGB")))


# --- Noise ---


_SIDE = 8
_STEP = 2
_THRESHOLD = 2.7
_DCT = dct(np.eye(_SIDE), axis=0, norm="ortho").astype(np.float32)


def white_noise(rgb: Pixels, variance: float, rng: np.random.Generator) -> Pixels:
    return rgb + _gaussian(rgb, variance, rng)


def white_noise_color(rgb: Pixels, variance: float, rng: np.random.Generator) -> Pixels:
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


# --- Spatial distortions: jitter, moved patches, pixelation, few grey levels, colour blocks ---


_JITTER_ROUNDS = 5
_PATCH_SIDE = 16
_PATCH_REACH = 8
_BLOCK_SIDE = 32


def jitter(rgb: Pixels, deviation: float, rng: np.random.Generator) -> Pixels:
    """Every pixel is fetched from a little way off, five times over."""
    height, width = rgb.shape[:2]
    x, y = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
    for _ in range(_JITTER_ROUNDS):
        off = np.float32(deviation) * rng.standard_normal((2, height, width), dtype=np.float32)
        moved = cv2.remap(rgb, x + off[0], y + off[1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT_101)
        rgb = np.asarray(moved, np.float32)
    return rgb


def non_eccentricity_patch(rgb: Pixels, count: float, rng: np.random.Generator) -> Pixels:
    """Small patches are copied to a place close by."""
    result = rgb.copy()
    high, wide = min(_PATCH_SIDE, rgb.shape[0]), min(_PATCH_SIDE, rgb.shape[1])
    lowest, rightmost = rgb.shape[0] - high, rgb.shape[1] - wide
    for _ in range(round(count)):
        top, left = int(rng.integers(lowest + 1)), int(rng.integers(rightmost + 1))
        down, across = rng.integers(-_PATCH_REACH, _PATCH_REACH + 1, 2)
        to_top, to_left = int(np.clip(top + down, 0, lowest)), int(np.clip(left + across, 0, rightmost))
        result[to_top : to_top + high, to_left : to_left + wide] = rgb[top : top + high, left : left + wide]
    return np.asarray(result, np.float32)


def pixelate(rgb: Pixels, strength: float, _rng: np.random.Generator) -> Pixels:
    scale = 0.95 - strength**0.6
    height, width = rgb.shape[:2]
    small = (max(1, round(width * scale)), max(1, round(height * scale)))
    shrunk = cv2.resize(rgb, small, interpolation=cv2.INTER_NEAREST_EXACT)
    return np.asarray(cv2.resize(shrunk, (width, height), interpolation=cv2.INTER_NEAREST_EXACT), np.float32)


def quantization(rgb: Pixels, thresholds: float, _rng: np.random.Generator) -> Pixels:
    """Few levels per channel, placed where they lose least (Otsu's criterion)."""
    values = to_bytes(rgb)
    histogram = np.bincount(values.ravel(), minlength=256).astype(np.float64)
    return otsu_levels(histogram, round(thresholds) + 1)[values]


def color_block(rgb: Pixels, count: float, rng: np.random.Generator) -> Pixels:
    result = rgb.copy()
    high, wide = min(_BLOCK_SIDE, rgb.shape[0]), min(_BLOCK_SIDE, rgb.shape[1])
    for _ in range(round(count)):
        top, left = int(rng.integers(rgb.shape[0] - high + 1)), int(rng.integers(rgb.shape[1] - wide + 1))
        result[top : top + high, left : left + wide] = rng.random(3, dtype=np.float32)
    return np.asarray(result, np.float32)


def otsu_levels(histogram: npt.NDArray[np.float64], classes: int) -> Pixels:
    """For each of 256 values the mean of its class, classes chosen for the least variance within.

    >>> two = np.zeros(256); two[[10, 20, 200]] = 1
    >>> sorted({round(255 * float(level)) for level in otsu_levels(two, 2)})
    [15, 200]
    """
    values = np.arange(256)
    mass = np.concatenate([[0.0], histogram.cumsum()])
    moment = np.concatenate([[0.0], (histogram * values).cumsum()])
    # gain[i, j]: what a class of the values i..j-1 adds to the variance between classes.
    weight = mass[None, :] - mass[:, None]
    gain = np.where(weight > 0, (moment[None, :] - moment[:, None]) ** 2 / np.where(weight > 0, weight, 1), -np.inf)
    gain[np.arange(257)[:, None] > np.arange(257)[None, :]] = -np.inf
    gain[(weight == 0) & (np.arange(257)[:, None] <= np.arange(257)[None, :])] = 0.0
    best, cuts = gain[0], []
    for _ in range(classes - 1):
        options = best[:, None] + gain
        cuts.append(options.argmax(axis=0))
        best = options.max(axis=0)
    # Walk the best cuts back from the last value.
    edges = [256]
    for cut in reversed(cuts):
        edges.append(int(cut[edges[-1]]))
    levels = np.zeros(256, np.float32)
    for start, stop in pairwise([0, *reversed(edges)]):
        if stop > start:
            inside = mass[stop] - mass[start]
            mean = (moment[stop] - moment[start]) / inside if inside else (start + stop - 1) / 2
            levels[start:stop] = mean / 255
    return levels
