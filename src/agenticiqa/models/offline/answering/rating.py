"""Ratings: the chances of the five levels, of the whole quality or of the one property that is to be rated."""

from __future__ import annotations

from agenticiqa.models.offline.answering.chances import is_damage
from agenticiqa.models.offline.answering.problem import Answer, Problem, guessed, unread
from agenticiqa.vision.scene import LEVELS
from agenticiqa.vocabulary import LEVEL_LETTERS


def rate(problem: Problem) -> Answer:
    """The level that the mean of the chances falls on, so that letter and score agree."""
    levels, doubts, sentences = _levels(problem)
    mean = sum(level * chance for level, chance in zip(LEVELS, levels, strict=True))
    letter = LEVEL_LETTERS[min(5, max(1, int(mean + 0.5)))]
    chances = {LEVEL_LETTERS[level]: chance for level, chance in zip(LEVELS, levels, strict=True)}
    return Answer(letter, sentences, chances, (*problem.missing_parts(), *doubts))


def _levels(problem: Problem) -> tuple[tuple[float, ...], tuple[str, ...], tuple[str, ...]]:
    """The chances of the levels 1 to 5, doubts, and reasons."""
    quality, flaws, asked = problem.told("quality"), problem.told("flaw"), problem.asked
    if quality is None or quality.amounts is None:
        raise LookupError("The quality of a picture can always be read.")
    whole = (quality.sentence, *((flaws.sentence,) if flaws else ()))
    if asked is None or asked.name in ("quality", "flaw", "flaw_count"):
        return tuple(quality.amounts), (), whole
    told = problem.told(asked.name)
    if told is None or told.amounts is None or asked.good == "middle":
        return tuple(quality.amounts), (f"The whole quality was rated, not {asked.title}. {unread(asked)}",), whole
    amounts = told.amounts if asked.good == "much" else tuple(reversed(told.amounts))
    of_damage = "" if not is_damage(asked) else " (5: no fault of it can be seen)"
    rated = f"Rated is {asked.title} alone{of_damage}."
    return tuple(amounts), (guessed(asked),) if told.guess else (), (rated, told.sentence)
