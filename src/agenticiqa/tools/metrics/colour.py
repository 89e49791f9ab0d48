"""Colour: the difference of two pictures (CIEDE2000), and how colourful, saturated and tinted one is."""

import math
from collections.abc import Callable

import cv2
import numpy as np

from agenticiqa.tools.metrics.base import Array, FloatArray, Measurement
from agenticiqa.tools.metrics.filters import LAB, channel_extremes, magnitude, power, strips, total, transform_colours
from agenticiqa.tools.metrics.views import Picture, Views

# --- CIEDE2000: the colour difference of each pixel, and its mean ---


# sRGB primaries (IEC 61966-2-1), each row divided by the D65 white point.
XYZ = np.array(
    [[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]]
) / np.array([[0.95047], [1.0], [1.08883]])
POWER_25_7 = np.float32(25.0**7)
TINY = np.float32(1e-12)
SQUARED_ANGLE = [np.float32(2 ** (n + 1) / (n**2 * math.comb(2 * n, n))) for n in range(1, 7)]
"""arccos(1 - x)² by powers of x, from the first on; so many that the rest changes no weight by 2e-7."""


def ciede2000(views: Views) -> Measurement:
    """Mean CIEDE2000 colour difference: ``value`` is 0 for equal pictures; ``map``: Delta E 2000 of each pixel."""
    kept = np.empty(views.size, np.float32)
    for start, stop in strips(*views.size):
        one = lab_of(views.test.rgb_rows(start, stop))
        other = lab_of(views.reference.rgb_rows(start, stop))
        kept[start:stop] = difference(one, other)
    return Measurement(total(kept) / kept.size, map=kept)


def lab_of(rgb: FloatArray) -> FloatArray:
    """CIE Lab of sRGB values in [0, 1]."""
    linear = linear_of(rgb)
    relative = transform_colours(linear, XYZ)
    curved = power(relative, 1 / 3)
    dark = relative <= 0.008856
    if dark.any():
        curved[dark] = np.float32(7.787) * relative[dark] + np.float32(16 / 116)
    lab = transform_colours(curved, LAB)
    lab[..., 0] -= 16
    return lab


def linear_of(rgb: FloatArray) -> FloatArray:
    """Linear light of sRGB values in [0, 1]."""
    scaled = rgb * np.float32(1 / 1.055)
    scaled += np.float32(0.055 / 1.055)
    linear = power(scaled, 2.4)
    dark = rgb <= 0.04045
    if dark.any():
        linear[dark] = rgb[dark] * np.float32(1 / 12.92)
    return linear


def difference(one: FloatArray, other: FloatArray) -> FloatArray:
    """CIEDE2000 of two Lab pictures."""
    light_one, a_one, b_one = (np.asarray(channel, np.float32) for channel in cv2.split(one))
    light_other, a_other, b_other = (np.asarray(channel, np.float32) for channel in cv2.split(other))
    mean_chroma = (magnitude(a_one, b_one) + magnitude(a_other, b_other)) * np.float32(0.5)
    boost = 1 + np.float32(0.5) * (1 - _seventh(mean_chroma))
    a_one *= boost
    a_other *= boost
    chroma_one, chroma_other = magnitude(a_one, b_one), magnitude(a_other, b_other)

    offset = ((light_one + light_other) * np.float32(0.5) - 50) ** 2
    lightness = (light_other - light_one) / (1 + np.float32(0.015) * offset / np.sqrt(20 + offset))
    mean_chroma = (chroma_one + chroma_other) * np.float32(0.5)
    chroma = (chroma_other - chroma_one) / (1 + np.float32(0.045) * mean_chroma)
    hue, cosine, sine = _hues((a_one, b_one, chroma_one), (a_other, b_other, chroma_other))
    hue /= 1 + np.float32(0.015) * mean_chroma * _hue_weight(cosine, sine)
    rotation = -2 * _seventh(mean_chroma) * np.sin(np.float32(math.radians(60)) * _blueness(cosine, sine))
    total = lightness * lightness + chroma * chroma + hue * hue + rotation * chroma * hue
    return np.asarray(np.sqrt(np.maximum(total, 0)), np.float32)


Polar = tuple[FloatArray, FloatArray, FloatArray]
"""a, b and their length."""


def _hues(one: Polar, other: Polar) -> Polar:
    """Delta H of the formula, and cosine and sine of the mean hue.

    By vectors, without an angle: the mean hue is the direction of the sum of two unit vectors, and a grey, which has no
    hue, adds nothing to it.
    """
    (a_one, b_one, chroma_one), (a_other, b_other, chroma_other) = one, other
    product = chroma_one * chroma_other
    cross, dot = a_one * b_other - a_other * b_one, a_one * a_other + b_one * b_other
    unit_one: FloatArray = np.reciprocal(np.maximum(chroma_one, TINY))
    unit_other: FloatArray = np.reciprocal(np.maximum(chroma_other, TINY))
    cosine = a_one * unit_one + a_other * unit_other
    sine = b_one * unit_one + b_other * unit_other
    delta = cross / np.sqrt(np.maximum((product + dot) * np.float32(0.5), TINY))
    far = dot < 0
    if far.any():
        # More than a quarter turn apart: the sum would lose its digits, the difference stands at a right angle to it.
        a_1, b_1, a_2, b_2 = a_one[far], b_one[far], a_other[far], b_other[far]
        forward = np.where(cross[far] == 0, (b_1 > 0) | ((b_1 == 0) & (a_1 > 0)), cross[far] > 0)
        sign = np.where(forward, np.float32(1), np.float32(-1))
        delta[far] = sign * np.sqrt(2 * (product[far] - dot[far]))
        cosine[far] = sign * (b_2 * unit_other[far] - b_1 * unit_one[far])
        sine[far] = sign * (a_1 * unit_one[far] - a_2 * unit_other[far])
    length = np.maximum(magnitude(cosine, sine), TINY)
    cosine /= length
    sine /= length
    return delta, cosine, sine


def _hue_weight(cos1: FloatArray, sin1: FloatArray) -> FloatArray:
    """T of the formula; the cosines of multiples of the hue follow from its cosine and sine."""
    cos2, sin2 = 2 * cos1 * cos1 - 1, 2 * sin1 * cos1
    cos3, sin3 = cos1 * cos2 - sin1 * sin2, sin1 * cos2 + cos1 * sin2
    cos4, sin4 = 2 * cos2 * cos2 - 1, 2 * sin2 * cos2
    weight = np.float32(0.24) * cos2
    for strength, degrees, cosine, sine in (
        (-0.17, 30.0, cos1, sin1),
        (0.32, -6.0, cos3, sin3),
        (-0.20, 63.0, cos4, sin4),
    ):
        angle = math.radians(degrees)
        weight += np.float32(strength * math.cos(angle)) * cosine
        weight += np.float32(strength * math.sin(angle)) * sine
    weight += 1
    return np.asarray(weight, np.float32)


def _blueness(cosine: FloatArray, sine: FloatArray) -> FloatArray:
    """exp(-((hue - 275°) / 25°)²); the squared angle is a series of one minus its cosine."""
    blue = math.radians(275)
    x = 1 - np.float32(math.cos(blue)) * cosine - np.float32(math.sin(blue)) * sine
    square = np.zeros_like(x)
    for factor in reversed(SQUARED_ANGLE):
        square += factor
        square *= x
    square *= np.float32(-1 / math.radians(25) ** 2)
    return np.asarray(cv2.exp(square), np.float32)


def _seventh(chroma: FloatArray) -> FloatArray:
    square = chroma * chroma
    seventh = square * square * square * chroma
    return np.asarray(np.sqrt(seventh / (seventh + POWER_25_7)), np.float32)


# --- Colourfulness probe ---


def colourfulness(views: Views) -> Measurement:
    """Colourfulness after Hasler and Süsstrunk (M3). ``value``: 0 for grey; ``details``: ``spread`` and ``offset``."""
    means, spread = _means_and_spread(views.test, _opponents)
    offset = math.hypot(*means)
    return Measurement(spread + 0.3 * offset, details={"spread": spread, "offset": offset})


def _opponents(rgb: FloatArray) -> tuple[FloatArray, FloatArray]:
    rgb = rgb * np.float32(255)
    red, green, blue = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    return red - green, (red + green) * np.float32(0.5) - blue


def _means_and_spread(
    picture: Picture, planes_of: Callable[[FloatArray], tuple[FloatArray, FloatArray]]
) -> tuple[Array, float]:
    """Means of the two planes that are made of a picture's colours, and how far both together spread around them."""
    sums = np.zeros((2, 2))
    for start, stop in strips(*picture.size):
        for index, plane in enumerate(planes_of(picture.rgb_rows(start, stop))):
            sums[index] += plane.sum(dtype=np.float64), np.square(plane).sum(dtype=np.float64)
    means, squares = (sums / (picture.height * picture.width)).T
    return means, math.sqrt(float(np.maximum(squares - means**2, 0).sum()))


# --- Saturation probe ---


def saturation(views: Views) -> Measurement:
    """Mean saturation of the colours. ``value``, 0 to 1."""
    picture = views.test
    spread = value = 0.0
    for start, stop in strips(*picture.size):
        rgb = np.clip(picture.rgb_rows(start, stop), 0, 1)
        high, low = channel_extremes(rgb)
        value += total(high)
        spread += total(high) - total(low)
    # Saturation is (max - min) / max; weighted by max, the mean becomes a ratio of sums.
    return Measurement(min(1.0, spread / value) if value > 0 else 0.0)


# --- Colour cast probe: which way the picture as a whole leans ---


def colour_cast(views: Views) -> Measurement:
    """Distance of the mean colour from grey in CIE Lab; ``details``: ``cast_factor``, ``hue_degrees`` and more."""
    means, spread = _means_and_spread(views.test, _a_and_b)
    distance = math.hypot(*means)
    details = {
        "a": float(means[0]),
        "b": float(means[1]),
        "hue_degrees": math.degrees(math.atan2(means[1], means[0])) % 360,
        "cast_factor": distance / max(spread, 1.0),
    }
    return Measurement(distance, details=details)


def _a_and_b(rgb: FloatArray) -> tuple[FloatArray, FloatArray]:
    lab = lab_of(np.clip(rgb, 0, 1))
    return lab[..., 1], lab[..., 2]
