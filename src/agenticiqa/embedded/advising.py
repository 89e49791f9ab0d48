"""What to do about a picture, with amounts where they were measured: ``advice_for(look)``.

The first item answers "What should I fix first?", the list "How can I improve this?". What to say of each finding
stands in ``advice.yaml``; here are only the findings of a look and the amounts that the rules may name.
"""

import math
from collections.abc import Callable

import numpy as np

from agenticiqa.advice import SLIGHT, AdviceCase, advise
from agenticiqa.embedded.findings import finding
from agenticiqa.embedded.looking import Look
from agenticiqa.embedded.measures import FLAT_CONTRAST, GARISH, GREYISH, HARD_CONTRAST, STRONG_CAST, hue_name
from agenticiqa.embedded.readings.base import pixels_of
from agenticiqa.embedded.readings.file import jpeg_quality
from agenticiqa.embedded.readings.subject import crop_around, lines_of, subject
from agenticiqa.pictures.file_facts import CameraSettings, camera_settings
from agenticiqa.state import Advice
from agenticiqa.vision.appearance.views import luminance
from agenticiqa.vision.sampling import pixel_grid
from agenticiqa.vision.scene import FLAW_THRESHOLD

Amounts = dict[str, str]

MIDDLE_GREY = 0.18
"""Of white, in light: where exposure meters put the mean of a scene."""
THIRD = 1 / 3
"""Cameras set exposure in thirds of a stop."""
LEAST_STOPS, MOST_STOPS = 2 / 3, 4.0
CLIPPED_PERCENT = 1.0
SHORTEST_SMEAR, LONGEST_SMEAR = 4.0, 64.0
LEAST_SLOPE, MOST_SLOPE = 1.0, 12.0
"""Degrees: less is not noticeable, more is intended."""
LIGHT_AND_COLOUR = frozenset({"Brightness change", "Contrast", "Color distortions"})
"""How light and colourful a screen or a drawing is, its maker decided: no camera is to blame."""
FULL_BLACK, FULL_WHITE = 20, 235
"""A tonal range that ends inside these can be stretched."""


def advice_for(look: Look, *, thorough: bool = False, category: str | None = None) -> list[Advice]:
    """What to do, what matters most first; empty where nothing to mend stands out. With a category, about that alone.

    Rests on what an assessment has measured anyway, so that every result can carry it. Where advice itself is asked
    for, ``thorough`` also looks for what can be arranged better: a slope to level, empty space to crop.
    """
    sorts = look.reading.sorts
    photograph = look.facts.content == "photograph" and max(sorts, key=lambda name: sorts[name]) == "photograph"
    seen = [each for each in look.visible() if photograph or each not in LIGHT_AND_COLOUR]
    found = [_finding(each, look) for each in seen if category in (None, each)]
    if thorough and photograph and look.box is None:
        found += [each for each in (_slope(look), _empty_space(look)) if each]
    return advise(found)


def _finding(category: str, look: Look) -> AdviceCase:
    flaws = {name: look.reading.flaws[name] for name, of in look.scene.vision.flaws.items() if of == category}
    there = sorted((name for name, chance in flaws.items() if chance > FLAW_THRESHOLD), key=lambda name: -flaws[name])
    names, measured = (*there, category), _AMOUNTS.get(category)
    amounts = measured(look, names) if measured else {}
    return AdviceCase(names, finding(category, look), look.severity(category), amounts)


def _slope(look: Look) -> AdviceCase | None:
    lines = lines_of(look)
    if lines is None or not LEAST_SLOPE <= abs(lines.degrees) <= MOST_SLOPE:
        return None
    rises, turn = ("right", "clockwise") if lines.degrees > 0 else ("left", "counter-clockwise")
    off = f"{abs(lines.degrees):.1f}"
    because = f"Its long lines rise to the {rises} by {off}°; the scene may be so."
    return AdviceCase(("tilted",), because, SLIGHT, {"degrees": off, "turn": turn})


def _empty_space(look: Look) -> AdviceCase | None:
    found = subject(look)
    crop = crop_around(found, look.image.size) if found else None
    if found is None or crop is None:
        return None
    box = f"{crop.width}×{crop.height} pixels from x {crop.x}, y {crop.y}"
    because = f"What draws the eye covers only {found.share:.0%} of the frame; that may be meant."
    return AdviceCase(("subject off",), because, SLIGHT, {"crop": box})


# --- amounts ---


def _of_blur(look: Look, names: tuple[str, ...]) -> Amounts:
    amounts: Amounts = {}
    width, smear = look.measures.value("sharpness"), look.measures.value("motion_blur")
    if width is not None and 1.9 < width < 30:
        amounts["edge"] = f"{width:.1f}"
    if "motion_blur" in names and smear and SHORTEST_SMEAR <= smear <= LONGEST_SMEAR:
        factor = 2 ** math.ceil(math.log2(smear))
        amounts |= {"smear": f"{smear:.0f}", "factor": str(factor)}
        seconds = camera_settings(look.image.data).seconds
        if seconds:
            faster = CameraSettings(seconds=seconds / factor)
            amounts["shutter"] = f"{faster.shutter} instead of {CameraSettings(seconds=seconds).shutter}"
    return amounts


def _of_exposure(look: Look, names: tuple[str, ...]) -> Amounts:
    light = luminance(pixel_grid(pixels_of(look)))
    wanted = math.log2(MIDDLE_GREY / max(float(light.mean()), 1e-4))
    if "too_dark" in names or ("too_bright" not in names and wanted > 0):
        # Brighter only as far as at most one pixel in a hundred turns white by it.
        room = -math.log2(max(float(np.percentile(light, 99)), 1e-4))
        stops = min(wanted, room)
        return {"stops_up": stops_text(stops)} if stops >= LEAST_STOPS else {}
    amounts = {"stops_down": stops_text(-wanted)} if -wanted >= LEAST_STOPS else {}
    white = look.measures.detail("clipping", "highlights")
    if white is not None and white >= CLIPPED_PERCENT:
        amounts |= {"white": f"{white:.0f} %", "stops_down": stops_text(max(-wanted, 1.0))}
    return amounts


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


def _of_compression(look: Look, _names: tuple[str, ...]) -> Amounts:
    quality = jpeg_quality(look.image)
    # A file saved again at a high quality keeps the damage of the first time, and its tables say nothing of that.
    return {"jpeg_quality": f"{quality:.0f}"} if quality is not None and quality < 85 else {}


def _of_noise(look: Look, _names: tuple[str, ...]) -> Amounts:
    sigma, iso = look.measures.value("noise"), camera_settings(look.image.data).iso
    amounts = {"grain": f"{sigma:.0f}"} if sigma and sigma >= 1 else {}
    return amounts | ({"iso": str(iso)} if iso else {})


def _of_contrast(look: Look, _names: tuple[str, ...]) -> Amounts:
    rms = look.measures.value("contrast")
    if rms is None or rms >= HARD_CONTRAST:
        return {}
    luma = pixel_grid(look.image.rgb) @ np.array([0.299, 0.587, 0.114], np.float32)
    black, white = (round(float(value)) for value in np.percentile(luma, (1, 99)))
    if rms >= FLAT_CONTRAST and black <= FULL_BLACK and white >= FULL_WHITE:
        return {}
    return {"black_point": str(black), "white_point": str(white)}


def _of_colour(look: Look, _names: tuple[str, ...]) -> Amounts:
    amounts: Amounts = {}
    lean, angle = look.measures.value("colour_cast"), look.measures.detail("colour_cast", "hue_degrees")
    factor, saturation = look.measures.detail("colour_cast", "cast_factor"), look.measures.value("saturation")
    if lean is not None and angle is not None and factor is not None and factor >= STRONG_CAST:
        amounts = {"cast": f"{lean:.0f}", "cast_hue": hue_name(angle), "cast_away": hue_name((angle + 180) % 360)}
    elif saturation is not None and saturation < GREYISH:
        amounts["saturation_low"] = f"{saturation:.2f}"
    elif saturation is not None and saturation > GARISH:
        amounts["saturation_high"] = f"{saturation:.2f}"
    return amounts


_AMOUNTS: dict[str, Callable[[Look, tuple[str, ...]], Amounts]] = {
    "Blurs": _of_blur,
    "Brightness change": _of_exposure,
    "Compression": _of_compression,
    "Noise": _of_noise,
    "Contrast": _of_contrast,
    "Color distortions": _of_colour,
}
