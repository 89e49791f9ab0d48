"""Where something shows most, and which of several parts has more of it."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from agenticiqa.embedded.answering.chances import MIDDLE, claim_chance, is_damage, severity
from agenticiqa.embedded.answering.problem import AnswerProblem, EmbeddedAnswer, close_call, guessed, unread
from agenticiqa.embedded.properties import Property, properties
from agenticiqa.embedded.readings.base import PropertyReading
from agenticiqa.embedded.readings.file import NOTICED_ALONE
from agenticiqa.vocabulary import GLOBAL, UNABLE_TO_DETERMINE

POSITIONS = ("top left", "top right", "bottom left", "bottom right", "center")
# From a difference of one severity between two places to odds of e².
SHARPNESS_OF_CHOICE = 2.0
# Beside severities, what a part out of focus adds to being the most blurred one.
FOCUS_WEIGHT = 2.0
NOTICED = 0.5
"""A difference of severity, 0 to 4, that makes one part worse than another."""
SMALL_SPOTS = 0.5
"""Percent of a part that is pure white, from which on people see burnt spots in it."""
_ASKS_WHETHER = re.compile(r"^\W*(?:is|are|was|were|does|do|did|has|have|isn't|aren't)\b", re.IGNORECASE)
_THAN = re.compile(r"\bthan\b", re.IGNORECASE)
_SAYS_EQUAL = re.compile(r"\b(?:equally|same|alike|equal)\b", re.IGNORECASE)


@dataclass
class Weights:
    """How strongly each option is spoken for, and what is to be said of it."""

    known: dict[str, float] = field(default_factory=dict)
    sentences: dict[str, tuple[str, ...]] = field(default_factory=dict)
    measured: dict[str, tuple[str, ...]] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)
    nearest: float | None = None
    """Where nothing of what is offered can be seen: the chance of what comes nearest."""

    def add(self, letter: str, weight: float, told: PropertyReading, asked: Property) -> None:
        self.known[letter] = weight
        self.sentences[letter], self.measured[letter] = (told.sentence,), told.measured
        if told.guess:
            self.doubts.append(guessed(asked))


def amount_in(problem: AnswerProblem, asked: Property, part: str) -> float | None:
    """How much of what the question names is in a part, 0 to 4; of "which is sharpest" how little blur."""
    told = problem.evidence.told(asked.name, part)
    if told is None or told.amounts is None:
        return None
    if not is_damage(asked, told):
        much = 4 * (told.amount or 0.0)
        return much if problem.meaning.polarity > 0 else 4 - much
    worst = severity(told, asked)
    in_focus = told.numbers.get("in_focus")
    if asked.name in ("sharp", "in_focus") and isinstance(in_focus, float):
        worst += FOCUS_WEIGHT * (1 - in_focus)
    return worst if _wants_damage(problem, asked) else 4 - worst


def _wants_damage(problem: AnswerProblem, asked: Property) -> bool:
    """Whether the end that is asked for is the damaged one."""
    return (problem.meaning.polarity > 0) == (asked.good == "little")


def is_than(text: str) -> bool:
    """Whether a yes says that one part has more of something than another."""
    return bool(_THAN.search(text)) or bool(_SAYS_EQUAL.search(text))


# --- where ---


def where(problem: AnswerProblem) -> EmbeddedAnswer:
    """The part of the frame where what is asked about shows most; nowhere, where it shows in none."""
    asked = problem.asked
    whole = problem.told(asked.name) if asked else None
    if asked is None or whole is None:
        return unread(asked)
    if not asked.has_scale:
        return EmbeddedAnswer(whole.sentence.removesuffix("."), (), doubts=(guessed(asked),) if whole.guess else ())
    return _at_worst_place(problem, asked, whole) or _in_worst_part(problem, asked, whole)


def _at_worst_place(problem: AnswerProblem, asked: Property, whole: PropertyReading) -> EmbeddedAnswer | None:
    """Quality on the whole is worst where the map of it is, which is what the page and reports mark."""
    on_the_whole = asked.is_general and problem.parts == (GLOBAL,) and not _asks_for_corner(problem)
    place = problem.evidence.worst_place() if on_the_whole and _wants_damage(problem, asked) else None
    if place is None:
        return None
    box, position = place.box, _said_position(place.position)
    scores = (
        f"{box.width} × {box.height} pixels at {box.x}, {box.y} score {place.score:.1f} of 5, "
        f"the picture on average {place.whole:.1f}."
    )
    if place.score >= NOTICED_ALONE and (claim_chance(whole, asked, problem.meaning.polarity) or 0.0) < MIDDLE:
        nearest = () if place.even else (f"The weakest place is {position}, and it is fine too.",)
        return EmbeddedAnswer("Nowhere", ("No part looks damaged.", *nearest), measured=(scores,))
    if place.even:
        return EmbeddedAnswer(
            "Evenly over the picture", ("No place is clearly worse than the rest.", whole.sentence), measured=(scores,)
        )
    return EmbeddedAnswer(f"Mostly {position}", (f"It is worst {position}.", whole.sentence), measured=(scores,))


def _in_worst_part(problem: AnswerProblem, asked: Property, whole: PropertyReading) -> EmbeddedAnswer:
    places = [name for name in POSITIONS if name != "center" or not _asks_for_corner(problem)]
    amounts = {name: amount for name in places if (amount := amount_in(problem, asked, name)) is not None}
    if not amounts:
        return unread(asked)
    doubts = (guessed(asked),) if whole.guess else ()
    worst = max(amounts, key=lambda name: amounts[name])
    spread = amounts[worst] - min(amounts.values())
    word = asked.word(problem.meaning.polarity)
    if _nowhere(problem, asked, whole, amounts):
        white = {name: float(told.numbers.get("pure_white_percent", 0.0)) for name in places
                 if asked.name == "overexposed" and (told := problem.told(asked.name, name))}  # fmt: skip
        if max(white.values(), default=0.0) >= SMALL_SPOTS:
            spot = _said_position(max(white, key=lambda name: white[name]))
            said = "They are pure white; the picture as a whole is not blown out."
            return EmbeddedAnswer(f"Only small spots {spot}", (said,), doubts=doubts, measured=whole.measured)
        nearest = f" The {worst} comes nearest to it." if spread >= NOTICED else ""
        return EmbeddedAnswer("Nowhere", (f"No part looks {word}.{nearest}",), doubts=doubts, measured=whole.measured)
    if spread < NOTICED:
        return EmbeddedAnswer("Evenly over the picture", (whole.sentence,), doubts=doubts, measured=whole.measured)
    told = problem.evidence.told(asked.name, worst)
    there: tuple[str, ...] = (f"The {worst} is the most {word} part.",)
    if is_damage(asked, whole) and (claim_chance(whole, asked, problem.meaning.polarity) or 0.0) < MIDDLE:
        there += ("The picture as a whole does not look damaged by it: it may be meant there.",)
    return EmbeddedAnswer(f"Mostly in the {worst}", there, doubts=doubts, measured=told.measured if told else ())


def _asks_for_corner(problem: AnswerProblem) -> bool:
    return "corner" in problem.meaning.text.casefold()


def _said_position(position: str) -> str:
    """
    >>> _said_position("top left"), _said_position("left"), _said_position("top")
    ('in the top left', 'on the left', 'at the top')
    """
    before = {"left": "on", "right": "on", "top": "at", "bottom": "at"}.get(position, "in")
    return f"{before} the {position}"


def _nowhere(problem: AnswerProblem, asked: Property, whole: PropertyReading, places: Iterable[str]) -> bool:
    """Damage that is seen neither in the whole picture nor in any part of it."""
    if not is_damage(asked, whole) or not _wants_damage(problem, asked):
        return False
    every = [whole, *(told for name in places if (told := problem.evidence.told(asked.name, name)))]
    return max(claim_chance(told, asked, problem.meaning.polarity) or 0.0 for told in every) < MIDDLE


# --- which of several parts ---


def compare(problem: AnswerProblem) -> EmbeddedAnswer:
    """Which of the named parts has more of it, in words or with yes or no."""
    asked, names = problem.asked, problem.parts
    if asked is None or len(names) < 2:
        return unread(asked)
    missing = [name for name in names if not problem.evidence.located(name)]
    amounts = [amount_in(problem, asked, name) for name in names]
    known = [amount for amount in amounts if amount is not None]
    if missing or len(known) < len(names):
        absent = tuple(f"I could not find {name!r}, so the parts cannot be compared." for name in missing)
        return EmbeddedAnswer(UNABLE_TO_DETERMINE, doubts=absent) if missing else unread(asked)
    lead = known[0] - max(known[1:])
    word = asked.word(problem.meaning.polarity)
    told = [found for name in names if (found := problem.evidence.told(asked.name, name))]
    said = tuple(f"{name.capitalize()}: {each.sentence}" for name, each in zip(names, told, strict=True))
    doubts = (guessed(asked),) if any(each.guess for each in told) else ()
    if _ASKS_WHETHER.search(problem.meaning.text) and is_than(problem.meaning.text):
        equal = bool(_SAYS_EQUAL.search(problem.meaning.text))
        yes = _logistic(NOTICED - abs(lead)) if equal else _logistic(lead - NOTICED / 2 if lead > 0 else lead)
        chances = {"Yes": yes, "No": 1 - yes}
        return EmbeddedAnswer("Yes" if yes >= MIDDLE else "No", said, chances, (*doubts, *close_call(chances)))
    best = max(range(len(names)), key=lambda at: known[at])
    second = max(known[:best] + known[best + 1 :])
    if known[best] - second < NOTICED / 2:
        return EmbeddedAnswer("About the same", said, doubts=doubts)
    return EmbeddedAnswer(
        names[best].capitalize(), (f"The {names[best]} is more {word} than the rest.", *said), doubts=doubts
    )


def _logistic(lead: float) -> float:
    return 1 / (1 + math.exp(-SHARPNESS_OF_CHOICE * lead))


# --- options ---


def option_weights(problem: AnswerProblem) -> Weights:
    """Options that name places or parts."""
    found, asked = Weights(), problem.asked or properties()["flaw"]
    if problem.meaning.form != "where" and (said := _first_beside_second(problem)) is not None:
        return said
    amounts: dict[str, float] = {}
    for option in problem.meaning.options:
        if option.part is None:
            continue
        place = option.part.name
        found.doubts += problem.missing_parts([place])
        amount = amount_in(problem, asked, place) if problem.evidence.located(place) else None
        told = problem.evidence.told(asked.name, place)
        if amount is None or told is None:
            continue
        amounts[option.letter] = amount
        # Parts of a sound picture differ little: the difference counts, not the level.
        found.known[option.letter] = math.exp(SHARPNESS_OF_CHOICE * amount)
        found.sentences[option.letter] = (f"{place.capitalize()}: {told.sentence}",)
        if told.guess:
            found.doubts.append(guessed(asked))
    if not amounts:
        return found
    ranked = sorted(amounts.values(), reverse=True)
    spread = ranked[0] - ranked[1] if len(ranked) > 1 else ranked[0]
    most = math.exp(SHARPNESS_OF_CHOICE * ranked[0])
    for option in problem.meaning.options:
        if option.claim in ("same", "all") and len(amounts) > 1:
            found.known[option.letter] = most * (2 if spread < NOTICED / 2 else 0.2)
        elif option.claim == "none":
            told = problem.evidence.told(asked.name)
            there = (claim_chance(told, asked, problem.meaning.polarity) if told else None) or 0.0
            found.known[option.letter] = most * (1 - there) / max(there, 0.05)
    return found


def _first_beside_second(problem: AnswerProblem) -> Weights | None:
    """ "How sharp is the background compared with the subject? Sharper / Blurrier": said of the first part."""
    claims = {o.letter: o.amount for o in problem.meaning.options if o.property == problem.meaning.property}
    asked = problem.asked
    if asked is None or len(problem.parts) != 2 or len(claims) < 2 or None in claims.values():
        return None
    found = Weights(doubts=list(problem.missing_parts()))
    amounts = [told.amount for part in problem.parts if (told := problem.evidence.told(asked.name, part))]
    if found.doubts or len(amounts) < 2 or None in amounts:
        return found
    lead = 4 * ((amounts[0] or 0.0) - (amounts[1] or 0.0))
    said = f"The {problem.parts[0]} is {'more' if lead > 0 else 'less'} {asked.word(1)} than the {problem.parts[1]}."
    for option in problem.meaning.options:
        if option.letter in claims:
            more = (claims[option.letter] or 0.0) > MIDDLE
            found.known[option.letter] = _logistic(lead - NOTICED / 2 if more else -lead - NOTICED / 2)
        elif option.claim == "same":
            found.known[option.letter] = _logistic(NOTICED - abs(lead))
    found.sentences = dict.fromkeys(found.known, (said,))
    return found
