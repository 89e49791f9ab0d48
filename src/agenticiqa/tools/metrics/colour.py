"""Colour: the difference of two pictures (CIEDE2000), and how colourful, saturated and tinted one is."""

import math
from collections.abc import Callable

import cv2
import numpy as np

from agenticiqa.tools.metrics.base import Array, FloatArray, Measurement
from agenticiqa.tools.metrics.filters import LAB, channel_extremes, magnitude, strips, total, transform_colours
from agenticiqa.tools.metrics.views import Picture, Views

# --- CIEDE2000: the colour difference of each pixel, and its mean ---


# sRGB primaries (IEC 61966-2-1), each row divided by the D65 white point.
XYZ = np.array(
    [[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]]
) / np.array([[0.95047], [1.0], [1.08883]])
FULL_TURN = np.float32(2 * np.pi)
DEGREE = np.float32(np.pi / 180)
POWER_25_7 = np.float32(25.0**7)


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
    curved = np.asarray(np.cbrt(relative), np.float32)
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
    linear = np.asarray(cv2.pow(scaled, 2.4), np.float32)
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
    hue_one, hue_other = _hue(a_one, b_one), _hue(a_other, b_other)

    offset = ((light_one + light_other) * np.float32(0.5) - 50) ** 2
    lightness = (light_other - light_one) / (1 + np.float32(0.015) * offset / np.sqrt(20 + offset))
    chroma_sum = chroma_one + chroma_other
    mean_chroma = chroma_sum * np.float32(0.5)
    chroma = (chroma_other - chroma_one) / (1 + np.float32(0.045) * mean_chroma)

    turn = hue_other - hue_one
    colourless = chroma_one * chroma_other == 0
    wraps = np.abs(turn) > np.pi
    mean_hue = (hue_one + hue_other) * np.float32(0.5)
    mean_hue[wraps] += np.float32(np.pi)
    turn -= FULL_TURN * np.sign(turn) * wraps
    turn[colourless] = 0
    # The mean hue of a grey and a colour is the colour's own (a grey's hue counts as zero).
    mean_hue[colourless] = (hue_one + hue_other)[colourless]
    weight = _hue_weight(mean_hue)
    hue = 2 * np.sqrt(chroma_one * chroma_other) * np.sin(turn * np.float32(0.5))
    hue /= 1 + np.float32(0.015) * mean_chroma * weight

    away_from_blue = ((mean_hue / DEGREE - 275) / 25) ** 2
    rotation = -2 * _seventh(mean_chroma) * np.sin(60 * DEGREE * np.exp(-away_from_blue))
    total = lightness * lightness + chroma * chroma + hue * hue + rotation * chroma * hue
    return np.asarray(np.sqrt(np.maximum(total, 0)), np.float32)


def _hue_weight(hue: FloatArray) -> FloatArray:
    """T of the formula; the cosines of multiples of the hue follow from one cosine and one sine."""
    cos1, sin1 = np.cos(hue), np.sin(hue)
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


def _seventh(chroma: FloatArray) -> FloatArray:
    square = chroma * chroma
    seventh = square * square * square * chroma
    return np.asarray(np.sqrt(seventh / (seventh + POWER_25_7)), np.float32)


def _hue(a: FloatArray, b: FloatArray) -> FloatArray:
    hue = np.arctan2(b, a)
    hue[hue < 0] += FULL_TURN
    return hue


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
