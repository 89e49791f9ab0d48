"""The chance that a claim is right: from the five places of an axis, and from bounds that a question names."""

import math
import re
from collections.abc import Mapping

import numpy as np

from agenticiqa.embedded.answering.problem import AnswerProblem
from agenticiqa.embedded.properties import Property
from agenticiqa.embedded.readings.base import PLACES, PropertyReading, chance_above

FLOOR = 1e-3
MIDDLE = 0.5
# A word of amount stands for places about this far from it.
_REACH = 0.08
# From here on an amount claims an end as a plain word does ("blurry"), nearer to the middle it claims a degree.
_PLAIN_END = 0.3
_A_BIT = re.compile(r"\b(?:a (?:bit|little|touch|tad)|slightly|somewhat)\b", re.IGNORECASE)
_BLOWN = re.compile(r"\b(?:blown|burn(?:t|ed)|clipp(?:ed|ing))\b", re.IGNORECASE)
EXCESS = re.compile(r"\b(?:too|overly|excessively|garish|gaudy|lurid|overdone)\b|\bover-?saturat", re.IGNORECASE)


def is_damage(asked: Property, told: PropertyReading) -> bool:
    """Whether one end was read as damage: then the least of it that is visible is a yes."""
    read_so = "chance_of_damage" in told.numbers or bool({"damage", "kind"} & asked.reading.keys())
    return asked.good == "little" or read_so


def claim_chance(told: PropertyReading, asked: Property, end: int) -> float | None:
    """The chance that a viewer would agree to a plain word for one end of an axis.

    Visible damage counts as damage, however slight. Elsewhere the places beyond the middle count; the middle itself is
    neither bright nor dark, neither good nor bad, and of other properties half.
    """
    if told.amounts is None or end in told.claimed:
        return told.claimed.get(end)
    if is_damage(asked, told):
        visible = 1 - told.amounts[-1] if asked.good == "much" else told.presence or 0.0
        return visible if end == asked.bad_end else 1 - visible
    on_side = sum(c for place, c in zip(PLACES, told.amounts, strict=True) if (place - MIDDLE) * end > 0)
    neither = asked.good == "middle" or asked.is_general
    return on_side if neither else on_side + told.amounts[len(PLACES) // 2] / 2


def said_chance(problem: AnswerProblem, asked: Property, told: PropertyReading, end: int) -> float | None:
    """The chance of a question's own words: "too vivid" is an excess, "blown out" clipped light, "for A3" an amount."""
    text = problem.meaning.text
    if told.amounts is not None and end > 0 and not is_damage(asked, told) and EXCESS.search(text):
        return excess_chance(told)
    if asked.name == "overexposed" and "pure_white_percent" in told.numbers and _BLOWN.search(text):
        blown = chance_above(math.log2(0.01 + float(told.numbers["pure_white_percent"])), 0.0, 1.0)
        return blown if end > 0 else 1 - blown
    if asks_a_bit(text) and end in told.slightly:
        return told.slightly[end]
    if (papers := papers_named(asked, text)) and told.amounts is not None:
        enough = chance_from(told, max(papers))
        return enough if end >= 0 else 1 - enough
    return claim_chance(told, asked, end)


def papers_named(asked: Property, text: str) -> list[float]:
    """How much of a property the papers that a question names need."""
    return [amount for word, amount in asked.papers.items() if re.search(rf"\b{word}\b", text, re.IGNORECASE)]


def asks_a_bit(text: str) -> bool:
    """Whether a little of it would be a yes already: "Is it a bit dull?"."""
    return bool(_A_BIT.search(text))


def excess_chance(told: PropertyReading) -> float:
    """The chance that there is more of it than people want: of "too colourful?", "oversaturated?"."""
    amounts = told.amounts or (0.0, 0.0)
    return told.claimed.get(2, amounts[-1] + amounts[-2] / 4)


def chance_from(told: PropertyReading, least: float) -> float:
    """The chance of at least an amount; each place stands for what lies half way to its neighbours.

    >>> round(chance_from(PropertyReading("", (0.0, 0.5, 0.5, 0.0, 0.0)), 0.375), 2)
    0.5
    """
    half = (PLACES[1] - PLACES[0]) / 2
    beyond = (min(1.0, max(0.0, (place + half - least) / (2 * half))) for place in PLACES)
    return sum(share * chance for share, chance in zip(beyond, told.amounts or (), strict=True))


def severity(told: PropertyReading, asked: Property) -> float:
    """How bad it is, 0 to 4."""
    amount = told.amount or 0.0
    return 4 * (1 - amount if asked.good == "much" else amount)


def median_place(told: PropertyReading) -> int:
    """The place at which half of the chances lie on either side."""
    return int(np.searchsorted(np.cumsum(told.amounts or ()), MIDDLE).clip(0, len(PLACES) - 1))


def on_axis(told: PropertyReading, asked: Property, amounts: Mapping[str, float]) -> dict[str, float]:
    """The chance of each of several amounts, by what was read.

    >>> from agenticiqa.embedded.properties import properties
    >>> told = PropertyReading("Severe noise.", (0.0, 0.1, 0.1, 0.7, 0.1))
    >>> shares = on_axis(told, properties()["noisy"], {"A": 0.0, "B": 0.4, "C": 0.96})
    >>> max(shares, key=lambda letter: shares[letter])
    'C'
    """
    if told.amounts is None:
        return {}
    if ends := _two_ends(amounts):
        low, high = ends
        return normalised({low: claim_chance(told, asked, -1) or 0.0, high: claim_chance(told, asked, 1) or 0.0})
    shares = dict.fromkeys(amounts, 0.0)
    for place, chance in zip(PLACES, told.amounts, strict=True):
        for letter, share in _meant_by(place, amounts).items():
            shares[letter] += chance * share
    return normalised(shares)


def lies_between(told: PropertyReading, asked: Property, amounts: Mapping[str, float]) -> bool:
    """Whether only the two ends are offered and neither would be agreed to: "bright or dark?" of a medium one."""
    if told.amounts is None or _two_ends(amounts) is None:
        return False
    return max(claim_chance(told, asked, end) or 0.0 for end in (-1, 1)) < MIDDLE


def _two_ends(amounts: Mapping[str, float]) -> tuple[str, str] | None:
    if len(amounts) != 2:
        return None
    low, high = sorted(amounts, key=lambda letter: amounts[letter])
    plain = amounts[low] <= _PLAIN_END and amounts[high] >= 1 - _PLAIN_END
    return (low, high) if plain else None


def _meant_by(place: float, amounts: Mapping[str, float]) -> dict[str, float]:
    """Which amounts a viewer would name for one place; five of them are the five places."""
    distinct = sorted(set(amounts.values()))
    if len(distinct) == len(PLACES) == len(amounts):
        at = dict(zip(distinct, PLACES, strict=True))
        return {letter: float(at[amount] == place) for letter, amount in amounts.items()}
    nearest = min(abs(amount - place) for amount in amounts.values())
    return normalised({k: math.exp((nearest - abs(amount - place)) / _REACH) for k, amount in amounts.items()})


def normalised(weights: Mapping[str, float]) -> dict[str, float]:
    """Sums to one; nothing is quite impossible."""
    floored = {key: max(FLOOR, weight) for key, weight in weights.items()}
    total = sum(floored.values())
    return {key: weight / total for key, weight in floored.items()}


# --- "Is the score above 4?" ---

_BOUND = re.compile(
    r"\b(?P<word>above|over|more than|higher than|greater than|better than|exceeds?|at least|no less than|below|under|"
    r"less than|lower than|worse than|at most|no more than)\s+(?:a\s+|an\s+)?(?P<number>\d+(?:\.\d+)?)"
    r"\s*(?P<scale>%|per ?cent|/\s*\d+|out of \d+|of \d+)?",
    re.IGNORECASE,
)
_UPWARD = ("above", "over", "more", "higher", "greater", "better", "exceed", "at least", "no less")


def names_bound(text: str) -> bool:
    """Whether a question names a bound: "above 4", "at least 80 %"."""
    return bool(_BOUND.search(text))


def bound_answer(problem: AnswerProblem) -> tuple[float, tuple[str, ...]] | None:
    """The chance of yes with the sentence that says the score; None where no bound of quality is asked for."""
    found = _BOUND.search(problem.meaning.text)
    told = problem.told("quality") if problem.meaning.property == "quality" and found else None
    if found is None or told is None or "score" not in told.numbers:
        return None
    number, said = float(found["number"]), re.search(r"\d+", found["scale"] or "")
    tops = [float(said[0])] if said else [100.0] if found["scale"] else [5.0, 10.0, 100.0]
    top = next((each for each in tops if number <= each), tops[-1])
    low = 0.0 if top == 100 else 1.0
    bound, score = 1 + 4 * (number - low) / (top - low), float(told.numbers["score"])
    above = float(score > bound)
    shown = low + (score - 1) / 4 * (top - low)
    other = "" if top == 5 else f", that is {shown:.{0 if top == 100 else 1}f} of {top:g}"
    sentence = f"The score is {score:.2f} of 5{other}: {'above' if above else 'below'} {found['number']}."
    return (above if found["word"].lower().startswith(_UPWARD) else 1 - above), (sentence,)
