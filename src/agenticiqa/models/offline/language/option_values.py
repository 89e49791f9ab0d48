"""Where each answer option lies on the axis of the property that is asked about, or what it claims of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from agenticiqa._data import by_word
from agenticiqa.models.offline.language.noun_phrases import ScopeObject
from agenticiqa.models.offline.language.positions import position_of
from agenticiqa.models.offline.language.properties import Property, Sense, senses
from agenticiqa.models.offline.language.tagging import Item, tagged
from agenticiqa.models.offline.language.tokens import singular_forms
from agenticiqa.models.offline.language.word_forms import base_forms
from agenticiqa.models.offline.language.word_lists import vocabulary, word_list, word_set

_T = TypeVar("_T")
YES, NO = word_list("options", "yes"), word_list("options", "no")

# What the severities and the levels amount to on an axis from 0 to 1.
AMOUNTS = {"none": 0.0, "slight": 0.25, "moderate": 0.5, "severe": 0.85, "extreme": 1.0}
LEVEL_AMOUNTS = {5: 1.0, 4: 0.8, 3: 0.6, 2: 0.2, 1: 0.05}
MIDDLE = 0.5
# "Slightly blurry" is nearer to sharp than "blurry" is, but it is no praise.
SLIGHT_CLAIM = 0.4
# "Not very sharp" is less than sharp, and more than "not sharp".
WEAK_DENIAL = 0.3
# "Dark", "very dark", "extremely dark".
PLAIN_CLAIM, STRONG_CLAIM = 0.92, 0.96
SOME = 0.95
_LONGEST_GRADE = 6

_LEAD = re.compile(r"\s*([A-Za-z' ]+?)\s*[,;:.!–-]+\s+(?=\w)")
_SMALL = word_set(
    "the a an it is are was be of in on at to there this that they do does did has have and i would say you we its "
    "with as for look looks looking seem seems appear rather just only quite picture image photo one by all been can "
    "them their be being so than some or"
)
_UNDOING = ("un", "in", "im", "il", "ir", "dis", "mis", "non", "a")
_NOT_A_SIDE = re.compile(r"\b(?:not|about|just|quite|all) right\b")
_NEITHER = word_set("none neither nothing nowhere nobody")


@dataclass(frozen=True)
class OptionMeaning:
    """What one option says: an amount of the property asked about, a claim of its own, or neither."""

    letter: str
    text: str
    amount: float | None = None
    """0 (none of the property) to 1 (as much as can be)."""
    claim: str | None = None
    """A property, a place, a part, a value of the property; none, all, both, same, not_present or unknown."""


@dataclass(frozen=True)
class Asked:
    """What the options answer to."""

    property: Property
    polarity: int
    """1 where yes claims much of the property, -1 where it claims little."""
    end: int
    """The end that "very" claims: a denial turns a yes round ("no sign of noise?"), but not "obvious signs"."""
    items: Sequence[Item]
    parts: Sequence[ScopeObject] = ()

    @property
    def praises(self) -> bool:
        """ "How well", "how good"."""
        return words_of(self.items)[:2] in (["how", "well"], ["how", "good"])


def words_of(items: Sequence[Item]) -> list[str]:
    return [token.plain for item in items for token in item.tokens if not token.is_mark]


# --- places on an axis ---


def amounts(asked: Asked, texts: Mapping[str, str]) -> dict[str, float | None]:
    """Every option on the axis; None for those that claim no amount."""
    numbers = _numbers(asked, texts)
    if numbers:
        return numbers
    said = _told_apart({letter: _said_amount(asked, text) for letter, text in texts.items()})
    absent = {letter for letter, text in texts.items() if said[letter] is None and claims_no_amount(asked, text)}
    open_ones = [letter for letter, amount in said.items() if amount is None and letter not in absent]
    return _some_beside_none(said | _left_over(said, open_ones))


_Said = tuple[float | None, bool]
"""An amount, and whether it was said in words for the thing itself (or by yes or no), not by degree or repetition."""
_NOTHING: _Said = (None, False)


def _said_amount(asked: Asked, text: str) -> _Said:
    """What the option says by itself."""
    if claims_no_amount(asked, text):
        return _NOTHING
    lead = _LEAD.match(text)
    if lead:
        answer = _yes_or_no(asked, lead[1])
        rest = _described(asked, text[lead.end() :])
        if answer is not None or rest[0] is not None:
            return (answer, True) if rest[0] is None else rest
    answer = _yes_or_no(asked, text)
    return _described(asked, text) if answer is None else (answer, True)


def _told_apart(said: Mapping[str, _Said]) -> dict[str, float | None]:
    """Two options on the same side of the axis, of which one was only guessed at: it means the other side.

    "Is there any structure left or is it just white? Structure left / Just white".
    """
    known = {letter: each for letter, each in said.items() if each[0] is not None}
    amounts_found = {letter: amount for letter, (amount, _) in said.items()}
    if len(known) == 2 == len(said):
        (one, (first, sure)), (other, (second, also_sure)) = known.items()
        if sure != also_sure and first is not None and second is not None and (first > MIDDLE) == (second > MIDDLE):
            amounts_found[other if sure else one] = 1 - (second if sure else first)
    return amounts_found


def _yes_or_no(asked: Asked, text: str) -> float | None:
    said = plain(text)
    yes, no = YES, NO
    # "Right" and "correct" praise an exposure; they only agree where nothing can be praised so.
    if said in asked.property.degrees:
        return None
    if said in yes:
        return _toward(asked.polarity, 1.0)
    return _toward(asked.polarity, 0.0) if said in no else None


def _toward(polarity: int, share: float) -> float:
    return share if polarity > 0 else 1 - share


def _described(asked: Asked, text: str) -> _Said:
    words = words_of(tagged(text))
    found = senses(words)
    for amount in (
        _own_degree(asked.property, words),
        _claimed(asked.property, words, found),
        _implied(asked.property, words, found),
        _praised(asked, words),
    ):
        if amount is not None:
            return amount, True
    for amount in (_repeated(asked, words), _of_both(asked, words), _graded(asked, words)):
        if amount is not None:
            return amount, False
    return _NOTHING


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
    return _toward(1 if amount else -1, _share(words, len(before.split()), rest))


def _claimed(asked: Property, words: Sequence[str], found: Sequence[Sense]) -> float | None:
    own = [sense for sense in found if sense.property == asked.name]
    ends = [sense for sense in own if sense.end]
    if not ends:
        return _of_named_scale(asked, words, own)
    sense = max(ends, key=lambda each: each.weight)
    rest = [word for at, word in enumerate(words) if not sense.start <= at < sense.stop]
    share = _share(words, sense.start, rest)
    if sense.is_name and (level := level_in(rest)) is not None:
        return by_level(asked, level)
    return _toward(sense.end, share)


def _share(words: Sequence[str], at: int, rest: Sequence[str]) -> float:
    """How much of the end that a word claims is claimed, with the words around it."""
    degree = degree_in(rest)
    if denied_at(words, at):
        graded = degree is not None and degree >= AMOUNTS["severe"]
        return WEAK_DENIAL if graded else 0.0
    if degree is None:
        return PLAIN_CLAIM
    if degree > MIDDLE:
        return STRONG_CLAIM if degree == AMOUNTS["severe"] else degree
    return degree if degree in (0.0, MIDDLE) else SLIGHT_CLAIM


def _of_named_scale(asked: Property, words: Sequence[str], own: Sequence[Sense]) -> float | None:
    """ "High contrast", "poor sharpness", "no colours": what is said of the scale."""
    named = [sense for sense in own if sense.is_name]
    if not named:
        return None
    sense = named[0]
    rest = [word for at, word in enumerate(words) if not sense.start <= at < sense.stop]
    if denied_at(words, sense.start):
        return 0.0
    level = level_in(rest)
    if level is not None:
        return by_level(asked, level)
    degree = degree_in(rest)
    return degree


def _implied(asked: Property, words: Sequence[str], found: Sequence[Sense]) -> float | None:
    """Another property that says something of this one: "blown out" of brightness."""
    for sense in sorted(found, key=lambda each: -each.weight):
        amount = asked.implied_by.get(sense.property)
        if amount is None or not sense.end:
            continue
        if amount not in (0, 1):
            return amount
        rest = [word for at, word in enumerate(words) if not sense.start <= at < sense.stop]
        share = _share(words, sense.start, rest)
        # That the other is not there says something only where it is the one other end.
        if (share < MIDDLE) == (sense.end > 0) and asked.good == "middle":
            return None
        return _toward(sense.end if amount else -sense.end, share)
    return None


def _graded(asked: Asked, words: Sequence[str]) -> float | None:
    """Words of degree or of praise, without a word for the thing itself."""
    kept = [word for word in words if word not in ("it", "is", "the", "quality")]
    degree = degree_in(words)
    if degree is not None and len(kept) <= _LONGEST_GRADE:
        return _toward(asked.end, degree)
    level = level_in(kept)
    return by_level(asked.property, level) if level is not None and len(kept) <= _LONGEST_GRADE else None


def _praised(asked: Asked, words: Sequence[str]) -> float | None:
    """Nothing but praise or blame: "acceptable", "poor"."""
    kept = [word for word in words if word not in ("it", "is", "the", "quality")]
    level = level_in(kept, whole=True) or (_level_of_adverb(kept) if asked.praises else None)
    return None if level is None else by_level(asked.property, level)


def _level_of_adverb(words: Sequence[str]) -> int | None:
    """ "How well …? Badly": there the adverbs of praise and blame are levels."""
    plain_forms = [next((form for form in base_forms(word) if form in _level_words()), word) for word in words]
    return level_in(plain_forms)


def _of_both(asked: Asked, words: Sequence[str]) -> float | None:
    """ "Both", "only one", "neither" of two that the question names together."""
    if "both" not in words_of(asked.items):
        return None
    if "both" in words:
        return _toward(asked.end, 1.0)
    if {"neither", "none"} & set(words):
        return _toward(asked.end, 0.0)
    return MIDDLE if "one" in words else None


def by_level(asked: Property, level: int) -> float:
    """Praise means the end that people want."""
    praise = LEVEL_AMOUNTS[level]
    if asked.good == "much":
        return praise
    return 1 - praise if asked.good == "little" else MIDDLE if praise >= MIDDLE else praise


# --- scales of numbers ---


def _numbers(asked: Asked, texts: Mapping[str, str]) -> dict[str, float | None]:
    values = {letter: _number(text) for letter, text in texts.items()}
    known = [value for value in values.values() if value is not None]
    if len(known) * 2 <= len(values) or len(set(known)) < 2 or asked.property.name in ("flaw_count", "printable"):
        return {}
    low, high = min(known), max(known)
    up = _number_direction(asked, low, high)
    return {
        letter: None if value is None else _toward(up, (value - low) / (high - low)) for letter, value in values.items()
    }


def _number(text: str) -> float | None:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(?:%|stars?|points?|/\s*\d+)?\s*", text)
    return float(found[1]) if found else None


def _number_direction(asked: Asked, low: float, high: float) -> int:
    """Whether the highest number means much: by what the question writes beside a number, else the better end."""
    words = [token.plain for item in asked.items for token in item.tokens]
    for sense in senses(words):
        if sense.property != asked.property.name or not sense.end:
            continue
        near = [word for word in words[max(0, sense.start - 4) : sense.start] if _number(word) is not None]
        if near:
            return sense.end if float(near[-1]) >= (low + high) / 2 else -sense.end
    return -1 if asked.property.good == "little" and asked.polarity < 0 else asked.polarity


# --- options that say the question's words again, or take what is left ---


def _repeated(asked: Asked, words: Sequence[str]) -> float | None:
    """ "Preserved" to "Is it preserved?" is a yes, "not preserved" or "unpreserved" a no."""
    part_words = {form for part in asked.parts for word in part.name.split() for form in base_forms(word)}
    asked_words = {word for word in words_of(asked.items) if not _is_small(word)}
    asked_forms = {form for word in asked_words for form in base_forms(word)} - part_words
    said = [word for word in words if not _is_small(word)]
    again = [word for word in said if set(base_forms(word)) & asked_forms]
    undone = [word for word in said if _undone(word) & asked_forms]
    undone_in_question = [word for word in said if any(_undone(asked) & set(base_forms(word)) for asked in asked_words)]
    known = again or undone or undone_in_question
    if not known or 2 * len(known) < len([word for word in said if degree_in([word]) is None]):
        return None
    end = asked.end if again else -asked.end
    place = list(words).index(known[0])
    rest = [word for word in words if word not in known]
    return _toward(end, _share(words, place, rest))


def _is_small(word: str) -> bool:
    return word in _SMALL or word in _DENYING or degree_in([word]) is not None


def _undone(word: str) -> set[str]:
    """What a prefix turns round: "uneven" is not "even"."""
    return {form.removeprefix(prefix) for form in base_forms(word) for prefix in _UNDOING if form.startswith(prefix)}


def _left_over(said: Mapping[str, float | None], letters: Sequence[str]) -> dict[str, float | None]:
    """A single option that says nothing known takes the place that the others leave free."""
    known = [amount for amount in said.values() if amount is not None]
    if len(letters) != 1 or not known:
        return {}
    low, high = min(known), max(known)
    free = MIDDLE if low < SLIGHT_CLAIM and high > 1 - SLIGHT_CLAIM else 0.0 if low >= SLIGHT_CLAIM else 1.0
    return {letters[0]: free}


def _some_beside_none(placed: dict[str, float | None]) -> dict[str, float | None]:
    """ "Some" beside nothing but "none" is a yes."""
    known = sorted(amount for amount in placed.values() if amount is not None)
    if len(known) != 2 or MIDDLE not in known or not {0.0, 1.0} & set(known):
        return placed
    other = SOME if 0.0 in known else 1 - SOME
    return {letter: other if amount == MIDDLE else amount for letter, amount in placed.items()}


# --- claims ---


def says_unknown(text: str) -> bool:
    said = plain(text)
    return any(said == phrase or said.startswith(f"{phrase} ") for phrase in word_list("options", "no_answer"))


def claims_no_amount(asked: Asked, text: str) -> bool:
    return _beside(asked, text) is not None


def _beside(asked: Asked, text: str) -> str | None:
    """ "Can't tell" is unknown; "There is no unicorn" to "Is the unicorn sharp?" is not_present."""
    if says_unknown(text):
        return "unknown"
    said = plain(text)
    words = words_of(tagged(text))
    if said in ("both", "neither", "all", "either") and not {"both", "neither", "or", "and"} & set(words_of(asked.items)):
        return said
    if "exist" in words or "exists" in words:
        return "not_present"
    heads = {form for part in asked.parts for form in (*base_forms(part.noun), *base_forms(part.name.split()[-1]))}
    heads |= {word.removesuffix("'s") for part in asked.parts for word in part.name.split()} - _SMALL
    named = any(set(base_forms(word)) & heads for word in words)
    speaks = any(sense.property == asked.property.name or sense.property in asked.property.implied_by for sense in senses(words))
    doubted = bool(denials(words)) or words[:1] == ["what"]
    short = len([word for word in words if word not in _SMALL]) <= 4
    return "not_present" if named and doubted and not speaks and short else None


def claim(asked: Asked | None, text: str, *, of_place: bool = False) -> str | None:
    """What an option that lies on no axis claims; ``of_place`` where the question asks where."""
    words = words_of(tagged(text))
    if says_unknown(text):
        return "unknown"
    if asked and (beside := _beside(asked, text)):
        return beside
    side = _side(words)
    if side:
        return side
    found = [sense for sense in senses(words) if sense.weight >= 0.8 and not of_place]
    if asked and (text_of_value := _value_words(asked.property, words)):
        length = len(text_of_value.split())
        if not any(len(sense) > length and sense.property != asked.property.name for sense in found):
            return asked.property.values[text_of_value]
    place = position_of(form for word in words for form in singular_forms({"up": "top", "down": "bottom"}.get(word, word)))
    if place and len(words) <= _LONGEST_GRADE and not _NOT_A_SIDE.search(" ".join(words)):
        return place
    if found:
        return max(found, key=lambda sense: (sense.weight, -sense.start)).property
    kept = [word for word in words if word not in _SMALL]
    return " ".join(kept or words) or None


def _side(words: Sequence[str]) -> str | None:
    said = " ".join(words)
    if _NEITHER & set(words) or words[:2] == ["no", "problem"] or said in ("it has not any", "there are none"):
        return "none"
    if set(words[:1]) & {"both", "all"} or said.endswith("all of them"):
        return "both" if words[0] == "both" else "all"
    if _degree_words().get(said) == 0:
        return "none"
    if set(words) & {"same", "equal", "equally", "identical", "difference", "alike"}:
        return "same"
    kept = [word for word in words if word not in _SMALL]
    return "none" if kept[:1] in (["no"], ["not"], ["without"]) and senses(words) else None


def value_of(asked: Property, text: str) -> str | None:
    """The value of a property without a scale that an option names."""
    found = _value_words(asked, words_of(tagged(text)))
    return asked.values[found] if found else None


def _value_words(asked: Property, words: Sequence[str]) -> str | None:
    forms = [base_forms(word) for word in words]
    named = (text for text in asked.values if _contains(forms, text.split()))
    return max(named, key=lambda text: len(text.split()), default=None)


def _contains(forms: Sequence[tuple[str, ...]], wanted: Sequence[str]) -> bool:
    return any(
        all(word in forms[at + i] for i, word in enumerate(wanted)) for at in range(len(forms) - len(wanted) + 1)
    )


# --- words of degree, praise and denial ---


@cache
def _degree_words() -> dict[str, float]:
    coarse = {words: AMOUNTS[name] for words, name in by_word(vocabulary("options")["degrees"]).items()}
    return coarse | {words: float(amount) for words, amount in by_word(vocabulary("options")["finer"]).items()}


@cache
def _level_words() -> dict[str, int]:
    return {words: int(level) for words, level in by_word(vocabulary("options")["levels"]).items() if not words.isdigit()}


def degree_in(words: Sequence[str]) -> float | None:
    """The amount that words of degree name, the longest phrase first; "not" alone is a denial, no degree."""
    return _longest(words, _degree_words())


def level_in(words: Sequence[str], *, whole: bool = False) -> int | None:
    """The level that words of praise or blame name."""
    if whole:
        found = _level_words().get(" ".join(words))
        return found
    level = _longest(words, _level_words())
    return None if level is None else (max(1, 5 - level) if denials(words) and "not" not in _phrase(words, _level_words()) else level)


def _phrase(words: Sequence[str], table: Mapping[str, object]) -> str:
    for length in range(min(5, len(words)), 0, -1):
        for at in range(len(words) - length + 1):
            text = " ".join(words[at : at + length])
            if text in table:
                return text
    return ""


def _longest(words: Sequence[str], table: Mapping[str, _T]) -> _T | None:
    return table.get(_phrase(words, table))


_DENYING = word_set("not no never without neither nor lack lacks lacking free hardly barely devoid none nothing")


def denials(words: Sequence[str]) -> list[int]:
    return [at for at, word in enumerate(words) if word in _DENYING]


def denied_at(words: Sequence[str], at: int) -> bool:
    """Whether a word shortly before denies what stands at this place."""
    return any(0 < at - place <= 4 for place in denials(words))


def plain(text: str) -> str:
    return " ".join(words_of(tagged(text)))
