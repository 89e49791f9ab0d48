"""Word lists (data in ``vocabulary/``, each file read once), text split into words, words for places in the frame."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from agenticiqa._data import by_word, listed, read_data
from agenticiqa.vocabulary import plain_spelling


@cache
def vocabulary(file: str) -> Any:
    """One file of ``vocabulary/``."""
    return read_data(f"embedded/language/vocabulary/{file}.yaml")


def word_list(file: str, name: str) -> frozenset[str]:
    """One list of a file.

    >>> "traffic light" in word_list("picture_nouns", "things")
    True
    """
    return frozenset(listed(vocabulary(file)[name]))


def word_set(text: str) -> frozenset[str]:
    """Words between blanks; an underscore stands for the blank inside a phrase.

    >>> sorted(word_set("sky traffic_light"))
    ['sky', 'traffic light']
    """
    return frozenset(word.replace("_", " ") for word in text.split())


# --- From text to words ---


# Reading a question costs time in proportion to its length; nobody's question is longer than this.
MAX_CHARS = 4000

_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+|(?<=s)'(?=\s))?|[^\w\s]")

_CONTRACTIONS = {
    "cannot": ("can", "not"),
    "can't": ("can", "not"),
    "cant": ("can", "not"),
    "won't": ("will", "not"),
    "shan't": ("shall", "not"),
    "let's": ("let", "us"),
    "i'd": ("i", "would"),
    "i'm": ("i", "am"),
    **{f"{who}'d": (who, "would") for who in ("you", "he", "she", "we", "they", "it")},
    **{f"{who}'ve": (who, "have") for who in ("i", "you", "we", "they")},
    **{f"{who}'ll": (who, "will") for who in ("i", "you", "he", "she", "we", "they", "it")},
    **{f"{who}'re": (who, "are") for who in ("you", "we", "they")},
}
_NOT = re.compile(r"(is|are|was|were|do|does|did|has|have|had|should|would|could|must|need)n'?t")
_IS_AFTER = word_set("what who where how it that there here this which why he she when")


@dataclass(frozen=True)
class Token:
    """One word or mark. ``text`` is what was written, ``plain`` the spelling that lists are searched by."""

    text: str
    plain: str
    joint: str = " "
    """What stands before it in a name: a blank, or a hyphen."""
    possessive: bool = False
    contracted: bool = False
    """The "not" of "isn't": at the start of a question it asks for a yes and denies nothing."""

    @property
    def is_mark(self) -> bool:
        return not self.plain[:1].isalnum()


def tokenize(text: str) -> list[Token]:
    """The words and marks of a text, contractions opened.

    >>> [t.text for t in tokenize("Isn't the man's T-shirt over-exposed?")]
    ['is', 'not', 'the', "man's", 'T', 'shirt', 'over', 'exposed', '?']
    """
    straight = text[:MAX_CHARS].replace("’", "'").replace("‘", "'").replace("_", " ")
    tokens: list[Token] = []
    end = 0
    for match in _TOKEN.finditer(straight):
        hyphenated = straight[end : match.start()] == "" and bool(tokens) and tokens[-1].text == "-"
        if hyphenated:
            tokens.pop()
        tokens += _opened(match.group(), "-" if hyphenated else " ")
        end = match.end()
    return tokens


def _opened(written: str, joint: str) -> list[Token]:
    lower = written.lower()
    parts = _CONTRACTIONS.get(lower)
    negated = _NOT.fullmatch(lower)
    if negated:
        parts = (negated[1], "not")
    stem, apostrophe, ending = lower.partition("'")
    if apostrophe and ending == "s" and stem in _IS_AFTER:
        parts = (stem, "is")
    if parts:
        return [Token(part, part, joint, contracted=part == "not") for part in parts]
    if apostrophe and ending in ("s", ""):
        return [Token(lower, plain_spelling(stem), joint, possessive=True)]
    # Capitals are kept: they tell the tool UNIQUE from the word.
    text = written if written.isupper() else lower
    return [Token(text, plain_spelling(written), joint)]


def singular_forms(word: str) -> tuple[str, ...]:
    """The word and what it may be the plural of, likeliest first.

    >>> singular_forms("blurs"), singular_forms("skies"), singular_forms("glass")
    (('blurs', 'blur'), ('skies', 'sky', 'skie'), ('glass',))
    """
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return (word,)
    if word.endswith("lves"):
        return word, word[:-3] + "f"
    if word.endswith("ies"):
        return word, word[:-3] + "y", word[:-1]
    if word.endswith(("ches", "shes", "xes", "ses", "zes", "oes")):
        return word, word[:-2], word[:-1]
    return word, word[:-1]


_SHORTEST_STEM = 3
_ENDINGS = ("ing", "ed", "er", "est", "ly", "d", "r", "st")
_IRREGULAR = {
    "blown": "blow", "blew": "blow", "burnt": "burn", "drawn": "draw", "drew": "draw", "frozen": "freeze",
    "froze": "freeze", "lost": "lose", "losing": "lose", "gone": "go", "went": "go", "kept": "keep", "held": "hold",
    "stood": "stand", "stuck": "stick", "shook": "shake", "shaken": "shake", "caught": "catch", "ran": "run",
    "hid": "hide", "hidden": "hide", "saw": "see", "seen": "see", "sank": "sink", "sunk": "sink",
    "better": "good", "best": "good", "worse": "bad", "worst": "bad", "fell": "fall", "fallen": "fall",
    "made": "make", "got": "get", "came": "come", "drowned": "drown", "swallowed": "swallow",
}  # fmt: skip


# "Really" says nothing of reality.
_NO_FORMS = word_set("really hardly barely only early ever never other rather under over")


@lru_cache(maxsize=8192)
def base_forms(word: str) -> tuple[str, ...]:
    """The word itself first, then what it may come from.

    >>> base_forms("sharpest"), base_forms("tilted")[1], "clip" in base_forms("clipped")
    (('sharpest', 'sharp', 'sharpe'), 'tilt', True)
    """
    if word in _NO_FORMS:
        return (word,)
    forms = list(singular_forms(word))
    if word in _IRREGULAR:
        forms.append(_IRREGULAR[word])
    for form in tuple(forms):
        for ending in _ENDINGS:
            stem = form.removesuffix(ending)
            if stem != form and len(stem) >= _SHORTEST_STEM:
                forms += _stems(stem, ending)
    return tuple(dict.fromkeys(forms))


def _stems(stem: str, ending: str) -> list[str]:
    if ending in ("d", "r", "st"):
        return [stem] if stem.endswith("e") else []
    found = [stem]
    if stem.endswith("i"):
        found.append(stem[:-1] + "y")
    if len(stem) > _SHORTEST_STEM and stem[-1] == stem[-2]:
        found.append(stem[:-1])
    return [*found, stem + "e"] if ending != "ly" else found


# --- Where in the frame ---

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
