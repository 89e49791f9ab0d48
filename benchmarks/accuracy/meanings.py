"""Meanings of questions against those that another author wrote down: property, part, form, and every option.

The questions stand in a file of JSON lines with the fields ``query``, ``options``, ``asks``, ``property``, ``scope``,
``form``, ``axis`` (option to amount 0..1) and ``claims`` (option to a claim of its own).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# The author's words for properties, in ours: name and, where the axis runs the other way, -1.
AXES: dict[str, tuple[str, int]] = {
    "blurred": ("sharp", -1),
    "first_softer": ("sharp", -1),
    "first_sharper": ("sharp", 1),
    "first_brighter": ("bright", 1),
    "first_noisier": ("noisy", 1),
    "dark": ("bright", -1),
    "blue_cast": ("colour_cast", 1),
    "well_lit": ("well_exposed", 1),
    "low_resolution": ("resolution", -1),
    "flawed": ("flaw", 1),
    "flaw_count": ("flaw_count", 1),
    "shallow_dof": ("background_blurred", 1),
}
# Questions without one property of their own: what they ask for stands in its place.
TOPICS: dict[str, str | None] = {
    "dominant_flaw": "flaw",
    "absent_flaw": "flaw",
    "artefacts_other": "flaw",
    "emphasis": "emphasised",
    "focus_place": "in_focus",
    "repetition": "repetitive",
    "symmetry": "symmetric",
    "out_of_scope": None,
    "overall_quality": "quality",
}
# Neighbours that either word may name.
SAME = ({"well_exposed", "evenly_lit"}, {"sharp", "in_focus"}, {"in_focus", "background_blurred"})
_SMALL = re.compile(r"\b(the|a|an|this|that|my|your|our|its|his|her|of|picture|image|photo|frame|shot)\b|'s\b|[^\w\s]")
_JOINTS = re.compile(r"\b(?:of|on|in|at|behind|above|below|under|near|with|by|from|to|that|beside)\b")


@dataclass(frozen=True)
class Reading:
    """What a parser made of one question, in terms that can be compared."""

    property: str | None
    parts: tuple[str, ...]
    form: str
    amounts: Mapping[str, float | None] = field(default_factory=dict)
    claims: Mapping[str, str | None] = field(default_factory=dict)
    yes_amount: float | None = None
    """How much of the property a plain yes claims."""


@dataclass
class Score:
    """Right answers of all that were counted, by what was asked for."""

    right: dict[str, int] = field(default_factory=dict)
    total: dict[str, int] = field(default_factory=dict)
    wrong: list[tuple[str, dict[str, Any], Reading]] = field(default_factory=list)

    def count(self, name: str, right: bool, case: dict[str, Any], reading: Reading) -> None:
        self.right[name] = self.right.get(name, 0) + right
        self.total[name] = self.total.get(name, 0) + 1
        if not right:
            self.wrong.append((name, case, reading))


def load_questions(path: Path) -> list[dict[str, Any]]:
    cases = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    notes = path.with_name("tags.json")
    tags = json.loads(notes.read_text(encoding="utf-8")) if notes.exists() else {}
    return [case | tags.get(case["id"], {}) for case in cases]


def halves(cases: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A fixed random split: the half that rules may be tuned on, and the half that only measures them."""
    tuned = [case for case in cases if hashlib.sha256(case["id"].encode()).digest()[0] % 2]
    return tuned, [case for case in cases if case not in tuned]


def score(cases: Sequence[dict[str, Any]], read: Callable[[dict[str, Any]], Reading]) -> Score:
    result = Score()
    for case in cases:
        reading = read(case)
        name, sign = expected_property(case)
        result.count("property", _same(name, reading.property), case, reading)
        result.count("part", same_part(case["scope"], reading.parts), case, reading)
        result.count("form", _same_form(case, reading.form), case, reading)
        for option, amount in _amounts(case, sign).items():
            result.count("direction", _right_amount(option, amount, case, sign, reading), case, reading)
        for option, claim in (case["claims"] or {}).items() if case["asks"] != "out_of_scope" else ():
            result.count("claim", same_claim(claim, reading.claims.get(option)), case, reading)
    return result


def expected_property(case: dict[str, Any]) -> tuple[str | None, int]:
    named = case["property"]
    if named:
        return AXES.get(named, (named, 1))
    return TOPICS.get(case["asks"], case["asks"]), 1


def _same(expected: str | None, made: str | None) -> bool:
    return expected == made or any({expected, made} <= group for group in SAME) or expected == "advice"


def _same_form(case: dict[str, Any], made: str) -> bool:
    """A yes/no question that compares two parts is either; to ask for advice is a form of its own here."""
    if case["asks"] == "advice" and made == "advice":
        return True
    compares = " vs " in case["scope"] and not case["options"] and {case["form"], made} == {"yes_no", "compare"}
    return compares or bool(case["form"] == made)


def same_part(expected: str, made: Sequence[str]) -> bool:
    """The same things by their head words; one name may say more than the other ("face", "face of my son")."""
    wanted = [] if expected == "Global" else re.split(r" vs | and ", expected)
    if len(wanted) != len(made):
        return False
    return all(any(_same_name(name, other) for other in made) for name in wanted)


def _same_name(one: str, other: str) -> bool:
    first, second = _content(one), _content(other)
    return bool(first and second) and (first <= second or second <= first) and bool(_head(one) & _head(other))


def _content(name: str) -> frozenset[str]:
    words = _JOINTS.sub(" ", _SMALL.sub(" ", name.lower().replace("centre", "center"))).split()
    return frozenset(word.replace("halves", "half").removesuffix("s") for word in words)


def _head(name: str) -> frozenset[str]:
    """The head and, since "the baby's skin" is "the skin of the baby", the last word of either order."""
    content = [_content(part) for part in _JOINTS.split(name.lower())]
    return frozenset().union(*content[:1]) or frozenset().union(*content)


def _amounts(case: dict[str, Any], sign: int) -> dict[str, float | None]:
    axis: dict[str, float | None] = dict(case["axis"] or {})
    if not case["options"] and "yes_means" in case:
        axis = {"yes": case["yes_means"]}
    return {option: amount if amount is None or sign > 0 else 1 - amount for option, amount in axis.items()}


def _right_amount(option: str, amount: float | None, case: dict[str, Any], sign: int, reading: Reading) -> bool:
    """Nearest end where an end is claimed, and in order with the other options."""
    made = reading.amounts if case["options"] else {"yes": reading.yes_amount}
    mine = made.get(option)
    if amount is None or mine is None:
        return amount is None and mine is None
    if not (0.2 <= mine <= 0.8 if 0.3 < amount < 0.7 else (mine > 0.5) == (amount > 0.5) and mine != 0.5):
        return False
    for other, theirs in _amounts(case, sign).items():
        value = made.get(other)
        compared = theirs is not None and value is not None and abs(theirs - amount) >= 0.2
        if compared and (theirs - amount) * (value - mine) < 0:
            return False
    return True


# What the author calls a claim, in our words.
CLAIMS = {
    "noise": "noisy", "blur": "sharp", "defocus": "in_focus", "underexposure": "underexposed",
    "overexposure": "overexposed", "compression": "compressed", "motion_blur": "motion_blurred", "banding": "banded",
    "upper_left": "top left", "upper_right": "top right", "lower_left": "bottom left", "lower_right": "bottom right",
    "centre": "center", "oversaturation": "colourful", "undersaturation": "colourful", "exposure": "well_exposed",
    "haze": "hazy", "flare": "flare", "colour": "colour_cast", "low_contrast": "contrasty", "contrast": "contrasty",
    "pixelation": "pixelated", "vignetting": "vignetted", "moire": "moire", "all_absent": "all", "none_absent": "none",
}  # fmt: skip


def same_claim(expected: str, made: str | None) -> bool:
    """Words of free claims need only be found again: "left_right_mirror" and "left right"."""
    if made is None:
        return False
    if CLAIMS.get(expected, expected) == made:
        return True
    wanted, given = (set(re.split(r"[_\W]+", text.lower())) for text in (expected, made))
    return bool(wanted & given - {"the", "of", "in", "a"})
