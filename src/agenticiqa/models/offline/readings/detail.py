"""Fine structure: richness of detail, pixels that hold less than they promise, colour fringes, steps in gradients."""

from __future__ import annotations

from agenticiqa.models.offline.looking import Look
from agenticiqa.models.offline.readings.light import word_at
from agenticiqa.models.offline.readings.scales import chance_above, chances_at, doublings, pixels_of, placed
from agenticiqa.models.offline.readings.told import Told, reader
from agenticiqa.vision.appearance.fine_structure import detail_strength, fineness, fringe_width

DETAIL = (-0.4, 0.8, 1.8, 2.8, 3.8)
"""Strength of fine structure at none to rich detail, in doublings of two levels of 255."""
FRINGES = (0.5, 1.0, 1.6, 2.4, 4.0)
"""Pixels by which colours part at the corners."""
FRINGE = 0.8
HOLDS_LESS = (-0.5, 0.5, 0.9, 1.3, 1.8)
"""How much farther than sharp photographs' the spectrum falls; half a place is where it falls as far."""
_DETAIL_WORDS = ("No fine detail", "Little fine detail", "Some fine detail", "Much fine detail", "Rich fine detail")


@reader("detailed")
def detailed(look: Look) -> Told:
    """How strong the finest structures are where the picture has any."""
    strength = detail_strength(pixels_of(look))
    amount = placed(doublings(strength, 2.0), DETAIL)
    return Told(
        f"{word_at(_DETAIL_WORDS, amount)}: where there is most of it, it varies by {strength:.1f} of 255 levels.",
        amounts=chances_at(amount),
        numbers={"fine_structure": round(strength, 2)},
    )


@reader("upscaled")
def upscaled(look: Look) -> Told | None:
    """Pixels that hold detail to the last were not enlarged. Soft ones may be enlarged or blurred: a guess."""
    found = fineness(pixels_of(look))
    if found is None:
        return None
    less = found.holds_less
    there = chance_above(less, 0.0, 0.15)
    if less > 0:
        said = "It has more pixels than detail: it was enlarged, or it is soft."
    else:
        said = "Its finest pixels hold detail of their own: it was not enlarged."
    amount = placed(less, HOLDS_LESS)
    return Told(said, chances_at(amount), guess=there > 0.2, numbers={"spectrum_beyond_sharp": round(less, 2)})


@reader("fringed")
def fringed(look: Look) -> Told | None:
    """Lateral colour: red or blue drawn larger or smaller than green. Fringes of other kinds are not seen by this."""
    if look.box is not None:
        return None
    width = fringe_width(look.image.rgb)
    there = chance_above(width, FRINGE, 0.15)
    if width >= FRINGE:
        said = f"Colour fringes: towards the corners the colours part by about {width:.1f} px."
    else:
        said = "No colour fringes of the lens: red, green and blue lie on each other up to the corners."
    amount = placed(width, FRINGES)
    _, *rest = chances_at(amount)
    share = there / max(sum(rest), 1e-6)
    return Told(said, (1 - there, *(each * share for each in rest)), numbers={"corner_pixels": round(width, 2)})
