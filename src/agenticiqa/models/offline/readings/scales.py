"""From a measured number to the chances of the five places of a property's axis."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import erf, log2, sqrt

import numpy as np

from agenticiqa.models.offline.looking import Look
from agenticiqa.models.offline.readings.told import PLACES
from agenticiqa.pictures.images import UInt8Image

USUAL_SPREAD = 0.12
"""Standard deviation of what people would say of the same number, as a share of the axis: half a place."""


def placed(value: float, anchors: Sequence[float]) -> float:
    """Where a number lies on the axis whose five places measure ``anchors``.

    >>> placed(15, (0, 10, 20, 30, 40)), placed(99, (0, 10, 20, 30, 40)), placed(0.25, (1, 0.5, 0.4, 0.2, 0.1))
    (0.375, 1.0, 0.6875)
    """
    rising = anchors[0] <= anchors[-1]
    at, places = (anchors, PLACES) if rising else (anchors[::-1], PLACES[::-1])
    return float(np.interp(value, at, places))


def chances_at(amount: float, spread: float = USUAL_SPREAD) -> tuple[float, ...]:
    """The chances of the five places around an amount.

    >>> [round(chance, 2) for chance in chances_at(0.5)]
    [0.0, 0.15, 0.7, 0.15, 0.0]
    """
    edges = [-9.0, *((low + high) / 2 for low, high in pairwise(PLACES)), 9.0]
    below = [(1 + erf((edge - amount) / (spread * sqrt(2)))) / 2 for edge in edges]
    return tuple(high - low for low, high in pairwise(below))


def chance_above(value: float, bound: float, spread: float) -> float:
    """The chance that something is there whose number lies around a bound; one half at the bound.

    >>> chance_above(1.0, 1.0, 0.1), round(chance_above(1.2, 1.0, 0.1), 2)
    (0.5, 0.98)
    """
    return (1 + erf((value - bound) / (spread * sqrt(2)))) / 2


def doublings(value: float, unit: float) -> float:
    """How many times a unit was doubled: the scale of things that are perceived as ratios."""
    return log2(max(value, 1e-9) / unit)


def pixels_of(look: Look) -> UInt8Image:
    """The part that is looked at."""
    rgb = look.image.rgb
    return rgb if look.box is None else rgb[look.box.rows, look.box.columns]


def place_name(look: Look) -> str:
    """How a sentence calls what was looked at."""
    return "picture" if look.box is None else "part"
