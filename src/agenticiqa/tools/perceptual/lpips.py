"""LPIPS, version 0.1 on AlexNet; the weights travel with this package."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

from agenticiqa.tools.metrics import Array, FloatArray, Measurement, MetricInputError, MetricSpec, Picture, Views
from agenticiqa.tools.perceptual.sessions import outputs

GRAPH = Path(__file__).with_name("weights") / "lpips_alex.onnx"
MAX_MEGAPIXELS = 50.0

SPEC = MetricSpec(
    name="LPIPS",
    kind="FR",
    range=(0.0, 1.0),
    higher_is_better=False,
    variant="version 0.1 on AlexNet at the picture's own size: equals the lpips package and pyiqa's lpips",
    paper="Zhang, Isola, Efros, Shechtman and Wang, CVPR, 2018",
    good_at=("Blurs", "Spatial distortions", "Compression"),
    minimum_size=(32, 32),
    bytes_per_pixel=160,
)


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    """The distance: 0 for identical pictures, near 1 for unrelated ones. The map has the picture's size."""
    views = Views.of(test, reference, SPEC)
    check_size(views, SPEC, MAX_MEGAPIXELS)
    maps = [each[0, 0] for each in outputs(GRAPH, views)]
    details = {f"layer_{index + 1}": float(each.mean(dtype=np.float64)) for index, each in enumerate(maps)}
    return Measurement(sum(details.values()), map=_enlarged(maps, views.size), details=details)


def _enlarged(maps: list[FloatArray], size: tuple[int, int]) -> FloatArray:
    height, width = size
    total = np.zeros(size, np.float32)
    for each in maps:
        total += np.asarray(cv2.resize(each, (width, height), interpolation=cv2.INTER_LINEAR), np.float32)
    return total


def check_size(views: Views, spec: MetricSpec, most: float) -> None:
    """Refuse a picture that would fill the machine's memory."""
    megapixels = views.test.height * views.test.width / 1e6
    if megapixels > most:
        raise MetricInputError(
            f"{spec.name} takes at most {most:g} megapixels, and this picture has {megapixels:.1f} "
            "(scale it down or measure a region)"
        )
