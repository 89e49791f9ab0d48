"""Yes or no; also whether a picture is good enough for something."""

import re
from dataclasses import dataclass, replace

from agenticiqa.embedded.answering import comparing
from agenticiqa.embedded.answering.chances import (
    EXCESS,
    asks_a_bit,
    bound_answer,
    claim_chance,
    is_damage,
    papers_named,
    said_chance,
)
from agenticiqa.embedded.answering.problem import (
    AnswerProblem,
    EmbeddedAnswer,
    SeenEvidence,
    close_call,
    guessed,
    statement,
    unread,
)
from agenticiqa.embedded.findings import Seen
from agenticiqa.embedded.looking import Look
from agenticiqa.embedded.properties import Property, properties
from agenticiqa.embedded.question import Meaning, own_claim
from agenticiqa.embedded.readings.base import PropertyReading

YES, NO = "Yes", "No"
SAID = 0.5
_CLAUSE = re.compile(r"\s*(?:\band\b|\bbut\b|\byet\b|\bwhile\b|\bor\b|\bnor\b)\s*", re.I)


_THAN_REFERENCE = re.compile(r"\bthan\b.*\b(?:reference|original)\b", re.I)
_DENIES = re.compile(r"\bnot an?\b|\bno\b|\bisn'?t\b(?!.*\?)", re.I)


@dataclass(frozen=True)
class Weighed:
    """The chance that a yes is right, with its reasons."""

    chance: float
    sentences: tuple[str, ...]
    doubts: tuple[str, ...] = ()
    measured: tuple[str, ...] = ()


@dataclass(frozen=True)
class Claim:
    """One thing that a yes claims: much or little of a property."""

    property: str
    end: int
    parts: tuple[str, ...] = ()
    """The parts that it is said of, where the question says different things of different parts."""


def answer(problem: AnswerProblem) -> EmbeddedAnswer:
    """Yes or no with its chance; the words of the readings are the reasons."""
    weighed = yes_chance(problem)
    if weighed is None:
        return unread(problem.asked)
    chances = {YES: weighed.chance, NO: 1 - weighed.chance}
    text = YES if weighed.chance >= SAID else NO
    doubts = (*weighed.doubts, *close_call(chances, "yes" if text == YES else "no"))
    missing = [part for part in problem.parts if not problem.evidence.located(part)]
    if missing and all(map(problem.evidence.is_absent, missing)):
        text = f"I see no {' and no '.join(missing)} here; on the whole: {text}"
    elif missing:
        # A plain yes would be said of a thing that may not even be there.
        text = f"{text}, on the whole ({' and '.join(map(repr, missing))} not found)"
    elif problem.meaning.parts and problem.evidence.is_assumed(problem.parts[0]):
        text = f"{text}, if {problem.parts[0]!r} is what stands out"
    return EmbeddedAnswer(text, weighed.sentences, chances, doubts, measured=weighed.measured)


def yes_chance(problem: AnswerProblem) -> Weighed | None:
    """None where something that a yes claims cannot be read at all."""
    if bound := bound_answer(problem):
        return Weighed(*bound)
    if len(problem.parts) > 1 and comparing.is_than(problem.meaning.text):
        found = comparing.compare(problem)
        return Weighed(found.chances[YES], found.sentences, found.doubts) if YES in found.chances else None
    worse = problem.meaning.property == "quality" and problem.meaning.polarity < 0
    flaws = problem.told("flaw") if worse and _THAN_REFERENCE.search(problem.meaning.text) else None
    if flaws and "chance_noticed_beside" in flaws.numbers:
        # "Is it worse than the reference?" asks whether something was done to it, not how bad it is.
        noticed = float(flaws.numbers["chance_noticed_beside"])
        said = flaws.sentence if noticed >= SAID else "A difference can hardly be seen."
        return Weighed(noticed, (said,), measured=flaws.measured)
    weighed = [_of_claim(problem, each) for each in claims(problem.meaning)]
    known = [each for each in weighed if each is not None]
    if not known or len(known) < len(weighed):
        return None
    either = " or " in problem.meaning.text
    decisive = (max if either else min)(known, key=lambda each: each.chance)
    return Weighed(
        decisive.chance,
        tuple(text for each in known for text in each.sentences),
        tuple(text for each in known for text in each.doubts),
        tuple(text for each in known for text in each.measured),
    )


def claims(meaning: Meaning) -> tuple[Claim, ...]:
    """All that a yes claims: one thing, or several for "Is it sharp but noisy?"."""
    if meaning.property is None:
        return ()
    first = Claim(meaning.property, meaning.polarity)
    if first == Claim("quality", 1) and papers_named(properties()["printable"], meaning.text):
        return first, Claim("printable", 1)  # "Good enough for a magazine cover?"
    clauses = _CLAUSE.split(meaning.text)
    said = []
    for clause in clauses if len(clauses) > 1 else ():
        parts = tuple(part.name for part in meaning.parts if part.name.casefold() in clause.casefold())
        if found := own_claim(clause):
            said.append(Claim(*found, parts if len(meaning.parts) > 1 else ()))
    if len({each.property for each in said}) < 2 or first.property not in {each.property for each in said}:
        return (first,)
    return tuple({each.property: each for each in reversed(said)}.values())[::-1]


def _of_claim(problem: AnswerProblem, claim: Claim) -> Weighed | None:
    """What is said of several parts holds if it holds of each."""
    found = [_of_part(problem, claim, part) for part in claim.parts or problem.parts]
    known = [each for each in found if each is not None]
    if len(known) < len(found):
        return None
    worst = min(known, key=lambda each: each.chance)
    return replace(worst, measured=tuple(text for each in known for text in each.measured))


def _of_part(problem: AnswerProblem, claim: Claim, part: str) -> Weighed | None:
    asked = properties()[claim.property]
    told = problem.evidence.told(asked.name, part)
    if told is None:
        return None
    named = asked.name == problem.meaning.property and (not asked.has_scale or asked.name == "colour_cast")
    value = problem.meaning.value() if named and told.values else None
    chance = told.values.get(value) if value else said_chance(problem, asked, told, claim.end)
    if chance is None:
        return None
    if value and _DENIES.search(problem.meaning.text):
        chance = 1 - chance
    there = replace(problem, marked=(part,))
    said = told.sentence if value else _said(there, asked, claim.end, told, yes=chance >= SAID)
    return Weighed(chance, (said,), (guessed(asked),) if told.guess else (), told.measured)


def _said(problem: AnswerProblem, asked: Property, claimed: int, told: PropertyReading, *, yes: bool) -> str:
    """The answer as a statement, with its reason; what reads in full already is said as it was read."""
    if asked.is_general or asked.name in ("printable", "resolution", "legible", "real", "level", "symmetric"):
        return told.sentence
    end = claimed if yes else -claimed
    if other := _in_other_words(problem, asked, claimed, told, yes=yes):
        return f"{problem.subject} {other}."
    if not is_damage(asked, told) and (claim_chance(told, asked, end) or 0.0) < SAID:
        return f"{problem.subject} not {asked.word(-end)}."  # not bright is not yet dark
    return statement(problem, asked, end, because=told.because)


def _in_other_words(problem: AnswerProblem, asked: Property, end: int, told: PropertyReading, *, yes: bool) -> str:
    """Where the plain word for an end says too much or too little; empty where it says just what is meant."""
    if yes and told.mild:
        return f"{told.mild}, though nothing is broken"
    if EXCESS.search(problem.meaning.text) and end > 0 and 2 in asked.ends:
        return f"{'' if yes else 'not '}{asked.word(2)}"
    plain = (claim_chance(told, asked, end) or 0.0) >= SAID
    if yes and not plain and asks_a_bit(problem.meaning.text):
        return f"a little {asked.word(end)}, no more than that"
    return asked.word(end if yes else -end) if yes != plain else ""


def said_of(meaning: Meaning, look: Look) -> tuple[bool, str]:
    """The answer to a question about one look, whichever part it names: whether it is a yes, and its sentences."""
    weighed = yes_chance(AnswerProblem(meaning, SeenEvidence(lambda _: Seen(look))))
    return weighed is not None and weighed.chance >= SAID, " ".join(weighed.sentences if weighed else ())
