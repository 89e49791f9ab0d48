"""Accuracy of answers to questions with a known right one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from agenticiqa.evaluation.results import Result
from agenticiqa.evaluation.statistics import IntervalEstimate, proportion

NO_ANSWER = "(no answer)"
# A confusion matrix of free text would be as large as the file.
MAX_CLASSES = 12


@dataclass(frozen=True)
class Accuracy:
    """``of_all`` counts a sample without an answer as not right; ``of_answered`` leaves it out."""

    asked: int
    answered: int
    right: int

    @property
    def of_all(self) -> IntervalEstimate:
        return proportion(self.right, self.asked)

    @property
    def of_answered(self) -> IntervalEstimate:
        return proportion(self.right, self.answered)

    def as_dict(self) -> dict[str, Any]:
        return {
            "asked": self.asked,
            "answered": self.answered,
            "right": self.right,
            "accuracy": self.of_all.as_dict(),
            "accuracy_of_answered": self.of_answered.as_dict(),
        }


def accuracy(results: Iterable[Result]) -> Accuracy:
    """Count the results that have a right answer."""
    choices = [result for result in results if result.is_choice]
    return Accuracy(
        asked=len(choices),
        answered=sum(result.choice is not None for result in choices),
        right=sum(result.correct for result in choices),
    )


@dataclass(frozen=True)
class Confusion:
    """``counts[right][chosen]``; the chosen column ``(no answer)`` holds samples without an answer."""

    classes: list[str]
    counts: dict[str, dict[str, int]]

    def as_dict(self) -> dict[str, Any]:
        return {"classes": self.classes, "counts": self.counts}


def confusion(results: Iterable[Result]) -> Confusion | None:
    """Which answer was given for which right one; None when there are too many different ones to read."""
    pairs = Counter((result.right, result.choice or NO_ANSWER) for result in results if result.right is not None)
    classes = sorted({right for right, _ in pairs if right} | {chosen for _, chosen in pairs if chosen != NO_ANSWER})
    if not classes or len(classes) > MAX_CLASSES:
        return None
    return Confusion(
        classes, {right: {chosen: pairs[right, chosen] for chosen in (*classes, NO_ANSWER)} for right in classes}
    )
