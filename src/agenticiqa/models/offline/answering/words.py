"""Answers in words: how much, which, why, what to do."""

from __future__ import annotations

import re
from collections.abc import Callable

from agenticiqa.models.asked_scale import asked_scale
from agenticiqa.models.offline.answering import parts, yes_no
from agenticiqa.models.offline.answering.chances import MIDDLE, claim_chance, is_damage
from agenticiqa.models.offline.answering.problem import (
    COLOURS,
    Answer,
    Problem,
    close_call,
    guessed,
    property_named,
    unable,
    unread,
)
from agenticiqa.models.offline.language.meaning.properties import Property
from agenticiqa.models.offline.language.meaning.reader import OptionMeaning
from agenticiqa.models.offline.language.meaning.scales import plain
from agenticiqa.models.offline.readings.told import PLACES, Told

_DAMAGE = ("No", "Slight", "Moderate", "Severe", "Extreme")
_ADVERBS = ("Not", "Slightly", "Moderately", "Severely", "Extremely")
_AMOUNT = ("Very low", "Low", "Medium", "High", "Very high")
_SEEN = 0.5
# Chances of values that exclude each other sum to one.
_EXCLUSIVE = 1.2
_SAYS_COLOUR = re.compile(r"\b(?:colou?rs?|hues?)\b(?! (?:scheme|palette|harmony|combination))", re.IGNORECASE)
_ASKS_COLOUR = re.compile(r"\bwh(?:at|ich) colou?rs? (?:is|are|does|do|has|have)\b", re.IGNORECASE)
# Of these the number is wanted, not a word of degree.
_FACTS = ("resolution", "printable")
# Values that exclude no other: a generated picture is a photograph or a drawing all the same.
_BESIDE = ("generated",)


def answer(problem: Problem) -> Answer:
    """Without options: by the form of the question."""
    meaning = problem.meaning
    if meaning.form == "advice":
        return advice(problem)
    if meaning.property is None:
        return _colour_of_part(problem) or unable()
    if meaning.options and not problem.lettered:
        return either_or(problem)
    return _BY_FORM.get(meaning.form, said_of_property)(problem)


def said_of_property(problem: Problem) -> Answer:
    asked = problem.asked
    told = problem.told(asked.name) if asked else None
    if asked is None or told is None:
        return unable(*problem.missing_parts(), unread(asked))
    doubts = (*problem.missing_parts(), *((guessed(asked),) if told.guess else ()))
    if asked.name == "flaw":
        return Answer(_worst(told), (told.sentence,), doubts=doubts)
    if asked.name == "quality" and problem.meaning.form == "open" and (flaws := problem.told("flaw")):
        return Answer(_worst(flaws), (flaws.sentence, told.sentence), doubts=doubts)
    if told.amounts is not None and problem.meaning.form not in ("which", "open") and (asked.name not in _FACTS):
        return Answer(_amount(problem, asked, told), (told.sentence,), doubts=doubts)
    if told.values:
        return _likeliest_value(problem, asked, told, doubts)
    return Answer(_first_sentence(told.sentence), (told.sentence,), doubts=doubts)


def asks_colour(text: str) -> bool:
    """Whether a question asks which colour something has."""
    return bool(_ASKS_COLOUR.search(text))


def _colour_of_part(problem: Problem) -> Answer | None:
    """ "What colour is the car?" asks for no property of the picture, but the colours of a part can be read."""
    told = problem.told("colour_scheme") if asks_colour(problem.meaning.text) else None
    named = {name: told.values[name] for name in COLOURS if name in told.values} if told else {}
    if told is None or not named:
        return None
    best = max(named, key=lambda name: named[name])
    return Answer(best.capitalize(), (told.sentence,), doubts=problem.missing_parts())


def _worst(told: Told) -> str:
    """The finding that the sentence begins with."""
    return _first_sentence(told.sentence)


def _first_sentence(text: str) -> str:
    return text.split(". ", 1)[0].removesuffix(".")


def median_place(told: Told) -> int:
    """The place at which half of the chances lie on either side."""
    below = 0.0
    for at, chance in enumerate(told.amounts or ()):
        below += chance
        if below >= MIDDLE:
            return at
    return len(PLACES) - 1


def _amount(problem: Problem, asked: Property, told: Told) -> str:
    place = median_place(told)
    if asked.name == "quality" and (scale := asked_scale(problem.meaning.text)) and "score" in told.numbers:
        return scale.text(float(told.numbers["score"]))
    if asked.name == "quality":
        return ("Bad", "Poor", "Fair", "Good", "Excellent")[place]
    if asked.good == "little":
        return f"{_DAMAGE[place]} {asked.title}"
    if is_damage(asked, told) and problem.meaning.polarity < 0:
        return f"{_ADVERBS[len(PLACES) - 1 - place]} {asked.word(-1)}"
    return f"{_AMOUNT[place]} {asked.title}"


def _likeliest_value(problem: Problem, asked: Property, told: Told, doubts: tuple[str, ...]) -> Answer:
    """The likeliest of the values that the question names, else of all."""
    said = {value for word, value in asked.values.items() if f" {word} " in f" {plain(problem.meaning.text)} "}
    offered = {value: chance for value, chance in told.values.items() if value in said}
    if len(offered) < 2 and _SAYS_COLOUR.search(problem.meaning.text):
        offered = {value: chance for value, chance in told.values.items() if value in COLOURS}
    if len(offered) < 2:
        offered = {value: chance for value, chance in told.values.items() if value not in _BESIDE}
        if sum(offered.values()) > _EXCLUSIVE:
            return Answer(_first_sentence(told.sentence), (told.sentence,), doubts=doubts)
    best = max(offered, key=lambda value: offered[value])
    return Answer(best.replace("_", " ").capitalize(), (told.sentence,), doubts=(*doubts, *close_call(offered)))


# --- "Is it blurry or compressed?" ---


def either_or(problem: Problem) -> Answer:
    """Each alternative by its own reading: one of them, both, or neither."""
    if problem.meaning.form in ("compare", "where"):
        return parts.compare(problem)
    chances: dict[str, float] = {}
    sentences: list[str] = []
    doubts: list[str] = list(problem.missing_parts())
    for option in problem.by_own_words().meaning.options:
        claimed = property_named(option.property or problem.meaning.property or "flaw")
        told = problem.told(claimed.name)
        chance = _claimed_chance(option, claimed, told) if told else None
        if told is None or chance is None:
            return unable(*doubts, unread(claimed))
        chances[option.text] = chance
        sentences.append(told.sentence)
        doubts += [guessed(claimed)] if told.guess else []
    return Answer(_named(chances), tuple(sentences), doubts=tuple(doubts))


def _claimed_chance(option: OptionMeaning, claimed: Property, told: Told) -> float | None:
    value = told.values.get(option.claim or "")
    if value is not None:
        return value
    return claim_chance(told, claimed, -1 if option.amount is not None and option.amount <= MIDDLE else 1)


def _named(chances: dict[str, float]) -> str:
    there = [text for text, chance in chances.items() if chance >= _SEEN]
    if not there:
        return "Neither" if len(chances) == 2 else "None of them"
    if len(there) == len(chances) > 1:
        return "Both" if len(chances) == 2 else "All of them"
    return " and ".join(there).capitalize()


# --- what to do ---


def advice(problem: Problem) -> Answer:
    found = problem.evidence.advice()
    own = problem.told(problem.meaning.property) if problem.meaning.property else None
    if not found:
        told = own or problem.told("flaw")
        return Answer("Nothing to mend stands out", (told.sentence,) if told else (), doubts=problem.missing_parts())
    because = tuple(dict.fromkeys(f"{each.because.removesuffix('.')}: {each.do}" for each in found[1:]))
    return Answer(found[0].do, (found[0].because, *because), doubts=problem.missing_parts())


_BY_FORM: dict[str, Callable[[Problem], Answer]] = {
    "yes_no": yes_no.answer,
    "where": parts.where,
    "compare": parts.compare,
}
