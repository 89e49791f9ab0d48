"""Answers in words (how much, which, why, what to do), ratings, and what is usual where nothing was read."""

from __future__ import annotations

import re
from collections.abc import Callable

from agenticiqa.answers import asked_scale
from agenticiqa.embedded.answering import parts, yes_no
from agenticiqa.embedded.answering.chances import MIDDLE, claim_chance, is_damage
from agenticiqa.embedded.answering.parts import wants_much
from agenticiqa.embedded.answering.problem import (
    COLOURS,
    AnswerProblem,
    EmbeddedAnswer,
    close_call,
    guessed,
    property_named,
    unable,
    unread,
)
from agenticiqa.embedded.findings import level_at
from agenticiqa.embedded.language.meaning.amounts import plain, words_in
from agenticiqa.embedded.language.meaning.properties import Property
from agenticiqa.embedded.language.meaning.reader import OptionMeaning
from agenticiqa.embedded.language.words import base_forms, word_list
from agenticiqa.embedded.readings.base import PLACES, PropertyReading
from agenticiqa.vision.scene import LEVELS
from agenticiqa.vocabulary import LEVEL_LETTERS

WHICHEVER, LIKELIER, UNLIKELIER = 0.2, 0.35, 0.1
_OF_DISTANCE = frozenset({"sharp", "in_focus", "detailed", "emphasised", "legible"})
_NEAR = ("people", "body", "clothes", "animals", "vehicles", "things")


def usual_weight(problem: AnswerProblem, option: OptionMeaning) -> float:
    """How likely an option is before anything is read; the same for all where nothing is known of them."""
    if problem.meaning.property not in _OF_DISTANCE:
        return WHICHEVER
    of_first = option.amount is not None and option.property == problem.meaning.property
    near = _is_near(problem.parts[0] if of_first else option.text)
    if near is None:
        return WHICHEVER
    wanted = (option.amount or 0.0) > MIDDLE if of_first else wants_much(problem)
    return LIKELIER if near == wanted else UNLIKELIER


def _is_near(text: str) -> bool | None:
    said = {form for word in words_in(text) for form in base_forms(word)}
    if said & word_list("usual_parts", "far"):
        return False
    near = word_list("usual_parts", "near").union(*(word_list("picture_nouns", group) for group in _NEAR))
    return True if said & near else None


# --- Ratings ---


NOT_UNDERSTOOD = "No question about the picture was understood here, so it was rated on the whole."
_PICTURES = re.compile(
    r"\b(?:photo|photograph|picture|image|shot|pic|scan|file)s?\b|\.(?:jpe?g|png|webp|tiff?|heic|gif|bmp)$",
    re.IGNORECASE,
)
_FILE = re.compile(r"\S+\.(?:jpe?g|png|webp|tiff?|heic|gif|bmp)", re.IGNORECASE)
_MOST_WORDS = 4


def asks_nothing(text: str) -> bool:
    """Nothing, or only a name for the picture: then it is to be rated.

    >>> asks_nothing(""), asks_nothing("this photo"), asks_nothing("Say hello to my friend")
    (True, True, False)
    """
    words = text.split()
    return not words or (len(words) <= _MOST_WORDS and bool(_PICTURES.search(text)))


def rate(problem: AnswerProblem, *, understood: bool = False) -> EmbeddedAnswer:
    """The level that the mean of the chances falls on, so that letter and score agree.

    ``understood``: what to do was understood without a word for a property, as a tool to measure with.
    """
    levels, doubts, sentences = _levels(problem)
    doubts = tuple(text for text in doubts if text != NOT_UNDERSTOOD or not understood)
    mean = sum(level * chance for level, chance in zip(LEVELS, levels, strict=True))
    letter = LEVEL_LETTERS[level_at(mean)]
    chances = {LEVEL_LETTERS[level]: chance for level, chance in zip(LEVELS, levels, strict=True)}
    return EmbeddedAnswer(letter, sentences, chances, (*problem.missing_parts(), *doubts))


def _levels(problem: AnswerProblem) -> tuple[tuple[float, ...], tuple[str, ...], tuple[str, ...]]:
    """The chances of the levels 1 to 5, doubts, and reasons."""
    quality, flaws, asked = problem.told("quality"), problem.told("flaw"), problem.asked
    if quality is None or quality.amounts is None:
        raise LookupError("The quality of a picture can always be read.")
    whole = (*((flaws.sentence,) if flaws else ()), quality.sentence)
    if asked is None or _FILE.fullmatch(problem.meaning.text.strip()):
        return tuple(quality.amounts), () if asks_nothing(problem.meaning.text) else (NOT_UNDERSTOOD,), whole
    if asked.name in ("quality", "flaw", "flaw_count"):
        return tuple(quality.amounts), (), whole
    told = problem.told(asked.name)
    if told is None or told.amounts is None or asked.good == "middle":
        return tuple(quality.amounts), (f"The whole quality was rated, not {asked.title}. {unread(asked)}",), whole
    amounts = told.amounts if asked.good == "much" else tuple(reversed(told.amounts))
    of_damage = "" if not is_damage(asked, told) else " (5: no fault of it can be seen)"
    rated = f"Rated is {asked.title} alone{of_damage}."
    return tuple(amounts), (guessed(asked),) if told.guess else (), (rated, told.sentence)


# --- Answers in words: how much, which, why, what to do ---


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


def answer(problem: AnswerProblem) -> EmbeddedAnswer:
    """Without options: by the form of the question."""
    meaning = problem.meaning
    if meaning.form == "advice":
        return advice(problem)
    if meaning.property is None:
        return _colour_of_part(problem) or unable()
    if meaning.options and not problem.lettered:
        return either_or(problem)
    return _BY_FORM.get(meaning.form, said_of_property)(problem)


def said_of_property(problem: AnswerProblem) -> EmbeddedAnswer:
    asked = problem.asked
    told = problem.told(asked.name) if asked else None
    if asked is None or told is None:
        return unable(*problem.missing_parts(), unread(asked))
    doubts = (*problem.missing_parts(), *((guessed(asked),) if told.guess else ()))
    if asked.name == "flaw":
        return EmbeddedAnswer(_worst(told), (told.sentence,), doubts=doubts)
    if asked.name == "quality" and problem.meaning.form == "open" and (flaws := problem.told("flaw")):
        return EmbeddedAnswer(_worst(flaws), (flaws.sentence, told.sentence), doubts=doubts)
    if told.amounts is not None and problem.meaning.form not in ("which", "open") and (asked.name not in _FACTS):
        return EmbeddedAnswer(_amount(problem, asked, told), (told.sentence,), doubts=doubts)
    if told.values:
        return _likeliest_value(problem, asked, told, doubts)
    return EmbeddedAnswer(_first_sentence(told.sentence), (told.sentence,), doubts=doubts)


def asks_colour(text: str) -> bool:
    """Whether a question asks which colour something has."""
    return bool(_ASKS_COLOUR.search(text))


def _colour_of_part(problem: AnswerProblem) -> EmbeddedAnswer | None:
    """ "What colour is the car?" asks for no property of the picture, but the colours of a part can be read."""
    told = problem.told("colour_scheme") if asks_colour(problem.meaning.text) else None
    named = {name: told.values[name] for name in COLOURS if name in told.values} if told else {}
    if told is None or not named:
        return None
    best = max(named, key=lambda name: named[name])
    return EmbeddedAnswer(best.capitalize(), (told.sentence,), doubts=problem.missing_parts())


def _worst(told: PropertyReading) -> str:
    """The finding that the sentence begins with."""
    return _first_sentence(told.sentence)


def _first_sentence(text: str) -> str:
    return text.split(". ", 1)[0].removesuffix(".")


def median_place(told: PropertyReading) -> int:
    """The place at which half of the chances lie on either side."""
    below = 0.0
    for at, chance in enumerate(told.amounts or ()):
        below += chance
        if below >= MIDDLE:
            return at
    return len(PLACES) - 1


def _amount(problem: AnswerProblem, asked: Property, told: PropertyReading) -> str:
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


def _likeliest_value(
    problem: AnswerProblem, asked: Property, told: PropertyReading, doubts: tuple[str, ...]
) -> EmbeddedAnswer:
    """The likeliest of the values that the question names, else of all."""
    said = {value for word, value in asked.values.items() if f" {word} " in f" {plain(problem.meaning.text)} "}
    offered = {value: chance for value, chance in told.values.items() if value in said}
    if len(offered) < 2 and _SAYS_COLOUR.search(problem.meaning.text):
        offered = {value: chance for value, chance in told.values.items() if value in COLOURS}
    if len(offered) < 2:
        offered = {value: chance for value, chance in told.values.items() if value not in _BESIDE}
        if sum(offered.values()) > _EXCLUSIVE:
            return EmbeddedAnswer(_first_sentence(told.sentence), (told.sentence,), doubts=doubts)
    best = max(offered, key=lambda value: offered[value])
    return EmbeddedAnswer(best.replace("_", " ").capitalize(), (told.sentence,), doubts=(*doubts, *close_call(offered)))


# --- "Is it blurry or compressed?" ---


def either_or(problem: AnswerProblem) -> EmbeddedAnswer:
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
    return EmbeddedAnswer(_named(chances), tuple(sentences), doubts=tuple(doubts))


def _claimed_chance(option: OptionMeaning, claimed: Property, told: PropertyReading) -> float | None:
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


def advice(problem: AnswerProblem) -> EmbeddedAnswer:
    found = problem.evidence.advice()
    own = problem.told(problem.meaning.property) if problem.meaning.property else None
    if not found:
        told = own or problem.told("flaw")
        return EmbeddedAnswer(
            "Nothing to mend stands out", (told.sentence,) if told else (), doubts=problem.missing_parts()
        )
    because = tuple(dict.fromkeys(f"{each.because.removesuffix('.')}: {each.do}" for each in found[1:]))
    return EmbeddedAnswer(found[0].do, (found[0].because, *because), doubts=problem.missing_parts())


_BY_FORM: dict[str, Callable[[AnswerProblem], EmbeddedAnswer]] = {
    "yes_no": yes_no.answer,
    "where": parts.where,
    "compare": parts.compare,
}
