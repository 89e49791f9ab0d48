"""Ratings: the chances of the five levels, of the whole quality or of the one property that is to be rated."""

from __future__ import annotations

import re

from agenticiqa.models.offline.answering.chances import is_damage
from agenticiqa.models.offline.answering.problem import Answer, Problem, guessed, unread
from agenticiqa.models.offline.sentences import level_at
from agenticiqa.vision.scene import LEVELS
from agenticiqa.vocabulary import LEVEL_LETTERS

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


def rate(problem: Problem, *, understood: bool = False) -> Answer:
    """The level that the mean of the chances falls on, so that letter and score agree.

    ``understood``: what to do was understood without a word for a property, as a tool to measure with.
    """
    levels, doubts, sentences = _levels(problem)
    doubts = tuple(text for text in doubts if text != NOT_UNDERSTOOD or not understood)
    mean = sum(level * chance for level, chance in zip(LEVELS, levels, strict=True))
    letter = LEVEL_LETTERS[level_at(mean)]
    chances = {LEVEL_LETTERS[level]: chance for level, chance in zip(LEVELS, levels, strict=True)}
    return Answer(letter, sentences, chances, (*problem.missing_parts(), *doubts))


def _levels(problem: Problem) -> tuple[tuple[float, ...], tuple[str, ...], tuple[str, ...]]:
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
