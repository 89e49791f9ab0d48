"""The colour spaces that distortions work in; all take and give float32."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

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
