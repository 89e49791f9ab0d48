"""What can be measured in a picture or a part of it, and the sentence that says so.

The vision model says how bad something is; these numbers say what it is made of, so that a reader can check it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from agenticiqa.tools.metrics import METRICS, Array, Measurement, MetricInputError, Views
from agenticiqa.vision.sampling import pixel_grid, windows

# What a good photograph measures, from the pristine photographs that the calibration was fitted on.
SHARP_EDGE_PX = 1.7
SMEARED_EDGE_PX = 2.5
CLEAN_NOISE = 3.0
BLOCK_FREE = 0.15
DARK, BRIGHT = 80, 170
FLAT_CONTRAST, HARD_CONTRAST = 0.12, 0.30
GREYISH, GARISH = 0.12, 0.65
STRONG_CAST = 1.2
CLIPPED_PERCENT = 1.0
HAZY = 0.45
BANDED_PERCENT = 1.0

# With their hue angles in CIE Lab, in degrees, further down.
_HUES = ("red", "orange", "yellow", "green", "cyan", "blue", "purple", "magenta")


# Probes of single pixels: a grid of pixels tells them as well as all do.
_OF_PIXELS = frozenset({"brightness", "contrast", "clipping", "colourfulness", "saturation", "colour_cast"})


@dataclass(frozen=True)
class Measures:
    """Probes of one region, each computed when first asked for; of a large one on samples of it."""

    pixels: Array

    @cached_property
    def _grid(self) -> list[Views]:
        return [Views(pixel_grid(self.pixels))]

    @cached_property
    def _windows(self) -> list[Views]:
        return [Views(window) for window in windows(self.pixels)]

    def probe(self, name: str) -> Measurement | None:
        """A probe's measurement, of several windows the middle one; None when the region is too small for it."""
        found = []
        for views in self._grid if name in _OF_PIXELS else self._windows:
            try:
                found.append(METRICS[name].measure(views))
            except MetricInputError:
                continue
        found.sort(key=lambda each: each.value)
        return found[len(found) // 2] if found else None

    def value(self, name: str) -> float | None:
        found = self._probes.get(name)
        if name not in self._probes:
            found = self._probes[name] = self.probe(name)
        return found.value if found else None

    def detail(self, name: str, key: str) -> float | None:
        if self.value(name) is None:
            return None
        found = self._probes[name]
        return found.details.get(key) if found else None

    @cached_property
    def _probes(self) -> dict[str, Measurement | None]:
        return {}


def describe(category: str, measures: Measures) -> list[str]:
    """Sentences that cite what was measured for a category, the most telling first; empty where nothing could be."""
    return [sentence for sentence in (say(measures) for say in _SENTENCES.get(category, ())) if sentence]


# --- one sentence each ---


def _edges(m: Measures) -> str | None:
    width = m.value("sharpness")
    if width is None:
        return None
    return f"Edges are {width:.1f} px wide, about {SHARP_EDGE_PX:.1f} px in a sharp picture."


def _smear(m: Measures) -> str | None:
    length = m.value("motion_blur")
    angle = m.detail("motion_blur", "degrees")
    width = m.value("sharpness")
    # A scene with one dominant direction passes for a smeared one; where edges are sharp it is none.
    if not length or angle is None or width is None or width < SMEARED_EDGE_PX:
        return None
    return f"Detail is smeared over about {length:.0f} px at {angle:.0f}° to the horizontal."


def _grain(m: Measures) -> str | None:
    sigma = m.value("noise")
    if sigma is None:
        return None
    colours = [m.detail("noise", f"sigma_{name}") or 0.0 for name in ("red", "green", "blue")]
    uneven = max(colours) > 1.5 * min(colours) + 1
    note = ", stronger in some colours than in others" if uneven else ""
    return (
        f"Noise has a standard deviation of {sigma:.1f} of 255 levels{note}; "
        f"clean pictures stay below about {CLEAN_NOISE:.0f}."
    )


def _blocks(m: Measures) -> str | None:
    steps = m.value("blockiness")
    if steps is None:
        return None
    if steps < BLOCK_FREE:
        return f"Steps along an 8×8 grid are only {steps:.2f} above those elsewhere: no block pattern."
    return f"Steps along an 8×8 grid are {1 + steps:.1f} times those elsewhere."


def _ripples(m: Measures) -> str | None:
    ripple = m.value("ringing")
    return None if ripple is None else f"Ripple beside strong edges is {ripple:.1f} levels above that of the rest."


def _bands(m: Measures) -> str | None:
    share = m.value("banding")
    if share is None or share < BANDED_PERCENT:
        return None
    return f"{share:.1f} % of the pixels lie on contours of flat steps."


def _exposure(m: Measures) -> str | None:
    mean = m.value("brightness")
    if mean is None:
        return None
    where = "low" if mean < DARK else "high" if mean > BRIGHT else "within"
    usual = f"the usual {DARK} to {BRIGHT}"
    place = f"within {usual}" if where == "within" else f"{'below' if where == 'low' else 'above'} {usual}"
    return f"Mean brightness is {mean:.0f} of 255, {place}."


def _clipped(m: Measures) -> str | None:
    highlights, shadows = m.detail("clipping", "highlights"), m.detail("clipping", "shadows")
    if highlights is None or shadows is None:
        return None
    parts = [
        f"{share:.1f} % of the pixels are pure {name}"
        for share, name in ((highlights, "white"), (shadows, "black"))
        if share >= CLIPPED_PERCENT
    ]
    return f"{' and '.join(parts)}." if parts else None


def _contrast(m: Measures) -> str | None:
    rms = m.value("contrast")
    if rms is None:
        return None
    word = "flat" if rms < FLAT_CONTRAST else "hard" if rms > HARD_CONTRAST else "ordinary"
    return f"RMS contrast is {rms:.2f} ({word}; {FLAT_CONTRAST:.2f} to {HARD_CONTRAST:.2f} is usual)."


def _haze(m: Measures) -> str | None:
    dark = m.value("haze")
    if dark is None or dark < HAZY:
        return None
    return f"Even the darkest channel averages {dark:.2f} of 1: a veil lies over the picture."


def _saturation(m: Measures) -> str | None:
    mean = m.value("saturation")
    if mean is None:
        return None
    word = "weak" if mean < GREYISH else "very strong" if mean > GARISH else "moderate"
    return f"Mean colour saturation is {mean:.2f} of 1 ({word})."


def _cast(m: Measures) -> str | None:
    factor, angle = m.detail("colour_cast", "cast_factor"), m.detail("colour_cast", "hue_degrees")
    if factor is None or angle is None or factor < STRONG_CAST:
        return None
    return (
        f"The colours lean towards {hue_name(angle)}: their mean is {factor:.1f} times as far from grey as they spread."
    )


def hue_name(degrees: float) -> str:
    """The name of a direction in the a-b plane of CIE Lab.

    >>> hue_name(30), hue_name(95), hue_name(270)
    ('red', 'yellow', 'blue')
    """
    centres = dict(zip(_HUES, (30, 60, 95, 140, 200, 270, 305, 335), strict=True))
    return min(centres, key=lambda name: abs((degrees - centres[name] + 180) % 360 - 180))


_SENTENCES: dict[str, tuple[Callable[[Measures], str | None], ...]] = {
    "Blurs": (_edges, _smear),
    "Sharpness": (_edges, _ripples),
    "Noise": (_grain,),
    "Compression": (_blocks, _ripples, _bands),
    "Brightness change": (_exposure, _clipped),
    "Contrast": (_contrast, _haze),
    "Color distortions": (_saturation, _cast),
    "Spatial distortions": (_blocks, _bands),
}
