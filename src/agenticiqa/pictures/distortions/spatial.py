"""Spatial distortions: jitter, moved patches, pixelation, few grey levels, colour blocks."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from agenticiqa.pictures.distortions.colour_spaces import Pixels
from agenticiqa.pictures.distortions.eight_bit import to_bytes

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


def pixelate(rgb: Pixels, strength: float, rng: np.random.Generator) -> Pixels:
    """Fewer, larger pixels."""
    del rng
    scale = 0.95 - strength**0.6
    height, width = rgb.shape[:2]
    small = (max(1, round(width * scale)), max(1, round(height * scale)))
    shrunk = cv2.resize(rgb, small, interpolation=cv2.INTER_NEAREST_EXACT)
    return np.asarray(cv2.resize(shrunk, (width, height), interpolation=cv2.INTER_NEAREST_EXACT), np.float32)


def quantization(rgb: Pixels, thresholds: float, rng: np.random.Generator) -> Pixels:
    """Few levels per channel, placed where they lose least (Otsu's criterion)."""
    del rng
    values = to_bytes(rgb)
    histogram = np.bincount(values.ravel(), minlength=256).astype(np.float64)
    return otsu_levels(histogram, round(thresholds) + 1)[values]


def color_block(rgb: Pixels, count: float, rng: np.random.Generator) -> Pixels:
    """Uniform squares of random colour."""
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
    return _class_means(_boundaries(cuts), mass, moment)


def _boundaries(cuts: list[npt.NDArray[np.intp]]) -> list[int]:
    """Walk the best cuts back from the last value."""
    edges = [256]
    for cut in reversed(cuts):
        edges.append(int(cut[edges[-1]]))
    return [*reversed(edges)]


def _class_means(
    starts: list[int],
    mass: npt.NDArray[np.float64],
    moment: npt.NDArray[np.float64],
) -> Pixels:
    levels = np.zeros(256, np.float32)
    for start, stop in zip([0, *starts[:-1]], starts, strict=True):
        if stop > start:
            weight = mass[stop] - mass[start]
            middle = (start + stop - 1) / 2
            levels[start:stop] = ((moment[stop] - moment[start]) / weight if weight else middle) / 255
    return levels
