"""Brightness and contrast: tone curves and shifts."""

from __future__ import annotations

import numpy as np

from agenticiqa.pictures.distortions.colour_spaces import Pixels, from_lab, to_lab

_RGB_SHARE = np.float32(2 / 3)


def brighten(rgb: Pixels, amount: float, rng: np.random.Generator) -> Pixels:
    """A curve that lifts the middle by half the amount and keeps black and white."""
    del rng
    return _bent(rgb, amount)


def darken(rgb: Pixels, amount: float, rng: np.random.Generator) -> Pixels:
    """The same curve downwards."""
    del rng
    return _bent(rgb, -amount)


def mean_shift(rgb: Pixels, shift: float, rng: np.random.Generator) -> Pixels:
    del rng
    return np.asarray((rgb + np.float32(shift)).clip(0, 1), np.float32)


def contrast_change(rgb: Pixels, amount: float, rng: np.random.Generator) -> Pixels:
    """A curve that moves the quarter tones apart (or together, below -0.2) and keeps black and white."""
    del rng
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
