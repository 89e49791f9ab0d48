"""Between float pixels and the bytes that codecs and palettes work on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from agenticiqa.pictures.distortions.colour_spaces import Pixels


def to_bytes(rgb: Pixels) -> npt.NDArray[np.uint8]:
    """Clipped to 0..1 and rounded.

    >>> to_bytes(np.array([-1.0, 0.5, 2.0], np.float32)).tolist()
    [0, 128, 255]
    """
    return np.asarray(np.rint(rgb.clip(0, 1) * np.float32(255)), np.uint8)


def from_bytes(values: npt.NDArray[np.uint8]) -> Pixels:
    return np.divide(values, 255, dtype=np.float32)
