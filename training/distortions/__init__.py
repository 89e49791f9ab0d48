"""Controlled damage: the 25 distortions of the KADID-10k protocol in five levels each, with what people think of them.

>>> import numpy as np
>>> from training.distortions import DISTORTIONS, distort, expected_opinion
>>> picture = np.random.default_rng(0).random((48, 64, 3))
>>> damaged = distort(picture, "jpeg", level=4)
>>> damaged.shape, expected_opinion("jpeg", 4), DISTORTIONS["jpeg"].category
((48, 64, 3), 1.9454, 'Compression')
"""

from __future__ import annotations

from training.distortions.apply import combine, distort
from training.distortions.protocol import (
    DISTORTIONS,
    LEVELS,
    PROTOCOL,
    Distortion,
    DistortionError,
    expected_opinion,
    find,
)

from agenticiqa.vocabulary import UNCHANGED_OPINION

__all__ = [
    "DISTORTIONS",
    "LEVELS",
    "PROTOCOL",
    "UNCHANGED_OPINION",
    "Distortion",
    "DistortionError",
    "combine",
    "distort",
    "expected_opinion",
    "find",
]
