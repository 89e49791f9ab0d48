"""What can be measured in a picture or a part of it, so that a reader can check the model, and how that is said."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from agenticiqa._data import read_data
from agenticiqa.tools.metrics import METRICS, Array, Measurement, MetricInputError, Views
from agenticiqa.vision.sampling import pixel_grid, windows

# What a good photograph measures, from the pristine photographs that the calibration was fitted on.
SHARP_EDGE_PX = 1.7
SHARP_EDGE_LIMIT_PX = 2.0
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

# In the a-b plane of CIE Lab, in degrees.
HUE_ANGLES = {"red": 30, "orange": 60, "yellow": 95, "green": 140}
HUE_ANGLES |= {"cyan": 200, "blue": 270, "purple": 305, "magenta": 335}


# Probes of single pixels: a grid of pixels tells them as well as all do.
_OF_PIXELS = frozenset({"brightness", "contrast", "clipping", "colourfulness", "saturation", "colour_cast"})


@dataclass(frozen=True)
class LookMeasures:
    """Probes of one region, each computed when first asked for; of a large one on samples of it."""

    pixels: Array
    _probes: dict[str, Measurement | None] = field(default_factory=dict, init=False, repr=False, compare=False)

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
        if name not in self._probes:
            self._probes[name] = self.probe(name)
        found = self._probes[name]
        return found.value if found else None

    def detail(self, name: str, key: str) -> float | None:
        found = None if self.value(name) is None else self._probes[name]
        return found.details.get(key) if found else None


@dataclass(frozen=True)
class Statement:
    """A number in a sentence (without its full stop), and whether it is one that a sound picture has."""

    text: str
    is_normal: bool | None = None
    """None where the number speaks neither for nor against a fault."""
    plain: str = ""
    """The same without numbers, as a reason: "its edges are soft"."""


@cache
def sentences() -> dict[str, Any]:
    """The words of findings, by what they are for (``sentences.yaml``)."""
    return dict(read_data("embedded/sentences.yaml"))


def reason(category: str, measures: LookMeasures, *, found: bool) -> str:
    """Why a category is seen, or not, in plain words; empty where no measurement tells."""
    statements = (each for each in _statements(category, measures) if each.is_normal is not None)
    return next((each.plain for each in statements if each.plain and each.is_normal != found), "")


def describe(category: str, measures: LookMeasures, *, found: bool) -> list[str]:
    """Sentences that cite what was measured for a category, the most telling first; empty where nothing could be.

    ``found`` says whether the category is seen in the picture: a number that seems to say otherwise is explained, and
    one that only tells of a fault is left out where there is none.
    """
    statements = _statements(category, measures)
    if not found:
        statements = [each for place, each in enumerate(statements) if place == 0 or each.is_normal is not False]
    explained = sentences()["found_but_normal" if found else "not_found_but_abnormal"].get(category, "")
    return [f"{each.text}{explained if each.is_normal == found else ''}." for each in statements]


def _statements(category: str, measures: LookMeasures) -> list[Statement]:
    """What the probes of a category say, of those that could measure this region."""
    values = [(state, measures.value(probe)) for probe, state in _SENTENCES.get(category, ())]
    return [each for state, value in values if value is not None and (each := state(value, measures))]


# --- one sentence each ---


def _edges(width: float, _: LookMeasures) -> Statement:
    is_normal = True if width <= SHARP_EDGE_LIMIT_PX else False if width >= SMEARED_EDGE_PX else None
    plain = {True: "its edges are crisp", False: "its edges are soft", None: ""}[is_normal]
    text = f"Edges are {width:.1f} px wide, about {SHARP_EDGE_PX:.1f} px in a sharp picture"
    return Statement(text, is_normal, plain)


def _smear(length: float, m: LookMeasures) -> Statement | None:
    angle, width = m.detail("motion_blur", "degrees"), m.value("sharpness")
    # A scene with one dominant direction passes for a smeared one; where edges are sharp it is none.
    if not length or angle is None or width is None or width < SMEARED_EDGE_PX:
        return None
    text = f"Detail is smeared over about {length:.0f} px at {angle:.0f}° to the horizontal"
    return Statement(text, False, "its detail is smeared one way")


def _grain(sigma: float, m: LookMeasures) -> Statement:
    colours = [m.detail("noise", f"sigma_{name}") or 0.0 for name in ("red", "green", "blue")]
    uneven = max(colours) > 1.5 * min(colours) + 1
    note = ", stronger in some colours than in others" if uneven else ""
    return Statement(
        f"Grain has a standard deviation of {sigma:.1f} of 255 levels{note} "
        f"(clean, smooth pictures: below about {CLEAN_NOISE:.0f})",
        sigma < CLEAN_NOISE,
        "its smooth areas are clean" if sigma < CLEAN_NOISE else "its smooth areas show grain",
    )


def _blocks(steps: float, _: LookMeasures) -> Statement:
    if steps < BLOCK_FREE:
        text = f"Steps along an 8×8 grid are only {steps:.2f} above those elsewhere: no block pattern"
        return Statement(text, True, "no blocks show")
    return Statement(f"Steps along an 8×8 grid are {1 + steps:.1f} times those elsewhere", False, "blocks show")


def _ripples(ripple: float, _: LookMeasures) -> Statement:
    return Statement(f"Ripple beside strong edges is {ripple:.1f} levels above that of the rest")


def _bands(share: float, _: LookMeasures) -> Statement | None:
    if share < BANDED_PERCENT:
        return None
    text = f"{share:.1f} % of the pixels lie on contours of flat steps"
    return Statement(text, False, "its smooth tones break into steps")


def _exposure(mean: float, _: LookMeasures) -> Statement:
    where = "below" if mean < DARK else "above" if mean > BRIGHT else "within"
    text = f"Mean brightness is {mean:.0f} of 255, {where} the usual {DARK} to {BRIGHT}"
    plain = {"below": "it is dark on the whole", "above": "it is very bright on the whole"}
    return Statement(text, where == "within", plain.get(where, "its brightness is ordinary"))


def _clipped(_: float, m: LookMeasures) -> Statement | None:
    highlights, shadows = m.detail("clipping", "highlights"), m.detail("clipping", "shadows")
    if highlights is None or shadows is None:
        return None
    parts = [
        f"{share:.1f} % of the pixels are pure {name}"
        for share, name in ((highlights, "white"), (shadows, "black"))
        if share >= CLIPPED_PERCENT
    ]
    white = highlights >= CLIPPED_PERCENT
    plain = f"parts of it are pure {'white' if white else 'black'}"
    return Statement(" and ".join(parts), False, plain) if parts else None


def _contrast(rms: float, _: LookMeasures) -> Statement:
    word = "flat" if rms < FLAT_CONTRAST else "hard" if rms > HARD_CONTRAST else "ordinary"
    text = f"RMS contrast is {rms:.2f} ({word}; {FLAT_CONTRAST:.2f} to {HARD_CONTRAST:.2f} is usual)"
    plain = {"flat": "its tones lie close together", "hard": "its tones lie far apart"}
    return Statement(text, word == "ordinary", plain.get(word, "its contrast is ordinary"))


def _haze(dark: float, _: LookMeasures) -> Statement | None:
    if dark < HAZY:
        return None
    text = f"Even the darkest channel averages {dark:.2f} of 1: a veil lies over the picture"
    return Statement(text, False, "a veil lies over it")


def _saturation(mean: float, _: LookMeasures) -> Statement:
    word = "weak" if mean < GREYISH else "very strong" if mean > GARISH else "moderate"
    text, plain = f"Mean colour saturation is {mean:.2f} of 1 ({word})", "of ordinary strength"
    return Statement(text, word == "moderate", f"its colours are {plain if word == 'moderate' else word}")


def _cast(_: float, m: LookMeasures) -> Statement | None:
    factor, angle = m.detail("colour_cast", "cast_factor"), m.detail("colour_cast", "hue_degrees")
    if factor is None or angle is None or factor < STRONG_CAST:
        return None
    lean = f"colours lean towards {hue_name(angle)}"
    return Statement(
        f"The {lean}: their mean is {factor:.1f} times as far from grey as they spread", False, f"its {lean}"
    )


def hue_name(degrees: float) -> str:
    """The name of a direction in the a-b plane of CIE Lab.

    >>> hue_name(30), hue_name(95), hue_name(270)
    ('red', 'yellow', 'blue')
    """
    return min(HUE_ANGLES, key=lambda name: abs((degrees - HUE_ANGLES[name] + 180) % 360 - 180))


_SENTENCES: dict[str, tuple[tuple[str, Callable[[float, LookMeasures], Statement | None]], ...]] = {
    "Blurs": (("sharpness", _edges), ("motion_blur", _smear)),
    # Wide edges are no sign of oversharpening and none against it.
    "Sharpness": (("sharpness", lambda width, m: Statement(_edges(width, m).text)), ("ringing", _ripples)),
    "Noise": (("noise", _grain),),
    "Compression": (("blockiness", _blocks), ("ringing", _ripples), ("banding", _bands)),
    "Brightness change": (("brightness", _exposure), ("clipping", _clipped)),
    "Contrast": (("contrast", _contrast), ("haze", _haze)),
    "Color distortions": (("saturation", _saturation), ("colour_cast", _cast)),
    "Spatial distortions": (("blockiness", _blocks), ("banding", _bands)),
}
"""By category: each probe, and what its value says."""
