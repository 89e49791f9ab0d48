"""SSIM: structural similarity of luma, at one scale and at five (MS-SSIM)."""

from collections.abc import Iterator

import cv2
import numpy as np

from agenticiqa.tools.metrics.base import Array, FloatArray, Measurement
from agenticiqa.tools.metrics.filters import ZERO, gaussian, placed, separable, shrink, strips, total
from agenticiqa.tools.metrics.views import Views

# --- SSIM: structural similarity of luma ---


WINDOW = gaussian(11, 1.5)
REACH = WINDOW.size - 1
C1 = np.float32((0.01 * 255) ** 2)
C2 = np.float32((0.03 * 255) ** 2)
# Variances do not change when a constant is taken off; their rounding error in float32 does.
MIDDLE = np.float32(128)
# Where structures oppose each other their term is negative; pyiqa counts that as nothing in common, others keep it.
LEAST_STRUCTURE = np.float32(0)


def ssim(views: Views) -> Measurement:
    """Mean structural similarity (SSIM).

    ``value``, 0 to 1 (equal pictures); ``map``: similarity where the window fits; ``details``: ``structure``.
    """
    one, other = views.test.luma8(), views.reference.luma8()
    kept = np.empty((one.shape[0] - REACH, one.shape[1] - REACH), np.float32)
    similarity, structure = similarity_of(one, other, kept)
    return Measurement(similarity, map=kept, details={"structure": structure})


def similarity_of(
    one: Array, other: Array, kept: FloatArray | None = None, kept_structure: FloatArray | None = None
) -> tuple[float, float]:
    """Mean similarity and the mean of its contrast-structure part; their maps go to what is given for them."""
    height, width = one.shape[0] - REACH, one.shape[1] - REACH
    similarity_sum = structure_sum = 0.0
    inside = np.s_[REACH // 2 : -(REACH // 2), REACH // 2 : -(REACH // 2)]
    for start, stop in strips(height, width):
        luminance, structure = _terms(one[start : stop + REACH], other[start : stop + REACH])
        structure_sum += total(structure[inside])
        if kept_structure is not None:
            kept_structure[start:stop] = structure[inside]
        luminance *= structure
        similarity_sum += total(luminance[inside])
        if kept is not None:
            kept[start:stop] = luminance[inside]
    pixels = height * width
    # Neither term exceeds 1; rounding in float32 does, by some 1e-8, on equal pictures.
    return min(similarity_sum / pixels, 1.0), min(structure_sum / pixels, 1.0)


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


# --- MS-SSIM: structural similarity at five scales ---


WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)
LAST = len(WEIGHTS) - 1


def ms_ssim(views: Views) -> Measurement:
    """Multi-scale structural similarity (MS-SSIM).

    ``value``, 0 to 1 (equal pictures); ``details``: ``scale_1`` to ``scale_16``, the term of each scale.
    """
    value, details = 1.0, {}
    for level, (one, other) in enumerate(_scales(views)):
        similarity, structure = similarity_of(one, other)
        term = similarity if level == LAST else structure
        details[f"scale_{2**level}"] = term
        value *= term ** WEIGHTS[level]
    return Measurement(value, details=details)


def ms_ssim_map(views: Views) -> FloatArray:
    """The same product at every pixel; its mean is near the value, which multiplies means instead."""
    product = np.ones(views.size, np.float32)
    for level, (one, other) in enumerate(_scales(views)):
        similarity, structure = np.empty((2, one.shape[0] - REACH, one.shape[1] - REACH), np.float32)
        similarity_of(one, other, similarity, structure)
        step = 2**level
        term = placed(similarity if level == LAST else structure, views.size, step, (REACH // 2 + 0.5) * step - 0.5)
        product *= term ** WEIGHTS[level]
    return product


def _scales(views: Views) -> Iterator[tuple[Array, Array]]:
    """Test and reference, from their own size to the coarsest."""
    one: Array = views.test.luma8()
    other: Array = views.reference.luma8()
    yield one, other
    for _ in range(LAST):
        one, other = _halved(one), _halved(other)
        yield one, other


def _halved(image: Array) -> FloatArray:
    odd_rows, odd_columns = image.shape[0] % 2, image.shape[1] % 2
    if odd_rows or odd_columns:
        image = np.asarray(cv2.copyMakeBorder(image, odd_rows, odd_rows, odd_columns, odd_columns, ZERO, value=0))
    return shrink(image, 2)
