"""Yes or no."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agenticiqa.embedded.answering import parts
from agenticiqa.embedded.answering.chances import bound_answer, chance_from, claim_chance, excess_chance, is_damage
from agenticiqa.embedded.answering.problem import (
    AnswerProblem,
    EmbeddedAnswer,
    SeenEvidence,
    close_call,
    guessed,
    property_named,
    unable,
    unread,
)
from agenticiqa.embedded.findings import Seen
from agenticiqa.embedded.language.meaning.amounts import plain
from agenticiqa.embedded.language.meaning.direction import Statement
from agenticiqa.embedded.language.meaning.properties import Property
from agenticiqa.embedded.language.meaning.reader import Meaning
from agenticiqa.embedded.looking import Look

YES, NO = "Yes", "No"
SAID = 0.5
_EXCESS = re.compile(r"\b(?:too|overly|excessively|garish|gaudy|lurid|overdone)\b|\bover-?saturat", re.IGNORECASE)


@dataclass(frozen=True)
class Weighed:
    """The chance that a yes is right, with its reasons."""

    chance: float
    sentences: tuple[str, ...]
    doubts: tuple[str, ...] = ()


def answer(problem: AnswerProblem) -> EmbeddedAnswer:
    weighed = yes_chance(problem)
    if weighed is None:
        return unable(*problem.missing_parts(), unread(_unread_property(problem)))
    chances = {YES: weighed.chance, NO: 1 - weighed.chance}
    text = YES if weighed.chance >= SAID else NO
    if problem.meaning.property == "real" and " or " in problem.meaning.text.casefold():
        # "Generated or real?" wants one of the two.
        says_real = (text == YES) == (problem.meaning.polarity > 0)
        doubts = (*problem.missing_parts(), *weighed.doubts)
        return EmbeddedAnswer("Real" if says_real else "Generated", weighed.sentences, doubts=doubts)
    sure = f"Chance of {text.lower()}: {chances[text]:.0%}."
    doubts = (*problem.missing_parts(), *problem.stands_in(), *weighed.doubts, *close_call(chances))
    return EmbeddedAnswer(text, (*weighed.sentences, sure), chances, doubts)


def yes_chance(problem: AnswerProblem) -> Weighed | None:
    """None where one of the statements cannot be read at all."""
    bound = bound_answer(problem)
    if bound is not None:
        return Weighed(*bound)
    statements = problem.meaning.statements or _one_statement(problem)
    weighed = [_statement_chance(problem, each) for each in statements]
    known = [each for each in weighed if each is not None]
    if not known or len(known) < len(weighed):
        return None
    chances = [each.chance for each in known]
    chance = max(chances) if problem.meaning.joined == "or" else min(chances)
    sentences = tuple(text for each in known for text in each.sentences)
    if len(known) > 1:
        halves = (_half(each, found.chance) for each, found in zip(statements, known, strict=True))
        sentences = ("; ".join(halves).capitalize() + ".", *sentences)
    return Weighed(chance, sentences, tuple(text for each in known for text in each.doubts))


def compared(problem: AnswerProblem) -> Weighed | None:
    """ "Is the sky sharper than the sea?": the chance that it is; None where a part was not found."""
    found = parts.compare(problem)
    return Weighed(found.chances[YES], found.sentences, found.doubts) if YES in found.chances else None


def _one_statement(problem: AnswerProblem) -> tuple[Statement, ...]:
    name = problem.meaning.property
    return (Statement(name, problem.meaning.polarity),) if name else ()


def _half(statement: Statement, chance: float) -> str:
    """ "blurry: no (97 %)": one half of a two-part question."""
    asked = property_named(statement.property)
    claimed = asked.word(statement.end())
    if statement.denied:
        claimed = f"no {asked.title}" if asked.good == "little" else f"not {claimed}"
    return f"{claimed}: {'yes' if chance >= SAID else 'no'} ({max(chance, 1 - chance):.0%})"


def _statement_chance(problem: AnswerProblem, statement: Statement) -> Weighed | None:
    """What is said of several parts holds if it holds of each."""
    found = [_of_part(problem, statement, part) for part in statement.parts or problem.parts]
    known = [each for each in found if each is not None]
    if len(known) < len(found):
        return None
    worst = min(known, key=lambda each: each.chance)
    return Weighed(
        worst.chance,
        tuple(text for each in known for text in each.sentences),
        tuple(text for each in known for text in each.doubts),
    )


def _of_part(problem: AnswerProblem, statement: Statement, part: str) -> Weighed | None:
    asked = property_named(statement.property)
    told = problem.evidence.told(asked.name, part)
    if told is None:
        return None
    value = problem.meaning.value if asked.name == problem.meaning.property else None
    least = _least_amount(problem, asked)
    if told.amounts is not None and not is_damage(asked, told) and _is_excess(problem, statement):
        chance: float | None = excess_chance(told.amounts)
    elif least is not None and told.amounts is not None:
        chance = chance_from(told, least)
    else:
        chance = told.values.get(value) if value else claim_chance(told, asked, statement.end())
    if chance is None:
        return None
    turned = statement.polarity < 0 if value else statement.denied
    where = f"In {part}: " if len(problem.parts) > 1 else ""
    return Weighed(
        1 - chance if turned else chance, (f"{where}{told.sentence}",), (guessed(asked),) if told.guess else ()
    )


def _is_excess(problem: AnswerProblem, statement: Statement) -> bool:
    """ "Is it oversaturated?", "Are the colours too vivid?": more of it than people want."""
    return statement.end() > 0 and bool(_EXCESS.search(problem.meaning.text))


def _least_amount(problem: AnswerProblem, asked: Property) -> float | None:
    """ "Is it good enough to print at A3?": the amount that the question itself names."""
    if asked.name != "printable":
        return None
    said = f" {plain(problem.meaning.text)} "
    return max((amount for word, amount in asked.degrees.items() if f" {word} " in said), default=None)


def _unread_property(problem: AnswerProblem) -> Property | None:
    for statement in problem.meaning.statements:
        asked = property_named(statement.property)
        if problem.told(asked.name) is None:
            return asked
    return problem.asked


def said_yes_of(meaning: Meaning, look: Look) -> bool:
    """The answer to a question about one look, whichever part it names."""
    weighed = yes_chance(AnswerProblem(meaning, SeenEvidence(lambda _: Seen(look))))
    return weighed is not None and weighed.chance >= SAID
