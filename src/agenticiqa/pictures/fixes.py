"""Copies of a picture with what advice says done to them by numbers: to be looked at beside it, and to be kept."""

from __future__ import annotations

import math
from collections.abc import Callable

import cv2
import numpy as np
import numpy.typing as npt

from agenticiqa.pictures.images import UInt8Image
from agenticiqa.state import Fix

GAMMA = 2.2
OVERSHOOT = 0.7
"""How much of the finest structures a sharpened copy has added."""
WORKED_ON = 8_000_000
"""Pixels of the largest copy: what is larger is reduced first."""


def fixed(rgb: UInt8Image, fix: Fix) -> UInt8Image:
    """A copy with the fix; a picture of more than 8 megapixels is reduced to that first."""
    height, width = rgb.shape[:2]
    scale = min(1.0, math.sqrt(WORKED_ON / (height * width)))
    if scale < 1:
        rgb = np.asarray(cv2.resize(rgb, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA), np.uint8)
    amounts = tuple(scale * amount for amount in fix.amounts) if fix.kind == "crop" else fix.amounts
    return np.ascontiguousarray(_KINDS[fix.kind](rgb, *amounts))


def _expose(rgb: UInt8Image, stops: float) -> UInt8Image:
    """In light: each stop doubles it."""
    table = 255 * np.clip((np.arange(256) / 255) ** GAMMA * 2.0**stops, 0, 1) ** (1 / GAMMA)
    return np.asarray(cv2.LUT(rgb, np.rint(table).astype(np.uint8)), np.uint8)


def _stretch(rgb: UInt8Image, black: float, white: float) -> UInt8Image:
    table = np.clip((np.arange(256) - black) / max(white - black, 1), 0, 1)
    return np.asarray(cv2.LUT(rgb, np.rint(255 * table).astype(np.uint8)), np.uint8)


def _balance(rgb: UInt8Image, lean: float, degrees: float) -> UInt8Image:
    """Without a lean of the colours to one side, in units of CIE Lab."""
    angle = math.radians(degrees)
    return _in_lab(rgb, 1.0, np.array([0, -lean * math.cos(angle), -lean * math.sin(angle)], np.float32))


def _colour(rgb: UInt8Image, factor: float) -> UInt8Image:
    return _in_lab(rgb, factor, np.zeros(3, np.float32))


def _in_lab(rgb: UInt8Image, factor: float, shift: npt.NDArray[np.float32]) -> UInt8Image:
    """Colours times a factor and moved; the lightness stays."""
    lab = cv2.cvtColor(rgb.astype(np.float32) / 255, cv2.COLOR_RGB2LAB)
    moved = np.asarray(lab * np.array([1, factor, factor], np.float32) + shift, np.float32)
    return np.asarray(np.rint(255 * np.clip(cv2.cvtColor(moved, cv2.COLOR_LAB2RGB), 0, 1)), np.uint8)


def _denoise(rgb: UInt8Image, sigma: float) -> UInt8Image:
    """By means of places that look alike (non-local means)."""
    return np.asarray(cv2.fastNlMeansDenoisingColored(rgb, None, 0.7 * sigma, 0.8 * sigma, 3, 11), np.uint8)


def _sharpen(rgb: UInt8Image, radius: float) -> UInt8Image:
    smooth = cv2.GaussianBlur(rgb, (0, 0), radius)
    return np.asarray(cv2.addWeighted(rgb, 1 + OVERSHOOT, smooth, -OVERSHOOT, 0), np.uint8)


def _turn(rgb: UInt8Image, degrees: float) -> UInt8Image:
    """Clockwise, without the empty corners: the same shape, as large as fits."""
    height, width = rgb.shape[:2]
    # OpenCV counts counter-clockwise.
    turned = cv2.warpAffine(
        rgb, cv2.getRotationMatrix2D((width / 2, height / 2), -degrees, 1.0), (width, height), flags=cv2.INTER_CUBIC
    )
    sine, cosine = abs(math.sin(math.radians(degrees))), math.cos(math.radians(degrees))
    share = min(width / (width * cosine + height * sine), height / (width * sine + height * cosine))
    wide, high = int(width * share), int(height * share)
    left, top = (width - wide) // 2, (height - high) // 2
    return np.asarray(turned[top : top + high, left : left + wide], np.uint8)


def _crop(rgb: UInt8Image, x: float, y: float, width: float, height: float) -> UInt8Image:
    return rgb[round(y) : round(y + height), round(x) : round(x + width)]


_KINDS: dict[str, Callable[..., UInt8Image]] = {
    "exposure": _expose,
    "levels": _stretch,
    "white_balance": _balance,
    "saturation": _colour,
    "denoise": _denoise,
    "sharpen": _sharpen,
    "turn": _turn,
    "crop": _crop,
}
