"""BRISQUE: quality predicted from natural-scene statistics by a support-vector machine."""

from __future__ import annotations

from math import exp, lgamma

import numpy as np

from agenticiqa.tools.metrics.base import Array, Measurement, MetricInputError, MetricSpec, stored_parameters
from agenticiqa.tools.metrics.filters import ZERO
from agenticiqa.tools.metrics.natural_statistics import (
    NEIGHBOURS,
    WINDOW_SIZE,
    contrast_normalised_single,
    halved,
    moments,
    normalised_strips,
    shape_for,
    shapes_of,
)
from agenticiqa.tools.metrics.views import Picture, Views

SPEC = MetricSpec(
    name="BRISQUE",
    kind="NR",
    range=(-100.0, 250.0),
    higher_is_better=False,
    variant="BT.601 luma rounded to 0..255, two scales, zero borders: features equal pyiqa's brisque; the "
    "support vectors are those of the brisque package (770 of them), not the 774 that pyiqa fetches, so "
    "scores differ",
    paper="Mittal, Moorthy and Bovik, No-reference image quality assessment in the spatial domain, IEEE TIP, 2012",
    good_at=("Noise", "Blurs", "Compression"),
    minimum_size=(16, 16),
    bytes_per_pixel=5,
)


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    """BRISQUE, lower is better; 0 to 100 for usual pictures.

    >>> rng = np.random.default_rng(0)
    >>> measure(rng.random((64, 64))).value > 30
    True
    """
    views = Views.of(test, reference, SPEC)
    luma: Array = views.test.luma8()
    features = np.concatenate([_features(luma), _features(halved(luma))])
    if np.isnan(features).any():
        raise MetricInputError(f"{SPEC.name} found no texture; a flat picture has no natural-scene statistics to judge")
    machine = stored_parameters("brisque")
    scaled = -1 + 2 * (features - machine["lowest"]) / (machine["highest"] - machine["lowest"])
    distance = ((machine["support_vectors"] - scaled) ** 2).sum(axis=1)
    score = float(machine["coefficients"] @ np.exp(-float(machine["gamma"]) * distance) - machine["rho"])
    return Measurement(float(np.clip(score, *SPEC.range)))


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
