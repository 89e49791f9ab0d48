"""What may be found in a picture: the names that filters, ``--fail-on`` and tables use, and when each holds."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFilter, ImageStat

from agenticiqa._data import read_data
from agenticiqa.embedded.looking import Look
from agenticiqa.embedded.readings import people
from agenticiqa.errors import ConfigError
from agenticiqa.pictures.images import LoadedImage
from agenticiqa.pictures.likeness import SIDE, SmallView, fingerprints_of
from agenticiqa.score_fusion import ScoreFusion
from agenticiqa.vision.appearance.text import text_chance
from agenticiqa.vision.network import load_vision
from agenticiqa.vision.picture_facts import BLANK_DEVIATION
from agenticiqa.vision.scene import FLAW_THRESHOLD, LEAST_SIDE, Scene, sort_of
from agenticiqa.vocabulary import SEVERITIES

_WORDS = read_data("auditing/findings.yaml")
MEANINGS: dict[str, str] = _WORDS["meanings"]
"""What each finding means, in the order in which they are told. Those from ``poor`` on are the vision model's alone."""
NAMES = tuple(MEANINGS)
REASONS: dict[str, str] = _WORDS["reasons"]
"""Findings that speak against a picture, in people's words."""
PURPOSES: dict[str, dict[str, Any]] = _WORDS["purposes"]

Findings = dict[str, str]
"""Names, and why each holds."""

DARK, LIGHT = 0.32, 0.95
LITTLE_ENTROPY = 3.0
FEW_EDGES, FEW_TONES, BLURRY = 0.01, 0.18, 0.29
LEAST_DETAIL = 4.0
"""At native size; of 1,012 photographs of six collections one measures less, and it is blurred."""
ODD_RATIO = 0.35
SMALL_SIDE = 300
"""Pixels of the shorter side, below which a picture is hardly more than a thumbnail."""


def checked_names(names: Sequence[str]) -> tuple[str, ...]:
    """The names as given; one that is none of ours is an error, because a check for it would always pass."""
    for name in names:
        if name not in MEANINGS:
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
    if min(size) < SMALL_SIDE:
        found["too_small"] = f"{size[0]}×{size[1]} pixels"
    return found


def sharpness(measures: PictureMeasures) -> float:
    """0..1 and up: edges, or a picture of few tones, where missing edges mean nothing."""
    edges = 1 - float(np.exp(-FEW_EDGES * measures.edges))
    tones = 1 - float(np.exp(-FEW_EDGES * measures.tones))
    return edges + (tones if tones > FEW_TONES else 0.0)


@dataclass(frozen=True)
class Reason:
    """The finding that tells most against a picture."""

    finding: str
    words: str

    @property
    def is_blur(self) -> bool:
        return self.finding in ("motion_blur", "out_of_focus", "blurry")


WEAK = Reason("poor", REASONS["poor"])


def reason_of(found: Collection[str], among: Collection[str] = REASONS) -> Reason | None:
    """What to say of a picture that is not kept; None where no finding speaks against it."""
    return next((Reason(name, words) for name, words in REASONS.items() if name in found and name in among), None)


def in_order(found: Mapping[str, str]) -> Findings:
    """The same in the order of :data:`NAMES`."""
    return {name: found[name] for name in NAMES if name in found}


# --- What can be told of a picture without a model ---


THUMBNAIL_SIDE, THUMBNAIL_QUALITY = 160, 60
SAMPLED_PIXELS = 40_000
EDGE_SIDE = 64
DETAIL_GRID, DETAIL_TILE = 8, 128
NEAR_MIDDLE = np.outer(*[np.hanning(DETAIL_GRID + 2)[1:-1]] * 2)
"""How much each place of the grid counts where nothing else is known."""
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
    details: list[int]
    """The same in tenths at eight by eight places, row by row."""
    has_colour: bool


def measured(image: LoadedImage) -> tuple[PictureMeasures, SmallView]:
    """Numbers and a small view, from one decoded picture."""
    small, scale = image.pil, THUMBNAIL_SIDE / max(image.size)
    if scale < 1:
        size = (max(1, round(small.width * scale)), max(1, round(small.height * scale)))
        small = small.resize(size, Image.Resampling.BICUBIC, reducing_gap=2.0)
    file = io.BytesIO()
    small.save(file, "JPEG", quality=THUMBNAIL_QUALITY)
    grey = small.convert("L")
    square = np.asarray(grey.resize((SIDE, SIDE), Image.Resampling.BILINEAR), np.uint8)
    return _measures(image, grey), SmallView(file.getvalue(), fingerprints_of(square))


def pixel_digest(image: LoadedImage) -> str:
    """Equal for pictures whose pixels are all equal, in whatever file they stand."""
    digest = hashlib.blake2b(np.ascontiguousarray(image.measurable).data, digest_size=16)
    digest.update(repr(image.size).encode())
    return digest.hexdigest()


def _measures(image: LoadedImage, grey: Image.Image) -> PictureMeasures:
    height, width = image.rgb.shape[:2]
    step = max(1, ceil(sqrt(height * width / SAMPLED_PIXELS)))
    sample = np.ascontiguousarray(image.rgb[::step, ::step])
    squares = sample.astype(np.float32) ** 2 @ _WEIGHTS
    low, high = np.percentile(squares, [LIGHT_PERCENTILE, DARK_PERCENTILE])
    tiny, scale = grey, EDGE_SIDE / max(grey.size)
    if scale < 1:
        tiny = grey.resize(
            (max(1, int(grey.width * scale)), max(1, int(grey.height * scale))), Image.Resampling.BICUBIC
        )
    edges = ImageStat.Stat(tiny.filter(ImageFilter.FIND_EDGES)).stddev[0] if min(tiny.size) >= 3 else 0.0
    channels, details = sample.astype(np.int16), _details(image.rgb)
    return PictureMeasures(
        bright_parts=sqrt(high) / 255,
        dark_parts=sqrt(low) / 255,
        brightness=float(np.sqrt(squares).mean()) / 255,
        entropy=float(Image.fromarray(sample).entropy()),
        edges=float(edges),
        tones=float(np.std(tiny.histogram())),
        deviation=float(ImageStat.Stat(tiny).stddev[0]),
        detail=float(np.sqrt(np.square(details).mean())),
        details=[round(10 * float(each)) for each in details.ravel()],
        # Red and green, green and blue.
        has_colour=bool(np.abs(np.diff(channels, axis=2)).max() > COLOUR_FROM),
    )


def _details(rgb: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """Strength of the finest structures at native size, at places all over the picture."""
    height, width = rgb.shape[:2]
    if min(height, width) < 3 * DETAIL_GRID:
        return np.zeros((DETAIL_GRID, DETAIL_GRID), np.float32)
    found = np.empty((DETAIL_GRID, DETAIL_GRID), np.float32)
    for row, column in np.ndindex(found.shape):
        high, wide = (min(DETAIL_TILE, side // DETAIL_GRID) for side in (height, width))
        top, left = (
            int((row + 0.5) * height / DETAIL_GRID - high / 2),
            int((column + 0.5) * width / DETAIL_GRID - wide / 2),
        )
        grey = cv2.cvtColor(np.ascontiguousarray(rgb[top : top + high, left : left + wide]), cv2.COLOR_RGB2GRAY)
        found[row, column] = cv2.meanStdDev(cv2.Laplacian(grey, cv2.CV_16S, ksize=3))[1][0, 0]
    return found


def sharpest_place(details: Sequence[int]) -> list[float]:
    """Where most detail is, as shares of width and height: people sharpen what they show, and put it near the middle.

    >>> sharpest_place([0] * 18 + [90] + [0] * 45)
    [0.31, 0.31]
    """
    grid = np.reshape(np.asarray(details, np.float64) ** 2, (DETAIL_GRID, DETAIL_GRID)) * NEAR_MIDDLE
    row, column = np.unravel_index(int(grid.argmax()), grid.shape)
    return [round((float(place) + 0.5) / DETAIL_GRID, 2) for place in (column, row)]


# --- What the vision model sees in a picture ---


POOR = 2.5
COUNTS_FROM = SEVERITIES.index("moderate")
LEAST_CHANCE = {"motion_blur": 0.8, "too_dark": 0.6, "noisy": 0.95, "Contrast": 0.75}
"""What an audit asks of a flaw or of a category, where that is more than an even chance.

Nobody asked about the picture: these keep findings away from good photographs, as
``training/embedded/audit_findings.py`` counts.
"""
CALLED_OVEREXPOSED = 0.95
"""How likely people must call a picture too bright: white skies and snow look so to the model alone."""
TEXT = 0.974
"""The chance from which on lines of letters are told (``training/text_over_pictures.py``)."""
_BY_FLAW = {name: name for name in ("motion_blur", "out_of_focus", "hazy", "noisy")}
_BY_FLAW |= {"too_dark": "dark", "too_bright": "light"}
MEASURED_NAMES = tuple(
    name
    for name in NAMES
    if name not in {"poor", "text_over_picture", *_WORDS["by_category"].values(), *_BY_FLAW.values()}
)
"""Those in which the vision model has no part."""


def seen(image: LoadedImage) -> tuple[dict[str, Any], Findings]:
    """The model's part of a picture's record, and what it finds; nothing of a picture that is too small for it.

    ``score``: 1 (bad) to 5 (excellent), as the tool AIQA_NR gives it; ``level``: the score as a letter, A (excellent)
    to E (bad); ``sort``: photograph, painting, drawing, sketch, screen, document, page, generated, noise or
    blank; ``generated``: the chance that the picture comes from a generator.
    """
    if min(image.size) < LEAST_SIDE:
        return {}, {}
    look = Look(Scene.of(load_vision(), image.rgb), image)
    reading, text = look.reading, round(text_chance(image.rgb), 3)
    record = {
        "score": round(reading.score, 3),
        "level": ScoreFusion().map_to_level(reading.score),
        "sort": sort_of(reading, look.facts),
        "generated": round(reading.generated, 3),
        "text": text,
    }
    found = _findings(look)
    if text >= TEXT:
        found["text_over_picture"] = "what looks like a line of letters"
    return record, found


def _findings(look: Look) -> Findings:
    reading, found = look.reading, {}
    for category, name in _WORDS["by_category"].items():
        chance = sum(reading.severity_probabilities[category][COUNTS_FROM:])
        if chance >= LEAST_CHANCE.get(category, FLAW_THRESHOLD):
            found[name] = f"{category.lower()}: {look.severity_name(category)}"
    for flaw, name in _BY_FLAW.items():
        # Facts may have ruled out the category since.
        chance = min(reading.flaws[flaw], reading.presence(look.scene.vision.flaws[flaw]))
        if chance > LEAST_CHANCE.get(flaw, FLAW_THRESHOLD) and (name != "light" or _called_overexposed(look)):
            found.setdefault(name, f"seen with a chance of {chance:.0%}")
    if reading.score < POOR:
        found["poor"] = f"score {reading.score:.1f} of 5"
    return found


def _called_overexposed(look: Look) -> bool:
    word = people.words()["overexposed"][1]
    return word.chance(people.numbers(look, word.weights)) >= CALLED_OVEREXPOSED
