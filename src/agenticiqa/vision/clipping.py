"""What of a picture reached the end of its range: lights that clipping flattened."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

from agenticiqa.pictures.images import UInt8Image

CLIPPED_WHITE, CLIPPED_REST = 8.0, 0.13
"""Percent of pure white, and share of the rest that lost one or two of its channels, beyond which light was too much.
Of 200 photographs for training and 300 ordinary ones as they are none reaches both, of the first with 2.5 stops more
two in three do; white grounds of things for sale have the first alone."""
FULL, SPENT = 253, 250
SIDE = 512


@dataclass(frozen=True)
class Clipped:
    """How much of a picture is as bright as can be."""

    white: float
    """Percent of the pixels that are pure white."""
    partly: float
    """Of the others, the share with a channel at its end: bright colours that lost their hue."""

    @property
    def chance(self) -> float:
        """That a photograph got too much light."""
        return NormalDist(CLIPPED_WHITE, 1.5).cdf(self.white) * NormalDist(CLIPPED_REST, 0.02).cdf(self.partly)


def clipped(rgb: UInt8Image) -> Clipped:
    """
    >>> import numpy as np
    >>> clipped(np.full((8, 8, 3), 255, np.uint8))
    Clipped(white=100.0, partly=0.0)
    """
    step = max(1, max(rgb.shape) // SIDE)
    some = rgb[::step, ::step]
    spent = some >= SPENT
    rest = ~spent.all(axis=2)
    partly = float(spent[rest].any(axis=1).mean()) if rest.any() else 0.0
    return Clipped(100 * float((some >= FULL).all(axis=2).mean()), partly)
