"""``AIQA_NR``: the embedded model's no-reference score as a measuring tool for every backend."""

from dataclasses import replace

import numpy as np

from agenticiqa.tools.metrics import Array, FloatArray, Measurement, Picture, Views
from agenticiqa.tools.metrics.base import declared
from agenticiqa.vision.network import load_vision, weights_version
from agenticiqa.vision.scene import Scene, adjusted_by_facts

# Other weights give other scores.
SPEC = replace(declared("AIQA_NR"), version=weights_version())


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    scene = _seen(Views.of(test, reference, SPEC))
    reading = adjusted_by_facts(scene.read(), scene.facts)
    return Measurement(reading.score, details=dict(reading.severity))


def make_map(views: Views) -> FloatArray:
    """The score of every cell; made on demand."""
    return _seen(views).score_map()


def _seen(views: Views) -> Scene:
    pixels = views.test.pixels
    ready = pixels.dtype == np.uint8 and pixels.ndim == 3
    rgb = pixels if ready else np.asarray(np.rint(views.test.rgb() * 255), np.uint8)
    return Scene.of(load_vision(), rgb)
