"""Motion blur and its direction."""

from __future__ import annotations

from dataclasses import replace

from agenticiqa.models.offline.looking import Look
from agenticiqa.models.offline.readings.damage import READ, damage_told
from agenticiqa.models.offline.readings.scales import chance_above
from agenticiqa.models.offline.readings.told import Told, reader

BETWEEN = 22.5
"""Degrees from level or plumb beyond which a direction is called diagonal."""
SPREAD = 7.0


@reader("motion_blurred")
def motion_blurred(look: Look) -> Told:
    """Whether it is there from the vision model, its direction from where fine detail is weakest."""
    told = damage_told(look, READ["motion_blurred"])
    degrees = look.measures.detail("motion_blur", "degrees")
    if degrees is None or (told.presence or 0.0) < 0.5:
        return told
    chances = direction_chances(degrees)
    way = max(chances, key=lambda name: chances[name])
    return replace(
        told,
        sentence=f"{told.sentence} The smear runs {_WAYS[way]}, at about {degrees:.0f}° to the horizontal.",
        values=chances,
        numbers={**told.numbers, "degrees": round(degrees, 1)},
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
