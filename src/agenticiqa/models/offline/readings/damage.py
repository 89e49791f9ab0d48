"""Damage as the vision model sees it: its categories, the finer kinds of them, and the flaws of photographs as taken.

A property whose good end is "much" (sharp, well exposed) is read as the lack of its damage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from agenticiqa.models.offline.looking import Look
from agenticiqa.models.offline.readings.told import Reader, Told, reader
from agenticiqa.models.offline.sentences import described, finding

Chances = tuple[float, ...]


@dataclass(frozen=True)
class Damage:
    """Which damage answers for a property."""

    category: str
    kind: str | None = None
    """A finer kind by the name of ``vocabulary.yaml``; None for the whole category."""
    name: str = ""
    """What people call a finer kind, in the middle of a sentence."""
    wanted: bool = False
    """Whether the property is the lack of this damage."""
    guess: bool = False
    """Where the model knows the kind from made damage of few sorts only, or only its category."""


READ = {
    "sharp": Damage("Blurs", wanted=True),
    "noisy": Damage("Noise"),
    "compressed": Damage("Compression"),
    "well_exposed": Damage("Brightness change", wanted=True),
    "oversharpened": Damage("Sharpness"),
    "in_focus": Damage("Blurs", "defocus", "missed focus", wanted=True),
    "motion_blurred": Damage("Blurs", "motion blur", "motion blur"),
    "underexposed": Damage("Brightness change", "underexposure", "underexposure"),
    "overexposed": Damage("Brightness change", "overexposure", "overexposure"),
    "hazy": Damage("Contrast", "haze", "haze"),
    "pixelated": Damage("Spatial distortions", "pixelation", "pixelation"),
    "chroma_bleeding": Damage("Color distortions", "color diffusion", "colour bleeding", guess=True),
    "fringed": Damage("Color distortions", "chromatic aberration", "colour fringes", guess=True),
    "banded": Damage("Spatial distortions", "banding", "banding", guess=True),
    "over_denoised": Damage("Noise", "denoising", "smoothing by noise reduction", guess=True),
    "aliased": Damage("Spatial distortions", "aliasing", "jagged edges", guess=True),
    "warped": Damage("Spatial distortions", guess=True),
}


def severities(look: Look, damage: Damage) -> Chances:
    """The chances of none, slight, moderate, severe and extreme damage of a category or kind."""
    of_category = look.reading.severity_probabilities[damage.category]
    if damage.kind is None:
        return of_category
    there = kind_presence(look, damage.category, damage.kind)
    return _with_presence(of_category, there)


def kind_presence(look: Look, category: str, kind: str) -> float:
    """The chance that a finer kind is there; that of its category where the model tells no such kind apart.

    Kinds were learnt from made damage, flaws from photographs as well: the clearer of both counts.
    """
    there = look.reading.presence(category)
    share = look.scene.kind_share(category, kind, look.reading)
    flaw = look.scene.flaw_chance(kind, look.reading)
    of_kind = there if share is None else there * share
    return of_kind if flaw is None else max(flaw, of_kind)


def _with_presence(of_category: Sequence[float], there: float) -> Chances:
    """A kind is as bad as its category, where it is there."""
    visible = sum(of_category[1:])
    shares = [chance / visible for chance in of_category[1:]] if visible > 0 else [0.0, 1.0, 0.0, 0.0]
    return (1 - there, *(there * share for share in shares))


def damage_told(look: Look, damage: Damage) -> Told:
    """What the vision model says of a category or kind."""
    found = severities(look, damage)
    return Told(
        _sentence(look, damage, found),
        amounts=tuple(reversed(found)) if damage.wanted else tuple(found),
        guess=damage.guess,
        numbers={"chance_of_damage": round(1 - found[0], 4), **_focus(look, damage)},
    )


def _reader(damage: Damage) -> Reader:
    return partial(damage_told, damage=damage)


def _focus(look: Look, damage: Damage) -> dict[str, float]:
    """Of a part: beside others, how much of it is in focus says more than its blur alone."""
    return {"in_focus": look.in_focus} if damage.category == "Blurs" and look.box is not None else {}


def _sentence(look: Look, damage: Damage, found: Chances) -> str:
    measured = described(damage.category, look)[:2]
    if damage.kind is None:
        return " ".join([finding(damage.category, look), *measured])
    there = 1 - found[0]
    if there < 0.5:
        return f"No visible {damage.name} (chance {there:.0%})."
    if look.severity_name(damage.category) == "none":
        return f"{damage.name.capitalize()} is likely (chance {there:.0%})."
    return " ".join([f"{damage.name.capitalize()} is likely (chance {there:.0%}).", *measured])


# Of these the vision model says only a part; they have readers of their own.
_READ_FURTHER = frozenset({"in_focus", "motion_blurred", "fringed", "overexposed", "banded"})

for _name, _damage in READ.items():
    if _name not in _READ_FURTHER:
        reader(_name)(_reader(_damage))
