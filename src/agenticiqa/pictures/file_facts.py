"""What a picture's file says about itself: its kind, and how it was taken.

Where it was taken, who took it, and numbers that name a single camera are never read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import ExifTags, Image

from agenticiqa.pictures.images import load_image, opened_picture, read_picture_file
from agenticiqa.runtime.config import ImageLimits

LONGEST = 80
_NOT_PRINTABLE = re.compile(r"[^\x20-\x7e\xa0-\u1fff\u3000-\ud7ff]")


@dataclass(frozen=True)
class FileFacts:
    format: str
    bytes: int
    size: tuple[int, int]
    frames: int
    notes: tuple[str, ...]
    taken: dict[str, str]
    """Camera, lens, exposure, aperture, ISO, focal length, date, program: those that the file names."""


def read_file_facts(path: str | Path, limits: ImageLimits | None = None) -> FileFacts:
    """Facts about one picture file, opened under the same limits as for judging it."""
    limits = limits or ImageLimits()
    image = load_image(path, limits)
    data = read_picture_file(path, limits)
    frames, taken = 1, {}
    with opened_picture(data, str(path), limits, str(path)) as opened:
        if isinstance(opened, Image.Image):
            frames = int(getattr(opened, "n_frames", 1))
            taken = how_it_was_taken(opened.getexif())
    return FileFacts(image.format, len(data), image.size, frames, image.notes, taken)


def how_it_was_taken(exif: Image.Exif) -> dict[str, str]:
    """The few entries of EXIF that explain how a picture looks, in words."""
    details = exif.get_ifd(ExifTags.IFD.Exif)
    base = ExifTags.Base
    found = {
        "camera": _camera(exif),
        "lens": _text(details.get(base.LensModel)),
        "exposure": _exposure(details.get(base.ExposureTime)),
        "aperture": _number("f/{:.2g}", details.get(base.FNumber)),
        "iso": _number("ISO {:.0f}", _first(details.get(base.ISOSpeedRatings))),
        "focal_length": _focal_length(details),
        "date": _date(details.get(base.DateTimeOriginal) or exif.get(base.DateTime)),
        "program": _text(exif.get(base.Software)),
    }
    return {name: words for name, words in found.items() if words}


def _camera(exif: Image.Exif) -> str:
    maker, model = _text(exif.get(ExifTags.Base.Make)), _text(exif.get(ExifTags.Base.Model))
    return model if model.lower().startswith(maker.lower()) else f"{maker} {model}".strip()


def _exposure(value: Any) -> str:
    """
    >>> _exposure(0.004), _exposure(2.5), _exposure(None)
    ('1/250 s', '2.5 s', '')
    """
    number = _as_number(value)
    if number is None or number <= 0:
        return ""
    return f"1/{1 / number:.0f} s" if number < 0.4 else f"{number:.2g} s"


def _focal_length(details: Mapping[int, Any]) -> str:
    own = _number("{:.3g} mm", details.get(ExifTags.Base.FocalLength))
    like = _number("{:.0f} mm", details.get(ExifTags.Base.FocalLengthIn35mmFilm))
    return f"{own} (like {like})" if own and like and own != like else own or like


def _date(value: Any) -> str:
    """
    >>> _date("2024:05:17 09:30:00")
    '2024-05-17 09:30'
    """
    found = re.match(r"(\d{4}):(\d\d):(\d\d) (\d\d:\d\d)", value) if isinstance(value, str) else None
    return "{}-{}-{} {}".format(*found.groups()) if found else ""


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, tuple) and value else value


def _number(pattern: str, value: Any) -> str:
    number = _as_number(value)
    return pattern.format(number) if number is not None and number > 0 else ""


def _as_number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError, ZeroDivisionError):
        return None
    # Rationals with a zero below are not a number, or without end.
    return number if abs(number) < 1e9 else None


def _text(value: Any) -> str:
    return _NOT_PRINTABLE.sub("", value).strip()[:LONGEST] if isinstance(value, str) else ""
