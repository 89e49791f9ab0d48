"""NLPD: distance between normalised Laplacian pyramids."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from agenticiqa.tools.metrics.base import Array, FloatArray, Measurement, MetricSpec
from agenticiqa.tools.metrics.filters import REPLICATE, SYMMETRIC, ZERO, correlate, placed, separable
from agenticiqa.tools.metrics.views import Picture, Views

SPEC = MetricSpec(
    name="NLPD",
    kind="FR",
    range=(0.0, 10.0),
    higher_is_better=False,
    variant="BT.601 luma in 0..1, six bands, root mean square of each band, mean of the bands: equals pyiqa's nlpd",
    paper="Laparra, Ballé, Berardino and Simoncelli, Perceptual image quality assessment using a normalized "
    "Laplacian pyramid, Human Vision and Electronic Imaging, 2016",
    good_at=("Contrast", "Blurs", "Compression", "Noise"),
    minimum_size=(3, 3),
    bytes_per_pixel=36,
)

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


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    """Normalised Laplacian pyramid distance, 0 for equal pictures.

    >>> ramp = np.tile(np.linspace(0, 1, 32), (32, 1))
    >>> measure(ramp, ramp).value
    0.0
    """
    views = Views.of(test, reference, SPEC)
    distances = [float(np.sqrt(np.vdot(gap, gap) / gap.size)) for gap in _differences(views)]
    details = {f"band_{band}": distance for band, distance in enumerate(distances)}
    return Measurement(float(np.mean(distances)), details=details)


def make_map(test: Array | Views, reference: Array | None = None) -> FloatArray:
    """Mean over the bands of how far they differ at each pixel."""
    views = Views.of(test, reference, SPEC)
    distance = np.zeros(views.size, np.float32)
    for band, gap in enumerate(_differences(views)):
        distance += placed(np.abs(gap), views.size, step=2**band, offset=0)
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
    half = np.ascontiguousarray(separable(image, LOWPASS, LOWPASS, SYMMETRIC)[::2, ::2])
    detail = np.empty_like(image)
    for row, down in ((0, ON_PIXELS), (1, BETWEEN_PIXELS)):
        for column, across in ((0, ON_PIXELS), (1, BETWEEN_PIXELS)):
            phase = image[row::2, column::2]
            estimate = separable(half, across, down, REPLICATE)[: phase.shape[0], : phase.shape[1]]
            np.subtract(phase, estimate, out=detail[row::2, column::2])
    return detail, half


def _normalised(band_image: FloatArray, band: int) -> FloatArray:
    above, left, right, below = NEIGHBOURS[band]
    # The published code convolves, so the kernel is turned by 180 degrees here.
    kernel = np.array([[0, below, 0], [right, 0, left], [0, above, 0]], np.float32)
    activity = correlate(np.abs(band_image), kernel, ZERO)
    activity += np.float32(SIGMAS[band])
    return np.asarray(band_image / activity, np.float32)
