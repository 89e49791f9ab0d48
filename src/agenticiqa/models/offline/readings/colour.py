"""How strong the colours are, whether they lean one way, which they are and how they go together."""

from __future__ import annotations

import math

import cv2
import numpy as np

from agenticiqa.models.offline.looking import Look
from agenticiqa.models.offline.measures import HUES, hue_name
from agenticiqa.models.offline.readings.light import word_at
from agenticiqa.models.offline.readings.scales import chance_above, chances_at, pixels_of, placed
from agenticiqa.models.offline.readings.told import Told, reader
from agenticiqa.pictures.images import UInt8Image
from agenticiqa.vision.appearance.colours import Palette, hue_reach, opposite_shares, palette
from agenticiqa.vision.appearance.views import light_of_codes, reduced

COLOURFULNESS = (4.0, 15.0, 30.0, 55.0, 95.0)
"""Hasler and Süsstrunk's measure at none, slight, moderate, quite and very colourful; their own names are near these
(15 slightly, 33 moderately, 59 quite, 82 highly, 109 extremely)."""
CAST = (0.25, 0.85, 1.2, 1.6, 2.2)
"""How far light edges lean, in stops between the channels."""
MONOCHROME = 0.02
"""Chroma in OKLab that nearly no pixel of a black-and-white picture reaches."""
_COLOUR_WORDS = ("No colour", "Muted colours", "Moderate colours", "Strong colours", "Very strong colours")


@reader("colourful")
def colourful(look: Look) -> Told | None:
    """By degree."""
    strength = look.measures.value("colourfulness")
    if strength is None:
        return None
    amount = placed(strength, COLOURFULNESS)
    return Told(
        f"{word_at(_COLOUR_WORDS, amount)}: colourfulness is {strength:.0f} (33 is moderate, 82 high).",
        amounts=chances_at(amount),
        numbers={"colourfulness": round(strength, 2)},
    )


@reader("colour_cast")
def colour_cast(look: Look) -> Told:
    """A grade that is meant and a cast that is none look alike: a guess, unless there is no colour at all."""
    seen = palette(pixels_of(look))
    if seen.strongest_chroma < MONOCHROME:
        return Told("No colour cast: the picture is black and white.", amounts=(1.0, 0.0, 0.0, 0.0, 0.0))
    lean, hue = edge_lean(pixels_of(look))
    amount = placed(lean, CAST)
    said = f"The colours lean towards {hue}" if amount > 0.125 else "The colours hardly lean any way"
    return Told(
        f"{said}: light edges are {lean:.1f} stops off grey; it may be meant or be the scene's own.",
        amounts=chances_at(amount, 0.2),
        values=_hue_chances(hue, 1 - chances_at(amount, 0.2)[0]),
        guess=True,
        numbers={"stops_off_grey": round(lean, 2), "hue": hue},
    )


def _hue_chances(hue: str, there: float) -> dict[str, float]:
    """People call a cast towards magenta pink as well."""
    values = dict.fromkeys(HUES, 0.0) | {hue: there}
    return values | {"pink": values["magenta"]}


def edge_lean(rgb: UInt8Image) -> tuple[float, str]:
    """How far the mean of strong edges is from grey, and towards which hue (the grey-edge assumption: van de Weijer,
    Gevers and Gijsenij, IEEE TIP 2007).
    """
    light = cv2.GaussianBlur(light_of_codes()[reduced(rgb, 128)], (0, 0), 1.0)
    steps = np.hypot(cv2.Sobel(light, cv2.CV_32F, 1, 0), cv2.Sobel(light, cv2.CV_32F, 0, 1))
    red, green, blue = (float((steps[..., at] ** 5).mean() ** 0.2) + 1e-4 for at in range(3))
    stops = np.log2([red / green, blue / green])
    code = np.clip(np.array([red, green, blue]) / max(red, green, blue), 0, 1) ** (1 / 2.2)
    shown = np.full((1, 1, 3), np.rint(255 * code), np.float32) / 255
    lab = cv2.cvtColor(np.asarray(shown, np.float32), cv2.COLOR_RGB2LAB)[0, 0]
    return float(np.hypot(*stops)), hue_name(math.degrees(math.atan2(float(lab[2]), float(lab[1]))) % 360)


@reader("colour_scheme")
def colour_scheme(look: Look) -> Told:
    """The main colours by name, and how they go together."""
    seen = palette(pixels_of(look))
    return Told(
        _scheme_sentence(seen),
        values=scheme_chances(seen),
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
    of_names = {name: _name_chance(name, seen) for name in seen.shares}
    return {
        **of_names,
        "monochrome": grey,
        "sepia": sepia,
        "monochromatic": one_hue * (1 - sepia),
        "analogous": coloured * chance_above(-reach, -100, 20) * (1 - one_hue),
        "complementary": coloured * strong * chance_above(opposite, 0.2, 0.05),
        "warm": coloured * chance_above(seen.warm, 0.6, 0.08),
        "cool": coloured * chance_above(-seen.warm, -0.4, 0.08),
        "mixed": max(many, coloured * strong * chance_above(mixed_warmth, 0.7, 0.1)),
        "neutral": chance_above(-seen.chroma, -0.03, 0.01),
        "pastel": coloured * light * chance_above(-seen.strongest_chroma, -0.13, 0.02),
    }


def _name_chance(name: str, seen: Palette) -> float:
    """The chance that people call it the main colour: they leave black, grey and white out where there is colour."""
    greys = ("black", "gray", "white")
    colours = sum(share for each, share in seen.shares.items() if each not in greys)
    if name in greys:
        return seen.shares[name] * (0.4 if colours > 0.4 else 1.0)
    return min(1.0, seen.shares[name] / max(colours, 0.5))


def _scheme_sentence(seen: Palette) -> str:
    shares = ", ".join(f"{name} {seen.shares[name]:.0%}" for name in seen.main if name in seen.shares)
    if seen.strongest_chroma < MONOCHROME:
        return f"Black and white; tones: {shares}."
    tone = "warm" if seen.warm > 0.62 else "cool" if seen.warm < 0.38 else "both warm and cool"
    named = [name for name in seen.main if name in seen.shares]
    return f"Mainly {' and '.join(named[:2])}, {tone} on the whole ({shares} of the frame)."
