"""Colour distortions: diffusion, shift, a small palette, and two ways to change saturation."""

from __future__ import annotations

import math

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image

from agenticiqa.pictures.distortions.colour_spaces import Pixels, from_lab, grey_of, to_lab
from agenticiqa.pictures.distortions.eight_bit import from_bytes, to_bytes

_EDGE_SIGMA = 4.0
_EDGE_FLOOR = 0.1
_PALETTE_SAMPLE = 8192
_PALETTE_ROUNDS = 5


def color_diffusion(rgb: Pixels, amount: float, rng: np.random.Generator) -> Pixels:
    """Colour runs over the outlines: a and b of L*a*b* are blurred, then strengthened."""
    del rng
    lab = to_lab(rgb)
    blurred = cv2.GaussianBlur(lab[..., 1:], (0, 0), 1.5 * amount + 2, borderType=cv2.BORDER_REPLICATE)
    lab[..., 1:] = amount * blurred
    return from_lab(lab)


def color_shift(rgb: Pixels, distance: float, rng: np.random.Generator) -> Pixels:
    """The green channel slips by some pixels in a random direction where the picture has edges."""
    angle = float(rng.uniform(0, 2 * math.pi))
    move = np.array([[1, 0, distance * math.cos(angle)], [0, 1, distance * math.sin(angle)]], np.float32)
    height, width = rgb.shape[:2]
    green = np.ascontiguousarray(rgb[..., 1])
    moved = cv2.warpAffine(green, move, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    result = rgb.copy()
    result[..., 1] += edge_weight(rgb) * (np.asarray(moved, np.float32) - green)
    return np.asarray(result, np.float32)


def edge_weight(rgb: Pixels) -> Pixels:
    """From 0 in flat parts to 1 along the picture's strongest edges."""
    grey = grey_of(rgb)
    slopes = [cv2.Sobel(grey, cv2.CV_32F, across, 1 - across, ksize=1) for across in (0, 1)]
    edges = cv2.GaussianBlur(np.hypot(*slopes), (0, 0), _EDGE_SIGMA)
    # Weak edges are cut off, and the strongest percent is one, so that a single hard edge does not hide the rest.
    edges = np.maximum(edges / max(float(edges.max()), 1e-9), _EDGE_FLOOR)
    low, high = np.percentile(edges, [1, 99])
    return np.asarray(((edges - low) / max(high - low, 1e-6)).clip(0, 1), np.float32)


def color_quantization(rgb: Pixels, colors: float, rng: np.random.Generator) -> Pixels:
    """A palette of few colours with error-diffusion dithering."""
    del rng
    picture = Image.fromarray(to_bytes(rgb))
    palette = Image.new("P", (1, 1))
    palette.putpalette(best_colors(np.asarray(picture), round(colors)).tobytes())
    dithered = picture.quantize(palette=palette, dither=Image.Dither.FLOYDSTEINBERG)
    return from_bytes(np.asarray(dithered.convert("RGB")))


def best_colors(values: npt.NDArray[np.uint8], count: int) -> npt.NDArray[np.uint8]:
    """Median cut, then a few rounds of k-means on a sample of the pixels."""
    cut = Image.fromarray(values).quantize(count, method=Image.Quantize.MEDIANCUT)
    # None only for pictures without a palette, which this one has.
    start: npt.NDArray[np.float32] = np.array((cut.getpalette() or [])[: 3 * count], np.float32).reshape(-1, 3)
    pixels = values.reshape(-1, 3)
    sample = pixels[:: max(1, len(pixels) // _PALETTE_SAMPLE)].astype(np.float32)
    for _ in range(_PALETTE_ROUNDS):
        nearest = ((sample**2).sum(1)[:, None] - 2 * sample @ start.T + (start**2).sum(1)).argmin(axis=1)
        weight = np.bincount(nearest, minlength=len(start)).astype(np.float32)
        total = np.stack([np.bincount(nearest, sample[:, channel], len(start)) for channel in range(3)], axis=1)
        start = np.where(weight[:, None] > 0, total / np.maximum(weight, 1)[:, None], start).astype(np.float32)
    return np.asarray(np.rint(start), np.uint8)


def color_saturation_1(rgb: Pixels, factor: float, rng: np.random.Generator) -> Pixels:
    """HSV saturation multiplied; a negative factor turns colours into their complements."""
    del rng
    # A channel is V (1 - S k) with k depending on hue alone, so scaling S scales its distance to V = max(R, G, B).
    value = rgb.max(axis=2, keepdims=True)
    return np.asarray(value - np.float32(factor) * (value - rgb), np.float32)


def color_saturation_2(rgb: Pixels, factor: float, rng: np.random.Generator) -> Pixels:
    """Chroma multiplied: a and b of L*a*b*."""
    del rng
    lab = to_lab(rgb)
    lab[..., 1:] *= np.float32(factor)
    return from_lab(lab)
