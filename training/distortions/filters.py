"""What changes every pixel alike: blurs, tone curves, colour changes, sharpening; and the colour spaces they use."""

from __future__ import annotations

import math

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image


def to_bytes(rgb: Pixels) -> npt.NDArray[np.uint8]:
    """Clipped to 0..1 and rounded.

    >>> to_bytes(np.array([-1.0, 0.5, 2.0], np.float32)).tolist()
    [0, 128, 255]
    """
    return np.asarray(np.rint(rgb.clip(0, 1) * np.float32(255)), np.uint8)


def from_bytes(values: npt.NDArray[np.uint8]) -> Pixels:
    return np.divide(values, 255, dtype=np.float32)


# --- The colour spaces that distortions work in; all take and give float32 ---


Pixels = npt.NDArray[np.float32]

# ITU-R BT.601 in its studio range: Y from 16 to 235, Cb and Cr from 16 to 240, here divided by 255.
_TO_YCBCR = np.array(
    [[65.481, 128.553, 24.966], [-37.797, -74.203, 112.0], [112.0, -93.786, -18.214]],
    np.float32,
) / np.float32(255)
_OFFSET = np.array([16, 128, 128], np.float32) / np.float32(255)
_FROM_YCBCR = np.linalg.inv(_TO_YCBCR.astype(np.float64)).astype(np.float32)
_GREY = np.array([0.2989, 0.5870, 0.1140], np.float32)


def to_lab(rgb: Pixels) -> Pixels:
    """CIE L*a*b* (L from 0 to 100) of sRGB in 0..1."""
    return np.asarray(cv2.cvtColor(np.ascontiguousarray(rgb), cv2.COLOR_RGB2Lab), np.float32)


def from_lab(lab: Pixels) -> Pixels:
    """sRGB of L*a*b*, colours outside the screen's gamut clipped to it."""
    return np.asarray(cv2.cvtColor(np.ascontiguousarray(lab), cv2.COLOR_Lab2RGB), np.float32).clip(0, 1)


def to_ycbcr(rgb: Pixels) -> Pixels:
    """Studio-range YCbCr, black at Y = 16/255.

    >>> [round(float(value) * 255, 3) for value in to_ycbcr(np.ones((1, 1, 3), np.float32))[0, 0]]
    [235.0, 128.0, 128.0]
    """
    return np.asarray(rgb @ _TO_YCBCR.T + _OFFSET, np.float32)


def from_ycbcr(ycbcr: Pixels) -> Pixels:
    return np.asarray((ycbcr - _OFFSET) @ _FROM_YCBCR.T, np.float32)


def grey_of(rgb: Pixels) -> Pixels:
    return np.asarray(rgb @ _GREY, np.float32)


# --- Blurs: Gaussian, out of focus, and motion. Borders repeat the outermost pixel ---


_SUBPIXELS = 16


def gaussian_blur(rgb: Pixels, sigma: float, _rng: np.random.Generator) -> Pixels:
    side = 2 * math.ceil(2 * sigma) + 1
    return np.asarray(cv2.GaussianBlur(rgb, (side, side), sigma, borderType=cv2.BORDER_REPLICATE), np.float32)


def lens_blur(rgb: Pixels, radius: float, _rng: np.random.Generator) -> Pixels:
    return _filtered(rgb, disk(radius))


def motion_blur(rgb: Pixels, length: float, rng: np.random.Generator) -> Pixels:
    return _filtered(rgb, line(length, float(rng.uniform(0, math.pi))))


def disk(radius: float) -> Pixels:
    """The share of each pixel that a disk covers, summing to one.

    >>> disk(1).shape, round(float(disk(1)[1, 1]), 2)
    ((3, 3), 0.32)
    """
    reach = math.ceil(radius - 0.5)
    fine = (np.arange((2 * reach + 1) * _SUBPIXELS) + 0.5) / _SUBPIXELS - reach - 0.5
    inside = (fine[:, None] ** 2 + fine[None, :] ** 2 <= radius**2).astype(np.float32)
    side = 2 * reach + 1
    kernel = inside.reshape(side, _SUBPIXELS, side, _SUBPIXELS).mean(axis=(1, 3))
    return np.asarray(kernel / kernel.sum(), np.float32)


def line(length: float, angle: float) -> Pixels:
    """A line of ``length`` pixels through the centre, its points shared among the pixels around them.

    >>> line(1, 0.7).tolist()
    [[1.0]]
    """
    half = max(0.0, (length - 1) / 2)
    reach = math.ceil(half)
    steps = np.linspace(-half, half, 64 * reach + 1)
    x, y = reach + steps * math.cos(angle), reach - steps * math.sin(angle)
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    kernel = np.zeros((2 * reach + 2, 2 * reach + 2))
    for down, across in ((0, 0), (0, 1), (1, 0), (1, 1)):
        weight = (1 - np.abs(x - left - across)) * (1 - np.abs(y - top - down))
        np.add.at(kernel, (top + down, left + across), weight)
    inner = kernel[: 2 * reach + 1, : 2 * reach + 1]
    return np.asarray(inner / inner.sum(), np.float32)


def _filtered(rgb: Pixels, kernel: Pixels) -> Pixels:
    return np.asarray(cv2.filter2D(rgb, -1, kernel, borderType=cv2.BORDER_REPLICATE), np.float32)


# --- Brightness and contrast: tone curves and shifts ---


_RGB_SHARE = np.float32(2 / 3)


def brighten(rgb: Pixels, amount: float, _rng: np.random.Generator) -> Pixels:
    """A curve that lifts the middle by half the amount and keeps black and white."""
    return _bent(rgb, amount)


def darken(rgb: Pixels, amount: float, _rng: np.random.Generator) -> Pixels:
    """The same curve downwards."""
    return _bent(rgb, -amount)


def mean_shift(rgb: Pixels, shift: float, _rng: np.random.Generator) -> Pixels:
    return np.asarray((rgb + np.float32(shift)).clip(0, 1), np.float32)


def contrast_change(rgb: Pixels, amount: float, _rng: np.random.Generator) -> Pixels:
    """A curve that moves the quarter tones apart (or together, below -0.2) and keeps black and white."""
    ends = (0.0, 0.3, 0.7, 1.0)
    targets = (0.0, 0.25 - amount / 4, 0.75 + amount / 4, 1.0)
    c0, c1, c2, c3 = np.linalg.solve(np.vander(ends, increasing=True), targets).astype(np.float32)
    return np.asarray((((c3 * rgb + c2) * rgb + c1) * rgb + c0).clip(0, 1), np.float32)


def _bent(rgb: Pixels, amount: float) -> Pixels:
    """The curve on R, G and B, mixed with the same curve on lightness alone, which keeps the colours."""
    lab = to_lab(rgb)
    lab[..., 0] = 100 * parabola(lab[..., 0] / np.float32(100), amount)
    return np.asarray(_RGB_SHARE * parabola(rgb, amount) + (1 - _RGB_SHARE) * from_lab(lab), np.float32)


def parabola(values: Pixels, amount: float) -> Pixels:
    """Through (0, 0), (1/2, 1/2 + amount/2) and (1, 1), clipped.

    >>> parabola(np.array([0, 0.5, 1], np.float32), 0.2).round(3).tolist()
    [0.0, 0.6000000238418579, 1.0]
    """
    return np.asarray((values + np.float32(2 * amount) * (values - values * values)).clip(0, 1), np.float32)


# --- Colour distortions: diffusion, shift, a small palette, and two ways to change saturation ---


_EDGE_SIGMA = 4.0
_EDGE_FLOOR = 0.1
_PALETTE_SAMPLE = 8192
_PALETTE_ROUNDS = 5


def color_diffusion(rgb: Pixels, amount: float, _rng: np.random.Generator) -> Pixels:
    """Colour runs over the outlines: a and b of L*a*b* are blurred, then strengthened."""
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


def color_quantization(rgb: Pixels, colors: float, _rng: np.random.Generator) -> Pixels:
    """A palette of few colours with error-diffusion dithering."""
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


def color_saturation_1(rgb: Pixels, factor: float, _rng: np.random.Generator) -> Pixels:
    """HSV saturation multiplied; a negative factor turns colours into their complements."""
    # A channel is V (1 - S k) with k depending on hue alone, so scaling S scales its distance to V = max(R, G, B).
    value = rgb.max(axis=2, keepdims=True)
    return np.asarray(value - np.float32(factor) * (value - rgb), np.float32)


def color_saturation_2(rgb: Pixels, factor: float, _rng: np.random.Generator) -> Pixels:
    """Chroma multiplied: a and b of L*a*b*."""
    lab = to_lab(rgb)
    lab[..., 1:] *= np.float32(factor)
    return from_lab(lab)


# --- Over-sharpening ---


_RADIUS = 3.0


def high_sharpen(rgb: Pixels, amount: float, _rng: np.random.Generator) -> Pixels:
    """Unsharp masking of lightness, far beyond good taste at the upper levels."""
    lab = to_lab(rgb)
    lightness = lab[..., 0]
    soft = cv2.GaussianBlur(lightness, (0, 0), _RADIUS, borderType=cv2.BORDER_REPLICATE)
    lab[..., 0] = (lightness + np.float32(amount) * (lightness - soft)).clip(0, 100)
    return from_lab(lab)
