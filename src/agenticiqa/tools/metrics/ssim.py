"""SSIM: structural similarity of luma."""

from __future__ import annotations

import numpy as np

from agenticiqa.tools.metrics.base import Array, FloatArray, Measurement, MetricSpec
from agenticiqa.tools.metrics.filters import gaussian, separable, strips, total
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
    bytes_per_pixel=8,
)

WINDOW = gaussian(11, 1.5)
REACH = WINDOW.size - 1
C1 = np.float32((0.01 * 255) ** 2)
C2 = np.float32((0.03 * 255) ** 2)
# Variances do not change when a constant is taken off; their rounding error in float32 does.
MIDDLE = np.float32(128)
# Where structures oppose each other their term is negative; pyiqa counts that as nothing in common, others keep it.
LEAST_STRUCTURE = np.float32(0)


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    """Mean structural similarity, 1 for equal pictures.

    >>> ramp = np.tile(np.linspace(0, 1, 32), (32, 1))
    >>> round(measure(ramp, ramp).value, 6)
    1.0
    >>> measure(1 - ramp, ramp).value < 0.3
    True
    """
    views = Views.of(test, reference, SPEC)
    one, other = views.test.luma8(), views.reference.luma8()
    kept = np.empty((one.shape[0] - REACH, one.shape[1] - REACH), np.float32)
    similarity, structure = similarity_of(one, other, kept)
    return Measurement(similarity, map=kept, details={"structure": structure})


def similarity_of(one: Array, other: Array, kept: FloatArray | None = None) -> tuple[float, float]:
    """Mean similarity and the mean of its contrast-structure part; the map goes to ``kept`` if given."""
    height, width = one.shape[0] - REACH, one.shape[1] - REACH
    similarity_sum = structure_sum = 0.0
    inside = np.s_[REACH // 2 : -(REACH // 2), REACH // 2 : -(REACH // 2)]
    for start, stop in strips(height, width):
        luminance, structure = _terms(one[start : stop + REACH], other[start : stop + REACH])
        structure_sum += total(structure[inside])
        luminance *= structure
        similarity_sum += total(luminance[inside])
        if kept is not None:
            kept[start:stop] = luminance[inside]
    pixels = height * width
    # Neither term exceeds 1; rounding in float32 does, by some 1e-8, on equal pictures.
    return min(similarity_sum / pixels, 1.0), min(structure_sum / pixels, 1.0)


def maps_of(one: Array, other: Array) -> tuple[FloatArray, FloatArray]:
    """Similarity and its contrast-structure part at every place where the window fits."""
    shape = (one.shape[0] - REACH, one.shape[1] - REACH)
    similarity, contrast = np.empty(shape, np.float32), np.empty(shape, np.float32)
    inside = np.s_[REACH // 2 : -(REACH // 2), REACH // 2 : -(REACH // 2)]
    for start, stop in strips(*shape):
        luminance, structure = _terms(one[start : stop + REACH], other[start : stop + REACH])
        contrast[start:stop] = structure[inside]
        luminance *= structure
        similarity[start:stop] = luminance[inside]
    return similarity, contrast


def _smooth(image: FloatArray) -> FloatArray:
    # The rim, where the window does not fit, is computed too and left out at the end: whole rows are faster.
    return separable(image, WINDOW, WINDOW)


def _terms(one: Array, other: Array) -> tuple[FloatArray, FloatArray]:
    x, y = one.astype(np.float32), other.astype(np.float32)
    x -= MIDDLE
    y -= MIDDLE
    mean_x, mean_y = _smooth(x), _smooth(y)
    product = x * y
    # Only the sum of the two variances is needed: four filters instead of five.
    x *= x
    y *= y
    x += y
    structure, variances = _smooth(product), _smooth(x)
    scratch = np.multiply(mean_x, mean_y, out=product)
    structure -= scratch
    structure *= 2
    structure += C2
    np.multiply(mean_x, mean_x, out=scratch)
    variances -= scratch
    np.multiply(mean_y, mean_y, out=scratch)
    variances -= scratch
    variances += C2
    structure /= variances
    np.maximum(structure, LEAST_STRUCTURE, out=structure)

    mean_x += MIDDLE
    mean_y += MIDDLE
    squares = np.multiply(mean_x, mean_x, out=scratch)
    mean_x *= mean_y
    mean_y *= mean_y
    squares += mean_y
    squares += C1
    mean_x *= 2
    mean_x += C1
    mean_x /= squares
    return mean_x, structure
