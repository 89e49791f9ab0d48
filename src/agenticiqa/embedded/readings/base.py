"""What a reading of a property is, how readers are registered, and the chances of the five places of an axis."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import erf, log2, sqrt

import numpy as np

from agenticiqa.embedded.looking import Look
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
    rgb = look.image.rgb
    return rgb if look.box is None else rgb[look.box.rows, look.box.columns]


def place_name(look: Look) -> str:
    """How a sentence calls what was looked at."""
    return "picture" if look.box is None else "part"


# --- What a reader tells of one property ---


PLACES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Places on a property's axis, from none of it to as much as there can be."""


@dataclass(frozen=True)
class PropertyReading:
    """One property of one part of a picture, as it was read there."""

    sentence: str
    """In plain words; true of what was read, whatever was asked."""
    amounts: tuple[float, ...] | None = None
    """The chance of each of :data:`PLACES`; None for a property without a scale."""
    values: Mapping[str, float] = field(default_factory=dict)
    """The chance of each value that the vocabulary lists for the property."""
    within: Mapping[str, str] = field(default_factory=dict)
    """Values whose chance is counted in that of a wider one, by the narrower (a sketch is a drawing)."""
    guess: bool = False
    """Whether this is a hint rather than a reading that was checked: an answer from it is never certain."""
    numbers: Mapping[str, float | str] = field(default_factory=dict)
    """What was measured, by name."""
    because: str = ""
    """The reason in plain words, where there is more to say than how much: "its edges are soft"."""
    measured: tuple[str, ...] = ()
    """What was measured, in sentences, for those who ask why."""
    steps: tuple[str, ...] = ()
    """What each of :data:`PLACES` is called, where the sentence is no more than that."""
    claimed: Mapping[int, float] = field(default_factory=dict)
    """The chance that people use the word for an end (-1, 1; 2 for too much of it), where that was fitted."""
    slightly: Mapping[int, float] = field(default_factory=dict)
    """The same of "a bit" of it."""
    mild: str = ""
    """What it is called where people use the word and nothing is found that is broken."""
    wanting: tuple[str, ...] = ()
    """Of flaws: properties that people would speak against, though nothing is broken."""

    @property
    def amount(self) -> float | None:
        """How much of the property is expected, 0 to 1."""
        if self.amounts is None:
            return None
        return sum(place * chance for place, chance in zip(PLACES, self.amounts, strict=True))

    @property
    def presence(self) -> float | None:
        """The chance that a viewer would say that it is there at all: that it is not at the first place."""
        if self.amounts is None:
            return None
        return sum(chance for place, chance in zip(PLACES, self.amounts, strict=True) if place > 0)


Reader = Callable[[Look], "PropertyReading | None"]
"""Reads one property of a look; None where this picture does not let it be read."""

_READERS: dict[str, Reader] = {}


def reader(*properties: str) -> Callable[[Reader], Reader]:
    """Register a function as the reader of properties of the vocabulary."""

    def registered(function: Reader) -> Reader:
        for name in properties:
            if name in _READERS:
                raise ValueError(f"Two readers for {name!r}.")
            _READERS[name] = function
        return function

    return registered


def reader_of(name: str) -> Reader | None:
    """The reader of a property; None where nothing reads it."""
    # Every module of this package registers its readers when it is imported.
    from agenticiqa.embedded.readings import detail, file, light, subject  # noqa: F401
    from agenticiqa.embedded.readings.people import as_people_say

    read = _READERS.get(name)
    return read and (lambda look: (told := read(look)) and as_people_say(name, look, told))


def word_at(words: tuple[str, ...], amount: float) -> str:
    return words[min(len(words) - 1, int(amount * (len(words) - 1) + 0.5))]
