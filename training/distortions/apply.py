"""Damage a picture: check what was given, apply, and hand back the same type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from training.distortions import corruptions, filters
from training.distortions.filters import Pixels, from_bytes, to_bytes
from training.distortions.protocol import DISTORTIONS, DistortionError, find

Change = Callable[[Pixels, float, np.random.Generator], Pixels]
Picture = TypeVar("Picture", npt.NDArray[np.uint8], npt.NDArray[np.float32], npt.NDArray[np.float64])

CHANGES: dict[str, Change] = {
    name: getattr(filters if hasattr(filters, name) else corruptions, name) for name in DISTORTIONS
}
"""The function of each distortion bears its name."""


def distort(picture: Picture, kind: str, level: float, seed: int = 0, *, full_range: bool = False) -> Picture:
    """``picture`` (H×W×3 RGB, uint8 or float in 0..1) damaged by one kind at a level from 1 to 5.

    Equal arguments give equal results. With ``full_range`` the picture is stretched to black and white before and
    after, as the published generator does; a shift of brightness then shows as clipping more than as a shift.

    >>> grey = np.full((32, 32, 3), 128, np.uint8)
    >>> distort(grey, "mean shift", 1)[0, 0].tolist()
    [166, 166, 166]
    """
    return combine(picture, [(kind, level)], seed, full_range=full_range)


def combine(
    picture: Picture, steps: Sequence[tuple[str, float]], seed: int = 0, *, full_range: bool = False
) -> Picture:
    """Several distortions, one after the other, without rounding in between.

    >>> grey = np.full((32, 32, 3), 0.5)
    >>> combine(grey, [("darken", 2), ("jpeg", 4)]).dtype
    dtype('float64')
    """
    if seed < 0:
        raise DistortionError(f"The seed {seed} is negative.", hint="Give a whole number from 0.")
    pixels = _opened(picture)
    if full_range:
        pixels = _stretched(pixels)
    for position, (kind, level) in enumerate(steps):
        distortion = find(kind)
        # The level is no part of the seed: stronger levels then use the same draws and differ in strength alone.
        rng = np.random.default_rng([seed, distortion.number, position])
        pixels = CHANGES[distortion.name](pixels, distortion.amount(level), rng).clip(0, 1)
    if full_range:
        pixels = _stretched(pixels)
    return (to_bytes(pixels) if picture.dtype == np.uint8 else pixels).astype(picture.dtype)


def _opened(picture: npt.NDArray[np.generic]) -> Pixels:
    array = np.asarray(picture)
    if array.ndim != 3 or array.shape[2] != 3 or array.size == 0:
        raise DistortionError(
            f"A picture of shape {array.shape} cannot be distorted.",
            hint="Give H×W×3 RGB; stack a grey one three times.",
        )
    if array.dtype == np.uint8:
        return from_bytes(np.asarray(array, np.uint8))
    if array.dtype not in (np.float32, np.float64):
        raise DistortionError(
            f"Pixels of type {array.dtype} cannot be distorted.", hint="Give uint8, or float in 0..1."
        )
    pixels = np.array(array, np.float32)
    if not (np.isfinite(pixels).all() and pixels.min() >= -1e-4 and pixels.max() <= 1.0001):
        raise DistortionError("The picture holds values outside 0..1.", hint="Divide by its white value first.")
    return pixels.clip(0, 1)


def _stretched(pixels: Pixels) -> Pixels:
    low, high = pixels.min(), pixels.max()
    return (pixels - low) / (high - low) if high > low else pixels
