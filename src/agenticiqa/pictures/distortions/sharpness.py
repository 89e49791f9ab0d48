"""Over-sharpening."""

from __future__ import annotations

import cv2
import numpy as np

from agenticiqa.pictures.distortions.colour_spaces import Pixels, from_lab, to_lab

_RADIUS = 3.0


def high_sharpen(rgb: Pixels, amount: float, rng: np.random.Generator) -> Pixels:
    """Unsharp masking of lightness, far beyond good taste at the upper levels."""
    del rng
    lab = to_lab(rgb)
    lightness = lab[..., 0]
    soft = cv2.GaussianBlur(lightness, (0, 0), _RADIUS, borderType=cv2.BORDER_REPLICATE)
    lab[..., 0] = (lightness + np.float32(amount) * (lightness - soft)).clip(0, 100)
    return from_lab(lab)
