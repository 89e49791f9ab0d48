"""What a picture's file says about itself: its kind, and how and when it was taken (EXIF, CIPA DC-008)."""

import io
import math
import re
from base64 import b64encode
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from PIL import ExifTags, Image

from agenticiqa.errors import ImageError
from agenticiqa.pictures import isolation
from agenticiqa.pictures.formats import is_heic, open_heic
from agenticiqa.pictures.images import decode_image, opened_picture, read_picture_file
from agenticiqa.runtime.config import ImageLimits

LONGEST_TEXT = 80
"""Names in a file come from outside: longer ones are cut."""
LARGEST_PROFILE = 65_536


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
    """Date and time by the camera's clock, as the file writes them."""
    focal_35mm: float | None = None
    """The focal length that would show as much on 35 mm film."""
    program: str | None = None
    changed: str | None = None
    """Date and time of the last change."""
    time: datetime | None = None
    """When it was taken, with parts of a second and without a time zone."""

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
        with open_heic(data, "The picture") if is_heic(data) else Image.open(io.BytesIO(data)) as opened:
            main = opened.getexif()
            fine = main.get_ifd(ExifTags.IFD.Exif)
    except (OSError, SyntaxError, ValueError, KeyError, TypeError, Image.DecompressionBombError, ImageError):
        # Raw files, and tables that Pillow cannot follow: the picture itself has been read by others.
        return CameraSettings()
    tags = ExifTags.Base
    iso = _number(fine.get(tags.ISOSpeedRatings))
    taken = _text(fine.get(tags.DateTimeOriginal)) or _text(fine.get(tags.DateTimeDigitized))
    return CameraSettings(
        seconds=_number(fine.get(tags.ExposureTime)),
        aperture=_number(fine.get(tags.FNumber)),
        iso=None if iso is None else round(iso),
        focal_mm=_number(fine.get(tags.FocalLength)),
        camera=_camera_name(_text(main.get(tags.Make)), _text(main.get(tags.Model))),
        lens=_text(fine.get(tags.LensModel)),
        taken=taken,
        focal_35mm=_number(fine.get(tags.FocalLengthIn35mmFilm)),
        program=_text(main.get(tags.Software)),
        changed=_text(main.get(tags.DateTime)),
        time=_time(taken, fine.get(tags.SubsecTimeOriginal)),
    )


def _camera_name(maker: str | None, model: str | None) -> str | None:
    """
    >>> _camera_name("Canon", "Canon EOS R5"), _camera_name("SONY", "ILCE-7M4"), _camera_name("Apple", None)
    ('Canon EOS R5', 'SONY ILCE-7M4', 'Apple')
    """
    if maker and model:
        return model if model.casefold().startswith(maker.split()[0].casefold()) else f"{maker} {model}"
    return model or maker


def _number(value: Any) -> float | None:
    try:
        found = float(value[0] if isinstance(value, tuple) and value else value)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        return None
    return found if math.isfinite(found) and found > 0 else None


def _text(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    plain = "".join(letter for letter in value if letter.isprintable()).strip()
    return plain[:LONGEST_TEXT] or None


def _time(text: str | None, part: object) -> datetime | None:
    """
    >>> _time("2024:05:01 10:00:02", "25").isoformat()
    '2024-05-01T10:00:02.250000'
    >>> _time("0000:00:00 00:00:00", None)
    """
    try:
        whole = datetime.strptime(text or "", "%Y:%m:%d %H:%M:%S")
    except ValueError:
        return None
    digits = re.match(r"\d{1,6}", str(part or "").strip("\0 "))
    return whole + timedelta(seconds=float(f"0.{digits[0]}")) if digits else whole


@dataclass(frozen=True)
class FileFacts:
    format: str
    bytes: int
    size: tuple[int, int]
    frames: int
    notes: tuple[str, ...]
    taken: dict[str, str]
    """Camera, lens, exposure, aperture, ISO, focal length, date, program: those that the file names."""
    profile: str = ""
    """The colour profile, in base64; empty where there is none, or one that is larger than profiles of cameras are."""


def read_file_facts(path: str | Path, limits: ImageLimits | None = None) -> FileFacts:
    """Facts about one picture file, opened under the same limits as for judging it."""
    limits, elsewhere = limits or ImageLimits(), isolation.pool()
    data, name = read_picture_file(path, limits), str(path)
    about, _ = facts_apart(data, name, limits) if elsewhere is None else elsewhere.ask("facts", data, name, limits)
    return FileFacts(**{**about, "size": tuple(about["size"]), "notes": tuple(about["notes"])})


def facts_apart(data: bytes, path: str, limits: ImageLimits) -> isolation.Reply:
    """What :func:`read_file_facts` asks another process."""
    image = decode_image(data, path=path, limits=limits)
    with opened_picture(data, path, limits, path) as opened:
        frames = int(getattr(opened, "n_frames", 1))
    taken = _in_words(camera_settings(data))
    colours = image.pil.info.get("icc_profile") or b""
    profile = b64encode(colours).decode() if len(colours) <= LARGEST_PROFILE else ""
    return asdict(FileFacts(image.format, len(data), image.size, frames, image.notes, taken, profile)), []


def _in_words(found: CameraSettings) -> dict[str, str]:
    """The few entries that explain how a picture looks.

    >>> _in_words(CameraSettings(iso=400, focal_mm=5.7, focal_35mm=26, taken="2024:05:17 09:30:00"))
    {'iso': 'ISO 400', 'focal_length': '5.7 mm (like 26 mm)', 'date': '2024-05-17 09:30'}
    """
    own = f"{found.focal_mm:.3g} mm" if found.focal_mm else None
    like = f"{found.focal_35mm:.0f} mm" if found.focal_35mm else None
    date = re.match(r"(\d{4}):(\d\d):(\d\d) (\d\d:\d\d)", found.taken or found.changed or "")
    words = {
        "camera": found.camera,
        "lens": found.lens,
        "exposure": found.shutter,
        "aperture": f"f/{found.aperture:.2g}" if found.aperture else None,
        "iso": f"ISO {found.iso}" if found.iso else None,
        "focal_length": f"{own} (like {like})" if own and like and own != like else own or like,
        "date": "{}-{}-{} {}".format(*date.groups()) if date else None,
        "program": found.program,
    }
    return {name: text for name, text in words.items() if text}
