"""Every word and phrase the reader knows, with what it is good for in a sentence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Literal

from agenticiqa.models.offline.language import word_classes as classes
from agenticiqa.models.offline.language.distortion_words import DISTORTION_TERMS, DistortionTerm, compared
from agenticiqa.models.offline.language.picture_nouns import PICTURE_NOUNS
from agenticiqa.models.offline.language.positions import POSITION_MODIFIERS, REGION_NOUNS
from agenticiqa.models.offline.language.subject_words import AESTHETIC_WORDS, CONTENT_WORDS
from agenticiqa.models.offline.language.tokens import plain_spelling
from agenticiqa.models.offline.language.tool_names import TOOL_BY_ALIAS

Tag = Literal[
    "tool", "distortion", "aesthetic", "position", "noun", "adjective", "generic", "generic modifier", "abstract",
    "determiner", "pronoun", "auxiliary", "question", "conjunction", "negation", "tie", "preposition", "degree",
    "verb", "adverb", "number", "mark", "filler", "unknown",
]  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """A word's part in a sentence; ``term`` for distortions."""

    tag: Tag
    term: DistortionTerm | None = None


# Phrases that would mislead if they were read word by word.
_FILLERS = (
    "at all", "sign of", "signs of", "any sign", "any signs",
    "in detail", "in details", "more detail", "more details", "in general", "as a whole", "of the following",
    "would people", "most people", "do people", "a lot", "a little", "a bit", "a little bit", "out of 5", "out of 10",
    "out of five", "out of ten", "out of 100", "right now", "kind of", "sort of", "in order to", "for me", "tell me",
    "let me know", "i think", "all over", "by far", "point of view", "in my opinion", "to what extent",
    "to what degree", "in any way", "no matter", "the most", "in light of", "focus on", "focuses on", "light on",
    "at first sight", "at first glance", "in the light of", "shed light", "human eye", "naked eye",
    "human eyes", "on a scale", "time of day",
    "detailed analysis", "detailed description", "detailed report", "detailed explanation", "detailed assessment",
    "detailed evaluation", "detailed answer", "clear answer",
)  # fmt: skip

_COLORS = ["red", "green", "blue", "yellow", "orange", "purple", "pink", "brown", "gray"]
_TONES = ["light", "dark", "bright", "pale", "deep"]
_TONAL = ["dark", "bright", "shadow", "shadowed", "shaded", "black", "white", "highlight", "darker", "brighter"]
_AREAS = [
    "area",
    "areas",
    "region",
    "regions",
    "part",
    "parts",
    "zone",
    "zones",
    "spot",
    "spots",
    "section",
    "sections",
]


def _verb_forms(base: str) -> tuple[str, ...]:
    if base.endswith("y") and base[-2] not in "aeiou":
        return base, base[:-1] + "ies", base[:-1] + "ied", base + "ing"
    stem = base[:-1] if base.endswith("e") else base
    third = base + "es" if base.endswith(("s", "sh", "ch", "x")) else base + "s"
    return base, third, stem + "ed", stem + "ing"


def _entries() -> dict[tuple[str, ...], Entry]:
    """Later lines win: a word that names a tool or a distortion is that before it is anything else."""
    table: dict[tuple[str, ...], Entry] = {}

    def add(tag: Tag, words: Iterable[str]) -> None:
        for word in words:
            table[tuple(plain_spelling(word.replace("-", " ")).split())] = Entry(tag)

    add("adjective", classes.ADJECTIVES)
    add("adjective", [form for word in classes.ADJECTIVES | classes.GENERIC_MODIFIERS for form in compared(word)])
    add("generic modifier", classes.GENERIC_MODIFIERS)
    add("verb", [form for base in classes.VERBS for form in _verb_forms(base)])
    add("verb", classes.IRREGULAR_VERBS)
    add("noun", PICTURE_NOUNS)
    add("abstract", classes.ABSTRACT_NOUNS)
    add("generic", classes.GENERIC_NOUNS)
    add("degree", classes.DEGREE_WORDS)
    add("tie", classes.TYING_PREPOSITIONS)
    add("preposition", classes.OTHER_PREPOSITIONS)
    add("determiner", classes.DETERMINERS)
    add("pronoun", classes.PRONOUNS)
    add("auxiliary", classes.AUXILIARIES)
    add("conjunction", classes.CONJUNCTIONS)
    add("question", classes.QUESTION_WORDS)
    add("negation", classes.NEGATIONS)
    add("position", REGION_NOUNS | POSITION_MODIFIERS | {"left hand side", "right hand side"})
    add("aesthetic", AESTHETIC_WORDS)
    for word, term in DISTORTION_TERMS.items():
        table[tuple(word.split())] = Entry("distortion", term)
    add("adjective", [f"{tone} {color}" for tone, color in product(_TONES, _COLORS)])
    add("noun", [f"{tone} {area}" for tone, area in product(_TONAL, _AREAS)])
    add("noun", [noun for noun in PICTURE_NOUNS if " " in noun])
    add("filler", _FILLERS)
    add("tool", list(TOOL_BY_ALIAS))
    return table


ENTRIES = _entries()
LONGEST_PHRASE = max(len(words) for words in ENTRIES)


@lru_cache(maxsize=1)
def known_words() -> frozenset[str]:
    """Every single word that stands in some list: never a typing error."""
    inside = {word for words in ENTRIES for word in words}
    return frozenset(inside | {word for phrase in CONTENT_WORDS for word in phrase.split()})


@lru_cache(maxsize=1)
def correctable_words() -> frozenset[str]:
    """The words a typing error is corrected to: those that decide something, and common things in pictures."""
    kinds = ("distortion", "generic", "position", "aesthetic")
    single = {words[0] for words, entry in ENTRIES.items() if len(words) == 1 and entry.tag in kinds}
    nouns = {noun for noun in PICTURE_NOUNS if len(noun) >= 6 and " " not in noun}
    parts = {word for words, entry in ENTRIES.items() if entry.tag == "distortion" for word in words}
    talk = {"rating", "evaluate", "assess", "describe", "distortion", "artifact", "artifacts", "problem", "which"}
    plurals = {noun + "s" for noun in nouns if not noun.endswith("s")}
    return frozenset(word for word in single | nouns | parts | talk | plurals if len(word) >= 4 and word.isalpha())
