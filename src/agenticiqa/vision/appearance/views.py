"""Views of a picture that numbers are read from."""

from functools import cache

import cv2
import numpy as np
import numpy.typing as npt

from agenticiqa.pictures.images import UInt8Image

Floats = npt.NDArray[np.float32]

LUMA = np.array([0.299, 0.587, 0.114], np.float32)
# Björn Ottosson, "A perceptual color space for image processing", 2020: linear sRGB to cone responses, those to OKLab.
_TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ],
    np.float32,
)
_TO_OKLAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ],
    np.float32,
)


def reduced(rgb: UInt8Image, longest: int) -> UInt8Image:
    """The picture with its longer side at most so long, by averaging."""
    height, width = rgb.shape[:2]
    scale = longest / max(height, width)
    if scale >= 1:
        return rgb
    size = max(1, round(width * scale)), max(1, round(height * scale))
    return np.asarray(cv2.resize(rgb, size, interpolation=cv2.INTER_AREA), np.uint8)


def luma(rgb: UInt8Image) -> Floats:
    """BT.601 luma, 0 to 1."""
    return np.asarray(rgb @ LUMA / np.float32(255), np.float32)


@cache
def light_of_codes() -> Floats:
    """How much light each of the 256 codes of sRGB stands for (IEC 61966-2-1), 0 to 1."""
    coded = np.arange(256) / 255
    return np.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4).astype(np.float32)


def luminance(rgb: UInt8Image) -> Floats:
    return np.asarray(light_of_codes()[rgb] @ np.array([0.2126, 0.7152, 0.0722], np.float32), np.float32)


def oklab(rgb: UInt8Image) -> Floats:
    """Lightness 0 to 1, and the two colour axes.

    >>> [round(float(each), 2) for each in oklab(np.array([[[255, 0, 0]]], np.uint8))[0, 0]]
    [0.63, 0.22, 0.13]
    """
    cones = np.cbrt(light_of_codes()[rgb] @ _TO_CONES.T)
    return np.asarray((cones @ _TO_OKLAB.T).round(7) + 0.0, np.float32)


def lightness(rgb: UInt8Image) -> Floats:
    """CIE L* from 0 (black) to 1 (white): equal steps look equal."""
    light = luminance(rgb)
    return np.asarray(np.where(light > 216 / 24389, 1.16 * np.cbrt(light) - 0.16, light * 24389 / 2700), np.float32)


def band_passed(values: Floats, fine: float, coarse: float) -> Floats:
    """What lies between two sizes of structure, as standard deviations of Gaussian blurs in pixels."""
    finer = cv2.GaussianBlur(values, (0, 0), fine) if fine > 0 else values
    return np.asarray(finer - cv2.GaussianBlur(values, (0, 0), coarse), np.float32)
