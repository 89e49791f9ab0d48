"""Bounds in a question: "Is the score above 4?", "Is the quality at least 70 percent?"."""

from __future__ import annotations

import math
import re

from agenticiqa.models.offline.answering.problem import Problem

_BOUND = re.compile(
    r"\b(?P<word>above|over|more than|higher than|greater than|better than|exceeds?|at least|no less than|below|under|"
    r"less than|lower than|worse than|at most|no more than)\s+(?:a\s+|an\s+)?(?P<number>\d+(?:\.\d+)?)"
    r"\s*(?P<scale>%|per ?cent|/\s*\d+|out of \d+|of \d+)?",
    re.IGNORECASE,
)
_UPWARD = ("above", "over", "more", "higher", "greater", "better", "exceed", "at least", "no less")
_OF_SCORE = re.compile(r"\b(?:score|mark|grade|number|mos)\b", re.IGNORECASE)
# How far people's mean opinion of a picture lies from the score that is read.
_SPREAD = 0.25


def names_bound(text: str) -> bool:
    """Whether a question names a bound."""
    return bool(_BOUND.search(text))


def bound_answer(problem: Problem) -> tuple[float, tuple[str, ...]] | None:
    """The chance of yes with the sentence that says the score; None where no bound of quality is asked for."""
    found = _BOUND.search(problem.meaning.text)
    told = problem.told("quality") if problem.meaning.property == "quality" and found else None
    if found is None or told is None or "score" not in told.numbers:
        return None
    top = _top(float(found["number"]), found["scale"])
    low = 0.0 if top == 100 else 1.0
    bound = 1 + 4 * (float(found["number"]) - low) / (top - low)
    score = float(told.numbers["score"])
    above = 1 / (1 + math.exp(-max(-50.0, min(50.0, (score - bound) / _SPREAD))))
    if _OF_SCORE.search(problem.meaning.text):
        # What is asked for is the number, and that is known.
        above = float(score > bound)
    upward = found["word"].lower().startswith(_UPWARD)
    shown = low + (score - 1) / 4 * (top - low)
    other = "" if top == 5 else f", that is {shown:.{0 if top == 100 else 1}f} of {top:g}"
    side = "above" if score > bound else "below"
    sentence = f"The score is {score:.2f} of 5{other}: {side} {found['number']}."
    return (above if upward else 1 - above), (sentence,)


def _top(number: float, scale: str | None) -> float:
    """The end of the scale that is meant: as it is said, else the first that holds the number."""
    if scale and (said := re.search(r"\d+", scale)):
        return float(said[0])
    if scale:
        return 100
    return next(top for top in (5, 10, 100) if number <= top or top == 100)
