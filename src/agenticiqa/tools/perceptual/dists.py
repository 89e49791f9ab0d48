"""DISTS on VGG-16; the backbone (59 MB) is converted once by ``agenticiqa tools fetch DISTS``."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path

import numpy as np

from agenticiqa.tools.metrics import Array, FloatArray, Measurement, Metric, MetricSpec, Picture, Views
from agenticiqa.tools.perceptual.lpips import outputs

GRAPH = Path(__file__).with_name("weights") / "dists_vgg16.onnx"
HEADS = Path(__file__).with_name("weights") / "dists_heads.npz"
WEIGHTS_FILE = "dists_vgg16.npz"
VGG_STAGES = (2, 2, 3, 3, 3)
"""Convolutions per stage; DISTS reads the picture and the end of each stage."""
VGG_CHANNELS = (3, 64, 128, 256, 512, 512)
_C = 1e-6

SPEC = MetricSpec(
    name="DISTS",
    kind="FR",
    range=(0.0, 1.0),
    higher_is_better=False,
    variant="VGG-16 at the picture's own size, without the authors' optional shrinking to 256 pixels: equals "
    "pyiqa's dists",
    paper="Ding, Ma, Wang and Simoncelli, IEEE TPAMI, 2020",
    good_at=("Blurs", "Spatial distortions", "Compression"),
    minimum_size=(32, 32),
    bytes_per_pixel=1600,
    # The first stage holds 64 numbers per pixel of both pictures, several times over.
    max_megapixels=6.0,
)


def metric(weights: Path) -> Metric:
    """DISTS with the backbone in ``weights``."""
    return Metric(SPEC, partial(measure, weights=weights))


def measure(test: Array | Views, reference: Array | Picture | None = None, *, weights: Path) -> Measurement:
    """0 for identical pictures; ``details`` splits the distance into structure and texture."""
    views = Views.of(test, reference, SPEC)
    found = outputs(GRAPH, views, weights)
    alpha, beta = _heads()
    texture = structure = 0.0
    start = 0
    for index, channels in enumerate(VGG_CHANNELS):
        part = slice(start, start + channels)
        means, variances, covariance = (each.astype(np.float64) for each in found[3 * index : 3 * index + 3])
        texture += float(alpha[part] @ _similarity(2 * means[0] * means[1], (means**2).sum(0)))
        structure += float(beta[part] @ _similarity(2 * covariance[0], variances.sum(0)))
        start += channels
    details = {"texture": float(alpha.sum()) - texture, "structure": float(beta.sum()) - structure}
    return Measurement(max(0.0, 1.0 - texture - structure), details=details)


def kernel_shapes() -> dict[str, tuple[int, ...]]:
    """The kernels that the graph wants to be given, output × input × height × width.

    >>> kernel_shapes()["conv12_kernel"]
    (512, 512, 3, 3)
    """
    stages = [stage for stage, layers in enumerate(VGG_STAGES) for _ in range(layers)]
    before = [0, *(stage + 1 for stage in stages)]
    return {
        f"conv{index}_kernel": (VGG_CHANNELS[stage + 1], VGG_CHANNELS[before[index]], 3, 3)
        for index, stage in enumerate(stages)
    }


def _similarity(above: Array, below: Array) -> Array:
    return ((above + _C) / (below + _C)).ravel()


@cache
def _heads() -> tuple[FloatArray, FloatArray]:
    """The published weights of texture and structure; together they are one."""
    with np.load(HEADS, allow_pickle=False) as stored:
        alpha, beta = stored["alpha"].astype(np.float64), stored["beta"].astype(np.float64)
    total = alpha.sum() + beta.sum()
    return alpha / total, beta / total
