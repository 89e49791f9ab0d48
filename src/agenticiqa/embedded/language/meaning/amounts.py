"""Amounts between 0 and 1: words of degree, praise and denial, and where each option lies on a property's axis."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TypeVar

from agenticiqa._data import by_word
from agenticiqa.embedded.language.meaning.properties import Property, Sense, properties, senses
from agenticiqa.embedded.language.phrases import ScopeObject
from agenticiqa.embedded.language.tagging import Item, tagged
from agenticiqa.embedded.language.words import base_forms, vocabulary, word_list, word_set

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


# --- Where each answer option lies on the axis of the property that is asked about ---


# "Some" where the only other option is "none".
_SOME = 0.95
_SOMEWHAT = 0.7
# An option of more words says more than a degree.
_LONGEST_GRADE = 6
_LONGEST_DOUBT = 4
_LEAD = re.compile(r"\s*([A-Za-z' ]+?)\s*[,;:.!–-]+\s+(?=\w)")
_UNDOING = ("un", "in", "im", "il", "ir", "dis", "mis", "non", "a")
_COUNTED = ("flaw_count", "printable")


@dataclass(frozen=True)
class AskedProperty:
    """What the options answer to."""

    property: Property
    polarity: int
    """1 where yes claims much of the property, -1 where it claims little."""
    end: int
    """The end that "very" claims: a denial turns a yes round ("no sign of noise?"), but not "obvious signs"."""
    items: Sequence[Item]
    parts: Sequence[ScopeObject] = ()
    excess: bool = False
    """Asked whether it is too much: then praise denies it."""

    def praise(self, level: int) -> float:
        """The amount that a level of praise claims."""
        if self.excess:
            return toward(-self.end, by_level(properties()["quality"], level))
        return by_level(self.property, level)

    def praises(self) -> bool:
        """ "How well", "how good"."""
        return words_of(self.items)[:2] in (["how", "well"], ["how", "good"])


@dataclass(frozen=True)
class _Said:
    """An amount, and whether it was said in words for the thing itself (or by yes or no), not guessed from others."""

    amount: float | None = None
    sure: bool = False


def amounts(asked: AskedProperty, texts: Mapping[str, str]) -> dict[str, float | None]:
    """Every option on the axis; None for those that claim no amount."""
    numbers = _numbers(asked, texts)
    if numbers:
        return numbers
    said = _told_apart({letter: _said_amount(asked, text) for letter, text in texts.items()})
    silent = [letter for letter, amount in said.items() if amount is None and beside(asked, texts[letter]) is None]
    return _some_beside_none(said | _left_over(said, silent))


def _said_amount(asked: AskedProperty, text: str) -> _Said:
    """What the option says by itself."""
    if beside(asked, text):
        return _Said()
    lead = _LEAD.match(text)
    if lead:
        answer = _yes_or_no(asked, lead[1])
        rest = _described(asked, text[lead.end() :])
        if answer is not None or rest.amount is not None:
            return _Said(answer, sure=True) if rest.amount is None else rest
    answer = _yes_or_no(asked, text)
    return _described(asked, text) if answer is None else _Said(answer, sure=True)


def _yes_or_no(asked: AskedProperty, text: str) -> float | None:
    said = plain(text)
    # "Right" and "correct" praise an exposure; they only agree where nothing can be praised so.
    if said in asked.property.degrees:
        return None
    if said in YES:
        return toward(asked.polarity, 1.0)
    return toward(asked.polarity, 0.0) if said in NO else None


def _described(asked: AskedProperty, text: str) -> _Said:
    words = words_in(text)
    found = senses(words)
    for amount in (
        _level_of_quality(asked.property, words),
        _own_degree(asked.property, words),
        _claimed(asked.property, words, found),
        _implied(asked.property, words, found),
        _praised(asked, words),
    ):
        if amount is not None:
            return _Said(amount, sure=True)
    whole = degree_words().get(" ".join(words))
    for amount in (
        MIDDLE if _finds_no_fault(asked, words) else None,
        None if whole is None else toward(asked.end, whole),
        _repeated(asked, words),
        _of_both(asked, words),
        _graded(asked, words),
    ):
        if amount is not None:
            return _Said(amount)
    return _Said()


# --- what an option says by itself ---


def _level_of_quality(asked: Property, words: Sequence[str]) -> float | None:
    """ "Excellent", "good", "fair", "poor" and "bad" are five levels, though two of each are words for one end."""
    level = whole_level(words) if asked.name == "quality" else None
    return None if level is None else by_level(asked, level)


def _own_degree(asked: Property, words: Sequence[str]) -> float | None:
    """Words of amount that this property has for itself: "A4" for a print, "lost" for detail."""
    said = f" {' '.join(words)} "
    found = [text for text in asked.degrees if f" {text} " in said]
    if not found:
        return None
    text = max(found, key=len)
    amount = asked.degrees[text]
    before, _, after = said.partition(f" {text} ")
    rest = f"{before} {after}".split()
    if rest and any(sense.property == asked.name and sense.end for sense in senses(rest)):
        return None
    if amount not in (0, 1) or not rest:
        return amount
    return toward(1 if amount else -1, share_claimed(words, len(before.split()), rest))


def _claimed(asked: Property, words: Sequence[str], found: Sequence[Sense]) -> float | None:
    """Words for an end of the axis itself: "slightly blurry"."""
    own = [sense for sense in found if sense.property == asked.name]
    ends = [sense for sense in own if sense.end]
    if not ends:
        return _of_named_scale(asked, words, own)
    sense = max(ends, key=lambda each: each.weight)
    rest = sense.others(words)
    if sense.is_name and (level := level_in(rest)) is not None:
        return by_level(asked, level)
    return toward(sense.end, share_claimed(words, sense.start, rest))


def _of_named_scale(asked: Property, words: Sequence[str], own: Sequence[Sense]) -> float | None:
    """ "High contrast", "poor sharpness", "no colours": what is said of the scale."""
    sense = next((sense for sense in own if sense.is_name), None)
    if sense is None:
        return None
    if denied_at(words, sense.start):
        return 0.0
    level = level_in(sense.others(words))
    return by_level(asked, level) if level is not None else degree_in(sense.others(words))


def _implied(asked: Property, words: Sequence[str], found: Sequence[Sense]) -> float | None:
    """Another property that says something of this one: "blown out" of brightness."""
    for sense in sorted(found, key=lambda each: -each.weight):
        amount = asked.implied_by.get(sense.property)
        if amount is None or not sense.end:
            continue
        if amount not in (0, 1):
            return amount
        share = share_claimed(words, sense.start, sense.others(words))
        if share == SLIGHT_CLAIM and asked.good == "middle":
            # "Slightly overexposed" is brighter than right.
            return toward(sense.end if amount else -sense.end, _SOMEWHAT)
        # That the other is not there says something only where it is the one other end.
        if (share < MIDDLE) == (sense.end > 0) and asked.good == "middle":
            return None
        return toward(sense.end if amount else -sense.end, share)
    return None


def _praised(asked: AskedProperty, words: Sequence[str]) -> float | None:
    """Nothing but praise or blame: "acceptable", "poor"; of "How well …?" its adverbs too."""
    kept = [word for word in words if word not in ("it", "is", "the", "quality")]
    level = whole_level(kept)
    if level is None and asked.praises():
        level = level_in([next((form for form in base_forms(word) if form in level_words()), word) for word in kept])
    return None if level is None else asked.praise(level)


def _finds_no_fault(asked: AskedProperty, words: Sequence[str]) -> bool:
    """ "Nothing" to "What is wrong with the brightness?" is praise: the middle of too much and too little."""
    faulted = bool({"wrong", "problem", "issue"} & set(words_of(asked.items)))
    return faulted and asked.property.good == "middle" and words[:1] in (("nothing",), ("none",), ("no",))


def _repeated(asked: AskedProperty, words: Sequence[str]) -> float | None:
    """ "Preserved" to "Is it preserved?" is a yes, "not preserved" or "unpreserved" a no."""
    part_words = {form for part in asked.parts for word in part.name.split() for form in base_forms(word)}
    asked_words = {word for word in words_of(asked.items) if not is_small(word)}
    asked_forms = {form for word in asked_words for form in base_forms(word)} - part_words
    said = [word for word in words if not is_small(word)]
    again = [word for word in said if set(base_forms(word)) & asked_forms]
    undone = [word for word in said if _undone(word) & asked_forms]
    redone = [word for word in said if any(_undone(other) & set(base_forms(word)) for other in asked_words)]
    known = again or undone or redone
    if not known or 2 * len(known) < len(said):
        return None
    rest = [word for word in words if word not in known]
    return toward(asked.end if again else -asked.end, share_claimed(words, list(words).index(known[0]), rest))


def _undone(word: str) -> set[str]:
    """What a prefix turns round: "uneven" is not "even"."""
    return {form.removeprefix(prefix) for form in base_forms(word) for prefix in _UNDOING if form.startswith(prefix)}


def _of_both(asked: AskedProperty, words: Sequence[str]) -> float | None:
    """ "Both", "only one", "neither" of two that the question names together."""
    if "both" not in words_of(asked.items):
        return None
    if "both" in words:
        return toward(asked.end, 1.0)
    if {"neither", "none"} & set(words):
        return toward(asked.end, 0.0)
    return MIDDLE if "one" in words else None


def _graded(asked: AskedProperty, words: Sequence[str]) -> float | None:
    """Words of degree or of praise, without a word for the thing itself."""
    if len(words) > _LONGEST_GRADE:
        return None
    degree = degree_in(words)
    if degree is not None:
        return toward(asked.end, degree)
    level = level_in(words)
    return None if level is None else asked.praise(level)


# --- what the options say together ---


def _told_apart(said: Mapping[str, _Said]) -> dict[str, float | None]:
    """Two options on the same side of the axis, of which one was only guessed at: it means the other side.

    "Is there any structure left or is it just white? Structure left / Just white".
    """
    placed = {letter: each.amount for letter, each in said.items()}
    if len(said) != 2:
        return placed
    (one, first), (other, second) = said.items()
    if first.amount is None or second.amount is None or first.sure == second.sure:
        return placed
    if (first.amount > MIDDLE) == (second.amount > MIDDLE):
        guessed = other if first.sure else one
        placed[guessed] = 1 - (said[guessed].amount or 0.0)
    return placed


def _left_over(said: Mapping[str, float | None], silent: Sequence[str]) -> dict[str, float | None]:
    """A single option that says nothing known takes the place that the others leave free."""
    known = [amount for amount in said.values() if amount is not None]
    if len(silent) != 1 or not known:
        return {}
    low, high = min(known), max(known)
    free = MIDDLE if low < SLIGHT_CLAIM and high > 1 - SLIGHT_CLAIM else 0.0 if low >= SLIGHT_CLAIM else 1.0
    return {silent[0]: free}


def _some_beside_none(placed: dict[str, float | None]) -> dict[str, float | None]:
    """ "Some" beside nothing but "none" is a yes."""
    known = sorted(amount for amount in placed.values() if amount is not None)
    if len(known) != 2 or MIDDLE not in known or not {0.0, 1.0} & set(known):
        return placed
    some = _SOME if 0.0 in known else 1 - _SOME
    return {letter: some if amount == MIDDLE else amount for letter, amount in placed.items()}


# --- scales of numbers ---


def _numbers(asked: AskedProperty, texts: Mapping[str, str]) -> dict[str, float | None]:
    values = {letter: _number(text) for letter, text in texts.items()}
    known = [value for value in values.values() if value is not None]
    if len(known) * 2 <= len(values) or len(set(known)) < 2 or asked.property.name in _COUNTED:
        return {}
    low, high = min(known), max(known)
    up = _number_direction(asked, low, high)
    return {
        letter: None if value is None else toward(up, (value - low) / (high - low)) for letter, value in values.items()
    }


def _number(text: str) -> float | None:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(?:%|stars?|points?|/\s*\d+)?\s*", text)
    return float(found[1]) if found else None


def _number_direction(asked: AskedProperty, low: float, high: float) -> int:
    """Whether the highest number means much: by what the question writes beside a number, else the end it names."""
    words = [token.plain for item in asked.items for token in item.tokens]
    for sense in senses(words):
        if sense.property != asked.property.name or not sense.end:
            continue
        near = [word for word in words[max(0, sense.start - 4) : sense.start] if _number(word) is not None]
        if near:
            return sense.end if float(near[-1]) >= (low + high) / 2 else -sense.end
    return asked.polarity


# --- options that lie on no axis ---


def says_unknown(text: str) -> bool:
    said = plain(text)
    return any(said == phrase or said.startswith(f"{phrase} ") for phrase in word_list("options", "no_answer"))


def beside(asked: AskedProperty, text: str) -> str | None:
    """ "Can't tell" is unknown; "There is no unicorn" to "Is the unicorn sharp?" is not_present."""
    if says_unknown(text):
        return "unknown"
    words = words_in(text)
    if list(words) in (["both"], ["neither"], ["either"]):
        return None if {"both", "neither", "or", "and"} & set(words_of(asked.items)) else words[0]
    if {"exist", "exists"} & set(words):
        return "not_present"
    named = any(set(base_forms(word)) & _words_of_parts(asked) for word in words)
    known = {asked.property.name, *asked.property.implied_by}
    speaks = any(sense.property in known for sense in senses(words))
    doubted = bool(denials(words)) or words[:1] == ("what",)
    short = sum(not is_small(word) for word in words) <= _LONGEST_DOUBT
    return "not_present" if named and doubted and not speaks and short else None


def _words_of_parts(asked: AskedProperty) -> set[str]:
    named = {word.removesuffix("'s") for part in asked.parts for word in (*part.name.split(), part.noun)}
    return {form for word in named if not is_small(word) for form in base_forms(word)}
