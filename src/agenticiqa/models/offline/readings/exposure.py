"""Exposure: what the vision model and clipped lights say, and where white may be the scene's own."""

from __future__ import annotations

from dataclasses import replace

from agenticiqa.models.offline.looking import Look
from agenticiqa.models.offline.readings.damage import READ, damage_told
from agenticiqa.models.offline.readings.scales import pixels_of
from agenticiqa.models.offline.readings.told import Told, reader
from agenticiqa.vision.clipping import clipped

MUCH_WHITE = 5.0
"""Percent of the pixels."""


@reader("overexposed")
def overexposed(look: Look) -> Told:
    """A yes is right nearly always; where much is white and nothing else is clipped, a no is a guess."""
    told = damage_told(look, READ["overexposed"])
    if (told.presence or 0.0) >= 0.5:
        return told
    found = clipped(pixels_of(look))
    if found.white < MUCH_WHITE:
        return told
    numbers = {**told.numbers, "pure_white_percent": round(found.white, 2), "partly_clipped": round(found.partly, 3)}
    may_be = f"{found.white:.0f} % of it is pure white, which may be the scene or too much light."
    return replace(told, sentence=f"{told.sentence} {may_be}", guess=True, numbers=numbers)
