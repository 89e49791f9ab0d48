"""Where in the frame: the words for sides, corners, halves, front and back."""

from __future__ import annotations

from collections.abc import Iterable

from agenticiqa.models.offline.language.word_lists import word_set

_CANONICAL = {
    "left": "left", "lefthand": "left", "leftmost": "left",
    "right": "right", "righthand": "right", "rightmost": "right",
    "top": "top", "upper": "top", "uppermost": "top",
    "bottom": "bottom", "lower": "bottom", "lowermost": "bottom",
    "center": "center", "middle": "center", "central": "center",
    "foreground": "foreground", "background": "background",
    "corner": "corners", "corners": "corners", "border": "edges", "borders": "edges",
    "edge": "edges", "edges": "edges", "margin": "edges", "margins": "edges", "periphery": "edges",
    "front": "foreground", "rear": "background", "distance": "background",
}  # fmt: skip

# Words that can be the whole name of a region ("the left"), and those that must qualify another ("upper").
REGION_NOUNS = word_set(
    "left right top bottom center middle foreground background corner side half edge border margin periphery distance "
    "quarter third"
)
POSITION_MODIFIERS = word_set(
    "left right top bottom upper lower central center middle lefthand righthand leftmost rightmost uppermost "
    "lowermost left-hand right-hand front rear foreground background"
)

_ORDER = ("top", "bottom", "center", "left", "right", "foreground", "background", "corners", "edges")


def position_of(words: Iterable[str]) -> str | None:
    """The place that position words mean together, or None.

    >>> position_of(["upper", "left", "corner"]), position_of(["middle"]), position_of(["house"])
    ('top left', 'center', None)
    """
    found = {_CANONICAL[word] for word in words if word in _CANONICAL}
    if found - {"corners", "edges"}:
        found -= {"corners", "edges"}  # "the left edge" is a side, "the upper left corner" a corner by its two sides
    return " ".join(name for name in _ORDER if name in found) or None
