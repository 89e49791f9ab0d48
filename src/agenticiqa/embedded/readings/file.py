"""Readings of the file itself, of overall quality, of the sort of picture, and of text."""

import math
from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from agenticiqa.embedded.findings import findings, level_sentence, level_word, measured_of
from agenticiqa.embedded.looking import Look
from agenticiqa.embedded.properties import properties
from agenticiqa.embedded.readings.base import PLACES, PropertyReading, chances_at, pixels_of, placed, reader
from agenticiqa.embedded.readings.detail import READ, severities
from agenticiqa.embedded.readings.people import REMARKS, wanting
from agenticiqa.pictures.file_facts import CameraSettings, camera_settings
from agenticiqa.pictures.images import LoadedImage, UInt8Image
from agenticiqa.tools.metrics import MetricInputError
from agenticiqa.tools.metrics.jpeg_quality import jpeg_quality_of_file
from agenticiqa.vision.appearance.views import lightness, reduced
from agenticiqa.vision.scene import LEVELS
from agenticiqa.vocabulary import CATEGORIES

LOSSY = frozenset({"JPEG", "MPO", "HEIF", "AVIF"})
LOSSLESS = frozenset({"PNG", "BMP", "GIF", "PPM", "TGA"})


def jpeg_quality(image: LoadedImage) -> float | None:
    """The encoder's setting by the file's tables; None where it is no JPEG file."""
    if image.format not in ("JPEG", "MPO"):
        return None
    try:
        return jpeg_quality_of_file(image.data)
    except MetricInputError:
        return None


@reader("file_format")
def file_format(look: Look) -> PropertyReading:
    """Format, size and, of a JPEG file, the quality it was saved with."""
    image = look.image
    quality = jpeg_quality(image)
    saved = f", saved at JPEG quality {quality:.0f}" if quality is not None else ""
    depth = ", 16 bits per sample" if image.precise is not None else ""
    numbers: dict[str, float | str] = {"format": image.format, "bytes": len(image.data)}
    if quality is not None:
        numbers["jpeg_quality"] = quality
    values = {name: float(image.format == name.upper()) for name in ("jpeg", "png", "webp", "tiff", "gif")}
    return PropertyReading(
        f"{image.format} file of {_size(len(image.data))}{saved}{depth}.",
        values=values | {"lossless": float(image.format in LOSSLESS), "lossy": float(image.format in LOSSY)},
        numbers=numbers,
    )


def _size(count: int) -> str:
    """
    >>> _size(900), _size(25_300), _size(4_200_000)
    ('900 bytes', '25 kB', '4.2 MB')
    """
    if count < 1000:
        return f"{count} bytes"
    return f"{count / 1000:.0f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"


@reader("camera_settings")
def settings(look: Look) -> PropertyReading | None:
    """Exposure time, aperture, sensitivity, lens, camera and date by the file's EXIF; None where it holds none."""
    texts = _exif_texts(camera_settings(look.image.data))
    if not texts:
        return None
    return PropertyReading(f"{', '.join(texts.values())} (by the file's EXIF).", numbers=dict(texts))


def _exif_texts(found: CameraSettings) -> dict[str, str]:
    every = {
        "exposure_time": found.shutter,
        "aperture": f"f/{found.aperture:.1f}" if found.aperture else None,
        "iso": f"ISO {found.iso}" if found.iso else None,
        "focal_length": f"{found.focal_mm:.0f} mm" if found.focal_mm else None,
        "lens": found.lens,
        "camera": found.camera,
        "date": found.taken,
    }
    return {name: text for name, text in every.items() if text}


# --- Quality on the whole, whether anything is wrong, and how much ---


# An unchanged picture scores about 4.6 without a reference, near 5 with one; damage that people see lies below.
NOTICED_ALONE, SPREAD_ALONE = 4.0, 0.25
NOTICED_BESIDE, SPREAD_BESIDE = 4.3, 0.15
# Where on the axis of "how many" each number of flaws lies; three and more are many.
_PLACE_OF_COUNT = {0: 0.0, 1: 0.25, 2: 0.75}
_COUNTED = ("no", "one", "two", "three", "four")


@reader("quality")
def quality(look: Look) -> PropertyReading:
    """The levels bad to excellent are the five places."""
    levels = look.reading.level_probabilities
    return PropertyReading(
        level_word(look),
        amounts=tuple(levels[level] for level in LEVELS),
        numbers={"score": round(look.reading.score, 4)},
        measured=(level_sentence(look),),
    )


@reader("flaw")
def flaw(look: Look) -> PropertyReading:
    """The worst category; where none is found, a low score still says that something is wrong."""
    worst = max(CATEGORIES, key=look.severity)
    found = look.reading.severity_probabilities[worst]
    noticed = damage_chance(look)
    if noticed > 1 - found[0]:
        visible = 1 - found[0]
        shares = [chance / visible for chance in found[1:]] if visible > 0 else [0.0, 1.0, 0.0, 0.0]
        found = (1 - noticed, *(noticed * share for share in shares))
    meant = () if look.visible() else wanting(look)
    said = " and ".join((asked := properties()[name]).mild or asked.word(REMARKS[name]) for name in meant)
    return PropertyReading(
        f"Nothing is broken, though it looks {said}." if meant else " ".join(findings(look)),
        wanting=meant,
        amounts=tuple(found),
        values={name: 1 - severities(look, damage)[0] for name, damage in READ.items() if not damage.guess},
        numbers={"chance_of_damage": round(1 - found[0], 4)}
        | ({} if look.beside is None else {"chance_noticed_beside": round(noticed, 4)}),
        measured=measured_of(look),
    )


def damage_chance(look: Look) -> float:
    """The chance that people notice damage, from the score alone; beside a reference they notice more."""
    bound, spread = (NOTICED_ALONE, SPREAD_ALONE) if look.beside is None else (NOTICED_BESIDE, SPREAD_BESIDE)
    return 1 / (1 + math.exp(max(-50.0, min(50.0, (look.reading.score - bound) / spread))))


@reader("flaw_count")
def flaw_count(look: Look) -> PropertyReading:
    """How many categories are seen, each there or not with its own chance."""
    chances = [1.0]
    for category in CATEGORIES:
        there = look.reading.presence(category)
        chances = [
            stays * (1 - there) + came * there for stays, came in zip([*chances, 0.0], [0.0, *chances], strict=True)
        ]
    amounts = dict.fromkeys(PLACES, 0.0)
    for count, chance in enumerate(chances):
        amounts[_PLACE_OF_COUNT.get(count, 1.0)] += chance
    seen = len(look.visible())
    kinds = "kind" if seen == 1 else "kinds"
    number = _COUNTED[seen] if seen < len(_COUNTED) else str(seen)
    return PropertyReading(
        f"{number.capitalize()} {kinds} of damage can be seen. " + " ".join(findings(look)),
        amounts=tuple(amounts.values()),
        values={str(count): chance for count, chance in enumerate(chances)},
        numbers={"count": seen},
        measured=measured_of(look),
    )


# --- What sort of picture it is, and whether a camera or a generator made it ---


# The vision model's sorts by the vocabulary's values.
_SORTS = {
    "photo": ("photograph",),
    "painting": ("painting",),
    "drawing": ("drawing", "sketch"),
    "sketch": ("sketch",),
    "screenshot": ("screen",),
    "document": ("document",),
}
_PHRASES = {"screen": "a screenshot"}


@reader("picture_kind")
def picture_kind(look: Look) -> PropertyReading:
    """One of the model's sorts; ``generated`` beside them, since it excludes none."""
    sorts = look.reading.sorts
    values = {value: sum(sorts[name] for name in names) for value, names in _SORTS.items()}
    values["generated"] = look.reading.generated
    return replace(_sort(look), values=values, within={"sketch": "drawing"})


@reader("real")
def real(look: Look) -> PropertyReading:
    """Taken with a camera, or made by a generator."""
    made = look.reading.generated
    numbers = {"chance_generated": round(made, 4)}
    return replace(_sort(look), amounts=(made, 0.0, 0.0, 0.0, 1 - made), numbers=numbers)


def _sort(look: Look) -> PropertyReading:
    """The likeliest sort in words."""
    sorts, sort, made = look.reading.sorts, look.reading.sort, look.reading.generated
    phrase = _PHRASES.get(sort, f"a {sort}")
    said = f"It looks like {phrase}{', made by a program rather than a camera' if made >= 0.5 else ''}."
    return PropertyReading(
        said, measured=(f"Chance of {phrase} {sorts[sort]:.0%}, of a generated picture {made:.0%}.",)
    )


# --- Whether text could be read ---


SIDE = 1600
LOWEST, HIGHEST = 5, 0.25
"""A letter is at least so many pixels and at most so much of the frame high."""
FEWEST = 12
"""Letters that stand in lines, below which nothing is called text."""
HEIGHT = (5.0, 7.0, 9.0, 12.0, 18.0)
"""Pixels of a small letter's height at illegible to easy."""
CONTRAST = (0.05, 0.15, 0.25, 0.40, 0.60)
"""Of lightness between strokes and ground."""


@dataclass(frozen=True)
class Letters:
    """What looks like letters in lines."""

    count: int
    height: float
    stroke: float
    contrast: float


@reader("legible")
def legible(look: Look) -> PropertyReading | None:
    """None where nothing looks like lines of letters."""
    found = letters_in(pixels_of(look))
    if found is None:
        return None
    amount = min(placed(found.height, HEIGHT), placed(found.contrast, CONTRAST))
    texts = "can probably be read" if amount >= 0.5 else "is probably hard to read"
    return PropertyReading(
        f"What looks like text {texts}.",
        amounts=chances_at(amount, 0.18),
        guess=True,
        measured=(
            f"Letters are {found.height:.0f} px high, strokes {found.stroke:.1f} px wide, and stand out by "
            f"{found.contrast:.0%} of lightness.",
        ),
        numbers={"letters": found.count, "height": round(found.height, 1), "contrast": round(found.contrast, 3)},
    )


def letters_in(rgb: UInt8Image) -> Letters | None:
    """Connected strokes darker or lighter than what is around them, of like height and side by side."""
    small = reduced(rgb, SIDE)
    light = lightness(small)
    around = cv2.GaussianBlur(light, (0, 0), 12)
    found = [each for sign in (-1, 1) if (each := _lines_of_letters(sign * (light - around), light))]
    return max(found, key=lambda each: each.count, default=None)


def _lines_of_letters(stands_out: npt.NDArray[Any], light: npt.NDArray[Any]) -> Letters | None:
    mask = (stands_out > 0.05).astype(np.uint8)
    _, labels, stats, centres = cv2.connectedComponentsWithStats(mask, connectivity=8)
    height, width, area = stats[:, cv2.CC_STAT_HEIGHT], stats[:, cv2.CC_STAT_WIDTH], stats[:, cv2.CC_STAT_AREA]
    fill = area / np.maximum(height * width, 1)
    letter = (height >= LOWEST) & (height <= HIGHEST * light.shape[0]) & (width <= 3 * height)
    letter &= (fill > 0.15) & (fill < 0.9)
    letter[0] = False
    places = np.flatnonzero(letter)
    if len(places) < FEWEST:
        return None
    kept = [at for at in places.tolist() if _stands_in_a_line(at, places, stats, centres)]
    if len(kept) < FEWEST:
        return None
    inside = np.isin(labels, kept)
    ground = (cv2.dilate(inside.astype(np.uint8), np.ones((5, 5), np.uint8)) > 0) & (mask == 0)
    contrast = abs(float(np.median(light[inside])) - float(np.median(light[ground]))) if ground.any() else 0.0
    depth = np.asarray(cv2.distanceTransform(inside.astype(np.uint8), cv2.DIST_L2, 3), np.float32)
    stroke = 2 * float(np.percentile(depth[inside], 80))
    return Letters(len(kept), float(np.median(np.asarray(height, np.float64)[kept])), stroke, contrast)


def _stands_in_a_line(at: int, places: npt.NDArray[Any], stats: npt.NDArray[Any], centres: npt.NDArray[Any]) -> bool:
    """Whether at least four others of like height stand on the same line, to a pixel or two."""
    height = stats[:, cv2.CC_STAT_HEIGHT]
    feet = stats[:, cv2.CC_STAT_TOP] + height
    beside = np.abs(centres[places, 0] - centres[at, 0]) < 5 * height[at]
    alike = (height[places] < 1.7 * height[at]) & (height[places] > height[at] / 1.7)
    on_line = np.abs(feet[places] - feet[at]) <= max(1, round(0.06 * height[at]))
    return int((beside & alike & on_line).sum()) > 4
