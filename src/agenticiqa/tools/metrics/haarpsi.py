"""HaarPSI: similarity of Haar wavelet responses, weighted by where there is structure."""

from __future__ import annotations

import math

import cv2
import numpy as np

from agenticiqa.tools.metrics.base import Array, FloatArray, Measurement, MetricSpec
from agenticiqa.tools.metrics.filters import (
    YIQ,
    ZERO,
    Padding,
    similarity,
    strips_with_halo,
    total,
    transform_colours,
)
from agenticiqa.tools.metrics.views import Picture, Views

SPEC = MetricSpec(
    name="HaarPSI",
    kind="FR",
    range=(0.0, 1.0),
    higher_is_better=True,
    variant="halved by 2×2 means, YIQ, C = 30, alpha = 4.2, with chroma unless both pictures are grey: "
    "equals piq's haarpsi",
    paper="Reisenhofer, Bosse, Kutyniok and Wiegand, A Haar wavelet-based perceptual similarity index, "
    "Signal Processing: Image Communication, 2018",
    good_at=("Blurs", "Compression", "Noise", "Color distortions"),
    minimum_size=(16, 16),
    bytes_per_pixel=15,
)

C = 30.0
ALPHA = 4.2
BEST = 1 / (1 + math.exp(-ALPHA))
NO_WEIGHT = 1e-25
REACH = 4


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    """Haar wavelet perceptual similarity, 1 for equal pictures.

    >>> ramp = np.tile(np.linspace(0, 1, 32), (32, 1))
    >>> round(measure(ramp, ramp).value, 4)
    1.0
    """
    views = Views.of(test, reference, SPEC)
    odd = max(views.test.height % 2, views.test.width % 2)
    padding = Padding(0, odd)
    one = views.test.pooled_rgb(2, padding)
    other = views.reference.pooled_rgb(2, padding)
    with_colour = not views.both_grey
    kept = np.empty(one.shape[:2], np.float32)
    response = weight = 0.0
    for read, keep in strips_with_halo(one.shape[0], one.shape[1], REACH):
        maps, weights = _strip(one[read], other[read], with_colour)
        # Where neither picture has structure they agree: a weight too small to count says so in the map.
        local = np.full_like(maps[0][keep], BEST * NO_WEIGHT)
        local_weight = np.full(local.shape, NO_WEIGHT, np.float32)
        for similarity_map, weight_map in zip(maps, weights, strict=True):
            part, part_weight = _sigmoid(similarity_map[keep]), weight_map[keep]
            local_weight += part_weight
            part *= part_weight
            local += part
        response += total(local)
        weight += total(local_weight)
        start = read.start + keep.start
        kept[start : start + local.shape[0]] = local / local_weight
    # From the sigmoid's values for no and full similarity to 0 and 1.
    kept -= np.float32(0.5)
    kept *= np.float32(1 / (BEST - 0.5))
    mean = response / weight
    return Measurement(min(1.0, _unsquash(min(mean, BEST))), map=kept)


def _strip(one: FloatArray, other: FloatArray, with_colour: bool) -> tuple[list[FloatArray], list[FloatArray]]:
    yiq_one, yiq_other = transform_colours(one, YIQ), transform_colours(other, YIQ)
    y_one, i_one, q_one = cv2.split(yiq_one)
    y_other, i_other, q_other = cv2.split(yiq_other)
    maps, weights = [], []
    for down in (True, False):
        fine = similarity(_haar(y_one, 2, down), _haar(y_other, 2, down), C)
        fine += similarity(_haar(y_one, 4, down), _haar(y_other, 4, down), C)
        fine *= np.float32(0.5)
        maps.append(fine)
        weights.append(np.maximum(_haar(y_one, 8, down), _haar(y_other, 8, down)))
    if with_colour:
        chroma = similarity(_mean2(i_one), _mean2(i_other), C)
        chroma += similarity(_mean2(q_one), _mean2(q_other), C)
        chroma *= np.float32(0.5)
        maps.append(chroma)
        weights.append((weights[0] + weights[1]) * np.float32(0.5))
    return maps, weights


def _haar(image: Array, size: int, down: bool) -> FloatArray:
    """Strength of the Haar response of ``size`` pixels, placed as by MATLAB's ``conv2`` with "same"."""
    step = np.full(size, 1 / size, np.float32)
    step[size // 2 :] *= -1
    flat = np.ones(size, np.float32)
    anchor = (size // 2 - 1, size // 2 - 1)
    across, vertical = (flat, step) if down else (step, flat)
    found = cv2.sepFilter2D(image, cv2.CV_32F, across, vertical, anchor=anchor, borderType=ZERO)
    return np.abs(np.asarray(found, np.float32))


def _mean2(image: Array) -> FloatArray:
    found = cv2.boxFilter(image, cv2.CV_32F, (2, 2), anchor=(0, 0), borderType=ZERO)
    return np.abs(np.asarray(found, np.float32))


def _sigmoid(values: FloatArray) -> FloatArray:
    out = np.exp(values * np.float32(-ALPHA))
    out += 1
    return np.asarray(np.reciprocal(out, out=out), np.float32)


def _unsquash(mean: float) -> float:
    return (math.log(mean / (1 - mean)) / ALPHA) ** 2
