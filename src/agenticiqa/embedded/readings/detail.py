"""Damage as the vision model sees it; what is good when there is much of it (sharp) is read as the lack of damage."""

from dataclasses import dataclass, replace
from functools import partial
from math import log2

import cv2
import numpy as np

from agenticiqa._data import read_data
from agenticiqa.embedded.findings import described, finding
from agenticiqa.embedded.looking import Look
from agenticiqa.embedded.measures import reason
from agenticiqa.embedded.readings.base import (
    PropertyReading,
    chance_above,
    chances_at,
    doublings,
    pixels_of,
    placed,
    reader,
    word_at,
)
from agenticiqa.pictures.images import Box, UInt8Image
from agenticiqa.vision.appearance.structure import detail_loss, detail_strength, fringe_width
from agenticiqa.vision.locators import saliency_map
from agenticiqa.vision.network import Floats
from agenticiqa.vision.scene import Scene
from agenticiqa.vocabulary import CATEGORY_WORDS

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


READ = {name: Damage(**entry) for name, entry in read_data("embedded/readings/damage.yaml").items()}


def severities(look: Look, damage: Damage) -> Chances:
    """The chances of none, slight, moderate, severe and extreme damage of a category or kind."""
    of_category = look.reading.severity_probabilities[damage.category]
    if damage.kind is None:
        return of_category
    # A kind is as bad as its category, where it is there.
    there, visible = kind_presence(look, damage.category, damage.kind), sum(of_category[1:])
    shares = [chance / visible for chance in of_category[1:]] if visible > 0 else [0.0, 1.0, 0.0, 0.0]
    return (1 - there, *(there * share for share in shares))


def kind_presence(look: Look, category: str, kind: str) -> float:
    """The chance that a finer kind is there, by kinds and flaws, the clearer of both; else that of its category."""
    there = look.reading.presence(category)
    share = look.scene.kind_share(category, kind, look.reading)
    flaw = look.scene.flaw_chance(kind, look.reading)
    of_kind = there if share is None else there * share
    return of_kind if flaw is None else max(flaw, of_kind)


def damage_reading(look: Look, damage: Damage) -> PropertyReading:
    """What the vision model says of a category or kind."""
    found = severities(look, damage)
    there = 1 - found[0]
    if damage.kind is None:
        sentence = finding(damage.category, look)
    else:
        sentence = f"{damage.name.capitalize()} is likely." if there >= 0.5 else f"No visible {damage.name}."
    # Of a part beside others, how much of it is in focus says more than its blur alone.
    focus = {"in_focus": look.in_focus} if damage.category == "Blurs" and look.box is not None else {}
    return PropertyReading(
        sentence,
        amounts=tuple(reversed(found)) if damage.wanted else tuple(found),
        guess=damage.guess,
        numbers={"chance_of_damage": round(there, 4), **focus},
        because=reason(damage.category, look.measures, found=there >= 0.5),
        measured=(
            f"Chance of {damage.name or CATEGORY_WORDS[damage.category]}: {there:.0%}.",
            *described(damage.category, look)[:2],
        ),
    )


# Of these the vision model says only a part; they have readers of their own.
_OWN_READERS = frozenset({"in_focus", "motion_blurred", "fringed", "underexposed", "overexposed", "banded"})

for _name, _damage in READ.items():
    if _name not in _OWN_READERS:
        reader(_name)(partial(damage_reading, damage=_damage))


# --- Fine structure ---


DETAIL = (-0.4, 0.8, 1.8, 2.8, 3.8)
"""Strength of fine structure at none to rich detail, in doublings of two levels of 255."""
FRINGES = (0.5, 1.0, 1.6, 2.4, 4.0)
"""Pixels by which colours part at the corners."""
FRINGE = 0.8
DETAIL_LOSS_AT = (-0.5, 0.5, 0.9, 1.3, 1.8)
"""How much farther than sharp photographs' the spectrum falls; half a place is where it falls as far."""
_DETAIL_WORDS = ("No fine detail", "Little fine detail", "Some fine detail", "Much fine detail", "Rich fine detail")


@reader("detailed")
def detailed(look: Look) -> PropertyReading:
    """How strong the finest structures are where the picture has any."""
    strength = detail_strength(pixels_of(look))
    amount = placed(doublings(strength, 2.0), DETAIL)
    return PropertyReading(
        f"{word_at(_DETAIL_WORDS, amount)}.",
        amounts=chances_at(amount),
        numbers={"fine_structure": round(strength, 2)},
        measured=(f"Where there is most of it, fine detail varies by {strength:.1f} of 255 levels.",),
    )


@reader("upscaled")
def upscaled(look: Look) -> PropertyReading | None:
    """Pixels that hold detail to the last were not enlarged. Soft ones may be enlarged or blurred: a guess."""
    less = detail_loss(pixels_of(look))
    if less is None:
        return None
    there = chance_above(less, 0.0, 0.15)
    if less > 0:
        sentence = "It has more pixels than detail: it was enlarged, or it is soft."
    else:
        sentence = "Its finest pixels hold detail of their own: it was not enlarged."
    amount = placed(less, DETAIL_LOSS_AT)
    return PropertyReading(
        sentence, chances_at(amount), guess=there > 0.2, numbers={"spectrum_beyond_sharp": round(less, 2)}
    )


@reader("fringed")
def fringed(look: Look) -> PropertyReading | None:
    """Lateral colour: red or blue drawn larger or smaller than green. Fringes of other kinds are not seen by this."""
    if look.box is not None:
        return None
    width = fringe_width(look.image.rgb)
    there = chance_above(width, FRINGE, 0.15)
    if width >= FRINGE:
        sentence = "Colour fringes show towards the corners."
    else:
        sentence = "No colour fringes of the lens: red, green and blue lie on each other up to the corners."
    amount = placed(width, FRINGES)
    _, *rest = chances_at(amount)
    share = there / max(sum(rest), 1e-6)
    return PropertyReading(
        sentence,
        (1 - there, *(each * share for each in rest)),
        numbers={"corner_pixels": round(width, 2)},
        measured=(f"At the corners the colours part by about {width:.1f} px.",),
    )


# --- What is in focus: of a part, of the subject, and of the subject against its background ---


IN_FOCUS = (0.05, 0.25, 0.45, 0.60, 0.75)
"""Mean chance of being in focus, by the vision model's map, at wholly out of to wholly in focus."""
APART = (0.0, 0.12, 0.24, 0.36, 0.60)
"""How much more the subject is in focus than the rest, at a deep to a shallow depth of field."""
STANDS_OUT = 0.5
LEAST, MOST = 0.02, 0.85


def focus_map(look: Look) -> Floats:
    """Of the whole picture, whichever part is looked at: what surrounds a part tells how sharp it could be."""
    scene = look.scene if look.box is None else Scene.of(look.scene.vision, look.image.rgb)
    return scene.vision.focus(scene.features)


def subject_and_rest(look: Look) -> tuple[float, float] | None:
    """How much of the subject and of the rest is in focus; None where nothing stands out."""
    stands_out = saliency_map(look.image) >= STANDS_OUT
    if not LEAST <= float(stands_out.mean()) <= MOST:
        return None
    found = cv2.resize(focus_map(look), stands_out.shape[::-1], interpolation=cv2.INTER_LINEAR)
    return float(found[stands_out].mean()), float(found[~stands_out].mean())


@reader("in_focus")
def in_focus(look: Look) -> PropertyReading:
    """A part by the map of focus; the whole by whether it looks blurred by a missed focus."""
    if look.box is None:
        return damage_reading(look, READ["in_focus"])
    share = _share_in(focus_map(look), look.box, look.image.size)
    amount = placed(share, IN_FOCUS)
    word = "in focus" if amount > 0.6 else "out of focus" if amount < 0.4 else "only partly in focus"
    return PropertyReading(
        f"This part is {word}.",
        amounts=chances_at(amount),
        numbers={"in_focus": round(share, 3)},
        measured=(f"By the map of focus {share:.0%} of it is in focus.",),
    )


def _share_in(found: Floats, box: Box, size: tuple[int, int]) -> float:
    """The mean of a map's cells inside a box, at least of the one in its middle."""
    rows, columns = found.shape
    width, height = size
    top, bottom = box.y * rows / height, (box.y + box.height) * rows / height
    left, right = box.x * columns / width, (box.x + box.width) * columns / width
    down = slice(int(top + 0.5), int(bottom + 0.5)) if bottom - top >= 1 else slice(int((top + bottom) / 2), None)
    across = slice(int(left + 0.5), int(right + 0.5)) if right - left >= 1 else slice(int((left + right) / 2), None)
    inside = found[down, across]
    return float(inside.mean() if bottom - top >= 1 and right - left >= 1 else inside[0, 0])


@reader("background_blurred")
def background_blurred(look: Look) -> PropertyReading | None:
    """A shallow depth of field: the subject in focus, the rest not. The subject is guessed by what stands out."""
    parts = subject_and_rest(look)
    if parts is None:
        return None
    subject, rest = parts
    amount = placed(subject - rest, APART)
    if amount >= 0.625:
        sentence = "The background is blurred against the subject: a shallow depth of field"
    else:
        sentence = "Subject and background are about equally sharp: a deep depth of field"
    return PropertyReading(
        f"{sentence}.",
        amounts=chances_at(amount),
        guess=True,
        measured=(f"In focus: of the subject {subject:.0%}, of the rest {rest:.0%}.",),
        numbers={"subject": round(subject, 3), "rest": round(rest, 3)},
    )


# --- Motion blur and its direction ---


BETWEEN = 22.5
"""Degrees from level or plumb beyond which a direction is called diagonal."""
SPREAD = 7.0


@reader("motion_blurred")
def motion_blurred(look: Look) -> PropertyReading:
    """Whether it is there from the vision model, its direction from where fine detail is weakest."""
    reading = damage_reading(look, READ["motion_blurred"])
    degrees = look.measures.detail("motion_blur", "degrees")
    if degrees is None or (reading.presence or 0.0) < 0.5:
        return reading
    chances = direction_chances(degrees)
    way = max(chances, key=lambda name: chances[name])
    return replace(
        reading,
        sentence=f"{reading.sentence} The smear runs {_WAYS[way]}.",
        because=f"the smear runs {_WAYS[way]}",
        measured=(*reading.measured, f"The smear runs at about {degrees:.0f}° to the horizontal."),
        values=chances,
        numbers={**reading.numbers, "degrees": round(degrees, 1)},
    )


_WAYS = {"horizontal": "sideways", "vertical": "up and down", "diagonal": "diagonally"}


def direction_chances(degrees: float) -> dict[str, float]:
    """
    >>> max(direction_chances(170), key=direction_chances(170).get)
    'horizontal'
    """
    from_level = min(degrees % 180, 180 - degrees % 180)
    horizontal = chance_above(-from_level, -BETWEEN, SPREAD)
    vertical = chance_above(from_level, 90 - BETWEEN, SPREAD)
    return {"horizontal": horizontal, "vertical": vertical, "diagonal": max(0.0, 1 - horizontal - vertical)}


# --- Banding: what the vision model sees, and how few colours are left ---


FEW_COLOURS = 110
"""A photograph of 200 pixels a side holds thousands of different ones."""
COLOURS_AT = (9.0, 6.5, 5.5, 4.5, 3.0)
"""Doublings of the number of colours at no to extreme posterisation."""
LEAST_PIXELS = 4096
SIDE = 512
_DRAWN = ("screen", "drawing", "sketch", "document")


def number_of_colours(rgb: UInt8Image) -> int:
    """Different ones among pixels on a grid.

    >>> number_of_colours(np.zeros((8, 8, 3), np.uint8))
    1
    """
    step = max(1, max(rgb.shape) // SIDE)
    return len(np.unique(rgb[::step, ::step].astype(np.uint32) @ np.array([65536, 256, 1], np.uint32)))


@reader("banded")
def banded(look: Look) -> PropertyReading:
    """A photograph of few colours is posterised, whatever the model says; a drawing may have few."""
    reading = damage_reading(look, READ["banded"])
    pixels = pixels_of(look)
    drawn = sum(look.reading.sorts[name] for name in _DRAWN)
    if (reading.presence or 0.0) >= 0.5 or drawn >= 0.5 or pixels.shape[0] * pixels.shape[1] < LEAST_PIXELS:
        return reading
    colours = number_of_colours(pixels)
    there = chance_above(-log2(colours), -log2(FEW_COLOURS), 0.3)
    if there < 0.5:
        return reading
    _, *visible = chances_at(max(0.25, placed(log2(colours), COLOURS_AT)))
    amounts = 1 - there, *(there * chance / sum(visible) for chance in visible)
    return PropertyReading(
        "Posterised: only few colours are left.",
        amounts=amounts,
        guess=True,
        because="only few colours are left",
        measured=(f"{colours} different colours are left.",),
        numbers={**reading.numbers, "colours": float(colours)},
    )
