"""DISTS on VGG-16; the backbone (59 MB) is not shipped: ``dists_weights.py`` gets it."""

from functools import cache, partial
from pathlib import Path

import numpy as np

from agenticiqa.tools.metrics import Array, FloatArray, Measurement, Metric, Picture, Views
from agenticiqa.tools.metrics.base import declared
from agenticiqa.tools.perceptual.lpips import outputs

GRAPH = Path(__file__).with_name("weights") / "dists_vgg16.onnx"
HEADS = Path(__file__).with_name("weights") / "dists_heads.npz"
WEIGHTS_FILE = "dists_vgg16.npz"
VGG_CHANNELS = (3, 64, 128, 256, 512, 512)
"""Of the picture and of the end of each stage of VGG-16, which DISTS reads."""
_C = 1e-6

SPEC = declared("DISTS")


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


def _similarity(above: Array, below: Array) -> Array:
    return ((above + _C) / (below + _C)).ravel()


@cache
def _heads() -> tuple[FloatArray, FloatArray]:
    """The published weights of texture and structure; together they are one."""
    with np.load(HEADS, allow_pickle=False) as stored:
        alpha, beta = stored["alpha"].astype(np.float64), stored["beta"].astype(np.float64)
    total = alpha.sum() + beta.sum()
    return alpha / total, beta / total
