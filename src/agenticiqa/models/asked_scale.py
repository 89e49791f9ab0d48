"""The scale that a question asks for, where it is not ours: "from 1 to 10", "in percent", "out of five stars"."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBERS = {"three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "ten": 10, "twenty": 20, "hundred": 100}
_NUMBER = r"(\d+(?:\.\d+)?|" + "|".join(_NUMBERS) + ")"
_RANGE = re.compile(
    rf"\b(?:from|between|of|scale)?\s*\b{_NUMBER}\s*(?:to|and|through|-|–|\.\.)\s*{_NUMBER}\b(?!\s*(?:px|pixels|mm))",
    re.IGNORECASE,
)
_OUT_OF = re.compile(rf"\bout\s+of\s+(?:a\s+)?{_NUMBER}\b|(?<![\w/])/\s*(\d+)\b", re.IGNORECASE)
_PERCENT = re.compile(r"%|\bper\s?cent(?:age)?\b", re.IGNORECASE)
_STARS = re.compile(rf"\b(?:{_NUMBER}[\s-])?stars?\b", re.IGNORECASE)
_OURS = (1.0, 5.0)


@dataclass(frozen=True)
class Scale:
    """A scale from ``low`` (bad) to ``high`` (excellent)."""

    low: float
    high: float
    unit: str = ""

    def value(self, score: float) -> float:
        """A score of 1 to 5 on this scale."""
        return self.low + (score - 1) / 4 * (self.high - self.low)

    def text(self, score: float) -> str:
        """In words.

        >>> Scale(1, 10).text(4.2), Scale(0, 100, "%").text(4.2), Scale(1, 5, "stars").text(4.2)
        ('8.2 of 10', '80 %', '4 of 5 stars')
        """
        value = self.value(score)
        if self.unit == "%":
            return f"{value:.0f} %"
        if self.unit:
            return f"{round(2 * value) / 2:g} of {self.high:g} {self.unit}"
        digits = 0 if self.high - self.low >= 50 else 2 if self.high - self.low <= 2 else 1
        return f"{value:.{digits}f} of {self.high:g}"


def asked_scale(query: str) -> Scale | None:
    """The scale of a rating; None where the question names none, or ours.

    >>> asked_scale("Rate it from 1 to 10"), asked_scale("Rate the quality from 1 to 5"), asked_scale("in percent")
    (Scale(low=1.0, high=10.0, unit=''), None, Scale(low=0, high=100, unit='%'))
    """
    if stars := _STARS.search(query):
        out_of = _OUT_OF.search(query)
        return Scale(1, _number(stars[1] or (out_of and out_of[1]) or "5"), "stars")
    if _PERCENT.search(query):
        return Scale(0, 100, "%")
    if found := _RANGE.search(query):
        low, high = sorted((_number(found[1]), _number(found[2])))
        return Scale(low, high) if high > low and (low, high) != _OURS else None
    if found := _OUT_OF.search(query):
        high = _number(found[1] or found[2])
        return Scale(0 if high >= 100 else 1, high) if high > 1 and high != _OURS[1] else None
    return None


def _number(text: str) -> float:
    return float(_NUMBERS.get(text.lower(), text))
