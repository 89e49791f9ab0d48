"""Words of amount, of praise and of denial, and what they come to between 0 and 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import TypeVar

from agenticiqa._data import by_word
from agenticiqa.models.offline.language.meaning.properties import Property
from agenticiqa.models.offline.language.tagging import Item, tagged
from agenticiqa.models.offline.language.word_lists import vocabulary, word_list, word_set

_T = TypeVar("_T")

YES, NO = word_list("options", "yes"), word_list("options", "no")
AMOUNTS = {"none": 0.0, "slight": 0.25, "moderate": 0.5, "severe": 0.85, "extreme": 1.0}
LEVEL_AMOUNTS = {5: 1.0, 4: 0.8, 3: 0.6, 2: 0.2, 1: 0.05}
MIDDLE = 0.5
# "Slightly blurry" is nearer to sharp than "blurry" is, but it is no praise.
SLIGHT_CLAIM = 0.4
# "Not very sharp" is less than sharp, and more than "not sharp".
WEAK_DENIAL = 0.3
# "Dark", "very dark"; "extremely dark" is 1.
PLAIN_CLAIM, STRONG_CLAIM = 0.92, 0.96

_LONGEST_PHRASE = 5
_DENIAL_REACH = 4
_DENYING = word_set("not no never without neither nor lack lacks lacking free hardly barely devoid none nothing")
SMALL_WORDS = word_set(
    "the a an it is are was be of in on at to there this that they do does did has have and i would say you we its "
    "with as for look looks looking seem seems appear rather just only quite picture image photo one by all been can "
    "them their being so than some or"
)


def words_of(items: Sequence[Item]) -> list[str]:
    return [token.plain for item in items for token in item.tokens if not token.is_mark]


@lru_cache(maxsize=1024)
def words_in(text: str) -> tuple[str, ...]:
    """The words of an option, each read once however often it is asked for."""
    return tuple(words_of(tagged(text)))


def plain(text: str) -> str:
    """A text in plain spelling, contractions opened, without marks.

    >>> plain("It isn't, really.")
    'it is not really'
    """
    return " ".join(words_in(text))


def toward(end: int, share: float) -> float:
    """The amount of a property that a share of one of its ends comes to."""
    return share if end > 0 else 1 - share


def by_level(asked: Property, level: int) -> float:
    """Praise means the end that people want."""
    praise = LEVEL_AMOUNTS[level]
    if asked.good == "much":
        return praise
    return 1 - praise if asked.good == "little" else MIDDLE if praise >= MIDDLE else praise


@cache
def degree_words() -> dict[str, float]:
    coarse = {words: AMOUNTS[name] for words, name in by_word(vocabulary("options")["degrees"]).items()}
    return coarse | {words: float(amount) for words, amount in by_word(vocabulary("options")["finer"]).items()}


@cache
def level_words() -> dict[str, int]:
    return {
        words: int(level) for words, level in by_word(vocabulary("options")["levels"]).items() if not words.isdigit()
    }


def degree_in(words: Sequence[str]) -> float | None:
    """The amount that words of degree name, the longest phrase first.

    >>> degree_in(["not", "at", "all"]), degree_in(["fairly", "good"]), degree_in(["green"])
    (0.0, 0.65, None)
    """
    return _longest(words, degree_words())


def level_in(words: Sequence[str]) -> int | None:
    """The level that words of praise or blame name; "not" turns it round unless it belongs to the phrase.

    >>> level_in(["good"]), level_in(["not", "suitable"]), level_in(["not", "excellent"])
    (4, 2, 1)
    """
    level = _longest(words, level_words())
    if level is None or not denials(words) or "not" in _phrase(words, level_words()).split():
        return level
    return max(1, 6 - level) if level > 1 else 4


def whole_level(words: Sequence[str]) -> int | None:
    return level_words().get(" ".join(words))


def share_claimed(words: Sequence[str], at: int, rest: Sequence[str]) -> float:
    """How much of its end the word at a place claims, with the words around it; none where it is denied."""
    degree = degree_in(rest)
    if denied_at(words, at):
        graded = degree is not None and degree >= AMOUNTS["severe"]
        return WEAK_DENIAL if graded else 0.0
    if degree is None:
        return PLAIN_CLAIM
    if degree > MIDDLE:
        return STRONG_CLAIM if degree == AMOUNTS["severe"] else degree
    return degree if degree in (0.0, MIDDLE) else SLIGHT_CLAIM


def denials(words: Sequence[str]) -> list[int]:
    return [at for at, word in enumerate(words) if word in _DENYING]


def denied_at(words: Sequence[str], at: int) -> bool:
    """Whether a word shortly before denies what stands at this place."""
    return any(0 < at - place <= _DENIAL_REACH for place in denials(words))


def is_small(word: str) -> bool:
    """A word that carries no meaning of its own: articles, auxiliaries, degrees, denials."""
    return word in SMALL_WORDS or word in _DENYING or degree_in([word]) is not None


def _longest(words: Sequence[str], table: Mapping[str, _T]) -> _T | None:
    return table.get(_phrase(words, table))


def _phrase(words: Sequence[str], table: Mapping[str, object]) -> str:
    for length in range(min(_LONGEST_PHRASE, len(words)), 0, -1):
        for at in range(len(words) - length + 1):
            text = " ".join(words[at : at + length])
            if text in table:
                return text
    return ""
