"""Where in the frame: the words for sides, corners, halves, front and back."""

from __future__ import annotations

from collections.abc import Iterable

from agenticiqa._data import by_word
from agenticiqa.models.offline.language.word_lists import vocabulary, word_list

_CANONICAL = by_word(vocabulary("positions")["places"])
_ORDER = tuple(vocabulary("positions")["places"])

# Words that can be the whole name of a region ("the left"), and those that must qualify another ("upper").
REGION_NOUNS = word_list("positions", "region_nouns")
POSITION_MODIFIERS = word_list("positions", "modifiers")


def position_of(named: Iterable[str]) -> str | None:
    """The place that position words mean together, or None.

    >>> position_of(["upper", "left", "corner"]), position_of(["middle"]), position_of(["house"])
    ('top left', 'center', None)
    """
    found = {_CANONICAL[word] for word in named if word in _CANONICAL}
    if found - {"corners", "edges"}:
        found -= {"corners", "edges"}  # "the left edge" is a side, "the upper left corner" a corner by its two sides
    return " ".join(name for name in _ORDER if name in found) or None
