"""Where in a text the question stands, what its words say of properties, and what an option off any axis claims."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise

from agenticiqa.embedded.language.meaning.amounts import (
    SMALL_WORDS,
    AskedProperty,
    beside,
    degree_words,
    says_unknown,
    share_claimed,
    toward,
    words_in,
    words_of,
)
from agenticiqa.embedded.language.meaning.properties import GENERAL, HINT, Property, Sense, senses
from agenticiqa.embedded.language.phrases import mentions
from agenticiqa.embedded.language.tagging import Item, tagged
from agenticiqa.embedded.language.words import base_forms, position_of, singular_forms, word_list, word_set

# What stands outside the clause that asks, or inside the name of a thing, counts less than what is asked.
BESIDE = 0.45
_FULL_QUESTION = 5
_DESCRIBING = ("adjective", "distortion", "generic modifier", "degree", "adverb", "aesthetic")
_MADE = word_set("ai generated")
_DEFINITE = word_set("the this that my your his her its our their")
_OPENING_TAGS = ("auxiliary", "question", "verb", "filler", "degree")

Span = tuple[int, int]


class AskedText:
    """A question with its options, and the part of it that asks: ``items[start:stop]``."""

    def __init__(self, text: str, options: Mapping[str, str], items: Sequence[Item] | None = None) -> None:
        self.text = text
        self.options = options
        self.items = list(tagged(text) if items is None else items)
        self.words = [token.plain for item in self.items for token in item.tokens]
        self.item_of = [at for at, item in enumerate(self.items) for _ in item.tokens]
        self.senses = senses(self.words)
        self.start, self.stop = self._asking_part()
        self.asking = self.items[self.start : self.stop]
        self.plain = words_of(self.asking)
        self.said = f" {' '.join(self.plain)} "

    # --- what is said ---

    def says(self, phrases: str) -> bool:
        """Whether the asking part holds a phrase of one list of ``subjects.yaml``."""
        return self._says(phrases, self.start, self.stop)

    def _says(self, phrases: str, start: int, stop: int) -> bool:
        said = f" {' '.join(words_of(self.items[start:stop]))} "
        return any(f" {phrase} " in said for phrase in word_list("subjects", phrases))

    def is_asked(self, sense: Sense) -> bool:
        return self.start <= self.item_of[sense.start] < self.stop

    def standing(self, sense: Sense) -> float:
        """How much a word counts where it stands."""
        at = self.item_of[sense.start]
        before = f" {' '.join(item.plain for item in self.items[max(0, at - 3) : at])} "
        if any(f" {phrase} " in before for phrase in ("rather than", "instead of")):
            return BESIDE
        named = {self.item_of[token] for token in range(sense.start, sense.stop)} <= self.inside_names
        if named and not sense.is_name and (len(sense) == 1 or self.items[at - 1].plain in ("the", "this", "my")):
            return BESIDE
        return 1.0 if self.is_asked(sense) else BESIDE

    def senses_of(self, asked: Property) -> list[Sense]:
        """What is said of one property, in the asking part where it is said there at all."""
        own = [sense for sense in self.senses if sense.property == asked.name and sense.weight > HINT]
        return [sense for sense in own if self.is_asked(sense)] or own

    def decisive(self, asked: Property) -> Sense | None:
        """The word that claims an end of the property and is no mere name of it."""
        ends = [sense for sense in self.senses_of(asked) if sense.end and not sense.is_name]
        return max(ends, key=lambda sense: sense.weight * self.standing(sense), default=None)

    @cached_property
    def inside_names(self) -> set[int]:
        """ "the bride's veil", "the flat blue panel": a word inside the name of a thing says nothing of the picture."""
        inside: set[int] = set()
        for mention in mentions(self.items):
            if _introduced(self.items, mention.start) or mention.end - mention.start > 1:
                inside.update(range(mention.start - _described_before(self.items, mention.start), mention.end))
        for at, item in enumerate(self.items):
            ends = at + 1 == len(self.items) or self.items[at + 1].ends_clause
            described = _described_before(self.items, at) if _names_part(item, ends_clause=ends) else 0
            if described and self.items[at - described - 1].plain in _DEFINITE:
                inside.update(range(at - described, at + 1))
        return inside

    # --- where the question stands ---

    def _asking_part(self) -> Span:
        """The sentence that asks, without the story before it."""
        asking = [span for span in self._sentences() if self._asks(*span)]
        named = [span for span in asking if self._names_property(*span)]
        advised = [span for span in asking if self._says("advice", *span)]
        anywhere = self._names_property(0, len(self.items))
        full = [(start, stop) for start, stop in asking if stop - start >= _FULL_QUESTION and not anywhere]
        return self._without_story(*(named or advised or full or [(0, len(self.items))])[-1])

    def _without_story(self, start: int, stop: int) -> Span:
        """ "My daughter took this at the zoo, is it blurry?" asks behind the comma."""
        clauses = [(start + a, start + b) for a, b in _split(self.items[start:stop], ",")]
        for (_, end), (first, _) in pairwise(clauses):
            opens = self.items[first].tag in ("auxiliary", "question") or self.items[first].plain in ("and", "so")
            told = any(item.tag in ("verb", "auxiliary", "pronoun") for item in self.items[start:first])
            if opens and told and not self._names_property(start, end) and self._names_property(first, stop):
                return first, stop
        return start, stop

    def _sentences(self) -> list[Span]:
        """A list behind a colon belongs to what stands before it."""
        joined: list[Span] = []
        for start, stop in _split(self.items, ".?!;:"):
            told = any(item.tag in ("auxiliary", "verb", "question") for item in self.items[start:stop])
            if joined and self.items[start - 1].plain == ":" and not told:
                joined[-1] = (joined[-1][0], stop)
            else:
                joined.append((start, stop))
        return joined

    def _asks(self, start: int, stop: int) -> bool:
        return stop > start and (self.items[start].tag in _OPENING_TAGS or self.items[stop - 1].plain == "?")

    def _names_property(self, start: int, stop: int) -> bool:
        return any(start <= self.item_of[sense.start] < stop and sense.weight > HINT for sense in self.senses)


def _names_part(item: Item, *, ends_clause: bool) -> bool:
    """A thing, a place, or "area": "the dark area" tells which one is meant, not that it is dark.

    An unknown word at the end is rather what is said: "do the colours pop?".
    """
    return item.tag in ("noun", "position", "generic") or (item.tag == "unknown" and not ends_clause)


def _introduced(items: Sequence[Item], start: int) -> bool:
    """Behind an article or an owner: "the dark area", "the very dark area", "the bride's veil"."""
    while start > 0 and items[start - 1].tag in ("degree", "adverb"):
        start -= 1
    return start > 0 and items[start - 1].tag in ("determiner", "noun")


def _describes(item: Item) -> bool:
    """ "This AI picture" is told to be one, whatever is asked of it."""
    return item.tag in _DESCRIBING or item.plain in _MADE


def _described_before(items: Sequence[Item], start: int) -> int:
    """How many words between an article and a name describe the thing."""
    count = 0
    while start - count > 0 and _describes(items[start - count - 1]):
        count += 1
    return count if start - count > 0 and items[start - count - 1].tag == "determiner" else 0


def _split(items: Sequence[Item], marks: str) -> list[Span]:
    """Where the pieces between marks begin and end, the mark with the piece before it."""
    pieces, start = [], 0
    for at, item in enumerate(items):
        if item.tag == "mark" and item.plain in marks:
            pieces.append((start, at + 1))
            start = at + 1
    if start < len(items):
        pieces.append((start, len(items)))
    return [(a, b) for a, b in pieces if b - a > 1] or [(0, len(items))]


# --- What an option claims that lies on no axis ---


_LONGEST_PLACE = 6
# Names of scales and weaker words claim a property only where it is asked about.
_STRONG = 0.8
_NEITHER = word_set("none neither nothing nowhere nobody")
_ANYWHERE = word_set("part area region side corner place one")
_ALIKE = word_set("same equal equally identical difference alike")
_NOT_A_SIDE = re.compile(r"\b(?:not|about|just|quite|all) right\b")
_UPRIGHT = {"up": "top", "down": "bottom", "back": "background"}


def claim_of_option(
    asked: AskedProperty | None, text: str, *, of_place: bool = False, of_part: bool = False
) -> str | None:
    """The claim by its name: none, all, both, same, not_present, unknown, a value, a place, a property, or the words.

    ``of_place`` where the question asks where: then "flat areas" are areas, not a word about contrast. ``of_part``
    where it compares parts: "the cup is sharper" names the cup.

    >>> [claim_of_option(None, text) for text in ("Nothing at all", "Bottom left", "Motion blur", "The old boat")]
    ['none', 'bottom left', 'motion_blurred', 'old boat']
    """
    words = words_in(text)
    if says_unknown(text):
        return "unknown"
    if asked and asked.property.has_scale and asked.property.degrees.get(" ".join(words)) == 0:
        # "Neutral" beside "too warm" and "too cool".
        return "none"
    return (
        (beside(asked, text) if asked else None)
        or _side(words)
        or (_part(asked, words) if asked and of_part else None)
        or (_value(asked.property, words, of_place=of_place) if asked else None)
        or _place(words)
        or (None if of_place else claimed_property(text))
        or " ".join([word for word in words if word not in SMALL_WORDS] or words)
        or None
    )


def claimed_property(text: str) -> str | None:
    sense = claimed_sense(text)
    return sense.property if sense else None


def claimed_sense(text: str) -> Sense | None:
    """The strongest word of an option that speaks of a property."""
    found = [sense for sense in senses(words_in(text)) if sense.weight >= _STRONG]
    return max(found, key=lambda sense: (sense.weight, -sense.start), default=None)


def claim_with_amount(text: str) -> tuple[str, float] | None:
    """The property that an option speaks of by itself, and how much of it.

    >>> claim_with_amount("underexposed"), claim_with_amount("sharp")[0], claim_with_amount("the boat")
    (('underexposed', 0.92), 'sharp', None)
    """
    sense = claimed_sense(text)
    if sense is None:
        return None
    words = words_in(text)
    return sense.property, toward(sense.end or 1, share_claimed(words, sense.start, sense.others(words)))


def value_of(asked: Property, text: str) -> str | None:
    """The value of a property that an option names: "screenshot" of the kind of picture."""
    found = _value_words(asked, words_in(text))
    return asked.values[found] if found else None


def value_said_last(asked: Property, words: Sequence[str]) -> str | None:
    """Of "Is this photo a painting?" the painting: what stands last is claimed, what stands first is spoken of."""
    forms = [base_forms(word) for word in words]
    found = [
        (stop, stop - start, value)
        for text, value in asked.values.items()
        for start in range(len(forms))
        for stop in [start + len(text.split())]
        if stop <= len(forms) and _contains(forms[start:stop], text.split())
    ]
    return max(found)[2] if found else None


def _side(words: Sequence[str]) -> str | None:
    said = " ".join(words)
    if _NEITHER & set(words) or list(words[:2]) == ["no", "problem"] or said in ("it has not any", "there are none"):
        return "none"
    if set(words[:1]) & {"both", "all", "everywhere"} or said.endswith("all of them"):
        return "both" if words[0] == "both" else "all"
    if degree_words().get(said) == 0 or (words[:1] == ("no",) and set(words[1:]) <= _ANYWHERE):
        return "none"
    if _ALIKE & set(words):
        return "same"
    kept = [word for word in words if word not in SMALL_WORDS]
    return "none" if kept[:1] in (["no"], ["not"], ["without"]) and senses(words) else None


def _value(asked: Property, words: Sequence[str], *, of_place: bool) -> str | None:
    found = _value_words(asked, words)
    if found is None:
        return None
    kept = [word for word in words if word not in SMALL_WORDS]
    # "The colours" are what is wrong; "faded colours" say it themselves.
    if asked.weight < GENERAL and len(kept) > len(found.split()):
        return None
    longer = any(len(s) > len(found.split()) and s.property != asked.name for s in senses(words) if s.weight >= _STRONG)
    return None if longer and not of_place else asked.values[found]


def _value_words(asked: Property, words: Sequence[str]) -> str | None:
    forms = [base_forms(word) for word in words]
    named = (text for text in asked.values if _contains(forms, text.split()))
    return max(named, key=lambda text: len(text.split()), default=None)


def _contains(forms: Sequence[tuple[str, ...]], wanted: Sequence[str]) -> bool:
    return any(
        all(word in forms[at + i] for i, word in enumerate(wanted)) for at in range(len(forms) - len(wanted) + 1)
    )


def _part(asked: AskedProperty, words: Sequence[str]) -> str | None:
    said = {form for word in words for form in base_forms(word)}
    named = [part.name for part in asked.parts if part.noun in said or set(part.name.split()) <= said]
    return named[0] if len(named) == 1 else None


def _place(words: Sequence[str]) -> str | None:
    if len(words) > _LONGEST_PLACE or _NOT_A_SIDE.search(" ".join(words)):
        return None
    return position_of(form for word in words for form in singular_forms(_UPRIGHT.get(word, word)))
