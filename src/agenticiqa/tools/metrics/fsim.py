"""FSIM: feature similarity, from phase congruency, gradients and colour."""

from __future__ import annotations

import numpy as np

from agenticiqa.tools.metrics.base import Array, FloatArray, Measurement, MetricSpec
from agenticiqa.tools.metrics.filters import (
    YIQ,
    scharr_magnitude,
    similarity,
    total,
    transform_colours,
    viewing_factor,
)
from agenticiqa.tools.metrics.phase_congruency import phase_congruency
from agenticiqa.tools.metrics.views import Picture, Views

SPEC = MetricSpec(
    name="FSIM",
    kind="FR",
    range=(0.0, 1.0),
    higher_is_better=True,
    variant="FSIMc: with the I and Q colour terms; picture shrunk so that its short side is near 256 "
    "pixels: equals pyiqa's fsim",
    paper="Zhang, Zhang, Mou and Zhang, FSIM: a feature similarity index for image quality assessment, IEEE TIP, 2011",
    good_at=("Blurs", "Compression", "Noise", "Color distortions", "Spatial distortions"),
    minimum_size=(8, 8),
    bytes_per_pixel=4,
)

T_PHASE, T_GRADIENT, T_COLOUR, COLOUR_POWER = 0.85, 160.0, 200.0, 0.03


def _features(picture: Picture, factor: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    def make() -> tuple[FloatArray, FloatArray, FloatArray]:
        yiq = transform_colours(picture.pooled_rgb(factor), YIQ)
        luma = np.ascontiguousarray(yiq[..., 0])
        return yiq, phase_congruency(luma), scharr_magnitude(luma)

    return picture.share("fsim", make)


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    """Feature similarity (FSIMc), 1 for equal pictures.

    >>> ramp = np.tile(np.linspace(0, 1, 32), (32, 1))
    >>> round(measure(ramp, ramp).value, 5)
    1.0
    """
    views = Views.of(test, reference, SPEC)
    factor = viewing_factor(views.size)
    features = views.on_both(lambda picture: _features(picture, factor))
    (yiq_one, phase_one, gradient_one), (yiq_other, phase_other, gradient_other) = features
    found = similarity(phase_one, phase_other, T_PHASE)
    found *= similarity(gradient_one, gradient_other, T_GRADIENT)
    colour = similarity(yiq_one[..., 1], yiq_other[..., 1], T_COLOUR)
    colour *= similarity(yiq_one[..., 2], yiq_other[..., 2], T_COLOUR)
    found *= np.abs(colour) ** np.float32(COLOUR_POWER)
    weights = np.maximum(phase_one, phase_other)
    weight = total(weights)
    # Two pictures without a single feature leave nothing to weight by.
    value = float(np.vdot(found, weights)) / weight if weight > 0 else total(found) / found.size
    return Measurement(min(value, 1.0), map=found)
