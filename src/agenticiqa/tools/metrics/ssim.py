"""SSIM: structural similarity of luma."""

from __future__ import annotations

import numpy as np

from agenticiqa.tools.metrics.base import Array, FloatArray, Measurement, MetricSpec
from agenticiqa.tools.metrics.filters import gaussian, smooth_valid, strips
from agenticiqa.tools.metrics.views import Picture, Views

SPEC = MetricSpec(
    name="SSIM",
    kind="FR",
    range=(0.0, 1.0),
    higher_is_better=True,
    variant="BT.601 luma rounded to 0..255, 11×11 Gaussian window of sigma 1.5, window inside the picture "
    "only, not downsampled, negative structure terms set to zero: equals pyiqa's ssim",
    paper="Wang, Bovik, Sheikh and Simoncelli, Image quality assessment: from error visibility to structural "
    "similarity, IEEE TIP, 2004",
    good_at=("Blurs", "Noise", "Compression", "Contrast"),
    minimum_size=(11, 11),
)

WINDOW = gaussian(11, 1.5)
REACH = WINDOW.size - 1
C1 = np.float32((0.01 * 255) ** 2)
C2 = np.float32((0.03 * 255) ** 2)
# Variances do not change when a constant is taken off; their rounding error in float32 does.
MIDDLE = np.float32(128)


def ssim(test: Array | Views, reference: Array | None = None) -> float:
    """Mean structural similarity, 1 for equal pictures.

    >>> ramp = np.tile(np.linspace(0, 1, 32), (32, 1))
    >>> round(ssim(ramp, ramp), 6)
    1.0
    >>> ssim(1 - ramp, ramp) < 0.3
    True
    """
    return measure(test, reference).value


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    views = Views.of(test, reference, SPEC)
    one, other = views.test.luma8(), views.reference.luma8()
    kept = np.empty((one.shape[0] - REACH, one.shape[1] - REACH), np.float32)
    similarity, structure = similarity_of(one, other, kept)
    return Measurement(similarity, map=kept, details={"structure": structure})


def similarity_of(one: Array, other: Array, kept: FloatArray | None = None) -> tuple[float, float]:
    """Mean similarity and the mean of its contrast-structure part; the map goes to ``kept`` if given."""
    height, width = one.shape[0] - REACH, one.shape[1] - REACH
    similarity_sum = structure_sum = 0.0
    for start, stop in strips(height, width):
        luminance, structure = _terms(one[start : stop + REACH], other[start : stop + REACH])
        structure_sum += float(structure.sum(dtype=np.float64))
        luminance *= structure
        similarity_sum += float(luminance.sum(dtype=np.float64))
        if kept is not None:
            kept[start:stop] = luminance
    pixels = height * width
    return similarity_sum / pixels, structure_sum / pixels


def _terms(one: Array, other: Array) -> tuple[FloatArray, FloatArray]:
    x = np.subtract(one, MIDDLE, dtype=np.float32)
    y = np.subtract(other, MIDDLE, dtype=np.float32)
    mean_x, mean_y = smooth_valid(x, WINDOW), smooth_valid(y, WINDOW)
    product = x * y
    # Only the sum of the two variances is needed: four filters instead of five.
    x *= x
    y *= y
    x += y
    covariance = smooth_valid(product, WINDOW)
    covariance -= mean_x * mean_y
    covariance *= 2
    covariance += C2
    variances = smooth_valid(x, WINDOW)
    variances -= mean_x * mean_x
    variances -= mean_y * mean_y
    variances += C2
    structure = covariance
    structure /= variances
    np.maximum(structure, 0, out=structure)

    mean_x += MIDDLE
    mean_y += MIDDLE
    squares = mean_x * mean_x
    mean_x *= mean_y
    mean_y *= mean_y
    squares += mean_y
    squares += C1
    mean_x *= 2
    mean_x += C1
    mean_x /= squares
    return mean_x, structure
