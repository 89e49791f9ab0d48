"""Similarity of local detail: of gradients (GMSD, MDSI), Haar wavelets (HaarPSI) and bands of a pyramid (NLPD)."""

import math
from collections.abc import Iterator

import cv2
import numpy as np

from agenticiqa.tools.metrics import filters
from agenticiqa.tools.metrics.base import Array, FloatArray, Measurement
from agenticiqa.tools.metrics.views import Picture, Views

# --- GMSD: how unevenly gradient similarity is spread over the picture ---


T = np.float32(170)


def gmsd(views: Views) -> Measurement:
    """Gradient magnitude similarity deviation (GMSD).

    ``value``: 0 for equal pictures; ``map``: gradient similarity; ``details``: ``mean_similarity``.
    """
    one, other = views.on_both(lambda picture: filters.shrink(picture.luma8(), 2))
    kept = np.empty(one.shape, np.float32)
    losses = squares = 0.0
    for read, keep in filters.strips_with_halo(one.shape[0], one.shape[1], 1):
        loss = _loss(filters.prewitt_magnitude(one[read])[keep], filters.prewitt_magnitude(other[read])[keep])
        losses += filters.total(loss)
        squares += float(np.vdot(loss, loss))
        start = read.start + keep.start
        np.subtract(1, loss, out=kept[start : start + loss.shape[0]])
    count = kept.size
    variance = max(0.0, (squares - losses * losses / count) / (count - 1))
    return Measurement(math.sqrt(variance), map=kept, details={"mean_similarity": 1 - losses / count})


def _loss(one: FloatArray, other: FloatArray) -> FloatArray:
    """One minus the similarity; taken directly it keeps the digits that 1 - x would lose."""
    difference = one - other
    difference *= difference
    one *= one
    other *= other
    one += other
    one += T
    difference /= one
    return difference


# --- MDSI: mean deviation of combined gradient and chromaticity similarity ---


LHM = ((0.2989, 0.587, 0.114), (0.3, 0.04, -0.35), (0.34, -0.6, 0.17))
C1, C2, C3 = 140.0, 55.0, 550.0
GRADIENT_SHARE = np.float32(0.6)
POWER = 0.25


def mdsi(views: Views) -> Measurement:
    """Mean deviation similarity index (MDSI). ``value``: 0 for equal pictures; ``map``: combined similarity."""
    factor = filters.viewing_factor(views.size)
    padding = filters.Padding((factor - 1) // 2, factor // 2)
    one, other = views.on_both(lambda picture: _lhm_planes(picture, factor, padding))
    combined = GRADIENT_SHARE * _structure(one[0], other[0])
    combined += (1 - GRADIENT_SHARE) * _chromaticity(one, other)
    return Measurement(_deviation(combined), map=combined)


def _lhm_planes(picture: Picture, factor: int, padding: filters.Padding) -> list[FloatArray]:
    lhm = filters.transform_colours(picture.pooled_rgb(factor, padding), LHM)
    return [np.asarray(plane, np.float32) for plane in cv2.split(lhm)]


def _structure(one: FloatArray, other: FloatArray) -> FloatArray:
    between = filters.prewitt_magnitude((one + other) * np.float32(0.5))
    one, other = filters.prewitt_magnitude(one), filters.prewitt_magnitude(other)
    # The difference first: for equal pictures it is exactly zero, and the fourth roots below magnify dust.
    found = filters.similarity(one, between, C2)
    found -= filters.similarity(other, between, C2)
    found += filters.similarity(one, other, C1)
    return found


def _chromaticity(one: list[FloatArray], other: list[FloatArray]) -> FloatArray:
    (_, h1, m1), (_, h2, m2) = one, other
    product = 2 * (h1 * h2 + m1 * m2) + C3
    return np.asarray(product / ((h1 * h1 + m1 * m1) + (h2 * h2 + m2 * m2) + C3), np.float32)


def _deviation(combined: FloatArray) -> float:
    """Mean distance from the mean of the fourth root; a negative value has a complex root."""
    root = np.sqrt(np.sqrt(np.abs(combined)))
    negative = combined < 0
    if negative.any():
        turned = np.where(negative, root * np.exp(1j * np.pi * POWER), root)
        distance = np.abs(turned - turned.mean())
    else:
        distance = np.abs(root - root.mean(dtype=np.float64).astype(np.float32))
    return float(distance.mean(dtype=np.float64) ** POWER)


# --- HaarPSI: similarity of Haar wavelet responses, weighted by where there is structure ---


HAAR_C = 30.0
HAAR_ALPHA = 4.2
BEST = 1 / (1 + math.exp(-HAAR_ALPHA))
NO_WEIGHT = 1e-25
REACH = 4


def haarpsi(views: Views) -> Measurement:
    """Haar wavelet-based perceptual similarity index: ``value``, 0 to 1 (equal pictures); ``map``: local similarity."""
    odd = max(views.test.height % 2, views.test.width % 2)
    padding = filters.Padding(0, odd)
    one = views.test.pooled_rgb(2, padding)
    other = views.reference.pooled_rgb(2, padding)
    with_colour = not (views.test.is_grey and views.reference.is_grey)
    kept = np.empty(one.shape[:2], np.float32)
    response = weight = 0.0
    for read, keep in filters.strips_with_halo(one.shape[0], one.shape[1], REACH):
        maps, weights = _haar_strip(one[read], other[read], with_colour)
        # Where neither picture has structure they agree: a weight too small to count says so in the map.
        local = np.full_like(maps[0][keep], BEST * NO_WEIGHT)
        local_weight = np.full(local.shape, NO_WEIGHT, np.float32)
        for similarity_map, weight_map in zip(maps, weights, strict=True):
            part, part_weight = _sigmoid(similarity_map[keep]), weight_map[keep]
            local_weight += part_weight
            part *= part_weight
            local += part
        response += filters.total(local)
        weight += filters.total(local_weight)
        start = read.start + keep.start
        kept[start : start + local.shape[0]] = local / local_weight
    # From the sigmoid's values for no and full similarity to 0 and 1.
    kept -= np.float32(0.5)
    kept *= np.float32(1 / (BEST - 0.5))
    mean = min(response / weight, BEST)
    return Measurement(min(1.0, (math.log(mean / (1 - mean)) / HAAR_ALPHA) ** 2), map=kept)


def _haar_strip(one: FloatArray, other: FloatArray, with_colour: bool) -> tuple[list[FloatArray], list[FloatArray]]:
    yiq_one, yiq_other = filters.transform_colours(one, filters.YIQ), filters.transform_colours(other, filters.YIQ)
    y_one, i_one, q_one = cv2.split(yiq_one)
    y_other, i_other, q_other = cv2.split(yiq_other)
    maps, weights = [], []
    for down in (True, False):
        fine = filters.similarity(_haar(y_one, 2, down), _haar(y_other, 2, down), HAAR_C)
        fine += filters.similarity(_haar(y_one, 4, down), _haar(y_other, 4, down), HAAR_C)
        fine *= np.float32(0.5)
        maps.append(fine)
        weights.append(np.maximum(_haar(y_one, 8, down), _haar(y_other, 8, down)))
    if with_colour:
        chroma = filters.similarity(_mean2(i_one), _mean2(i_other), HAAR_C)
        chroma += filters.similarity(_mean2(q_one), _mean2(q_other), HAAR_C)
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
    found = cv2.sepFilter2D(image, cv2.CV_32F, across, vertical, anchor=anchor, borderType=filters.ZERO)
    return np.abs(np.asarray(found, np.float32))


def _mean2(image: Array) -> FloatArray:
    found = cv2.boxFilter(image, cv2.CV_32F, (2, 2), anchor=(0, 0), borderType=filters.ZERO)
    return np.abs(np.asarray(found, np.float32))


def _sigmoid(values: FloatArray) -> FloatArray:
    out = np.exp(values * np.float32(-HAAR_ALPHA))
    out += 1
    return np.asarray(np.reciprocal(out, out=out), np.float32)


# --- NLPD: distance between normalised Laplacian pyramids ---


LOWPASS = np.array([0.05, 0.25, 0.4, 0.25, 0.05], np.float32)
# The two phases of the same filter applied to a picture with zeros put between its pixels, times two.
ON_PIXELS = np.array([0.1, 0.8, 0.1], np.float32)
BETWEEN_PIXELS = np.array([0.0, 0.5, 0.5], np.float32)
SIGMAS = (0.0248, 0.0185, 0.0179, 0.0191, 0.0220, 0.2782)
# Weights of the neighbours above, left, right and below, per band (table of the authors' code).
NEIGHBOURS = (
    (0.1011, 0.1493, 0.1460, 0.1015),
    (0.0757, 0.1986, 0.1846, 0.0837),
    (0.0477, 0.2138, 0.2243, 0.0467),
    (0.0, 0.2503, 0.2616, 0.0),
    (0.0, 0.2598, 0.2552, 0.0),
    (0.0, 0.2215, 0.0717, 0.0),
)


def nlpd(views: Views) -> Measurement:
    """Normalised Laplacian pyramid distance (NLPD).

    ``value``: 0 for equal pictures; ``details``: ``band_0`` and so on, the distance of each band.
    """
    distances = [float(np.sqrt(np.vdot(gap, gap) / gap.size)) for gap in _differences(views)]
    details = {f"band_{band}": distance for band, distance in enumerate(distances)}
    return Measurement(float(np.mean(distances)), details=details)


def nlpd_map(views: Views) -> FloatArray:
    """Mean over the bands of how far they differ at each pixel."""
    distance = np.zeros(views.size, np.float32)
    for band, gap in enumerate(_differences(views)):
        distance += filters.placed(np.abs(gap), views.size, step=2**band, offset=0)
    distance /= np.float32(len(SIGMAS))
    return distance


def _differences(views: Views) -> Iterator[FloatArray]:
    """Normalised test minus normalised reference, band by band from fine to coarse."""
    one, other = views.test.luma(), views.reference.luma()
    for band in range(len(SIGMAS)):
        if band == len(SIGMAS) - 1:
            normalised, compared = _normalised(one, band), _normalised(other, band)
        else:
            (detail, one), (detail_other, other) = _split(one), _split(other)
            normalised, compared = _normalised(detail, band), _normalised(detail_other, band)
        normalised -= compared
        yield normalised


def _split(image: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What the half-size picture cannot hold, and the half-size picture."""
    half = np.ascontiguousarray(filters.separable(image, LOWPASS, LOWPASS, filters.SYMMETRIC)[::2, ::2])
    detail = np.empty_like(image)
    for row, down in ((0, ON_PIXELS), (1, BETWEEN_PIXELS)):
        for column, across in ((0, ON_PIXELS), (1, BETWEEN_PIXELS)):
            phase = image[row::2, column::2]
            estimate = filters.separable(half, across, down, filters.REPLICATE)[: phase.shape[0], : phase.shape[1]]
            np.subtract(phase, estimate, out=detail[row::2, column::2])
    return detail, half


def _normalised(band_image: FloatArray, band: int) -> FloatArray:
    above, left, right, below = NEIGHBOURS[band]
    # The published code convolves, so the kernel is turned by 180 degrees here.
    kernel = np.array([[0, below, 0], [right, 0, left], [0, above, 0]], np.float32)
    activity = filters.correlate(np.abs(band_image), kernel, filters.ZERO)
    activity += np.float32(SIGMAS[band])
    return np.asarray(band_image / activity, np.float32)
