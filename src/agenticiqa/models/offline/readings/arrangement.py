"""How the frame is arranged: symmetry, repetition, the level of the horizon."""

from __future__ import annotations

from agenticiqa.models.offline.looking import Look
from agenticiqa.models.offline.readings.scales import chance_above, chances_at, pixels_of, placed
from agenticiqa.models.offline.readings.told import Told, reader
from agenticiqa.vision.appearance.horizon import Tilt, tilt
from agenticiqa.vision.appearance.repetition import repetition
from agenticiqa.vision.appearance.symmetry import likeness

LIKENESS = (0.15, 0.32, 0.45, 0.56, 0.80)
"""Correlation with the mirror image at none to full symmetry. Of 180 photographs nine in ten lie below 0.40."""
SYMMETRIC, UNSURE = 0.5, (0.42, 0.70)
"""Between the second bounds photographs are more or less symmetric, and people differ about them."""
REPEATS = (0.15, 0.30, 0.40, 0.50, 0.75)
"""Likeness to itself at a distance. Of sixty photographs nine in ten lie below 0.33."""
REPEATING = 0.45
LEVEL = (8.0, 4.0, 2.0, 1.0, 0.3)
"""Degrees off level at falling to straight."""
ENOUGH_LINES, ENOUGH_AGREEMENT = 0.3, 0.5
_AXES = {
    "left_right_mirror": "left and right mirror each other",
    "top_bottom_mirror": "top and bottom mirror each other",
    "rotational": "it looks the same turned half round",
}


@reader("symmetric")
def symmetric(look: Look) -> Told:
    """The clearest axis decides."""
    found = likeness(pixels_of(look))
    axis = max(found, key=lambda name: found[name])
    amount = placed(found[axis], LIKENESS)
    there = {name: chance_above(value, SYMMETRIC, 0.08) for name, value in found.items()}
    if found[axis] >= SYMMETRIC:
        said = f"Symmetric: {_AXES[axis]} (correlation {found[axis]:.2f})."
    else:
        said = f"Not symmetric: no half mirrors another (correlation {found[axis]:.2f} at most)."
    return Told(
        said,
        amounts=chances_at(amount),
        values=there,
        guess=UNSURE[0] <= found[axis] < UNSURE[1],
        numbers={name: round(value, 3) for name, value in found.items()},
    )


@reader("repetitive")
def repetitive(look: Look) -> Told:
    """The distance at which the picture is most like itself."""
    rgb = pixels_of(look)
    found = repetition(rgb)
    amount = placed(found.strength, REPEATS)
    if found.strength >= REPEATING:
        across, down = round(found.across * rgb.shape[1]), round(found.down * rgb.shape[0])
        said = f"A pattern comes back every {across} px across and {down} px down (likeness {found.strength:.2f})."
    else:
        said = f"Nothing comes back at regular distances (likeness {found.strength:.2f} at most)."
    return Told(said, amounts=chances_at(amount), numbers={"likeness": round(found.strength, 3)})


def lines_of(look: Look) -> Tilt | None:
    """The tilt, where enough long lines agree on one."""
    found = tilt(pixels_of(look))
    return found if found and found.support >= ENOUGH_LINES and found.agreement >= ENOUGH_AGREEMENT else None


@reader("level")
def level(look: Look) -> Told | None:
    """Lines may slope in the scene itself: a guess, and nothing where no long lines agree."""
    found = lines_of(look)
    if found is None:
        return None
    off = abs(found.degrees)
    side = "right" if found.degrees > 0 else "left"
    said = f"Its long lines rise to the {side} by {off:.1f}°" if off >= 1 else "Its long lines run level or plumb"
    return Told(
        f"{said} ({off:.1f}° off).",
        amounts=chances_at(placed(off, LEVEL)),
        guess=True,
        numbers={"degrees": round(found.degrees, 2)},
    )
