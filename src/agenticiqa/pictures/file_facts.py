"""What the camera wrote beside the picture: exposure time, aperture, sensitivity, lens, date (EXIF, CIPA DC-008)."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

from PIL import ExifTags, Image

from agenticiqa.pictures.images import load_image, opened_picture, read_picture_file
from agenticiqa.runtime.config import ImageLimits

LONGEST_TEXT = 80
"""Names in a file come from outside: longer ones are cut."""


@dataclass(frozen=True)
class CameraSettings:
    """Each None where the file does not say."""

    seconds: float | None = None
    """Exposure time."""
    aperture: float | None = None
    """The f-number."""
    iso: int | None = None
    focal_mm: float | None = None
    camera: str | None = None
    lens: str | None = None
    taken: str | None = None
    """Date and time by the camera's clock."""

    @property
    def known(self) -> bool:
        return self != CameraSettings()

    @property
    def shutter(self) -> str | None:
        """The exposure time as cameras show it.

        >>> CameraSettings(seconds=0.004).shutter, CameraSettings(seconds=2.5).shutter
        ('1/250 s', '2.5 s')
        """
        if self.seconds is None:
            return None
        return f"{self.seconds:.3g} s" if self.seconds > 0.4 else f"1/{1 / self.seconds:.0f} s"


def camera_settings(data: bytes) -> CameraSettings:
    """Read a file's EXIF; damaged entries count as missing."""
    try:
        with Image.open(io.BytesIO(data)) as opened:
            main = opened.getexif()
            fine = main.get_ifd(ExifTags.IFD.Exif)
    except (OSError, SyntaxError, ValueError, TypeError, Image.DecompressionBombError):
        # Raw files, and tables that Pillow cannot follow: the picture itself has been read by others.
        return CameraSettings()
    tags = ExifTags.Base
    maker, model = _setting_text(main.get(tags.Make)), _setting_text(main.get(tags.Model))
    return CameraSettings(
        seconds=_setting_number(fine.get(tags.ExposureTime)),
        aperture=_setting_number(fine.get(tags.FNumber)),
        iso=_whole(fine.get(tags.ISOSpeedRatings)),
        focal_mm=_setting_number(fine.get(tags.FocalLength)),
        camera=_camera_name(maker, model),
        lens=_setting_text(fine.get(tags.LensModel)),
        taken=_setting_text(fine.get(tags.DateTimeOriginal)),
    )


def _camera_name(maker: str | None, model: str | None) -> str | None:
    """
    >>> _camera_name("Canon", "Canon EOS R5"), _camera_name("SONY", "ILCE-7M4"), _camera_name("Apple", None)
    ('Canon EOS R5', 'SONY ILCE-7M4', 'Apple')
    """
    if maker and model:
        return model if model.casefold().startswith(maker.split()[0].casefold()) else f"{maker} {model}"
    return model or maker


def _setting_number(value: Any) -> float | None:
    try:
        found = float(Fraction(value)) if not isinstance(value, (float, tuple)) else float(_first_setting(value))
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        return None
    return found if math.isfinite(found) and found > 0 else None


def _whole(value: Any) -> int | None:
    found = _setting_number(_first_setting(value) if isinstance(value, tuple) else value)
    return None if found is None else round(found)


def _first_setting(value: Any) -> Any:
    return value[0] if isinstance(value, tuple) else value


def _setting_text(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    plain = "".join(letter for letter in value if letter.isprintable()).strip()
    return plain[:LONGEST_TEXT] or None


# --- When a photograph was taken, as its camera wrote it down ---


EXIF_BLOCK = 0x8769
TAKEN, DIGITIZED, PART_OF_SECOND = 0x9003, 0x9004, 0x9291
_EXIF_MARK = b"Exif"
_ALWAYS_ASKED = frozenset({"TIFF", "HEIF", "PNG", "AVIF"})
"""Formats that keep EXIF data without that mark, or packed."""
_FORM = "%Y:%m:%d %H:%M:%S"


def capture_time(data: bytes, code: str) -> datetime | None:
    """By the file's own clock, without a time zone; None where it says nothing that can be read."""
    if code not in _ALWAYS_ASKED and _EXIF_MARK not in data:
        return None
    try:
        with Image.open(io.BytesIO(data)) as opened:
            block = opened.getexif().get_ifd(EXIF_BLOCK)
    except (OSError, SyntaxError, ValueError, KeyError, TypeError):
        # The picture was decoded before; what stands beside it may still be damaged, and is then worth nothing.
        return None
    return _parsed(block.get(TAKEN) or block.get(DIGITIZED), block.get(PART_OF_SECOND))


def _parsed(text: object, part: object) -> datetime | None:
    """
    >>> _parsed("2024:05:01 10:00:02", "25").isoformat()
    '2024-05-01T10:00:02.250000'
    >>> _parsed("0000:00:00 00:00:00", None)
    """
    try:
        whole = datetime.strptime(str(text).strip("\0 "), _FORM)
    except ValueError:
        return None
    digits = re.match(r"\d{1,6}", str(part or "").strip("\0 "))
    return whole + timedelta(seconds=float(f"0.{digits[0]}")) if digits else whole


# --- What a picture's file says about itself: its kind, and how it was taken ---


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
