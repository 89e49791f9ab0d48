"""What people mean by a word: the chance that they would use it of what is looked at.

A finding says that something is broken; "blurry", "dull" or "dark" is said earlier, and of more than one number. The
weights in ``people.yaml`` were fitted by ``training/embedded/people_words.py``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import exp, log, log2

import numpy as np

from agenticiqa._data import read_data
from agenticiqa.embedded.looking import Look
from agenticiqa.embedded.properties import properties
from agenticiqa.embedded.readings.base import PropertyReading, pixels_of
from agenticiqa.embedded.readings.light import edge_lean, with_lean
from agenticiqa.vision.appearance.views import lightness, oklab, reduced
from agenticiqa.vision.sampling import clipped
from agenticiqa.vision.scene import GREY

TOO_MUCH = 2
"""Beside the ends -1 and 1: more of it than people want."""
SIDE = 256
LEAST_CHANCE = 1e-3


@dataclass(frozen=True)
class Word:
    """When people use the word for one end of a property: logistic weights of numbers that were read."""

    bias: float
    a_bit: float
    """How much earlier, in odds, "a bit" of it is said."""
    weights: Mapping[str, float]

    def chance(self, seen: Mapping[str, float], *, a_bit: bool = False) -> float:
        odds = self.bias + self.a_bit * a_bit + sum(weight * seen[name] for name, weight in self.weights.items())
        return 1 / (1 + exp(-min(30.0, max(-30.0, odds))))


@cache
def words() -> dict[str, dict[int, Word]]:
    """By property and end."""
    stored = read_data("embedded/people.yaml")
    return {name: {end: Word(**entry) for end, entry in ends.items()} for name, ends in stored.items()}


def as_people_say(name: str, look: Look, told: PropertyReading) -> PropertyReading:
    """A reading with the chances of people's own words; as it was where none were fitted or its kind is unknown."""
    fitted = words().get(name)
    if fitted is None or told.amounts is None:
        return told
    if set(fitted) == {properties()[name].bad_end}:
        # Of parts, of drawings and of pictures without colour nothing was fitted.
        fits = bool(told.numbers) and look.box is None and look.facts.content == "photograph"
        return _of_damage(name, look, told, fitted) if fits else told
    seen = numbers(look, {number for word in fitted.values() for number in word.weights})
    claimed = {end: word.chance(seen) for end, word in fitted.items()}
    slightly = {end: max(claimed[end], word.chance(seen, a_bit=True)) for end, word in fitted.items()}
    total = max(1.0, claimed[-1] + claimed[1])
    claimed = {end: chance / total for end, chance in claimed.items()}
    if TOO_MUCH in claimed:
        claimed[TOO_MUCH] = min(claimed[1], claimed[TOO_MUCH])
    low, high = _shared(told.amounts[:2], claimed[-1], 1), _shared(told.amounts[3:], claimed[1], 0)
    placed = (*low, max(0.0, 1 - claimed[-1] - claimed[1]), *high)
    middle = int(np.searchsorted(np.cumsum(placed), 0.5).clip(0, len(placed) - 1))
    return replace(told, amounts=placed, claimed=claimed, slightly=slightly, sentence=f"{told.steps[middle]}.")


def _of_damage(name: str, look: Look, told: PropertyReading, fitted: Mapping[int, Word]) -> PropertyReading:
    """What is found is also called so; what is called so need not be found: then it is told as something mild."""
    ((end, word),) = fitted.items()
    found = float(told.numbers.get("chance_of_damage", 0.0))
    seen = numbers(look, word.weights)
    chance = max(word.chance(seen), found if found >= 0.5 else 0.0)
    amounts = tuple(told.amounts or ())
    shared = _shared(amounts[:-1], chance, -1) if end < 0 else _shared(amounts[1:], chance, 0)
    asked = properties()[name]
    mild = asked.mild if found < 0.5 <= chance and "chance_of_damage" in told.numbers else ""
    told = replace(
        told,
        amounts=(*shared, 1 - chance) if end < 0 else (1 - chance, *shared),
        claimed={end: chance, -end: 1 - chance},
        slightly={end: max(chance, word.chance(seen, a_bit=True)), -end: 1 - chance},
        measured=(*told.measured, f"Chance that people call it {asked.word(end)}: {chance:.0%}."),
        mild=mild,
    )
    if name == "colour_cast":
        return with_lean(told, chance)
    if mild:
        return replace(told, sentence=f"{mild[0].upper()}{mild[1:]}, though nothing is broken.", because="")
    return told


def _shared(before: Sequence[float], chance: float, nearest: int) -> tuple[float, ...]:
    """A chance shared among places as they were; all of it at the nearest to the middle where none was likely."""
    total = sum(before)
    if total < LEAST_CHANCE:
        return tuple(chance * (at == nearest % len(before)) for at in range(len(before)))
    return tuple(chance * each / total for each in before)


REMARKS = {"sharp": -1, "underexposed": 1, "overexposed": 1, "contrasty": -1, "colour_cast": 1, "colourful": -1}
"""What people find wanting in a picture in which nothing is broken, by property and end."""
REMARK_CHANCE = 0.85
MOST_REMARKS = 2


def wanting(look: Look) -> tuple[str, ...]:
    """Properties of a whole photograph that people would speak against, the surest first."""
    if look.box is not None or look.facts.content != "photograph":
        return ()
    chances = {}
    for name, end in REMARKS.items():
        if look.facts.colourfulness >= GREY or name not in ("colour_cast", "colourful"):
            word = words()[name][end]
            chances[name] = word.chance(numbers(look, word.weights))
    sure = [name for name, chance in chances.items() if chance >= REMARK_CHANCE]
    return tuple(sorted(sure, key=lambda name: -chances[name])[:MOST_REMARKS])


# --- The numbers ---


def numbers(look: Look, wanted: Iterable[str]) -> dict[str, float]:
    """What words are weighed from, by name; only what is wanted is read."""
    names = set(wanted)
    return {name: value for read, own in _NUMBERS.items() if names & own for name, value in read(look).items()}


def _odds(chance: float) -> float:
    kept = min(1 - LEAST_CHANCE, max(LEAST_CHANCE, chance))
    return log(kept / (1 - kept))


def _vision(look: Look) -> dict[str, float]:
    flaws, presence = look.reading.flaws, look.reading.presence
    return {
        "blur": _odds(presence("Blurs")),
        "noise": _odds(presence("Noise")),
        "wrong_colours": _odds(presence("Color distortions")),
        "motion": _odds(flaws["motion_blur"]),
        "out_of_focus": _odds(flaws["out_of_focus"]),
        "soft": _odds(flaws["blurry"]),
        "too_dark": _odds(flaws["too_dark"]),
        "too_bright": _odds(flaws["too_bright"]),
    }


def _tones(look: Look) -> dict[str, float]:
    light = lightness(reduced(pixels_of(look), SIDE))
    darkest, lights, lightest = (float(each) for each in np.percentile(light, (2, 90, 98)))
    mean, spread = float(light.mean()), float(light.std())
    return {"lightness": mean, "spread": spread, "darkest": darkest, "lights": lights, "range": lightest - darkest}


def _clipped(look: Look) -> dict[str, float]:
    found = clipped(pixels_of(look))
    return {"white": log2(1 + found.white), "partly_white": found.partly}


def _colours(look: Look) -> dict[str, float]:
    small = reduced(pixels_of(look), SIDE)
    lab = oklab(small)
    chroma = np.hypot(lab[..., 1], lab[..., 2])
    spent = (small.min(axis=-1) < 4) & (small.max(axis=-1) > 80)
    return {
        "colourfulness": log2(3 + (look.measures.value("colourfulness") or 0.0)),
        "chroma": float(chroma.mean()),
        "strongest": float(np.percentile(chroma, 98)),
        "spent": float(spent.mean()),
    }


def _lean(look: Look) -> dict[str, float]:
    beside_spread = look.measures.detail("colour_cast", "cast_factor") or 0.0
    return {"lean": edge_lean(pixels_of(look))[0], "lean_beside_spread": log2(0.1 + beside_spread)}


_NUMBERS: dict[Callable[[Look], dict[str, float]], frozenset[str]] = {
    _vision: frozenset({"blur", "noise", "wrong_colours", "motion", "out_of_focus", "soft", "too_dark", "too_bright"}),
    lambda look: {"sharpest": look.sharpest}: frozenset({"sharpest"}),
    _tones: frozenset({"lightness", "spread", "darkest", "lights", "range"}),
    _clipped: frozenset({"white", "partly_white"}),
    _colours: frozenset({"colourfulness", "chroma", "strongest", "spent"}),
    _lean: frozenset({"lean", "lean_beside_spread"}),
}
