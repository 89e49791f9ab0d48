"""Readings of colour, light, exposure and mood."""

import math
from dataclasses import replace

import cv2
import numpy as np

from agenticiqa.embedded.looking import Look
from agenticiqa.embedded.measures import HUE_ANGLES, hue_name
from agenticiqa.embedded.readings.base import (
    PropertyReading,
    chance_above,
    chances_at,
    pixels_of,
    place_name,
    placed,
    reader,
    word_at,
)
from agenticiqa.embedded.readings.detail import READ, damage_reading
from agenticiqa.pictures.images import UInt8Image
from agenticiqa.vision.appearance.colours import Palette, hue_reach, light_spread, opposite_shares, palette
from agenticiqa.vision.appearance.views import light_of_codes, lightness, luminance, reduced
from agenticiqa.vision.sampling import clipped

COLOURFULNESS = (4.0, 15.0, 30.0, 55.0, 95.0)
"""Hasler and Süsstrunk's measure at none, slight, moderate, quite and very colourful; their own names are near these
(15 slightly, 33 moderately, 59 quite, 82 highly, 109 extremely)."""
CAST = (0.25, 0.85, 1.2, 1.6, 2.2)
"""How far light edges lean, in stops between the channels."""
MONOCHROME = 0.02
"""Chroma in OKLab that nearly no pixel of a black-and-white picture reaches."""
_COLOUR_WORDS = ("No colour", "Muted colours", "Moderate colours", "Strong colours", "Very strong colours")


@reader("colourful")
def colourful(look: Look) -> PropertyReading | None:
    strength = look.measures.value("colourfulness")
    if strength is None:
        return None
    amount = placed(strength, COLOURFULNESS)
    return PropertyReading(
        f"{word_at(_COLOUR_WORDS, amount)}.",
        amounts=chances_at(amount),
        numbers={"colourfulness": round(strength, 2)},
        steps=_COLOUR_WORDS,
        measured=(f"Colourfulness is {strength:.0f} (33 is moderate, 82 high).",),
    )


@reader("colour_cast")
def colour_cast(look: Look) -> PropertyReading:
    """A grade that is meant and a cast that is none look alike: a guess, unless there is no colour at all."""
    seen = palette(pixels_of(look))
    if seen.strongest_chroma < MONOCHROME:
        return PropertyReading("No colour cast: the picture is black and white.", amounts=(1.0, 0.0, 0.0, 0.0, 0.0))
    lean, degrees = edge_lean(pixels_of(look))
    amounts = chances_at(placed(lean, CAST), 0.2)
    told = PropertyReading(
        "",
        amounts=amounts,
        measured=(f"Light edges are {lean:.1f} stops off grey.",),
        guess=True,
        numbers={"stops_off_grey": round(lean, 2), "degrees": round(degrees, 1), "hue": hue_name(degrees)},
    )
    return with_lean(told, 1 - amounts[0])


def with_lean(told: PropertyReading, there: float) -> PropertyReading:
    """A reading of a colour cast in words, with the chance that it is there."""
    lean = f"the colours lean towards {told.numbers['hue']}" if there >= 0.5 else "the colours hardly lean any way"
    values = hue_chances(float(told.numbers["degrees"]), there)
    said = f"T{lean[1:]}; that may be meant or be the scene's own."
    return replace(told, sentence=said, because=lean, values=values)


def hue_chances(degrees: float, there: float) -> dict[str, float]:
    """By which names people call a cast towards an angle; names of neighbours are used for one another.

    >>> {name for name, chance in hue_chances(75, 1.0).items() if chance > 0.5} == {"orange", "yellow", "warm"}
    True
    """
    near = {name: chance_above(-abs((degrees - at + 180) % 360 - 180), -reach, 8)
            for name, (at, reach) in {**{hue: (at, 28) for hue, at in HUE_ANGLES.items()},
                                      "warm": (68, 55), "cold": (250, 60)}.items()}  # fmt: skip
    values = {name: there * chance for name, chance in near.items()}
    return values | {"pink": values["magenta"], "neutral": 1 - there}


def edge_lean(rgb: UInt8Image) -> tuple[float, float]:
    """How far the mean of strong edges is from grey in stops, and towards which angle of CIE Lab (the grey-edge
    assumption: van de Weijer, Gevers and Gijsenij, IEEE TIP 2007).
    """
    light = cv2.GaussianBlur(light_of_codes()[reduced(rgb, 128)], (0, 0), 1.0)
    steps = np.hypot(cv2.Sobel(light, cv2.CV_32F, 1, 0), cv2.Sobel(light, cv2.CV_32F, 0, 1))
    red, green, blue = (float((steps[..., at] ** 5).mean() ** 0.2) + 1e-4 for at in range(3))
    stops = np.log2([red / green, blue / green])
    code = np.clip(np.array([red, green, blue]) / max(red, green, blue), 0, 1) ** (1 / 2.2)
    shown = np.full((1, 1, 3), np.rint(255 * code), np.float32) / 255
    lab = cv2.cvtColor(np.asarray(shown, np.float32), cv2.COLOR_RGB2LAB)[0, 0]
    return float(np.hypot(*stops)), math.degrees(math.atan2(float(lab[2]), float(lab[1]))) % 360


@reader("colour_scheme")
def colour_scheme(look: Look) -> PropertyReading:
    """The main colours by name, and how they go together."""
    seen = palette(pixels_of(look))
    named = [name for name in seen.main if name in seen.shares]
    shares = ", ".join(f"{name} {seen.shares[name]:.0%}" for name in named)
    tone = "warm" if seen.warm > 0.62 else "cool" if seen.warm < 0.38 else "both warm and cool"
    sentence = f"Mainly {' and '.join(named[:2])}, {tone} on the whole."
    return PropertyReading(
        "Black and white." if seen.strongest_chroma < MONOCHROME else sentence,
        values=scheme_chances(seen),
        measured=(f"Of the frame: {shares}.",),
        numbers={name: round(share, 3) for name, share in seen.shares.items() if share >= 0.05},
    )


def scheme_chances(seen: Palette) -> dict[str, float]:
    """Each value by itself: a picture may be warm, mostly red, and monochromatic."""
    grey = chance_above(-seen.strongest_chroma, -MONOCHROME, 0.005)
    coloured = 1 - grey
    strong = chance_above(seen.chroma, 0.03, 0.01)
    reach = hue_reach(seen.hues)
    one_hue = coloured * chance_above(-reach, -45, 8)
    sepia_hue = float(seen.hues[5:10].sum())
    sepia = one_hue * chance_above(-seen.strongest_chroma, -0.12, 0.02) * chance_above(sepia_hue, 0.85, 0.05)
    opposite = opposite_shares(seen.hues)
    mixed_warmth = 1 - abs(2 * seen.warm - 1)
    many = coloured * strong * chance_above(reach, 200, 30)
    light = chance_above(seen.lightness, 0.78, 0.04)
    return {
        **{name: _name_chance(name, seen) for name in seen.shares},
        "monochrome": grey,
        "sepia": sepia,
        "monochromatic": one_hue * (1 - sepia),
        "analogous": coloured * chance_above(-reach, -100, 20) * (1 - one_hue),
        "complementary": coloured * strong * chance_above(opposite, 0.2, 0.05),
        "warm": coloured * chance_above(seen.warm, 0.6, 0.08),
        "cool": coloured * chance_above(-seen.warm, -0.4, 0.08),
        "mixed": max(many, coloured * strong * chance_above(mixed_warmth, 0.7, 0.1)),
        "neutral": max(chance_above(-seen.chroma, -0.03, 0.01), chance_above(mixed_warmth, 0.8, 0.06)),
        "pastel": coloured * light * chance_above(-seen.strongest_chroma, -0.13, 0.02),
    }


def _name_chance(name: str, seen: Palette) -> float:
    """The chance that people call it the main colour: they leave black, grey and white out where there is colour."""
    greys = ("black", "gray", "white")
    colours = sum(share for each, share in seen.shares.items() if each not in greys)
    if name in greys:
        return seen.shares[name] * (0.4 if colours > 0.4 else 1.0)
    return min(1.0, seen.shares[name] / max(colours, 0.5))


# --- Brightness, evenness of the light, dark corners, contrast ---


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


def brightness_reading(look: Look) -> PropertyReading:
    mean = float(lightness(reduced(pixels_of(look), SIDE)).mean())
    amount = placed(mean, BRIGHTNESS)
    word = word_at(_BRIGHT_WORDS, amount)
    return PropertyReading(
        f"{word}.",
        amounts=chances_at(amount, 0.1),
        numbers={"lightness": round(mean, 4)},
        steps=_BRIGHT_WORDS,
        measured=(f"The mean lightness of the {place_name(look)} is {100 * mean:.0f} of 100.",),
    )


reader("bright")(brightness_reading)


@reader("contrasty")
def contrasty(look: Look) -> PropertyReading:
    """How far light and dark tones lie apart."""
    light = lightness(reduced(pixels_of(look), SIDE))
    spread = float(light.std())
    low, high = (float(each) for each in np.percentile(light, (2, 98)))
    amount = placed(spread, CONTRAST)
    return PropertyReading(
        f"{word_at(_CONTRAST_WORDS, amount)}.",
        amounts=chances_at(amount),
        steps=_CONTRAST_WORDS,
        measured=(f"Tones run from {100 * low:.0f} to {100 * high:.0f} of 100 in lightness.",),
        numbers={"lightness_deviation": round(spread, 4), "darkest": round(low, 3), "lightest": round(high, 3)},
    )


@reader("evenly_lit")
def evenly_lit(look: Look) -> PropertyReading:
    """Things differ in how much light they throw back: what is dark may also be a dark thing, so this is a guess."""
    found = light_spread(pixels_of(look))
    amount = placed(found.across, EVENNESS)
    sentence = "The light looks even" if amount > 0.6 else "The light differs over the frame"
    return PropertyReading(
        f"{sentence}.",
        amounts=chances_at(amount, 0.2),
        guess=True,
        measured=(f"From the {found.darkest} to the {found.brightest} the light changes by {found.across:.1f} stops.",),
        numbers={"stops": round(found.across, 2)},
    )


@reader("time_of_day")
def time_of_day(look: Look) -> PropertyReading:
    """Dark pictures are taken at night more often than by day, and inside more often than either: a guess."""
    mean = float(lightness(reduced(look.image.rgb, SIDE)).mean())
    night = chance_above(-mean, -NIGHT, 0.05)
    word = "Perhaps night" if night > 0.5 else "Perhaps day"
    return PropertyReading(
        f"{word}, by its lightness alone.",
        values={"day": 1 - night, "night": night},
        measured=(f"Its mean lightness is {100 * mean:.0f} of 100.",),
        guess=True,
        numbers={"lightness": round(mean, 4)},
    )


@reader("vignetted")
def vignetted(look: Look) -> PropertyReading:
    """Whether the lens or the scene darkens the corners cannot be told: a guess. Of a part: how dark it is."""
    if look.box is not None:
        part = brightness_reading(look)
        return replace(part, amounts=tuple(reversed(part.amounts or ())))
    found = light_spread(pixels_of(look))
    amount = placed(found.corners, CORNERS)
    if found.corners > 0.3:
        sentence = "All corners are darker than the middle; the scene may be so."
    else:
        sentence = "The corners are not all darker than the middle."
    return PropertyReading(
        sentence,
        amounts=chances_at(amount, 0.15),
        guess=True,
        numbers={"corner_stops": round(found.corners, 2)},
        measured=(f"The corners are darker than the middle by {found.corners:.1f} stops.",),
    )


# --- Exposure ---


AGAINST_LIGHT, DARK_PART = 1.2, 0.42
"""Stops by which a part lies below what surrounds it, and the lightness that it stays below, as against the light."""


@reader("underexposed")
def underexposed(look: Look) -> PropertyReading:
    """A part that is dark beside its surroundings is too dark, however well the picture is exposed."""
    reading = damage_reading(look, READ["underexposed"])
    if look.box is None:
        return reading
    whole, part = luminance(look.image.rgb), luminance(pixels_of(look))
    around = (float(whole.sum()) - float(part.sum())) / max(1, whole.size - part.size)
    below = math.log2(max(around, 1e-3) / max(float(part.mean()), 1e-3))
    dark = chance_above(-float(lightness(pixels_of(look)).mean()), -DARK_PART, 0.05)
    there = min(dark, chance_above(below, AGAINST_LIGHT, 0.3))
    if there < max(0.5, reading.presence or 0.0):
        return reading
    return replace(
        reading,
        sentence="Backlit: it is much darker than what surrounds it, and the light was measured for the rest.",
        amounts=(1 - there, 0.3 * there, 0.5 * there, 0.2 * there, 0.0),
        because="it is much darker than what surrounds it, as against the light",
        measured=(*reading.measured, f"It is {below:.1f} stops below what surrounds it."),
        numbers={**reading.numbers, "stops_below_rest": round(below, 2)},
    )


MUCH_WHITE = 5.0
"""Percent of the pixels."""


@reader("overexposed")
def overexposed(look: Look) -> PropertyReading:
    """A yes is right nearly always; where much is white and nothing else is clipped, a no is a guess."""
    reading, found = damage_reading(look, READ["overexposed"]), clipped(pixels_of(look))
    numbers = {**reading.numbers, "pure_white_percent": round(found.white, 2), "partly_clipped": round(found.partly, 3)}
    if (reading.presence or 0.0) >= 0.5 or found.white < MUCH_WHITE:
        return replace(reading, numbers=numbers)
    may_be = "Much of it is pure white, which may be the scene or too much light."
    measured = (*reading.measured, f"{found.white:.0f} % of it is pure white.")
    return replace(reading, sentence=f"{reading.sentence} {may_be}", guess=True, numbers=numbers, measured=measured)


# --- Mood words from light and colour: always a guess ---


class _Impression:
    """Light and colour on axes from 0 to 1."""

    def __init__(self, look: Look) -> None:
        rgb = pixels_of(look)
        light, colours = lightness(reduced(rgb, SIDE)), palette(rgb)
        self.bright = placed(float(light.mean()), BRIGHTNESS)
        self.contrast = placed(float(light.std()), CONTRAST)
        self.colour = placed(look.measures.value("colourfulness") or 0.0, COLOURFULNESS)
        coloured = min(1.0, colours.chroma / 0.04)
        self.warm = 0.5 + (colours.warm - 0.5) * coloured

    @property
    def words(self) -> str:
        light = "dark" if self.bright < 0.4 else "light" if self.bright > 0.6 else "of medium brightness"
        tone = "warm" if self.warm > 0.6 else "cool" if self.warm < 0.4 else "neither warm nor cool"
        strength = "muted" if self.colour < 0.35 else "strong" if self.colour > 0.6 else "moderate"
        return f"it is {light}, {tone}, with {strength} colours"


@reader("mood")
def mood(look: Look) -> PropertyReading:
    """Words for moods by how light, warm, colourful and contrasty the picture is."""
    seen = _Impression(look)
    dark, muted, soft, cool = 1 - seen.bright, 1 - seen.colour, 1 - seen.contrast, 1 - seen.warm
    weights = {
        "cheerful": seen.bright * seen.colour * (0.5 + seen.warm / 2),
        "exciting": seen.colour * seen.contrast,
        "calm": soft * (0.5 + muted / 2) * (0.4 + seen.bright / 2),
        "gloomy": dark * muted,
        "sad": 0.6 * dark * muted * (0.5 + cool / 2),
        "lonely": 0.5 * muted * cool,
        "tense": 0.5 * dark * seen.contrast,
        "mysterious": 0.6 * dark * (0.5 + cool / 2),
        "dramatic": dark * seen.contrast * 0.9,
        "cosy": seen.warm * dark * 0.8,
        "romantic": 0.5 * seen.warm * soft,
        "nostalgic": 0.5 * seen.warm * muted,
        "dreamy": 0.8 * seen.bright * soft,
        "neutral": 0.25,
    }
    total = sum(weights.values())
    values = {name: weight / total for name, weight in weights.items()}
    likeliest = max(values, key=lambda name: values[name])
    return PropertyReading(f"Perhaps {likeliest}, by light and colour alone: {seen.words}.", values=values, guess=True)
