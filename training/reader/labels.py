"""What a question can mean: the label lists, and how they answer to those of the development questions.

Properties are those of ``embedded/properties.yaml`` under the same names, and ``none`` for questions that are not
about how a picture looks. A direction is an end of the first property as that file runs it: ``low`` of ``sharp`` is
blurry, ``high`` of ``noisy`` is noisy.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_PROPERTIES = """
sharp in_focus motion_blurred noisy over_denoised compressed banded pixelated aliased chroma_bleeding bright
underexposed overexposed well_exposed evenly_lit contrasty hazy colour_cast colourful fringed flare moire
oversharpened vignetted warped detailed legible background_blurred symmetric repetitive emphasised composition
cluttered cropped empty level rule_of_thirds colour_scheme picture_kind time_of_day video_frame real resolution
printable upscaled aspect file_format camera_settings quality flaw flaw_count mood cosy dreamy beautiful intended
none
"""
_FORMS = """
yes_no either_or degree which where why what_is_wrong how_to_fix good_enough compare rate describe follow_up
not_about_quality other_language
"""
PROPERTIES = _PROPERTIES.split()
FORMS = _FORMS.split()
DIRECTIONS = ["none", "high", "low"]

# The property names of the development questions that differ from ours: name, and -1 where the axis is turned.
SHARED_PROPERTIES: dict[str, tuple[str, int]] = {
    "blurred": ("sharp", -1),
    "first_softer": ("sharp", -1),
    "first_sharper": ("sharp", 1),
    "first_brighter": ("bright", 1),
    "first_noisier": ("noisy", 1),
    "dark": ("bright", -1),
    "blue_cast": ("colour_cast", 1),
    "well_lit": ("well_exposed", 1),
    "low_resolution": ("resolution", -1),
    "flawed": ("flaw", 1),
    "shallow_dof": ("background_blurred", 1),
}
# What stands in for the property where the shared question names none: by its `asks`.
SHARED_ASKS: dict[str, str] = {
    "absent_flaw": "flaw",
    "advice": "flaw",
    "artefacts_other": "flaw",
    "brightness": "bright",
    "colour_cast": "colour_cast",
    "colour_saturation": "colourful",
    "colour_scheme": "colour_scheme",
    "compare_parts": "quality",
    "composition": "composition",
    "compression": "compressed",
    "contrast": "contrasty",
    "count_of_flaws": "flaw_count",
    "depth_of_field": "background_blurred",
    "dominant_flaw": "flaw",
    "emphasis": "emphasised",
    "exposure": "well_exposed",
    "exposure_bright": "overexposed",
    "exposure_dark": "underexposed",
    "focus_place": "in_focus",
    "haze": "hazy",
    "legibility": "legible",
    "mood": "mood",
    "motion_blur": "motion_blurred",
    "noise": "noisy",
    "out_of_scope": "none",
    "overall_quality": "quality",
    "picture_kind": "picture_kind",
    "realism": "real",
    "repetition": "repetitive",
    "resolution_or_print": "printable",
    "severity_degree": "flaw",
    "sharpness": "sharp",
    "symmetry": "symmetric",
    "texture_detail": "detailed",
    "where": "flaw",
}
UNSCALED = {"colour_scheme", "picture_kind", "time_of_day", "aspect", "file_format", "camera_settings", "mood", "none"}
_PLAIN = re.compile(r"^(yes|no|yep|nope|true|false|agree|disagree|confirmed|i do|i don't|it is|it isn't)\b", re.I)


def shared_property(case: dict[str, Any]) -> tuple[str, int]:
    """A shared question's property in our words, and -1 where its axis runs the other way."""
    name = case["property"]
    if name in SHARED_PROPERTIES:
        return SHARED_PROPERTIES[name]
    if name in PROPERTIES:
        return name, 1
    return SHARED_ASKS[case["asks"]], 1


def shared_form(
    form: str, name: str, parts: int, options: Sequence[str] | None, amounts: Sequence[float | None] = ()
) -> str:
    """A form in the words of the development questions, which look at the options as well.

    Options on a scale make a degree of what could be a choice, and more than two of them of a yes/no question; options
    off any scale make a choice of it. Without options good_enough is yes/no, and what asks for words is "open".
    """
    offered = list(options or ())
    plain = bool(offered) and sum(bool(_PLAIN.match(text)) for text in offered) >= min(2, len(offered))
    claimed = [amount for amount in amounts if amount is not None]
    graded = len(claimed) > 2 or any(0.25 < amount < 0.75 for amount in claimed)
    if form in {"yes_no", "good_enough", "either_or"} and plain:
        return "degree" if len(claimed) > 2 and graded else "yes_no"
    if form in {"where", "compare"}:
        return form
    if form == "rate":
        return "rating"
    if not offered:
        named = {"yes_no": "yes_no", "good_enough": "yes_no", "degree": "degree", "which": "which"}
        between = "which" if parts > 1 or name in UNSCALED else "degree"
        return between if form == "either_or" else named.get(form, "open")
    if form == "which" or len(claimed) < 2:
        return "yes_no" if form == "yes_no" else "which"
    return "yes_no" if form == "yes_no" and not graded else "degree"
