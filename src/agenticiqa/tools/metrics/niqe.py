"""NIQE: distance of a picture's natural-scene statistics from those of pristine photographs."""

from __future__ import annotations

import numpy as np

from agenticiqa.tools.metrics.base import Array, Measurement, MetricInputError, MetricSpec, stored_parameters
from agenticiqa.tools.metrics.filters import REPLICATE
from agenticiqa.tools.metrics.natural_statistics import (
    fit_asymmetric,
    halved,
    log_gamma,
    neighbour_products,
    normalised_strips,
)
from agenticiqa.tools.metrics.views import Picture, Views

SPEC = MetricSpec(
    name="NIQE",
    kind="NR",
    range=(0.0, 100.0),
    higher_is_better=False,
    variant="96×96 blocks without sharpness selection, BT.601 luma rounded to 0..255, the authors' published "
    "pristine model: equals pyiqa's niqe; cut off at 100",
    paper="Mittal, Soundararajan and Bovik, Making a completely blind image quality analyzer, IEEE Signal "
    "Processing Letters, 2013",
    good_at=("Noise", "Blurs", "Compression"),
    minimum_size=(192, 192),
    bytes_per_pixel=6,
)

BLOCK = 96


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    """NIQE, lower is more natural.

    >>> rng = np.random.default_rng(0)
    >>> measure(rng.random((192, 192))).value > 10
    True
    """
    views = Views.of(test, reference, SPEC)
    luma = views.test.luma8()
    rows, columns = luma.shape[0] // BLOCK, luma.shape[1] // BLOCK
    image: Array = luma[: rows * BLOCK, : columns * BLOCK]
    fine = _features(image, BLOCK)
    coarse = _features(halved(image), BLOCK // 2)
    features = np.concatenate([fine, coarse], axis=1)
    features = features[~np.isnan(features).any(axis=1)]
    if len(features) < 2:
        raise MetricInputError(
            f"{SPEC.name} found texture in fewer than two of {rows * columns} blocks; a flat picture has no "
            "natural-scene statistics to judge"
        )
    pristine = stored_parameters("niqe")
    gap = pristine["mean"] - features.mean(axis=0)
    inverse = np.linalg.pinv((pristine["covariance"] + np.cov(features, rowvar=False)) / 2)
    distance = float(np.sqrt(max(0.0, float(gap @ inverse @ gap))))
    return Measurement(min(distance, SPEC.range[1]), details={"blocks": float(len(features))})


def _features(image: Array, size: int) -> Array:
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
