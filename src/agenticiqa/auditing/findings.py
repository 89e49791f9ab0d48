"""What may be found in a picture: the names that filters, ``--fail-on`` and tables use, and when each holds."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFilter, ImageStat

from agenticiqa.embedded.looking import Look
from agenticiqa.errors import ConfigError
from agenticiqa.pictures.images import LoadedImage
from agenticiqa.pictures.likeness import SIDE, Fingerprints, fingerprints_of
from agenticiqa.score_fusion import ScoreFusion
from agenticiqa.vision.network import load_vision
from agenticiqa.vision.picture_facts import BLANK_DEVIATION
from agenticiqa.vision.scene import FLAW_IS_THERE, Scene
from agenticiqa.vocabulary import SEVERITIES


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


def checked_names(names: Sequence[str]) -> tuple[str, ...]:
    """The names as given; one that is none of ours is an error, because a check for it would always pass."""
    for name in names:
        if name not in BY_NAME:
            raise ConfigError(f"There is no finding {name!r}.", hint=f"Known: {', '.join(NAMES)}.")
    return tuple(names)


def measured_findings(measures: PictureMeasures, size: tuple[int, int]) -> Findings:
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


def sharpness(measures: PictureMeasures) -> float:
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


# --- What can be told of a picture without a model ---


THUMBNAIL_SIDE, THUMBNAIL_QUALITY = 160, 60
SAMPLED_PIXELS = 40_000
EDGE_SIDE = 64
DETAIL_SIDE = 1024
COLOUR_FROM = 4
"""Levels by which channels differ where there is any colour."""
DARK_PERCENTILE, LIGHT_PERCENTILE = 99, 5
_WEIGHTS = np.array([0.241, 0.691, 0.068], np.float32)
"""Of the squares of red, green and blue in the brightness that is perceived."""


@dataclass(frozen=True)
class PictureMeasures:
    """Numbers of one picture."""

    bright_parts: float
    """Brightness 0..1 that one pixel in a hundred exceeds."""
    dark_parts: float
    """Brightness 0..1 below which one pixel in twenty lies."""
    brightness: float
    """Mean, 0..1."""
    entropy: float
    """Of the histogram of all channels, in bits."""
    edges: float
    """Spread of edge strength at 64 pixels: low where nothing is sharp."""
    tones: float
    """Spread of the counts of the grey levels: high where few of them hold most of the picture."""
    deviation: float
    """Of the grey levels, of 255."""
    detail: float
    """Strength of the finest structures at native size: tells the sharpest of several shots of one scene."""
    has_colour: bool


@dataclass(frozen=True)
class SmallCopy:
    """What is kept of a picture to show it and to find it again."""

    thumbnail: bytes
    """A small JPEG file."""
    prints: Fingerprints


def measured(image: LoadedImage) -> tuple[PictureMeasures, SmallCopy]:
    """Numbers and a small copy, from one decoded picture."""
    small = image.pil.copy() if max(image.size) <= THUMBNAIL_SIDE else _reduced(image.pil)
    grey = small.convert("L")
    return _measures(image, grey), SmallCopy(_as_jpeg(small), fingerprints_of(_square(grey)))


def pixel_digest(image: LoadedImage) -> str:
    """Equal for pictures whose pixels are all equal, in whatever file they stand."""
    digest = hashlib.blake2b(np.ascontiguousarray(image.measurable).data, digest_size=16)
    digest.update(repr(image.size).encode())
    return digest.hexdigest()


def _measures(image: LoadedImage, grey: Image.Image) -> PictureMeasures:
    sample = _spread_pixels(image.rgb)
    squares = sample.astype(np.float32) ** 2 @ _WEIGHTS
    low, high = np.percentile(squares, [LIGHT_PERCENTILE, DARK_PERCENTILE])
    edges = grey if max(grey.size) <= EDGE_SIDE else _scaled(grey, EDGE_SIDE)
    statistics = ImageStat.Stat(edges)
    return PictureMeasures(
        bright_parts=sqrt(high) / 255,
        dark_parts=sqrt(low) / 255,
        brightness=float(np.sqrt(squares).mean()) / 255,
        entropy=float(Image.fromarray(sample).entropy()),
        edges=_edge_spread(edges),
        tones=float(np.std(edges.histogram())),
        deviation=float(statistics.stddev[0]),
        detail=_detail(image.rgb),
        has_colour=_has_colour(sample),
    )


def _spread_pixels(rgb: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    step = max(1, ceil(sqrt(rgb.shape[0] * rgb.shape[1] / SAMPLED_PIXELS)))
    return np.ascontiguousarray(rgb[::step, ::step])


def _edge_spread(grey: Image.Image) -> float:
    if min(grey.size) < 3:
        return 0.0
    return float(ImageStat.Stat(grey.filter(ImageFilter.FIND_EDGES)).stddev[0])


def _detail(rgb: npt.NDArray[np.uint8]) -> float:
    """In the middle of the picture: a frame of a series differs from its neighbours everywhere alike."""
    top, left = (max(0, (side - DETAIL_SIDE) // 2) for side in rgb.shape[:2])
    middle = rgb[top : top + DETAIL_SIDE, left : left + DETAIL_SIDE]
    if min(middle.shape[:2]) < 3:
        return 0.0
    grey = cv2.cvtColor(np.ascontiguousarray(middle), cv2.COLOR_RGB2GRAY)
    return float(cv2.meanStdDev(cv2.Laplacian(grey, cv2.CV_16S, ksize=3))[1][0, 0])


def _has_colour(sample: npt.NDArray[np.uint8]) -> bool:
    red, green, blue = cv2.split(sample)
    return max(float(cv2.absdiff(red, green).max()), float(cv2.absdiff(green, blue).max())) > COLOUR_FROM


def _reduced(picture: Image.Image) -> Image.Image:
    scale = THUMBNAIL_SIDE / max(picture.size)
    size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
    return picture.resize(size, Image.Resampling.BICUBIC, reducing_gap=2.0)


def _scaled(picture: Image.Image, side: int) -> Image.Image:
    scale = side / max(picture.size)
    size = (max(1, int(picture.width * scale)), max(1, int(picture.height * scale)))
    return picture.resize(size, Image.Resampling.BICUBIC)


def _square(grey: Image.Image) -> npt.NDArray[np.uint8]:
    return np.asarray(grey.resize((SIDE, SIDE), Image.Resampling.BILINEAR), np.uint8)


def _as_jpeg(small: Image.Image) -> bytes:
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=THUMBNAIL_QUALITY)
    return buffer.getvalue()


# --- What the vision model sees in a picture ---


LEAST_SIDE = 32
"""Below this the model has nothing to look at."""
POOR = 2.5
COUNTS_FROM = SEVERITIES.index("moderate")
_BY_CATEGORY = {
    "Blurs": "blurry",
    "Color distortions": "off_color",
    "Compression": "compressed",
    "Noise": "noisy",
    "Sharpness": "oversharpened",
    "Contrast": "bad_contrast",
    "Spatial distortions": "distorted",
}
_BY_FLAW = {
    "motion_blur": "motion_blur",
    "out_of_focus": "out_of_focus",
    "hazy": "hazy",
    "too_dark": "dark",
    "too_bright": "light",
}
_OTHERWISE = {"drawn": "drawing", "page": "page", "noise": "noise", "blank": "blank"}
_DRAWN_SORTS = {"drawn": ("screen", "painting", "drawing", "sketch"), "page": ("screen", "sketch")}


@dataclass(frozen=True)
class AuditLook:
    """The model's part of one picture's record."""

    score: float
    """1 (bad) to 5 (excellent), as the tool AIQA_NR gives it."""
    level: str
    """The score as a letter, A (excellent) to E (bad)."""
    sort: str
    """photograph, painting, drawing, sketch, screen, page, generated; noise or blank where nothing shows."""
    generated: float
    """The chance that the picture comes from a generator."""
    findings: Findings


def seen(image: LoadedImage) -> AuditLook | None:
    """A look at the picture; None where it is too small for one."""
    if min(image.size) < LEAST_SIDE:
        return None
    look = Look(Scene.of(load_vision(), image.rgb), image)
    reading = look.reading
    return AuditLook(
        score=round(reading.score, 3),
        level=ScoreFusion().map_to_level(reading.score),
        sort=_sort(look),
        generated=round(reading.generated, 3),
        findings=_findings(look),
    )


def _sort(look: Look) -> str:
    content, sorts = look.facts.content, look.reading.sorts
    likeliest = max(sorts, key=lambda name: sorts[name])
    if content != "photograph":
        # That it is no photograph was measured; which of the drawn sorts it is, the model tells.
        drawn = content in ("drawn", "page") and likeliest in _DRAWN_SORTS[content]
        return likeliest if drawn else _OTHERWISE[content]
    return "generated" if look.reading.generated > 0.5 and likeliest != "screen" else likeliest


def _findings(look: Look) -> Findings:
    reading, found = look.reading, {}
    for category, name in _BY_CATEGORY.items():
        severity = look.severity_name(category)
        if SEVERITIES.index(severity) >= COUNTS_FROM:
            found[name] = f"{category.lower()}: {severity}"
    for flaw, name in _BY_FLAW.items():
        # Facts may have ruled out the category since.
        chance = min(reading.flaws[flaw], reading.presence(look.scene.vision.flaws[flaw]))
        if chance > FLAW_IS_THERE:
            found[name] = f"seen with a chance of {chance:.0%}"
    if reading.score < POOR:
        found["poor"] = f"score {reading.score:.1f} of 5"
    return found
