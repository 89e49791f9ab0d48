"""Overexposure: what the vision model sees, and where clipped lights make its "no" a guess."""

from __future__ import annotations

from dataclasses import replace

from agenticiqa.models.offline.looking import Look
from agenticiqa.models.offline.readings.damage import READ, damage_told
from agenticiqa.models.offline.readings.told import Told, reader

MUCH_WHITE = 5.0
"""Percent of the pixels."""


@reader("overexposed")
def overexposed(look: Look) -> Told:
    """The model's yes is right nearly always; one overexposed picture in four it calls none (docs/embedded.md). Where
    much of the picture is pure white, its no is therefore a guess.
    """
    told = damage_told(look, READ["overexposed"])
    white = look.measures.detail("clipping", "highlights")
    if white is None or white < MUCH_WHITE or (told.presence or 0.0) >= 0.5:
        return told
    return replace(
        told,
        sentence=f"{told.sentence} {white:.0f} % of it is pure white, which may be the scene or too much light.",
        guess=True,
        numbers={**told.numbers, "pure_white_percent": round(white, 2)},
    )
