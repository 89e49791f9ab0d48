"""What can be told of a picture without a model: brightness, information, edges, colour, and a small view of it.

The quantities are those of cleanvision, so that its users find their findings again: brightness at percentiles,
entropy of the histogram, and the spread of edges in the picture reduced to 64 pixels. A few tens of thousands of
pixels, evenly spread, stand for all.
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from math import ceil, sqrt

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFilter, ImageStat

from agenticiqa.pictures.images import LoadedImage
from agenticiqa.pictures.likeness.fingerprints import SIDE, Fingerprints, fingerprints_of

THUMBNAIL_SIDE, THUMBNAIL_QUALITY = 160, 60
SAMPLED_PIXELS = 40_000
EDGE_SIDE = 64
DETAIL_SIDE = 1024
COLOUR_FROM = 4
"""Levels by which channels differ where there is any colour."""
DARK_PERCENTILE, LIGHT_PERCENTILE = 99, 5
_WEIGHTS = np.array([0.241, 0.691, 0.068], np.float32)
"""Of the squares of red, green and blue in the brightness that is perceived."""


@dataclass(frozen=True)
class Measures:
    """Numbers of one picture."""

    bright_parts: float
    """Brightness 0..1 that one pixel in a hundred exceeds."""
    dark_parts: float
    """Brightness 0..1 below which one pixel in twenty lies."""
    brightness: float
    """Mean, 0..1."""
    entropy: float
    """Of the histogram of all channels, in bits."""
    edges: float
    """Spread of edge strength at 64 pixels: low where nothing is sharp."""
    tones: float
    """Spread of the counts of the grey levels: high where few of them hold most of the picture."""
    deviation: float
    """Of the grey levels, of 255."""
    detail: float
    """Strength of the finest structures at native size: tells the sharpest of several shots of one scene."""
    has_colour: bool


@dataclass(frozen=True)
class SmallCopy:
    """What is kept of a picture to show it and to find it again."""

    thumbnail: bytes
    """A small JPEG file."""
    prints: Fingerprints


def measured(image: LoadedImage) -> tuple[Measures, SmallCopy]:
    """Numbers and a small copy, from one decoded picture."""
    small = image.pil.copy() if max(image.size) <= THUMBNAIL_SIDE else _reduced(image.pil)
    grey = small.convert("L")
    return _measures(image, grey), SmallCopy(_as_jpeg(small), fingerprints_of(_square(grey)))


def pixel_digest(image: LoadedImage) -> str:
    """Equal for pictures whose pixels are all equal, in whatever file they stand."""
    digest = hashlib.blake2b(np.ascontiguousarray(image.measurable).data, digest_size=16)
    digest.update(repr(image.size).encode())
    return digest.hexdigest()


def _measures(image: LoadedImage, grey: Image.Image) -> Measures:
    sample = _spread_pixels(image.rgb)
    squares = sample.astype(np.float32) ** 2 @ _WEIGHTS
    low, high = np.percentile(squares, [LIGHT_PERCENTILE, DARK_PERCENTILE])
    edges = grey if max(grey.size) <= EDGE_SIDE else _scaled(grey, EDGE_SIDE)
    statistics = ImageStat.Stat(edges)
    return Measures(
        bright_parts=sqrt(high) / 255,
        dark_parts=sqrt(low) / 255,
        brightness=float(np.sqrt(squares).mean()) / 255,
        entropy=float(Image.fromarray(sample).entropy()),
        edges=_edge_spread(edges),
        tones=float(np.std(edges.histogram())),
        deviation=float(statistics.stddev[0]),
        detail=_detail(image.rgb),
        has_colour=_has_colour(sample),
    )


def _spread_pixels(rgb: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    step = max(1, ceil(sqrt(rgb.shape[0] * rgb.shape[1] / SAMPLED_PIXELS)))
    return np.ascontiguousarray(rgb[::step, ::step])


def _edge_spread(grey: Image.Image) -> float:
    if min(grey.size) < 3:
        return 0.0
    return float(ImageStat.Stat(grey.filter(ImageFilter.FIND_EDGES)).stddev[0])


def _detail(rgb: npt.NDArray[np.uint8]) -> float:
    """In the middle of the picture: a frame of a series differs from its neighbours everywhere alike."""
    top, left = (max(0, (side - DETAIL_SIDE) // 2) for side in rgb.shape[:2])
    middle = rgb[top : top + DETAIL_SIDE, left : left + DETAIL_SIDE]
    if min(middle.shape[:2]) < 3:
        return 0.0
    grey = cv2.cvtColor(np.ascontiguousarray(middle), cv2.COLOR_RGB2GRAY)
    return float(cv2.meanStdDev(cv2.Laplacian(grey, cv2.CV_16S, ksize=3))[1][0, 0])


def _has_colour(sample: npt.NDArray[np.uint8]) -> bool:
    red, green, blue = cv2.split(sample)
    return max(float(cv2.absdiff(red, green).max()), float(cv2.absdiff(green, blue).max())) > COLOUR_FROM


def _reduced(picture: Image.Image) -> Image.Image:
    scale = THUMBNAIL_SIDE / max(picture.size)
    size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
    return picture.resize(size, Image.Resampling.BICUBIC, reducing_gap=2.0)


def _scaled(picture: Image.Image, side: int) -> Image.Image:
    scale = side / max(picture.size)
    size = (max(1, int(picture.width * scale)), max(1, int(picture.height * scale)))
    return picture.resize(size, Image.Resampling.BICUBIC)


def _square(grey: Image.Image) -> npt.NDArray[np.uint8]:
    return np.asarray(grey.resize((SIDE, SIDE), Image.Resampling.BILINEAR), np.uint8)


def _as_jpeg(small: Image.Image) -> bytes:
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=THUMBNAIL_QUALITY)
    return buffer.getvalue()
