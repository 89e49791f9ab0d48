"""Natural-scene statistics: NIQE, BRISQUE and PIQE.

Pictures divided by their local contrast have nearly Gaussian values when they are natural; distortions bend
that shape. The shapes are fitted by moment matching over a table of shape parameters.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from math import exp, lgamma
from typing import NamedTuple

import cv2
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from agenticiqa.tools.metrics.base import Array, Measurement, MetricInputError, declared, stored_parameters
from agenticiqa.tools.metrics.filters import REPLICATE, ZERO, luma_to_round, strips
from agenticiqa.tools.metrics.views import Picture, Views

WINDOW_SIZE, WINDOW_SIGMA = 7, 7 / 6
HALF_REACH = 4
NEIGHBOURS = ((0, 1), (1, 0), (1, 1), (1, -1))


class Shapes(NamedTuple):
    """Asymmetric generalised Gaussians, one entry per block."""

    alpha: Array
    left: Array
    right: Array


@lru_cache(maxsize=1)
def _windows() -> tuple[Array, Array]:
    """The 7×7 Gaussian window in float32, as other libraries keep it; and ours, along one axis.

    The sum of the kept window misses one by a hair. In flat areas that hair decides whether a value counts as
    positive or negative, so ours sums to the same.
    """
    offsets = np.arange(WINDOW_SIZE) - WINDOW_SIZE // 2
    kernel = np.exp(-(offsets**2) / (2 * WINDOW_SIGMA**2))
    square = np.outer(kernel, kernel)
    kept = (square / square.sum()).astype(np.float32)
    return kept, kernel / kernel.sum() * np.sqrt(kept.sum(dtype=np.float64))


def contrast_normalised(luma: Array, border: int) -> Array:
    """(x - mean) / (deviation + 1) with a 7×7 Gaussian window, for luma on the 0..255 scale."""
    _, kernel = _windows()
    # Double precision: in flat areas the variance is a small difference of large numbers.
    x = luma.astype(np.float64)
    mean: Array = cv2.sepFilter2D(x, cv2.CV_64F, kernel, kernel, borderType=border)
    square: Array = cv2.sepFilter2D(x * x, cv2.CV_64F, kernel, kernel, borderType=border)
    square -= mean * mean
    deviation = np.sqrt(np.abs(square, out=square), out=square)
    deviation += 1
    x -= mean
    x /= deviation
    return x


def contrast_normalised_single(luma: Array, border: int) -> Array:
    """The same in float32 all through, as pyiqa's BRISQUE computes it.

    In areas of one colour what is left is rounding, and its sign decides a side of the histogram: only the same
    arithmetic (the whole window, row by row, multiplied and added in one step) puts it on the same side.
    """
    window, _ = _windows()
    x = luma.astype(np.float32)
    mean: Array = cv2.filter2D(x, cv2.CV_32F, window, borderType=border)
    square: Array = cv2.filter2D(x * x, cv2.CV_32F, window, borderType=border)
    deviation = np.sqrt(np.abs(square - mean * mean))
    return np.asarray((x - mean) / (deviation + 1), np.float64)


def normalised_strips(
    luma: Array, border: int, multiple: int = 1, normalise: Callable[[Array, int], Array] = contrast_normalised
) -> Iterator[Array]:
    """A whole picture divided by its local contrast, a few rows at a time: in double precision it is large."""
    height, reach = luma.shape[0], WINDOW_SIZE // 2
    for start, stop in strips(height, luma.shape[1], multiple):
        top, bottom = max(0, start - reach), min(height, stop + reach)
        yield normalise(luma[top:bottom], border)[start - top : stop - top]


@lru_cache(maxsize=1)
def _half_band() -> Array:
    """Bicubic kernel (a = -0.5) stretched for halving, as MATLAB's ``imresize`` applies it."""
    distance = np.abs(np.arange(8) - 3.5) / 2
    near = 1.5 * distance**3 - 2.5 * distance**2 + 1
    far = -0.5 * distance**3 + 2.5 * distance**2 - 4 * distance + 2
    weights = np.where(distance <= 1, near, far)
    return np.asarray(weights / weights.sum())


def halved(luma: Array) -> Array:
    """Half size with an antialiased bicubic filter; borders mirrored with the edge repeated."""
    kernel = _half_band()
    height, width = luma.shape
    half = np.empty(((height + 1) // 2, (width + 1) // 2))
    for start, stop in strips(height, width, multiple=2):
        top, bottom = max(0, start - HALF_REACH), min(height, stop + HALF_REACH)
        part = luma[top:bottom].astype(np.float64)
        filtered = cv2.sepFilter2D(part, cv2.CV_64F, kernel, kernel, anchor=(3, 3), borderType=cv2.BORDER_REFLECT)
        half[start // 2 : (stop + 1) // 2] = filtered[start - top : stop - top : 2, ::2]
    return half


def log_gamma(values: Array) -> Array:
    """The logarithm of the gamma function. Imported here: SciPy takes longer to import than most metrics to run."""
    from scipy.special import gammaln

    return np.asarray(gammaln(values))


@lru_cache(maxsize=1)
def _table() -> tuple[Array, Array]:
    gamma = np.arange(0.2, 10.001, 0.001)
    return gamma, np.exp(2 * log_gamma(2 / gamma) - log_gamma(1 / gamma) - log_gamma(3 / gamma))


def shape_for(ratio: Array) -> Array:
    """Shape parameter whose (mean |x|)² / mean x² is nearest to ``ratio``."""
    gamma, ratios = _table()
    right = np.clip(np.searchsorted(ratios, ratio), 1, gamma.size - 1)
    left = right - 1
    nearer_left = ratio - ratios[left] <= ratios[right] - ratio
    return np.asarray(gamma[np.where(nearer_left, left, right)])


def fit_asymmetric(blocks: Array) -> Shapes:
    """Shape, left and right deviation of each row of ``blocks``; NaN where one side is empty."""
    return shapes_of(moments(blocks), blocks.shape[1])


def moments(blocks: Array) -> Array:
    """What a fit needs of each row of ``blocks``, one column per row: add up columns to fit several rows as one.

    Squares left and right of zero, counts left and right, and the sum of absolute values.
    """
    negative = np.minimum(blocks, 0)
    positive = np.maximum(blocks, 0)
    return np.stack(
        [
            np.einsum("ij,ij->i", negative, negative),
            np.einsum("ij,ij->i", positive, positive),
            np.count_nonzero(negative, axis=1),
            np.count_nonzero(positive, axis=1),
            positive.sum(axis=1) - negative.sum(axis=1),
        ]
    )


def shapes_of(found: Array, size: int) -> Shapes:
    """The fit to the :func:`moments` of ``size`` values."""
    left_squares, right_squares, left_count, right_count, absolute = found
    usable = (left_count > 0) & (right_count > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        left = np.sqrt(left_squares / left_count)
        right = np.sqrt(right_squares / right_count)
        balance = left / right
        mean_absolute = absolute / size
        ratio = mean_absolute**2 / ((left_squares + right_squares) / size)
        ratio *= (balance**3 + 1) * (balance + 1) / (balance**2 + 1) ** 2
    alpha = np.where(usable, shape_for(np.where(usable, ratio, 0.5)), np.nan)
    return Shapes(alpha, np.where(usable, left, np.nan), np.where(usable, right, np.nan))


def neighbour_products(blocks: Array) -> list[Array]:
    """Each block times itself moved by one pixel (wrapping round) in four directions, flattened."""
    count = blocks.shape[0]
    return [(blocks * np.roll(blocks, shift, axis=(1, 2))).reshape(count, -1) for shift in NEIGHBOURS]


# --- NIQE: distance of a picture's natural-scene statistics from those of pristine photographs ---


NIQE_BLOCK = 96


def niqe(views: Views) -> Measurement:
    """Natural image quality evaluator (NIQE). ``value``, 0 (natural) to 100; ``details``: ``blocks``, those counted."""
    luma = views.test.luma8()
    rows, columns = luma.shape[0] // NIQE_BLOCK, luma.shape[1] // NIQE_BLOCK
    image: Array = luma[: rows * NIQE_BLOCK, : columns * NIQE_BLOCK]
    fine = _block_features(image, NIQE_BLOCK)
    coarse = _block_features(halved(image), NIQE_BLOCK // 2)
    features = np.concatenate([fine, coarse], axis=1)
    features = features[~np.isnan(features).any(axis=1)]
    if len(features) < 2:
        raise MetricInputError(
            f"NIQE found texture in fewer than two of {rows * columns} blocks; a flat picture has no "
            "natural-scene statistics to judge"
        )
    pristine = stored_parameters("niqe")
    gap = pristine["mean"] - features.mean(axis=0)
    inverse = np.linalg.pinv((pristine["covariance"] + np.cov(features, rowvar=False)) / 2)
    distance = float(np.sqrt(max(0.0, float(gap @ inverse @ gap))))
    return Measurement(min(distance, 100.0), details={"blocks": float(len(features))})


def _block_features(image: Array, size: int) -> Array:
    """18 numbers per block: the shape of its values and of its neighbour products."""
    return np.concatenate([_strip_features(part, size) for part in normalised_strips(image, REPLICATE, size)])


def _strip_features(normalised: Array, size: int) -> Array:
    rows, columns = normalised.shape[0] // size, normalised.shape[1] // size
    blocks = normalised.reshape(rows, size, columns, size).swapaxes(1, 2).reshape(-1, size, size)
    alpha, left, right = fit_asymmetric(blocks.reshape(len(blocks), -1))
    width = _width(alpha)
    found = [alpha, (left + right) * width / 2]
    for product in neighbour_products(blocks):
        alpha, left, right = fit_asymmetric(product)
        left, right = left * _width(alpha), right * _width(alpha)
        found += [alpha, (right - left) * np.exp(log_gamma(2 / alpha) - log_gamma(1 / alpha)), left, right]
    return np.stack(found, axis=1)


def _width(alpha: Array) -> Array:
    """Scale of a generalised Gaussian of unit deviation."""
    return np.asarray(np.sqrt(np.exp(log_gamma(1 / alpha) - log_gamma(3 / alpha))))


# --- BRISQUE: quality predicted from natural-scene statistics by a support-vector machine ---


def brisque(views: Views) -> Measurement:
    """Blind/referenceless image spatial quality evaluator (BRISQUE). ``value``: lower is better, mostly 0 to 100."""
    luma: Array = views.test.luma8()
    features = np.concatenate([_features(luma), _features(halved(luma))])
    if np.isnan(features).any():
        raise MetricInputError("BRISQUE found no texture; a flat picture has no natural-scene statistics to judge")
    machine = stored_parameters("brisque")
    scaled = -1 + 2 * (features - machine["lowest"]) / (machine["highest"] - machine["lowest"])
    distance = ((machine["support_vectors"] - scaled) ** 2).sum(axis=1)
    score = float(machine["coefficients"] @ np.exp(-float(machine["gamma"]) * distance) - machine["rho"])
    return Measurement(float(np.clip(score, *declared("BRISQUE").range)))


def _features(luma: Array) -> Array:
    square_sum, absolute_sum, products = _sums(luma)
    variance = square_sum / luma.size
    if variance < 1e-12:
        return np.full(18, np.nan)
    ratio = (absolute_sum / luma.size) ** 2 / variance
    found = [float(shape_for(np.array([ratio]))[0]), variance]
    for product in products:
        alpha, left, right = (float(part[0]) for part in shapes_of(product, luma.size))
        scale = exp(lgamma(2 / alpha) - (lgamma(1 / alpha) + lgamma(3 / alpha)) / 2)
        found += [alpha, (right - left) * scale, left**2, right**2]
    return np.array(found)


def _sums(luma: Array) -> tuple[float, float, list[Array]]:
    """Squares, absolute values, and the moments of each neighbour product, over the whole picture."""
    square_sum = absolute_sum = 0.0
    products: list[Array] = [np.zeros((5, 1)) for _ in NEIGHBOURS]
    # Products wrap round the picture's edge, so the row above the first is the last.
    above = contrast_normalised_single(luma[-(WINDOW_SIZE // 2 + 1) :], ZERO)[-1:]
    for part in normalised_strips(luma, ZERO, normalise=contrast_normalised_single):
        square_sum += float(np.vdot(part, part))
        absolute_sum += float(np.abs(part).sum())
        joined = np.concatenate([above, part])
        for sums, (down, across) in zip(products, NEIGHBOURS, strict=True):
            moved = np.roll(joined[1 - down : len(joined) - down], across, axis=1)
            sums[:] += moments((part * moved).reshape(1, -1))
        above = part[-1:]
    return square_sum, absolute_sum, products


# --- PIQE: the share of active blocks that look distorted or noisy ---


PIQE_BLOCK = 16
SEGMENT = 6
ACTIVE = 0.1
SMOOTH = 0.1


def piqe(views: Views) -> Measurement:
    """Perception-based image quality evaluator (PIQE).

    ``value``, 0 (best) to 100; ``map``: score of each 16×16 block; ``details``: shares of blocks.
    """
    found = [_block_scores(part) for part in normalised_strips(_stretched(views.test), REPLICATE, PIQE_BLOCK)]
    scores, active, impaired, noisy = (np.concatenate([each[place] for each in found]) for place in range(4))
    count = int(active.sum())
    value = float((scores.sum() + 1) / (count + 1) * 100)
    return Measurement(
        float(np.clip(value, 0.0, 100.0)),
        map=scores.astype(np.float32),
        details={
            "active_share": count / active.size,
            "artefact_share": float((active & impaired).mean()),
            "noise_share": float((active & noisy).mean()),
        },
    )


def _stretched(picture: Picture) -> Array:
    """Luma as integers whose brightest is 255, with as many rows and columns more as do not fill a block."""
    brightest = max(float(_luma(picture, start, stop).max()) for start, stop in strips(*picture.size))
    stretched = np.zeros(picture.size, np.uint8)
    if brightest > 0:
        for start, stop in strips(*picture.size):
            stretched[start:stop] = np.rint(255 * (_luma(picture, start, stop) / np.float32(brightest)))
    # The published code adds the remainder, not what is missing to a whole block.
    below, right = picture.height % PIQE_BLOCK, picture.width % PIQE_BLOCK
    return np.asarray(cv2.copyMakeBorder(stretched, 0, below, 0, right, cv2.BORDER_REFLECT))


def _luma(picture: Picture, start: int, stop: int) -> Array:
    rows = picture.rows(start, stop)
    return rows if picture.is_grey else luma_to_round(rows)


def _block_scores(normalised: Array) -> tuple[Array, Array, Array, Array]:
    """Each block's share of the score, and whether it is active, impaired and noisy; rows × columns of blocks."""
    rows, columns = normalised.shape[0] // PIQE_BLOCK, normalised.shape[1] // PIQE_BLOCK
    whole = normalised[: rows * PIQE_BLOCK, : columns * PIQE_BLOCK].reshape(rows, PIQE_BLOCK, columns * PIQE_BLOCK)
    # Sums of each block's columns: all its variances follow from them.
    sums, squares = (each.sum(axis=1).reshape(rows, columns, PIQE_BLOCK) for each in (whole, whole * whole))
    variance = _variance(sums, squares, PIQE_BLOCK)
    active = variance > ACTIVE
    impaired = _impaired(whole.reshape(rows, PIQE_BLOCK, columns, PIQE_BLOCK))
    noisy = _noisy(sums, squares, np.sqrt(variance))
    scores = np.where(active & impaired, 1 - variance, 0) + np.where(active & noisy, variance, 0)
    return scores, active, impaired, noisy


def _variance(sums: Array, squares: Array, each: int) -> Array:
    """Variance over the last axis of what was summed, ``each`` values at a time."""
    count = each * sums.shape[-1]
    spread = squares.sum(axis=-1) - sums.sum(axis=-1) ** 2 / count
    return np.asarray(np.maximum(spread, 0) / (count - 1))


def _impaired(blocks: Array) -> Array:
    """Whether any short segment of a block's border is unnaturally smooth."""
    impaired = np.zeros((blocks.shape[0], blocks.shape[2]), bool)
    across = np.stack([blocks[:, 0], blocks[:, -1]])
    down = np.stack([blocks[..., 0], blocks[..., -1]]).swapaxes(2, 3)
    for edges in (across, down):
        segments = sliding_window_view(np.ascontiguousarray(np.moveaxis(edges, -1, 0)), SEGMENT, axis=0)
        smooth = _variance(segments, segments * segments, 1) < SMOOTH**2
        impaired |= smooth.any(axis=(0, 1))
    return impaired


def _noisy(sums: Array, squares: Array, deviation: Array) -> Array:
    """Whether the middle of a block varies like the rest of it, as noise does."""
    # Columns 7 and 9: the published code drops the second one after the first has already gone.
    middle, rest = [7, 8], [column for column in range(PIQE_BLOCK) if column not in (7, 9)]
    inner, outer = (
        np.sqrt(_variance(sums[..., chosen], squares[..., chosen], PIQE_BLOCK)) for chosen in (middle, rest)
    )
    ratio = np.divide(inner, outer, out=np.zeros_like(outer), where=outer > 0)
    larger = np.maximum(deviation, ratio)
    contrast = np.divide(np.abs(deviation - ratio), larger, out=np.ones_like(larger), where=larger > 0)
    return np.asarray(deviation > 2 * contrast)
