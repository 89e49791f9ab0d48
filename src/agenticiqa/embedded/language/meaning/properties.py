"""What can be asked about a picture: the entries of ``vocabulary/properties.yaml``, and their words found in a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from agenticiqa._data import listed
from agenticiqa.embedded.language.words import base_forms, vocabulary
from agenticiqa.vocabulary import DistortionTerm, distortion_terms, plain_words

Good = Literal["much", "little", "middle"]

# A longer phrase says more surely what is meant; a hint decides only where nothing else is said.
HINT, _NEXT_WORD = 0.3, 0.4
# Entries of less weight than this are general ("good", "problem").
GENERAL = 0.7
# What an entry says itself is before the words of its kinds, a claim before a mere name.
_OWN_WORD, _OWN_NAME, _WORD_OF_KIND, _NAME_OF_KIND = 1.0, 0.95, 0.9, 0.8
# "Lighting" is rather the lighting than a form of "light".
_OTHER_FORM = 0.06
_LONGEST_GAP = 3
_GAP = ".."
_NOTICEABLE = frozenset({"noticeable", "obvious", "evident", "apparent", "perceptible", "visible"})
_AMOUNT_NOUNS = frozenset({"level", "levels"})
_BEFORE_NOUNS = frozenset({"the", "a", "what", "which", "this", "that", "any", "high", "low", "same", "overall"})


@dataclass(frozen=True)
class Property:
    """One entry: an axis from little to much of something, or a choice between values."""

    name: str
    title: str
    good: Good = "middle"
    weight: float = 1.0
    """General words ("good", "problem") give way to particular ones."""
    degrees: Mapping[str, float] = field(default_factory=dict)
    implied_by: Mapping[str, float] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    """From a word to the value it means."""
    reading: Mapping[str, str] = field(default_factory=dict)
    sentence: str = ""
    has_scale: bool = True
    kinds: tuple[str, ...] = ()
    """The finer kinds of damage that its words name, the main one first."""
    gives_way_to: frozenset[str] = frozenset()
    between: frozenset[str] = frozenset()
    """The properties that spoil it from either side."""
    ends: Mapping[int, str] = field(default_factory=dict)
    """A word for much of it (1) and for little of it (-1), where it has one."""

    def word(self, end: int) -> str:
        """What an end is called.

        >>> properties()["sharp"].word(-1), properties()["hazy"].word(-1)
        ('blurry', 'no haze')
        """
        return self.ends.get(end) or (self.title if end > 0 else f"no {self.title}")


@dataclass(frozen=True)
class Sense:
    """A word or phrase that speaks of a property, at tokens[start:stop]."""

    property: str
    end: int
    """1 claims much of it, -1 little, 0 only names the scale."""
    weight: float
    start: int
    stop: int
    is_name: bool = False
    """Also a word for the scale itself: what is said of it ("low", "acceptable") decides the end."""

    def within(self, other: Sense) -> bool:
        return other.start <= self.start and self.stop <= other.stop and len(self) < len(other)

    def others(self, words: Sequence[str]) -> list[str]:
        """The words around it."""
        return [word for at, word in enumerate(words) if not self.start <= at < self.stop]

    def __len__(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True)
class _Phrase:
    words: tuple[str, ...]
    property: str
    end: int
    weight: float
    is_name: bool


@cache
def properties() -> dict[str, Property]:
    """Every property by its name.

    >>> properties()["sharp"].good, properties()["noisy"].title
    ('much', 'noise')
    """
    return {name: _property(name, entry) for name, entry in vocabulary("properties").items()}


def _property(name: str, entry: dict[str, Any]) -> Property:
    values = {plain_words(word): value for value, words in entry.get("values", {}).items() for word in listed(words)}
    degrees = {plain_words(word): float(n) for n, words in entry.get("degrees", {}).items() for word in listed(words)}
    return Property(
        name,
        entry["title"],
        entry.get("good", "middle"),
        float(entry.get("weight", 1.0)),
        degrees,
        entry.get("implied_by", {}),
        values,
        entry["reading"],
        entry["sentence"],
        has_scale="good" in entry,
        kinds=tuple(entry.get("kinds", ())),
        gives_way_to=frozenset(entry.get("gives_way_to", ())),
        between=frozenset(entry.get("between", ())),
        ends={
            end: said[0]
            for key, end in (("words", 1), ("opposites", -1))
            if (said := _list(entry, key)) and (end > 0 or entry.get("good") != "little")
        },
    )


@cache
def _phrases() -> dict[str, list[_Phrase]]:
    """Every phrase by its first word."""
    table: dict[str, list[_Phrase]] = {}
    for name, entry in vocabulary("properties").items():
        for words, (end, weight, is_name) in _said(name, entry).items():
            phrase = _Phrase(words, name, end, weight, is_name)
            table.setdefault(words[0], []).append(phrase)
    return table


def _said(name: str, entry: dict[str, Any]) -> dict[tuple[str, ...], tuple[int, float, bool]]:
    """The words of one entry; what it says itself wins over what its kinds say."""
    said: dict[tuple[str, ...], tuple[int, float, bool]] = {}
    general = float(entry.get("weight", 1.0))

    def add(text: str, end: int, base: float, *, is_name: bool = False) -> None:
        words = tuple(plain_words(text).split())
        length = sum(word != _GAP for word in words)
        weight = general * (base if base == HINT else base + _NEXT_WORD * (length - 1))
        said[words] = (end, weight, is_name)

    for text, end in _words_of_kinds(entry).items():
        # A word that another entry claims for itself ("bright") is no word of this one.
        if _claimed_elsewhere(text, name):
            continue
        add(text, end, _WORD_OF_KIND if end else _NAME_OF_KIND, is_name=end == 0)
    for text in _list(entry, "hints"):
        add(text, 0, HINT)
    names = set(_list(entry, "names"))
    for text in names:
        known = said.get(tuple(plain_words(text).split()))
        add(text, known[0] if known else 0, _OWN_NAME, is_name=True)
    for text in _list(entry, "remedies"):
        add(text, -1 if entry.get("good") == "much" else 1, _OWN_WORD)
    for key, end in (("words", 1), ("opposites", -1)):
        for text in _list(entry, key):
            add(text, end, _OWN_WORD, is_name=text in names)
    return said


def _claimed_elsewhere(text: str, name: str) -> bool:
    owners = {owner for form in base_forms(text) for owner in _owners().get(form, ())}
    return bool(owners) and name not in owners


@cache
def _owners() -> dict[str, set[str]]:
    owners: dict[str, set[str]] = {}
    for name, entry in vocabulary("properties").items():
        for key in ("names", "words", "opposites"):
            for text in _list(entry, key):
                owners.setdefault(plain_words(text), set()).add(name)
    return owners


def _list(entry: dict[str, Any], key: str) -> tuple[str, ...]:
    return listed(entry[key]) if entry.get(key) else ()


def _words_of_kinds(entry: dict[str, Any]) -> dict[str, int]:
    """The words of finer kinds and the end that each claims."""
    bad = -1 if entry.get("good") == "much" else 1
    found: dict[str, int] = {}
    for kind, used_as in entry.get("kinds", {}).items():
        ends = {"bad": bad, "good": -bad} if used_as == "damage" else {"bad": _END_OF[used_as]}
        for text, term in _terms_by_kind()[kind]:
            found[text] = ends.get(term.polarity, 0)
    return found


_END_OF = {"words": 1, "opposites": -1, "names": 0}


@cache
def _terms_by_kind() -> dict[str, list[tuple[str, DistortionTerm]]]:
    by_kind: dict[str, list[tuple[str, DistortionTerm]]] = {}
    for text, term in distortion_terms().items():
        by_kind.setdefault(term.kind, []).append((text, term))
    return by_kind


def senses(words: Sequence[str]) -> list[Sense]:
    """All that a text says of any property, in order; a phrase hides the words inside it.

    >>> [(s.property, s.end) for s in senses("is there motion blur".split())]
    [('motion_blurred', 1)]
    """
    forms = [base_forms(word) for word in words]
    found = [sense for at in range(len(words)) for sense in _senses_at(forms, at)]
    kept = [sense for sense in found if not any(sense.within(other) for other in found)]
    return [sense for sense in kept if not _only_measures(words, sense, kept)]


def _only_measures(words: Sequence[str], sense: Sense, found: Sequence[Sense]) -> bool:
    """Words of amount that are a property's own elsewhere.

    "The noise level" and "a level of noise" are amounts: only as a predicate does "level" speak of the horizon.
    "Clearly visible grain" is strong, not clear.
    """
    if words[sense.start] in ("clearly", "visibility"):
        told = any(other.property != sense.property and other.weight > HINT for other in found)
        return told or (len(sense) == 1 and bool(_NOTICEABLE & set(words[sense.stop : sense.stop + 1])))
    if len(sense) != 1 or words[sense.start] not in _AMOUNT_NOUNS:
        return False
    before = words[sense.start - 1] if sense.start else ""
    named = any(other.stop == sense.start and other.property != sense.property for other in found)
    return named or before in _BEFORE_NOUNS or words[sense.stop : sense.stop + 1] == ["of"]


def _senses_at(forms: Sequence[tuple[str, ...]], at: int) -> list[Sense]:
    best: dict[str, Sense] = {}
    exact_word, own = False, set[str]()
    for form in forms[at]:
        for phrase in _phrases().get(form, ()):
            stop = _match(phrase.words, forms, at)
            if stop is None:
                continue
            exact = all(word == _GAP or any(word == each[0] for each in forms[at:stop]) for word in phrase.words)
            weight = phrase.weight if exact else phrase.weight - _OTHER_FORM
            sense = Sense(phrase.property, phrase.end, weight, at, stop, phrase.is_name)
            if exact:
                own.add(phrase.property)
                exact_word = exact_word or (len(sense) == 1 and sense.weight > GENERAL)
            known = best.get(phrase.property)
            # The word as it stands is before its base form, a longer phrase before a shorter one.
            if known is None or (len(known), known.weight) < (len(sense), sense.weight):
                best[phrase.property] = sense
    # "Lighting" is no form of "light" where it is a word of its own.
    return [each for each in best.values() if not exact_word or len(each) > 1 or each.property in own]


def _match(words: tuple[str, ...], forms: Sequence[tuple[str, ...]], at: int) -> int | None:
    """Where a phrase that begins here ends."""
    for place, word in enumerate(words):
        if word == _GAP:
            rest = words[place + 1 :]
            ends = (_match(rest, forms, at + skipped) for skipped in range(_LONGEST_GAP + 1))
            return next((end for end in ends if end is not None), None)
        if at >= len(forms) or word not in forms[at]:
            return None
        at += 1
    return at


@cache
def telling_words() -> frozenset[str]:
    """The words that name a property by themselves: what a typing error may be corrected to."""
    return frozenset(
        phrase.words[0]
        for phrases in _phrases().values()
        for phrase in phrases
        if len(phrase.words) == 1 and phrase.weight > GENERAL and phrase.words[0].isalpha()
    )


@cache
def property_words() -> frozenset[str]:
    """Every single word of the entries: never a typing error."""
    inside = {word for phrases in _phrases().values() for phrase in phrases for word in phrase.words}
    valued = {word for each in properties().values() for text in (*each.values, *each.degrees) for word in text.split()}
    return frozenset(word for word in inside | valued if word.isalpha())
