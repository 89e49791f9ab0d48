"""From a difference of scores to the chance that people see it the same way.

Two pictures of one scene are easier to put in order than two scores are to predict: errors that the scene causes are
shared. How often an order is right for a given lead was measured with ``training/fit_comparison.py`` and
``training/embedded/pair_slopes.py`` on pairs of distorted versions of one photograph, and on pairs of photographs of
different scenes; a logistic curve without offset follows it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image

from agenticiqa.nodes.results import Winner
from agenticiqa.pictures.images import UInt8Image

CALL_FROM = 0.65
"""Below this chance a lead is called a tie."""
SUREST = 0.999
"""The curve was checked on some 1,500 pairs of its far end: of a chance beyond this, they say nothing."""


@dataclass(frozen=True)
class Reliability:
    """How a lead of one tool turns into a chance: the slope per point of lead."""

    tool: str
    slope: float

    def chance(self, lead: float) -> float:
        """
        >>> round(Reliability("toy", 2.0).chance(0.0), 2), round(Reliability("toy", 2.0).chance(1.0), 2)
        (0.5, 0.88)
        """
        return 1 / (1 + math.exp(-self.slope * lead))


# Written down from `training/fit_comparison.py` and `training/embedded/pair_slopes.py`; tables in docs/comparison.md.
WITH_REFERENCE = Reliability("AIQA_FR", 3.02)
WITHOUT_REFERENCE = Reliability("AIQA_NR", 4.97)
OTHER_SCENES = Reliability("AIQA_NR", 1.92)
ONE_SCENE_FROM = 0.75
"""Correlation of two pictures at 32×32 pixels: of versions of one photograph hardly any lie below, however damaged, and
of photographs of different scenes one pair in three hundred above."""


def show_one_scene(a: UInt8Image, b: UInt8Image) -> bool:
    """Whether two pictures are versions of one photograph, as far as their coarse layout tells."""
    one, other = (_layout(picture) for picture in (a, b))
    return float((one * other).sum()) >= ONE_SCENE_FROM


def _layout(picture: UInt8Image) -> npt.NDArray[np.float32]:
    small = Image.fromarray(picture).convert("L").resize((32, 32), Image.Resampling.BOX)
    values = np.asarray(small, np.float32)
    centred = values - values.mean()
    return np.asarray(centred / max(float(np.linalg.norm(centred)), 1e-6), np.float32)


def winner_of(chance_a: float) -> Winner:
    """
    >>> winner_of(0.9), winner_of(0.5), winner_of(0.2)
    ('A', 'tie', 'B')
    """
    if max(chance_a, 1 - chance_a) < CALL_FROM:
        return "tie"
    return "A" if chance_a > 0.5 else "B"


def less_certain(chance_a: float) -> float:
    """A chance that independent evidence contradicts: half as far from even.

    >>> less_certain(0.9)
    0.7
    """
    return 0.5 + (chance_a - 0.5) / 2


def as_reported(chance: float) -> float:
    """A chance as it is reported: four digits, and never nearer to certainty than was checked.

    >>> as_reported(0.93456), as_reported(0.9999999), as_reported(0.0000001)
    (0.9346, 0.999, 0.001)
    """
    return round(min(max(chance, 1 - SUREST), SUREST), 4)
