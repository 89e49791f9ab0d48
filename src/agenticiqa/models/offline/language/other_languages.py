"""Questions in other languages: which one it is, and basic ones put into English word by word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

from agenticiqa._data import listed
from agenticiqa.models.offline.language.lexicon import known_words
from agenticiqa.models.offline.language.word_lists import vocabulary

ENGLISH = "English"
_WORD = re.compile(r"[^\W_]+|[^\w\s]")
_WIDE_MARKS = str.maketrans("？。，！：；、（）", "?.,!:;,()")
_FEWEST_WORDS = 2


@dataclass(frozen=True)
class Language:
    """A language other than English; ``english`` holds English for the words that are known of it."""

    name: str
    english: Mapping[str, str] = field(default_factory=dict)

    @property
    def longest(self) -> int:
        return max((len(phrase.split()) for phrase in self.english), default=1)


def language_of(text: str) -> Language | None:
    """The language of a text, as far as its letters and small words tell; None for English, and where nothing tells.

    >>> [found.name for text in ("Ist das Bild scharf?", "模糊吗？", "La photo est-elle nette ?")
    ...  if (found := language_of(text))]
    ['German', 'Chinese', 'French']
    >>> language_of("Is the picture sharp?")
    """
    for name, letters in vocabulary("languages")["scripts"].items():
        if re.search(f"[{letters}]", text):
            return _known_languages().get(name, Language(name))
    words = [word.casefold() for word in _WORD.findall(text) if word[0].isalnum()]
    known = {name: sum(word in told for word in words) for name, told in _telling_words().items()}
    best = max(known, key=lambda name: known[name])
    in_english = sum(word in known_words() for word in words)
    if known[best] < min(_FEWEST_WORDS, len(words)) or known[best] <= in_english:
        return None
    return _known_languages().get(best, Language(best))


def in_english(text: str, language: Language) -> str:
    """A text with the words that are known of its language put into English; others stay as they are.

    >>> in_english("Ist das Bild sehr dunkel?", language_of("Ist das Bild sehr dunkel?"))
    'is the picture very dark ?'
    """
    plain = text.translate(_WIDE_MARKS).casefold()
    words = list(_segmented(plain, language)) if language.name == "Chinese" else _WORD.findall(plain)
    said: list[str] = []
    at = 0
    while at < len(words):
        length = next((n for n in range(language.longest, 1, -1) if _joined(words, at, n) in language.english), 1)
        phrase = _joined(words, at, length)
        said.append(language.english.get(phrase, phrase))
        at += length
    return " ".join(said)


def _joined(words: list[str], at: int, length: int) -> str:
    return " ".join(words[at : at + length])


def _segmented(text: str, language: Language) -> Iterator[str]:
    """Chinese writes no blanks: the longest known word from each place on; what is not known is left out."""
    longest = max(map(len, language.english))
    at = 0
    while at < len(text):
        length = next((n for n in range(longest, 0, -1) if text[at : at + n] in language.english), 1)
        piece = text[at : at + length]
        if piece in language.english or piece.isascii():
            yield piece
        at += length


@cache
def _known_languages() -> dict[str, Language]:
    found: dict[str, Language] = {}
    for name, entry in vocabulary("languages").items():
        if "english" in entry:
            english = {word: meant for meant, words in entry["english"].items() for word in listed(words)}
            found[name] = Language(name, english | _words_of_properties(entry["code"]))
    return found


def _words_of_properties(code: str) -> dict[str, str]:
    """A word for a property, and the first English word that claims the same."""
    english: dict[str, str] = {}
    for entry in vocabulary("properties").values():
        for key, words in entry.get("elsewhere", {}).get(code, {}).items():
            meant = listed(entry[key])[0]
            english |= {word.replace("-", " "): meant for word in listed(words)}
    return english


@cache
def _telling_words() -> dict[str, frozenset[str]]:
    known = {language.name: frozenset(language.english) for language in _known_languages().values()}
    told = {name: frozenset(listed(words)) for name, words in vocabulary("languages")["told_by"].items()}
    return known | told
