"""Quality as colours over a picture: red is worse, blue is better."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]


def coloured(rgb: Bytes, badness: Floats) -> Bytes:
    """The picture in grey under a colour map of ``badness`` (0 blue, 1 red), which is scaled to the picture."""
    levels = (np.clip(badness, 0, 1) * 255).astype(np.uint8)
    large = cv2.resize(levels, (rgb.shape[1], rgb.shape[0]), interpolation=_interpolation(levels, rgb))
    colours = cv2.cvtColor(cv2.applyColorMap(large, cv2.COLORMAP_TURBO), cv2.COLOR_BGR2RGB)
    grey = cv2.cvtColor(cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB)
    return np.asarray(cv2.addWeighted(grey, 0.55, colours, 0.45, 0), np.uint8)


def _interpolation(levels: Bytes, rgb: Bytes) -> int:
    return cv2.INTER_AREA if levels.shape[0] > rgb.shape[0] else cv2.INTER_CUBIC


def overlay(rgb: Bytes, quality: Floats) -> Bytes:
    """The picture under a map of quality, 1 (bad) to 5 (excellent)."""
    return coloured(rgb, np.asarray((5 - quality) / 4, np.float32))
