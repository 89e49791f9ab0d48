"""Probes of light: mean luminance, contrast, what is blown out or crushed, haze."""

import cv2
import numpy as np

from agenticiqa.tools.metrics.base import Measurement
from agenticiqa.tools.metrics.filters import channel_extremes, strips, total
from agenticiqa.tools.metrics.views import Views

# --- Brightness probe: mean luminance ---


def brightness(views: Views) -> Measurement:
    """Mean luma. ``value``, 0 to 255; ``details``: percentiles of luma."""
    picture = views.test
    counts = np.zeros(256, np.int64)
    luma_sum = 0.0
    for start, stop in strips(*picture.size):
        luma = picture.luma_rows(start, stop)
        luma_sum += total(luma)
        levels = np.clip(np.rint(luma * 255), 0, 255).astype(np.uint8)
        counts += np.bincount(levels.ravel(), minlength=256)
    pixels = picture.height * picture.width
    reached = np.cumsum(counts) / pixels
    percentiles = {f"percentile_{p}": float(np.searchsorted(reached, p / 100)) for p in (5, 50, 95)}
    return Measurement(float(np.clip(255 * luma_sum / pixels, 0, 255)), details=percentiles)


# --- Contrast probe: how far luma spreads around its mean ---


def contrast(views: Views) -> Measurement:
    """RMS contrast of luma. ``value``, 0 to 0.5; ``details``: ``tonal_range`` and ``michelson``."""
    luma = views.test.luma()
    low, high = (float(value) for value in np.percentile(luma[:: 1 + luma.shape[0] // 1024], (1, 99)))
    both = high + low
    return Measurement(
        min(0.5, float(luma.std(dtype=np.float64))),
        details={"tonal_range": high - low, "michelson": (high - low) / both if both > 0 else 0.0},
    )


# --- Clipping probe: how much of the picture is blown out or crushed ---


WHITE, BLACK = 252.5 / 255, 2.5 / 255


def clipping(views: Views) -> Measurement:
    """Percent of pixels without detail; ``map``: +1 white, -1 black; ``details``: ``highlights``, ``shadows`` …"""
    picture = views.test
    kept = np.zeros(picture.size, np.float32)
    one_channel = 0
    for start, stop in strips(*picture.size):
        rgb = picture.rgb_rows(start, stop)
        high, low = channel_extremes(rgb)
        kept[start:stop] = (low >= WHITE).astype(np.float32) - (high <= BLACK)
        one_channel += int(np.count_nonzero(high >= WHITE))
    pixels = kept.size
    highlights = 100 * int(np.count_nonzero(kept > 0)) / pixels
    shadows = 100 * int(np.count_nonzero(kept < 0)) / pixels
    details = {"highlights": highlights, "shadows": shadows, "any_channel_highlights": 100 * one_channel / pixels}
    return Measurement(highlights + shadows, map=kept, details=details)


# --- Haze probe: how bright the darkest nearby colour is ---


REACH = 15


def haze(views: Views) -> Measurement:
    """Mean of the dark channel. ``value``, 0 to 1 (a white veil); ``map``: the dark channel."""
    rgb = views.test.rgb()
    darkest = np.minimum(np.minimum(rgb[..., 0], rgb[..., 1]), rgb[..., 2])
    kernel = np.ones((REACH, REACH), np.uint8)
    dark_channel = np.asarray(cv2.erode(darkest, kernel), np.float32)
    mean = float(np.clip(dark_channel.mean(dtype=np.float64), 0, 1))
    return Measurement(mean, map=dark_channel)
