"""The vision model has learnt from photographs: its reading of anything else is taken back as far as facts demand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from agenticiqa.vision.network import Floats
from agenticiqa.vision.picture_facts import PictureFacts
from agenticiqa.vision.scene import LEVELS, Reading

LOSSLESS_COLOURS = 2048
"""Compression and noise leave more colours than this in a drawn picture of ordinary size."""
HEDGE = 0.8
"""How much of the model's verdict on the level gives way when the picture is no photograph."""
# A screen, a drawing or a page is as bright, as hard and as colourful as it was made.
_MADE_SO = ("Brightness change", "Contrast", "Color distortions")
_NEEDS_COLOURS = ("Compression", "Noise", "Spatial distortions")
_EXPOSURE = "Brightness change"
GREY = 2.0
"""Below this colourfulness a photograph is black and white."""
BLACK, WHITE = 18.0, 237.0
"""Mean brightness beyond which a photograph is badly exposed: 912 good ones lie between 29 and 212."""
SURELY_THERE = 0.75
_BLUR = "Blurs"
CLEARLY_IN_FOCUS, LEAST_IN_FOCUS, REST_IN_FOCUS = 0.7, 0.03, 0.2
"""A place in focus; how much of a picture with a shallow depth of field is; and what half of the rest stays below."""
MEANT = 0.35
"""The chance that remains of a blur that a shallow depth of field explains."""
_NONE = (1.0, 0.0, 0.0, 0.0, 0.0)
# Levels 1 to 5 of a picture that is no photograph, sound as far as can be measured, and damaged.
_SOUND = dict(zip(LEVELS, (0.05, 0.10, 0.25, 0.35, 0.25), strict=True))
_DAMAGED = dict.fromkeys(LEVELS, 0.2)
# A picture that shows nothing is bad, whatever the model says.
_BAD = dict(zip(LEVELS, (0.9, 0.07, 0.01, 0.01, 0.01), strict=True))


def tempered_by_facts(reading: Reading, facts: PictureFacts) -> Reading:
    """The model's reading, corrected by facts it does not know.

    A picture that shows nothing is bad; one that is not a photograph is judged less surely. A photograph without
    colours has no wrong ones, and one that is nearly black or white all over, or clipped in its lights and colours, is
    wrongly exposed.
    """
    burnt = facts.clipped.chance > 0.5 and reading.sorts["photograph"] > 0.5
    if facts.content == "photograph" or (burnt and facts.content in ("page", "drawn")):
        if facts.colourfulness < GREY:
            reading = _without(reading, ("Color distortions",))
        return _exposed(reading, facts.brightness, burnt=burnt)
    if facts.content == "noise":
        return reading.with_levels(_BAD)
    if facts.content == "blank":
        return _without(reading, tuple(reading.severity_probabilities)).with_levels(_BAD)
    lossless = facts.content == "drawn" and (facts.colours or 0) < LOSSLESS_COLOURS
    found = _without(reading, (*_MADE_SO, *(_NEEDS_COLOURS if lossless else ())))
    sound = all(severity < 1 for severity in found.severity.values())
    usual = _SOUND if sound else _DAMAGED
    levels = {n: (1 - HEDGE) * p + HEDGE * usual[n] for n, p in reading.level_probabilities.items()}
    return found.with_levels(levels)


def looks_blurred_by_focus(reading: Reading) -> bool:
    """Whether there is a blur that a depth of field could explain: one of the lens, not of motion."""
    return reading.presence(_BLUR) > 0.5 and reading.flaws["motion_blur"] < 0.5


def tempered_by_focus(reading: Reading, focus: Floats) -> Reading:
    """A clearly sharp part before a soft rest is a choice of depth, no blurred picture. ``focus``: chances by place."""
    sharp = float((focus > CLEARLY_IN_FOCUS).mean())
    if sharp < LEAST_IN_FOCUS or float(np.median(focus)) > REST_IN_FOCUS:
        return reading
    none, *rest = reading.severity_probabilities[_BLUR]
    kept = MEANT / (1 - none)
    return replace(
        reading,
        flaws=reading.flaws | {name: min(reading.flaws[name], MEANT) for name in ("out_of_focus", "blurry")},
        severity_probabilities=reading.severity_probabilities
        | {_BLUR: (1 - MEANT, *(kept * chance for chance in rest))},
    )


def _exposed(reading: Reading, brightness: float, *, burnt: bool) -> Reading:
    flaw = "too_dark" if brightness < BLACK else "too_bright" if brightness > WHITE or burnt else None
    if flaw is None or reading.flaws[flaw] >= SURELY_THERE:
        return reading
    none, *rest = reading.severity_probabilities[_EXPOSURE]
    total = sum(rest)
    shares = [chance / total for chance in rest] if total > 0 else [0.0, 0.0, 1.0, 0.0]
    there = max(1 - none, SURELY_THERE)
    return replace(
        reading,
        flaws=reading.flaws | {flaw: SURELY_THERE},
        severity_probabilities=reading.severity_probabilities
        | {_EXPOSURE: (1 - there, *(there * share for share in shares))},
    )


def _without(reading: Reading, categories: tuple[str, ...]) -> Reading:
    return replace(reading, severity_probabilities=reading.severity_probabilities | dict.fromkeys(categories, _NONE))
