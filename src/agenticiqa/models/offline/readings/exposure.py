"""Exposure: what the vision model sees, and what clipped lights say where it takes them for paper or a drawing."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agenticiqa.models.offline.looking import Look
from agenticiqa.models.offline.readings.damage import READ, damage_told
from agenticiqa.models.offline.readings.scales import chance_above, chances_at, pixels_of, placed
from agenticiqa.models.offline.readings.told import Told, reader
from agenticiqa.pictures.images import UInt8Image

MUCH_WHITE = 5.0
"""Percent of the pixels."""
CLIPPED_WHITE, CLIPPED_REST = 8.0, 0.13
"""Percent of pure white, and share of the rest that lost one or two of its channels, beyond which light was too much.
Of 200 photographs for training and 300 ordinary ones as they are none reaches both, of the first with 2.5 stops more
two in three do; white grounds of things for sale have the first alone."""
WHITE_AT = (2.0, 8.0, 18.0, 35.0, 65.0)
"""Percent of pure white at no to extreme overexposure."""
FULL, SPENT = 253, 250
SIDE = 512


@dataclass(frozen=True)
class Clipped:
    """What of a picture reached the end of its range."""

    white: float
    """Percent of the pixels that are pure white."""
    partly: float
    """Of the others, the share with a channel at its end: bright colours that lost their hue."""

    @property
    def chance(self) -> float:
        """That it got too much light."""
        return chance_above(self.white, CLIPPED_WHITE, 1.5) * chance_above(self.partly, CLIPPED_REST, 0.02)


def clipped(rgb: UInt8Image) -> Clipped:
    """
    >>> clipped(np.full((8, 8, 3), 255, np.uint8))
    Clipped(white=100.0, partly=0.0)
    """
    step = max(1, max(rgb.shape) // SIDE)
    some = rgb[::step, ::step]
    spent = some >= SPENT
    rest = ~spent.all(axis=2)
    partly = float(spent[rest].any(axis=1).mean()) if rest.any() else 0.0
    return Clipped(100 * float((some >= FULL).all(axis=2).mean()), partly)


@reader("overexposed")
def overexposed(look: Look) -> Told:
    """The model's yes is right nearly always. Bright scenes that clipping flattened it may take for paper: there the
    clipping itself tells; and where much is white and nothing else is clipped, a no is a guess.
    """
    told = damage_told(look, READ["overexposed"])
    if (told.presence or 0.0) >= 0.5:
        return told
    found = clipped(pixels_of(look))
    numbers = {**told.numbers, "pure_white_percent": round(found.white, 2), "partly_clipped": round(found.partly, 3)}
    if found.chance >= 0.5:
        return Told(_too_much_light(found), amounts=_amounts(found), numbers=numbers)
    if found.white < MUCH_WHITE:
        return told
    may_be = f"{found.white:.0f} % of it is pure white, which may be the scene or too much light."
    return replace(told, sentence=f"{told.sentence} {may_be}", guess=True, numbers=numbers)


@reader("well_exposed")
def well_exposed(look: Look) -> Told:
    """Neither too dark nor too bright by the model, nor clipped."""
    told = damage_told(look, READ["well_exposed"])
    found = clipped(pixels_of(look))
    if found.chance < 0.5 or (told.amounts or (1.0,))[-1] < 0.5:
        return told
    return replace(told, sentence=_too_much_light(found), amounts=tuple(reversed(_amounts(found))))


def _too_much_light(found: Clipped) -> str:
    return (
        f"Overexposed: {found.white:.0f} % of it is pure white, and {found.partly:.0%} of the rest lost a colour "
        "to clipping."
    )


def _amounts(found: Clipped) -> tuple[float, ...]:
    """As bad as much is white, where it is there."""
    _, *visible = chances_at(max(0.25, placed(found.white, WHITE_AT)))
    total = sum(visible)
    return 1 - found.chance, *(found.chance * chance / total for chance in visible)
