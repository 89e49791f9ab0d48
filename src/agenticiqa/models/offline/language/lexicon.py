"""Every word and phrase the reader knows, with what it is good for in a sentence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Literal

from agenticiqa.models.offline.language.meaning.properties import property_words, telling_words
from agenticiqa.models.offline.language.positions import POSITION_MODIFIERS, REGION_NOUNS
from agenticiqa.models.offline.language.word_lists import vocabulary, word_list
from agenticiqa.tools.names import tool_by_alias
from agenticiqa.vocabulary import DistortionTerm, compared, distortion_terms, plain_spelling

Tag = Literal[
    "tool", "distortion", "aesthetic", "position", "noun", "adjective", "generic", "generic modifier", "abstract",
    "determiner", "pronoun", "auxiliary", "question", "conjunction", "negation", "tie", "preposition", "degree",
    "verb", "adverb", "number", "mark", "filler", "unknown",
]  # fmt: skip


@dataclass(frozen=True)
class LexiconEntry:
    """A word's part in a sentence; ``term`` for distortions."""

    tag: Tag
    term: DistortionTerm | None = None


# Beauty, feeling, style: with one of these a question is not about technical quality, whatever else it mentions.
AESTHETIC_WORDS = frozenset(map(plain_spelling, word_list("subjects", "aesthetic")))
# Quality as such: these make a question technical when nothing speaks against it.
QUALITY_WORDS = frozenset(map(plain_spelling, word_list("subjects", "quality")))
# What is in the picture: decides only where nothing technical is named.
CONTENT_WORDS = frozenset(map(plain_spelling, word_list("subjects", "content")))
PICTURE_NOUNS = frozenset().union(*(word_list("picture_nouns", group) for group in vocabulary("picture_nouns")))


def _verb_forms(base: str) -> tuple[str, ...]:
    if base.endswith("y") and base[-2] not in "aeiou":
        return base, base[:-1] + "ies", base[:-1] + "ied", base + "ing"
    stem = base[:-1] if base.endswith("e") else base
    third = base + "es" if base.endswith(("s", "sh", "ch", "x")) else base + "s"
    return base, third, stem + "ed", stem + "ing"


def _entries() -> dict[tuple[str, ...], LexiconEntry]:
    """Later lines win: a word that names a tool or a distortion is that before it is anything else."""
    table: dict[tuple[str, ...], LexiconEntry] = {}

    def of(name: str) -> frozenset[str]:
        return word_list("word_classes", name)

    def add(tag: Tag, listed: Iterable[str]) -> None:
        for word in listed:
            table[tuple(plain_spelling(word.replace("-", " ")).split())] = LexiconEntry(tag)

    add("adjective", of("adjectives"))
    add("adjective", [form for word in of("adjectives") | of("generic_modifiers") for form in compared(word)])
    add("generic modifier", of("generic_modifiers"))
    add("verb", [form for base in of("verbs") for form in _verb_forms(base)])
    add("verb", of("irregular_verbs"))
    add("noun", PICTURE_NOUNS)
    add("abstract", of("abstract_nouns"))
    add("generic", of("generic_nouns"))
    add("degree", of("degree_words"))
    add("tie", of("tying_prepositions"))
    add("preposition", of("other_prepositions"))
    add("determiner", of("determiners"))
    add("pronoun", of("pronouns"))
    add("auxiliary", of("auxiliaries"))
    add("conjunction", of("conjunctions"))
    add("question", of("question_words"))
    add("negation", of("negations"))
    add("position", REGION_NOUNS | POSITION_MODIFIERS | {"left hand side", "right hand side"})
    add("aesthetic", AESTHETIC_WORDS)
    for word, term in distortion_terms().items():
        table[tuple(word.split())] = LexiconEntry("distortion", term)
    add("adjective", [f"{tone} {color}" for tone, color in product(of("tones"), of("colors"))])
    add("noun", [f"{tone} {area}" for tone, area in product(of("tonal"), of("areas"))])
    add("noun", [noun for noun in PICTURE_NOUNS if " " in noun])
    add("filler", of("fillers"))
    add("tool", tool_by_alias())
    return table


ENTRIES = _entries()
# Shorter words of the properties resemble too many others ("married", "marred").
_LONG_ENOUGH = 8
LONGEST_PHRASE = max(map(len, ENTRIES))


@lru_cache(maxsize=1)
def known_words() -> frozenset[str]:
    """Every single word that stands in some list: never a typing error."""
    inside = {word for words in ENTRIES for word in words}
    return frozenset(inside | {word for phrase in CONTENT_WORDS for word in phrase.split()} | property_words())


@lru_cache(maxsize=1)
def correctable_words() -> frozenset[str]:
    """The words a typing error is corrected to: those that decide something, and common things in pictures."""
    kinds = ("distortion", "generic", "position", "aesthetic")
    single = {words[0] for words, entry in ENTRIES.items() if len(words) == 1 and entry.tag in kinds}
    nouns = {noun for noun in PICTURE_NOUNS if len(noun) >= 6 and " " not in noun}
    parts = {word for words, entry in ENTRIES.items() if entry.tag == "distortion" for word in words}
    talk = {
        "improve",
        "improvement",
        "suggest",
        "recommend",
        "estimate",
        "rating",
        "evaluate",
        "assess",
        "describe",
        "distortion",
        "artifact",
        "artifacts",
        "problem",
        "which",
    }
    plurals = {noun + "s" for noun in nouns if not noun.endswith("s")}
    asked = {word for word in telling_words() if len(word) >= _LONG_ENOUGH}
    return frozenset(
        word for word in single | nouns | parts | talk | plurals | asked if len(word) >= 4 and word.isalpha()
    )
