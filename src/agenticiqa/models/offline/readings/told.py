"""What a reader tells of one property: how much of it there is or which of its values, in words, and how surely."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path

from agenticiqa.models.offline.looking import Look

PLACES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Places on a property's axis, from none of it to as much as there can be."""


@dataclass(frozen=True)
class Told:
    """One property of one part of a picture, as it was read there."""

    sentence: str
    """In plain words first, numbers after; true of what was read, whatever was asked."""
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


Reader = Callable[[Look], "Told | None"]
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
    _load_readers()
    return _READERS.get(name)


@cache
def _load_readers() -> None:
    """Every module of this package registers its readers when it is imported."""
    package = __name__.rpartition(".")[0]
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        import_module(f"{package}.{module.name}")
