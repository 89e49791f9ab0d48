"""Mood words from light and colour: always a guess."""

from __future__ import annotations

from agenticiqa.models.offline.looking import Look
from agenticiqa.models.offline.readings.colour import COLOURFULNESS
from agenticiqa.models.offline.readings.light import BRIGHTNESS, CONTRAST, SIDE
from agenticiqa.models.offline.readings.scales import chances_at, pixels_of, placed
from agenticiqa.models.offline.readings.told import Told, reader
from agenticiqa.vision.appearance.colours import palette
from agenticiqa.vision.appearance.views import lightness, reduced


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
def mood(look: Look) -> Told:
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
    return Told(f"Perhaps {likeliest}, by light and colour alone: {seen.words}.", values=values, guess=True)


@reader("cosy")
def cosy(look: Look) -> Told:
    """Warm in colour, not glaring."""
    seen = _Impression(look)
    return Told(
        f"By light and colour alone a guess: {seen.words}.",
        amounts=chances_at(0.7 * seen.warm + 0.3 * (1 - seen.bright), 0.2),
        guess=True,
    )


@reader("dreamy")
def dreamy(look: Look) -> Told:
    """Light and soft."""
    seen = _Impression(look)
    return Told(
        f"By light and colour alone a guess: {seen.words}.",
        amounts=chances_at(0.5 * seen.bright + 0.5 * (1 - seen.contrast), 0.2),
        guess=True,
    )
