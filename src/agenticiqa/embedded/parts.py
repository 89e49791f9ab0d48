"""Parts of a picture as questions name them: "the face of my son", "the red flowers", "upper left corner"."""

import re
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any, cast

from agenticiqa._data import by_word, listed, read_data
from agenticiqa.vision.appearance.segments import Appearance, Light, Where
from agenticiqa.vision.objects import LABELS
from agenticiqa.vocabulary import plain_spelling

_LEADING = re.compile(
    r"^(?:(?:the|an?|this|that|these|those|my|your|his|her|our|their|its|all|both|every|each|any|some|of)\s+)+", re.I
)
# Behind these a phrase says where its head is, or whose.
_BEHIND_HEAD = re.compile(
    r"\b(?:of|on|in|at|behind|above|below|under|near|with|without|by|from|to|that|who|which|beside|next|between|over|"
    r"inside|around|through|against|along|wearing|holding|standing|sitting)\b",
    re.I,
)
_AREA_NOUNS = frozenset(
    {"part", "area", "region", "side", "half", "corner", "edge", "quarter", "third", "section", "zone", "spot", "end"}
)
_PLURALS = {"ves": "f", "ies": "y", "sses": "ss", "ches": "ch", "shes": "sh", "xes": "x"}
_LEAST_TYPED, _LIKENESS = 6, 0.89
"""Letters of a word that may be mistyped, and how like the known one it must be."""
_FRAME = re.compile(r"\s+(?:of|in)\s+(?:the|this|my)\s+(?:picture|image|photo|photograph|frame|shot|scene)\b", re.I)


@dataclass(frozen=True)
class Part:
    """A thing or place named in a question."""

    name: str
    """In the words of the question, without the article: "building on the left"."""
    noun: str
    """The head in the singular: "building"; for a mere place the place itself."""
    modifiers: tuple[str, ...] = ()
    position: str | None = None
    """left, right, top, bottom, center, foreground, background, corners, edges, or two sides: "top left"."""
    is_region: bool = False
    """Only a place, no thing: "the lower half"."""


def parse_part(text: str) -> Part:
    """Read a name.

    >>> parse_part("the building on the left").position, parse_part("the man's face").noun
    ('left', 'face')
    >>> corner = parse_part("the upper left corner of the frame")
    >>> corner.name, corner.position, corner.is_region
    ('upper left corner', 'top left', True)
    """
    whole = _FRAME.sub("", " ".join(text.split())).strip(' ,.?!;:"')
    name = _LEADING.sub("", whole) or whole
    head = (_BEHIND_HEAD.split(name, maxsplit=1)[0].strip() or name).casefold()
    words = re.findall(r"[\w'’-]+", head) or [head]
    words[-1] = _spelled(words[-1])
    noun, position = singular(words[-1]), position_in(_spelled(name))
    is_region = position is not None and (noun in _AREA_NOUNS or words[-1] in _position_words())
    return Part(name, noun, tuple(words[:-1]), position, is_region)


def singular(word: str) -> str:
    """
    >>> [singular(word) for word in ("faces", "skies", "glass", "leaves", "bus", "man’s")]
    ['face', 'sky', 'glass', 'leaf', 'bus', 'man']
    """
    word = re.sub(r"['’]s?$", "", word.casefold())
    for ending, replacement in _PLURALS.items():
        if word.endswith(ending) and len(word) > len(ending) + 1:
            return word.removesuffix(ending) + replacement
    return word.removesuffix("s") if not word.endswith(("ss", "us", "is")) and len(word) > 3 else word


def position_in(text: str) -> str | None:
    """The place in the frame that a text names.

    >>> position_in("the man in the upper left"), position_in("her right eye"), position_in("roof")
    ('top left', 'right', None)
    """
    words = {_position_words()[word] for word in re.findall(r"\w+", plain_spelling(text)) if word in _position_words()}
    order = ("top", "bottom", "center", "left", "right", "foreground", "background", "corners", "edges")
    sides = [name for name in order[:5] if name in words]
    if sides:
        return " ".join(side for side in sides if side != "center" or len(sides) == 1)
    return next((name for name in order[5:] if name in words), None)


@cache
def _spelled(word: str) -> str:
    """A known word for one that is mistyped: "backgroud"."""
    known = {*_position_words(), *_labels(), "subject", "face", "sky"}
    if len(word) < _LEAST_TYPED or singular(word) in known or word in known or " " in word:
        return word
    return next(iter(get_close_matches(word, known, 1, _LIKENESS)), word)


_OWNER = re.compile(r"^(?P<before>.+?)(?:'s|’s|s'|s’)\s|\bof\s+(?P<behind>.+)$", re.I)


def owner_of(part: Part) -> Part | None:
    """What a thing is a part of, where its name says so.

    >>> owner_of(parse_part("the dog's fur")).noun, owner_of(parse_part("the wheels of the red car")).noun
    ('dog', 'car')
    >>> owner_of(parse_part("the building on the left")) is None
    True
    """
    named = _OWNER.search(part.name)
    return parse_part(named["before"] or named["behind"]) if named and not part.is_region else None


@cache
def _words() -> dict[str, Any]:
    return dict(read_data("embedded/parts.yaml"))


@cache
def _position_words() -> dict[str, str]:
    return by_word(_words()["positions"])


@cache
def _labels() -> dict[str, frozenset[str]]:
    known = {label: frozenset({label}) for label in LABELS.values()}
    for group in _words()["objects"]:
        known.update(dict.fromkeys(listed(group["words"]), frozenset(listed(group["labels"]))))
    return known


def labels_meant(part: Part) -> frozenset[str]:
    """The kinds of things that fit a part, by the names that the networks have for them; none where they know none.

    >>> sorted(labels_meant(parse_part("the red vehicle")))
    ['bus', 'car', 'motorcycle', 'train', 'truck']
    """
    if part.is_region:
        return frozenset()
    pairs = (f"{modifier} {part.noun}" for modifier in part.modifiers)
    return next((_labels()[words] for words in (*pairs, part.noun) if words in _labels()), frozenset())


def may_be_subject(part: Part) -> bool:
    """Whether a thing may be what a picture shows, and not what that stands in or before."""
    return plain_spelling(part.noun) not in listed(_words()["surroundings"])


def look_meant(part: Part) -> Appearance:
    """What a phrase says of how its part looks: by its words first, else by the usual look of the thing.

    >>> look_meant(parse_part("the red flowers")).colours, look_meant(parse_part("the grass")).words
    (frozenset({'red'}), 'green')
    """
    words = [plain_spelling(word) for word in re.findall(r"\w+", part.name)]
    colours, lights = by_word(_words()["colours"]), by_word(_words()["light"])
    found = frozenset(colours[word] for word in words if word in colours)
    light = next((lights[word] for word in words if word in lights), None)
    usual: dict[str, Any] = _words()["things"].get(plain_spelling(part.noun), {})
    if not found and light is None:
        found, light = frozenset(listed(usual["colours"])) if "colours" in usual else found, usual.get("light")
    return Appearance(found, cast("Light | None", light), cast("Where | None", usual.get("where")))
