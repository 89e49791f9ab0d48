"""Brightness, evenness of the light, dark corners, contrast."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from agenticiqa.models.offline.looking import Look
from agenticiqa.models.offline.readings.scales import chance_above, chances_at, pixels_of, place_name, placed
from agenticiqa.models.offline.readings.told import Told, reader
from agenticiqa.vision.appearance.lighting import light_spread
from agenticiqa.vision.appearance.views import lightness, reduced

SIDE = 256
BRIGHTNESS = (0.08, 0.24, 0.50, 0.76, 0.92)
"""Mean lightness (CIE L*, 0 to 1) at very dark, dark, medium, bright, very bright."""
CONTRAST = (0.03, 0.07, 0.115, 0.20, 0.30)
"""Standard deviation of the lightness at none, low, ordinary, high, hard contrast."""
EVENNESS = (6.0, 4.0, 2.5, 1.2, 0.4)
"""Stops between the darkest and the brightest ninth of the frame at patchy to even light."""
NIGHT = 0.27
"""Mean lightness below which a picture looks as if taken at night."""
CORNERS = (0.2, 0.6, 1.2, 2.0, 3.0)
"""Stops by which the corners are darker than the middle."""
_BRIGHT_WORDS = ("Very dark", "Dark", "Of medium brightness", "Bright", "Very bright")
_CONTRAST_WORDS = ("Hardly any contrast", "Low contrast", "Ordinary contrast", "High contrast", "Hard contrast")


def word_at(words: tuple[str, ...], amount: float) -> str:
    """The word of the nearest place."""
    return words[min(len(words) - 1, int(amount * (len(words) - 1) + 0.5))]


def brightness_told(look: Look) -> Told:
    """The mean lightness of the part."""
    mean = float(lightness(reduced(pixels_of(look), SIDE)).mean())
    amount = placed(mean, BRIGHTNESS)
    word = word_at(_BRIGHT_WORDS, amount)
    return Told(
        f"{word}: the mean lightness of the {place_name(look)} is {100 * mean:.0f} of 100.",
        amounts=chances_at(amount, 0.1),
        numbers={"lightness": round(mean, 4)},
    )


reader("bright")(brightness_told)


@reader("contrasty")
def contrasty(look: Look) -> Told:
    """How far light and dark tones lie apart."""
    light = lightness(reduced(pixels_of(look), SIDE))
    spread = float(light.std())
    low, high = (float(each) for each in np.percentile(light, (2, 98)))
    amount = placed(spread, CONTRAST)
    return Told(
        f"{word_at(_CONTRAST_WORDS, amount)}: tones run from {100 * low:.0f} to {100 * high:.0f} of 100 in lightness.",
        amounts=chances_at(amount),
        numbers={"lightness_deviation": round(spread, 4), "darkest": round(low, 3), "lightest": round(high, 3)},
    )


@reader("evenly_lit")
def evenly_lit(look: Look) -> Told:
    """Things differ in how much light they throw back: what is dark may also be a dark thing, so this is a guess."""
    found = light_spread(pixels_of(look))
    amount = placed(found.across, EVENNESS)
    said = "The light looks even" if amount > 0.6 else "The light differs over the frame"
    return Told(
        f"{said}: from the {found.darkest} to the {found.brightest} it changes by {found.across:.1f} stops.",
        amounts=chances_at(amount, 0.2),
        guess=True,
        numbers={"stops": round(found.across, 2)},
    )


@reader("time_of_day")
def time_of_day(look: Look) -> Told:
    """Dark pictures are taken at night more often than by day, and inside more often than either: a guess."""
    mean = float(lightness(reduced(look.image.rgb, SIDE)).mean())
    night = chance_above(-mean, -NIGHT, 0.05)
    word = "Perhaps night" if night > 0.5 else "Perhaps day"
    return Told(
        f"{word}, by its lightness alone: {100 * mean:.0f} of 100.",
        values={"day": 1 - night, "night": night},
        guess=True,
        numbers={"lightness": round(mean, 4)},
    )


@reader("vignetted")
def vignetted(look: Look) -> Told:
    """Whether the lens or the scene darkens the corners cannot be told: a guess. Of a part: how dark it is."""
    if look.box is not None:
        part = brightness_told(look)
        return replace(part, amounts=tuple(reversed(part.amounts or ())))
    found = light_spread(pixels_of(look))
    amount = placed(found.corners, CORNERS)
    if found.corners > 0.3:
        said = f"All corners are darker than the middle, by at least {found.corners:.1f} stops; the scene may be so."
    else:
        said = "The corners are not all darker than the middle."
    return Told(said, amounts=chances_at(amount, 0.15), guess=True, numbers={"corner_stops": round(found.corners, 2)})
