"""What may be found in a picture: the names that filters, ``--fail-on`` and tables use, and when each holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from agenticiqa.batch.audit.measures import Measures
from agenticiqa.errors import ConfigError


@dataclass(frozen=True)
class Kind:
    """A kind of finding, in words."""

    name: str
    title: str
    meaning: str
    needs_model: bool = False
    """Not looked for with ``--quick``."""


KINDS = (
    Kind("corrupt", "Corrupt", "does not open: damaged, cut off, empty, or no picture"),
    Kind("unreadable", "Unreadable", "could not be looked at: too large, too slow, or not allowed"),
    Kind("blank", "Blank", "one tone all over: nothing shows"),
    Kind("exact_duplicate", "Exact duplicate", "the same pixels as another picture"),
    Kind("near_duplicate", "Near duplicate", "another version of the same shot: encoded, scaled, cropped, brightened"),
    Kind("burst", "Burst", "the same scene as another picture, taken within seconds or by its looks"),
    Kind("dark", "Dark", "hardly anything in it is bright"),
    Kind("light", "Light", "hardly anything in it is dark"),
    Kind("blurry", "Blurry", "nothing in it is sharp"),
    Kind("low_information", "Low information", "few tones: little is to be seen"),
    Kind("grayscale", "Grayscale", "no colours"),
    Kind("odd_aspect_ratio", "Odd aspect ratio", "much longer than wide, or wider than long"),
    Kind("odd_size", "Odd size", "much larger or smaller than the other pictures of the folder"),
    Kind("wrong_ending", "Wrong ending", "another format than its name says"),
    Kind("poor", "Poor", "a score below 2.5 of 5", needs_model=True),
    Kind("motion_blur", "Motion blur", "something or everything moved", needs_model=True),
    Kind("out_of_focus", "Out of focus", "what should be sharp is not", needs_model=True),
    Kind("noisy", "Noisy", "grain that hides detail", needs_model=True),
    Kind("compressed", "Compressed", "blocks or ringing of strong compression", needs_model=True),
    Kind("hazy", "Hazy", "fog, smog or a veil of light", needs_model=True),
    Kind("off_color", "Off color", "colours that are wrong, washed out or overdone", needs_model=True),
    Kind("bad_contrast", "Bad contrast", "flat, or harsh", needs_model=True),
    Kind("oversharpened", "Oversharpened", "halos around edges", needs_model=True),
    Kind("distorted", "Distorted", "shifted, jittered or patched places", needs_model=True),
)
NAMES = tuple(kind.name for kind in KINDS)
ORDER = {name: place for place, name in enumerate(NAMES)}
BY_NAME: Mapping[str, Kind] = {kind.name: kind for kind in KINDS}

Findings = dict[str, str]
"""Names, and why each holds."""

DARK, LIGHT = 0.32, 0.95
LITTLE_ENTROPY = 3.0
FEW_EDGES, FEW_TONES, BLURRY = 0.01, 0.18, 0.29
LEAST_DETAIL = 4.0
"""At native size; of 1,012 photographs of six collections one measures less, and it is blurred."""
ODD_RATIO = 0.35
SIZE_REACH = 3.0
"""Sizes are odd beyond so many times the middle half's width."""
BLANK_DEVIATION = 2.0


def checked_names(names: Sequence[str]) -> tuple[str, ...]:
    """The names as given; one that is none of ours is an error, because a check for it would always pass."""
    for name in names:
        if name not in BY_NAME:
            raise ConfigError(f"There is no finding {name!r}.", hint=f"Known: {', '.join(NAMES)}.")
    return tuple(names)


def measured_findings(measures: Measures, size: tuple[int, int]) -> Findings:
    """What the numbers of one picture show."""
    found: Findings = {}
    if measures.deviation < BLANK_DEVIATION:
        found["blank"] = f"its brightness varies by {measures.deviation:.1f} of 255 levels"
    if measures.bright_parts < DARK:
        found["dark"] = f"99 % of it is darker than {measures.bright_parts:.0%}"
    if measures.dark_parts > LIGHT:
        found["light"] = f"95 % of it is brighter than {measures.dark_parts:.0%}"
    if measures.entropy < LITTLE_ENTROPY:
        found["low_information"] = f"{measures.entropy:.1f} bits of information in its tones"
    if sharpness(measures) < BLURRY:
        found["blurry"] = f"hardly an edge in it ({measures.edges:.0f} of 255)"
    elif measures.detail < LEAST_DETAIL and "blank" not in found:
        found["blurry"] = f"no fine detail in it ({measures.detail:.1f} of 255)"
    if not measures.has_colour:
        found["grayscale"] = "all channels are equal"
    ratio = min(size) / max(size)
    if ratio < ODD_RATIO:
        found["odd_aspect_ratio"] = f"{size[0]}×{size[1]} pixels"
    return found


def sharpness(measures: Measures) -> float:
    """0..1 and up: edges, or a picture of few tones, where missing edges mean nothing."""
    edges = 1 - float(np.exp(-FEW_EDGES * measures.edges))
    tones = 1 - float(np.exp(-FEW_EDGES * measures.tones))
    return edges + (tones if tones > FEW_TONES else 0.0)


def odd_sizes(sides: Sequence[float]) -> list[bool]:
    """Which of many pictures have another size than most; ``sides`` are square roots of areas.

    >>> odd_sizes([100, 101, 102, 103, 104, 900])
    [False, False, False, False, False, True]
    """
    if not len(sides):
        return []
    lower, upper = np.percentile(sides, [25, 75])
    reach = SIZE_REACH * (upper - lower)
    low, high = lower - reach, upper + reach
    return [bool(side < low or side > high) for side in sides]


def in_order(found: Mapping[str, str]) -> Findings:
    return dict(sorted(found.items(), key=lambda item: ORDER[item[0]]))


def failure_finding(kind: str | None) -> str:
    """What a picture without a result is called."""
    return "corrupt" if kind == "image_format" else "unreadable"
