"""Words with what they are good for in a sentence: the lexicon, typing errors, tagged items."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Literal

from agenticiqa.embedded.language.meaning.properties import property_words, telling_words
from agenticiqa.embedded.language.words import (
    POSITION_MODIFIERS,
    REGION_NOUNS,
    Token,
    singular_forms,
    tokenize,
    vocabulary,
    word_list,
    word_set,
)
from agenticiqa.tools.catalogue import tool_by_alias
from agenticiqa.vocabulary import DistortionTerm, compared, distortion_terms, plain_spelling

# Too short for counting typing errors.
_SHORT = {"teh": "the", "hte": "the", "adn": "and", "si": "is", "iamge": "image", "imgae": "image", "waht": "what"}
_LONGEST = 20
# Everyday words that only look like typing errors.
_FALSE_FRIENDS = word_list("false_friends", "words")


@lru_cache(maxsize=4096)
def corrected(word: str) -> str:
    """The word meant. Words of everyday English that only resemble ours stay what they are.

    >>> [corrected(w) for w in ("blury", "nosie", "backgroud", "teh")]
    ['blurry', 'noise', 'background', 'the']
    >>> [corrected(w) for w in ("nose", "bury", "furry", "contract", "shark")]
    ['nose', 'bury', 'furry', 'contract', 'shark']
    """
    if word in _SHORT:
        return _SHORT[word]
    if not 4 <= len(word) <= _LONGEST or not word.isascii() or not word.isalpha():
        return word
    if any(form in known_words() or form in _FALSE_FRIENDS for form in singular_forms(word)):
        return word
    return _nearest(word)


def _nearest(word: str) -> str:
    limit = typing_errors_allowed(word)
    found: dict[str, int] = {}
    for target in correctable_words():
        if abs(len(target) - len(word)) <= limit and _starts_alike(word, target):
            distance = typing_errors(word, target, limit)
            if distance <= limit:
                found[target] = distance
    if not found:
        return word
    best = min(found.values())
    # A typing error rarely drops the last letter either: "blury" is "blurry" before it is "blur".
    nearest = sorted(
        (target for target, distance in found.items() if distance == best),
        key=lambda target: (target[-1] != word[-1], len(target), target),
    )
    # Several forms of one word ("blur", "blurs") agree; different words do not, and then nothing is changed.
    agree = all(target.startswith(nearest[0][:4]) for target in nearest)
    return nearest[0] if agree else word


def typing_errors_allowed(word: str) -> int:
    return 1 if len(word) < 8 else 2


def _starts_alike(word: str, target: str) -> bool:
    """People rarely miss the first letter, and unrelated words often differ in nothing else."""
    return word[0] == target[0] or (word[0] == target[1] and word[1] == target[0])


def typing_errors(word: str, target: str, limit: int) -> int:
    """Letters left out, added, exchanged or swapped between two words; more than ``limit`` counts as limit + 1.

    In short words an exchanged letter makes another word ("dart", "dark") and is no typing error.

    >>> typing_errors("nosiy", "noisy", 1), typing_errors("dart", "dark", 1)
    (1, 2)
    >>> typing_errors("compresion", "compression", 2)
    1
    """
    exchange = 1 if len(word) >= 6 else limit + 1
    before: list[int] = []
    row = list(range(len(target) + 1))
    for i, a in enumerate(word, 1):
        current = [i]
        for j, b in enumerate(target, 1):
            swap = 0 if a == b else 1 if {a, b} == {"s", "z"} else exchange
            cost = min(row[j] + 1, current[j - 1] + 1, row[j - 1] + swap)
            if i > 1 and j > 1 and a == target[j - 2] and word[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            current.append(cost)
        if min(current) > limit:
            return limit + 1
        before, row = row, current
    return min(row[-1], limit + 1)


# --- From words to tagged items ---


_THINGS_IN_LY = word_list("word_classes", "not_adverbs")
_THINGS_IN_ITY = word_set("university celebrity harness facility witness wilderness electricity nativity")
_CLAUSE_MARKS = frozenset(",;.:?!()-–—")


@dataclass(frozen=True)
class Item:
    """A word or a phrase and its part in the sentence."""

    tokens: tuple[Token, ...]
    tag: Tag
    term: DistortionTerm | None = None

    @property
    def plain(self) -> str:
        return " ".join(token.plain for token in self.tokens)

    @property
    def base(self) -> str:
        """The singular where there is one."""
        *first, last = (token.plain for token in self.tokens)
        return " ".join(
            [*first, singular_forms(last)[-1] if len(singular_forms(last)) < 3 else singular_forms(last)[1]]
        )

    @property
    def possessive(self) -> bool:
        return self.tokens[-1].possessive

    @property
    def ends_clause(self) -> bool:
        return self.tag == "mark" and self.plain in _CLAUSE_MARKS


def tagged(text: str) -> list[Item]:
    """Read a text.

    >>> [(item.plain, item.tag) for item in tagged("Is the vehicle out of focus?")]
    [('is', 'auxiliary'), ('the', 'determiner'), ('vehicle', 'noun'), ('out of focus', 'distortion'), ('?', 'mark')]
    """
    tokens = [_respelled(token) for token in tokenize(text)]
    items: list[Item] = []
    at = 0
    while at < len(tokens):
        item = _phrase_at(tokens, at) or Item((tokens[at],), _tag_of_unlisted(tokens[at]))
        items.append(item)
        at += len(item.tokens)
    return _with_tools_in_capitals(items)


def _respelled(token: Token) -> Token:
    meant = corrected(token.plain)
    if meant == token.plain:
        return token
    return replace(token, plain=meant, text=f"{meant}'s" if token.possessive else meant)


def _phrase_at(tokens: Sequence[Token], at: int) -> Item | None:
    for length in range(min(LONGEST_PHRASE, len(tokens) - at), 0, -1):
        part = tuple(tokens[at : at + length])
        if any(token.possessive for token in part):
            continue
        entry = _entry(tuple(token.plain for token in part))
        if entry:
            return Item(part, entry.tag, entry.term)
    return None


def _entry(words: tuple[str, ...]) -> LexiconEntry | None:
    for form in singular_forms(words[-1]):
        entry = ENTRIES.get((*words[:-1], form))
        if entry:
            return entry
    return None


def _tag_of_unlisted(token: Token) -> Tag:
    if token.is_mark:
        return "mark"
    if token.possessive:
        owner = _entry((token.plain,))
        return "generic" if owner and owner.tag == "generic" else "noun"
    if token.plain.isdigit():
        return "number"
    if token.plain.endswith("ly") and len(token.plain) > 4 and token.plain not in _THINGS_IN_LY:
        return "adverb"
    return _tag_by_ending(token.plain)


def _tag_by_ending(word: str) -> Tag:
    """Endings that make a description or an idea of a word, seldom a thing one can photograph."""
    if len(word) > 6 and word.endswith(("ness", "ity")) and word not in _THINGS_IN_ITY:
        return "abstract"
    if len(word) > 5 and word.endswith(("ful", "ous", "able", "ible", "less", "ish", "ical", "ional")):
        return "adjective"
    return "unknown"


def _with_tools_in_capitals(items: list[Item]) -> list[Item]:
    """UNIQUE is a tool and unique a word: capitals decide, unless everything is in capitals."""
    words = [token.text for item in items for token in item.tokens if not token.is_mark]
    if words and all(word.isupper() or word in ("is", "not") for word in words):
        return items
    return [replace(item, tag="tool") if item.tokens[0].text == "UNIQUE" else item for item in items]


# --- Every word and phrase the reader knows, with what it is good for in a sentence ---


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
