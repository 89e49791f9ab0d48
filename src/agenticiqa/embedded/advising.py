"""What to do about a picture, with amounts where they were measured: ``advice_for(look)``.

The first item answers "What should I fix first?", the list "How can I improve this?". What to say of each finding
stands in ``advice.yaml``; here are only the findings of a look and the amounts that the rules may name.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from agenticiqa.advice import SLIGHT, AdviceCase, advise
from agenticiqa.embedded.findings import finding
from agenticiqa.embedded.looking import Look
from agenticiqa.embedded.measures import FLAT_CONTRAST, GARISH, GREYISH, HARD_CONTRAST, STRONG_CAST, hue_name
from agenticiqa.embedded.readings.base import pixels_of
from agenticiqa.embedded.readings.file import jpeg_quality
from agenticiqa.embedded.readings.subject import crop_around, lines_of, subject
from agenticiqa.pictures.file_facts import CameraSettings, camera_settings
from agenticiqa.state import Advice, Fix
from agenticiqa.vision.appearance.views import luminance
from agenticiqa.vision.sampling import pixel_grid
from agenticiqa.vision.scene import FLAW_THRESHOLD

Amounts = dict[str, str]
Measured = tuple[Amounts, Fix | None]
"""In words for the rules, and what would mend it."""

MIDDLE_GREY = 0.18
"""Of white, in light: where exposure meters put the mean of a scene."""
THIRD = 1 / 3
"""Cameras set exposure in thirds of a stop."""
LEAST_STOPS, MOST_STOPS = 2 / 3, 4.0
CLIPPED_PERCENT = 1.0
SHORTEST_SMEAR, LONGEST_SMEAR = 4.0, 64.0
LEAST_SLOPE, MOST_SLOPE = 1.0, 12.0
"""Degrees: less is not noticeable, more is intended."""
_THIRDS = (1, 1.25, 1.6, 2, 2.5, 3.2, 4, 5, 6.4, 8)
APERTURES = (
    1, 1.1, 1.2, 1.4, 1.6, 1.8, 2, 2.2, 2.5, 2.8, 3.2, 3.5, 4, 4.5, 5, 5.6, 6.3, 7.1, 8, 9, 10, 11, 13, 14, 16, 18, 22
)  # fmt: skip
SENSITIVITIES = tuple(base * 10**power for power in (2, 3, 4) for base in _THIRDS)
TIMES = (*(1 / (base * 10**power) for power in (0, 1, 2, 3) for base in _THIRDS), *_THIRDS[1:], 10, 15, 20, 30)
"""What cameras can be set to, in thirds of a stop."""
LOWEST_ISO, HIGHEST_ISO, CALMER = 100, 6400, 4
"""Beyond the second, what is won by speed is lost by noise; a quarter of the sensitivity halves the noise."""
LONGEST_BY_HAND, WIDEST_TO_CLOSE = 1 / 30, 5.6
MOST_COLOUR = 2.0
LIGHT_AND_COLOUR = frozenset({"Brightness change", "Contrast", "Color distortions"})
"""How light and colourful a screen or a drawing is, its maker decided: no camera is to blame."""
FULL_BLACK, FULL_WHITE = 20, 235
"""A tonal range that ends inside these can be stretched."""


def advice_for(look: Look, *, thorough: bool = False, category: str | None = None) -> list[Advice]:
    """What to do, what matters most first; empty where nothing to mend stands out. With a category, about that alone.

    Rests on what an assessment has measured anyway, so that every result can carry it. Where advice itself is asked
    for, ``thorough`` also looks for what could be arranged better: a slope that may be meant, empty space to crop.
    """
    photograph = look.is_photograph
    seen = [each for each in look.visible() if photograph or each not in LIGHT_AND_COLOUR]
    found = [_finding(each, look) for each in seen if category in (None, each)]
    if photograph and look.box is None and category is None:
        found += [each for each in (_slope(look, guess=thorough), _empty_space(look) if thorough else None) if each]
    return advise(found)


def _finding(category: str, look: Look) -> AdviceCase:
    flaws = {name: look.reading.flaws[name] for name, of in look.scene.vision.flaws.items() if of == category}
    there = sorted((name for name, chance in flaws.items() if chance > FLAW_THRESHOLD), key=lambda name: -flaws[name])
    names, measured = (*there, category), _AMOUNTS.get(category)
    amounts, fix = measured(look, names) if measured else ({}, None)
    return AdviceCase(names, finding(category, look), look.severity(category), amounts, fix)


def _slope(look: Look, *, guess: bool) -> AdviceCase | None:
    lines = lines_of(look)
    if lines is None or not (lines.sure or guess) or not LEAST_SLOPE <= abs(lines.degrees) <= MOST_SLOPE:
        return None
    rises, turn = ("right", "clockwise") if lines.degrees > 0 else ("left", "counter-clockwise")
    off = f"{abs(lines.degrees):.1f}"
    because = f"Its long lines rise to the {rises} by {off}°; the scene may be so."
    if lines.sure:
        because = f"Its level and upright lines lean alike: the {rises} side is too high by {off}°."
    fix = Fix(kind="turn", amounts=(round(lines.degrees, 1),))
    return AdviceCase(("tilted",), because, SLIGHT, {"degrees": off, "turn": turn}, fix)


def _empty_space(look: Look) -> AdviceCase | None:
    found = subject(look)
    crop = crop_around(found, look.image.size) if found else None
    if found is None or crop is None:
        return None
    box = f"{crop.width}×{crop.height} pixels from x {crop.x}, y {crop.y}"
    because = f"What draws the eye covers only {found.share:.0%} of the frame; that may be meant."
    fix = Fix(kind="crop", amounts=tuple(crop.as_list()))
    return AdviceCase(("subject off",), because, SLIGHT, {"crop": box}, fix)


# --- amounts ---


def _of_blur(look: Look, names: tuple[str, ...]) -> Measured:
    amounts: Amounts = {}
    width, smear = look.measures.value("sharpness"), look.measures.value("motion_blur")
    if width is not None and 1.9 < width < 30:
        amounts["edge"] = f"{width:.1f}"
    if "motion_blur" in names and smear and SHORTEST_SMEAR <= smear <= LONGEST_SMEAR:
        factor = 2 ** math.ceil(math.log2(smear))
        amounts |= {"smear": f"{smear:.0f}", "factor": str(factor)}
        taken = camera_settings(look.image.data)
        if taken.seconds:
            amounts["shutter"] = _instead(taken, seconds=taken.seconds / factor)
        if taken.iso and taken.iso * factor <= HIGHEST_ISO:
            amounts["more_iso"] = _instead(taken, iso=taken.iso * factor)
    aperture = camera_settings(look.image.data).aperture if "out_of_focus" in names else None
    if aperture and aperture <= WIDEST_TO_CLOSE:
        amounts["closed"] = f"f/{nearest(APERTURES, aperture * 2):g} instead of f/{aperture:g}"
    slight = len(names) == 1 and round(look.severity("Blurs")) <= SLIGHT
    return amounts, Fix(kind="sharpen", amounts=(1.0,)) if slight else None


def _of_exposure(look: Look, names: tuple[str, ...]) -> Measured:
    light = luminance(pixel_grid(pixels_of(look)))
    wanted = math.log2(MIDDLE_GREY / max(float(light.mean()), 1e-4))
    if "too_dark" in names or ("too_bright" not in names and wanted > 0):
        # Brighter only as far as at most one pixel in a hundred turns white by it.
        room = -math.log2(max(float(np.percentile(light, 99)), 1e-4))
        stops = min(wanted, room)
        if stops < LEAST_STOPS:
            return {}, None
        settings = settings_for(camera_settings(look.image.data), stops)
        return {"stops_up": stops_text(stops), "settings": settings}, _exposed(stops)
    white = look.measures.detail("clipping", "highlights") or 0.0
    less = max(-wanted, 1.0) if white >= CLIPPED_PERCENT else -wanted
    if less < LEAST_STOPS:
        return {}, None
    amounts = {"stops_down": stops_text(less), "settings": settings_for(camera_settings(look.image.data), -less)}
    if white >= CLIPPED_PERCENT:
        # What is white all over stays so.
        return amounts | {"white": f"{white:.0f} %"}, None
    return amounts, _exposed(-less)


def _exposed(stops: float) -> Fix:
    return Fix(kind="exposure", amounts=(round(max(-MOST_STOPS, min(MOST_STOPS, stops)), 2),))


def settings_for(taken: CameraSettings, stops: float) -> str:
    """How a camera is set for so many stops more, or less where negative; by what the file says of its settings.

    >>> settings_for(CameraSettings(seconds=1 / 250, aperture=5.6, iso=200), 1.4)
    'exposure compensation +1.3: 1/100 s instead of 1/250 s, f/3.5 instead of f/5.6, or ISO 500 instead of 200'
    >>> settings_for(CameraSettings(), -2.0)
    'exposure compensation -2'
    """
    steps = max(-3 * MOST_STOPS, min(3 * MOST_STOPS, round(3 * stops)))
    factor, ways = 2 ** (steps / 3), []
    if taken.seconds and taken.seconds * factor <= LONGEST_BY_HAND:
        ways.append(_instead(taken, seconds=taken.seconds * factor))
    if taken.aperture and APERTURES[0] < taken.aperture / math.sqrt(factor) < APERTURES[-1]:
        ways.append(_instead(taken, aperture=taken.aperture / math.sqrt(factor)))
    if taken.iso and LOWEST_ISO <= taken.iso * factor <= HIGHEST_ISO:
        ways.append(_instead(taken, iso=taken.iso * factor))
    named = ", or ".join(filter(None, (", ".join(ways[:-1]), ways[-1]))) if ways else ""
    return f"exposure compensation {steps / 3:+.2g}{f': {named}' if named else ''}"


def _instead(taken: CameraSettings, *, seconds: float = 0, aperture: float = 0, iso: float = 0) -> str:
    """One setting, as cameras have it, beside the one that was used."""
    if seconds:
        return f"{CameraSettings(seconds=nearest(TIMES, seconds)).shutter} instead of {taken.shutter}"
    if aperture:
        return f"f/{nearest(APERTURES, aperture):g} instead of f/{taken.aperture:g}"
    return f"ISO {nearest(SENSITIVITIES, iso):g} instead of {taken.iso}"


def nearest(scale: Sequence[float], value: float) -> float:
    """Of what a camera can be set to.

    >>> nearest(APERTURES, 3.7), nearest(SENSITIVITIES, 900)
    (3.5, 1000)
    """
    return min(scale, key=lambda each: abs(math.log(each / value)))


def stops_text(stops: float) -> str:
    """In thirds, as cameras set them.

    >>> stops_text(0.7), stops_text(1.0), stops_text(2.3), stops_text(9)
    ('2/3 of a stop', '1 stop', '2 1/3 stops', '4 stops or more')
    """
    if stops > MOST_STOPS:
        return f"{MOST_STOPS:.0f} stops or more"
    thirds = round(stops / THIRD)
    whole, rest = divmod(thirds, 3)
    if not whole:
        return f"{rest}/3 of a stop"
    return f"{whole} {f'{rest}/3 ' if rest else ''}stop{'s' if thirds > 3 else ''}"


def _of_compression(look: Look, _names: tuple[str, ...]) -> Measured:
    quality = jpeg_quality(look.image)
    # A file saved again at a high quality keeps the damage of the first time, and its tables say nothing of that.
    return {"jpeg_quality": f"{quality:.0f}"} if quality is not None and quality < 85 else {}, None


def _of_noise(look: Look, _names: tuple[str, ...]) -> Measured:
    sigma, taken = look.measures.value("noise"), camera_settings(look.image.data)
    amounts = {"grain": f"{sigma:.0f}"} if sigma and sigma >= 1 else {}
    if taken.iso and taken.iso > LOWEST_ISO:
        lower = max(taken.iso / CALMER, LOWEST_ISO)
        amounts["less_iso"] = _instead(taken, iso=lower)
        if taken.seconds:
            amounts["longer"] = _instead(taken, seconds=taken.seconds * taken.iso / lower)
    return amounts, Fix(kind="denoise", amounts=(round(sigma, 1),)) if sigma and sigma >= 1 else None


def _of_contrast(look: Look, _names: tuple[str, ...]) -> Measured:
    rms = look.measures.value("contrast")
    if rms is None or rms >= HARD_CONTRAST:
        return {}, None
    luma = pixel_grid(look.image.rgb) @ np.array([0.299, 0.587, 0.114], np.float32)
    black, white = (round(float(value)) for value in np.percentile(luma, (1, 99)))
    if rms >= FLAT_CONTRAST and black <= FULL_BLACK and white >= FULL_WHITE:
        return {}, None
    return {"black_point": str(black), "white_point": str(white)}, Fix(kind="levels", amounts=(black, white))


def _of_colour(look: Look, _names: tuple[str, ...]) -> Measured:
    lean, angle = look.measures.value("colour_cast"), look.measures.detail("colour_cast", "hue_degrees")
    factor, saturation = look.measures.detail("colour_cast", "cast_factor"), look.measures.value("saturation")
    if lean is not None and angle is not None and factor is not None and factor >= STRONG_CAST:
        amounts = {"cast": f"{lean:.0f}", "cast_hue": hue_name(angle), "cast_away": hue_name((angle + 180) % 360)}
        return amounts, Fix(kind="white_balance", amounts=(round(lean, 1), round(angle, 1)))
    if saturation is not None and saturation < GREYISH:
        fix = Fix(kind="saturation", amounts=(round(min(GREYISH / max(saturation, 0.01), MOST_COLOUR), 2),))
        return {"saturation_low": f"{saturation:.2f}"}, fix
    if saturation is not None and saturation > GARISH:
        return {"saturation_high": f"{saturation:.2f}"}, Fix(
            kind="saturation", amounts=(round(GARISH / saturation, 2),)
        )
    return {}, None


_AMOUNTS: dict[str, Callable[[Look, tuple[str, ...]], Measured]] = {
    "Blurs": _of_blur,
    "Brightness change": _of_exposure,
    "Compression": _of_compression,
    "Noise": _of_noise,
    "Contrast": _of_contrast,
    "Color distortions": _of_colour,
}
