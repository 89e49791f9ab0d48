"""What the camera wrote beside the picture: exposure time, aperture, sensitivity, lens, date (EXIF, CIPA DC-008)."""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from PIL import ExifTags, Image

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
    maker, model = _text(main.get(tags.Make)), _text(main.get(tags.Model))
    return CameraSettings(
        seconds=_number(fine.get(tags.ExposureTime)),
        aperture=_number(fine.get(tags.FNumber)),
        iso=_whole(fine.get(tags.ISOSpeedRatings)),
        focal_mm=_number(fine.get(tags.FocalLength)),
        camera=_camera(maker, model),
        lens=_text(fine.get(tags.LensModel)),
        taken=_text(fine.get(tags.DateTimeOriginal)),
    )


def _camera(maker: str | None, model: str | None) -> str | None:
    """
    >>> _camera("Canon", "Canon EOS R5"), _camera("SONY", "ILCE-7M4"), _camera("Apple", None)
    ('Canon EOS R5', 'SONY ILCE-7M4', 'Apple')
    """
    if maker and model:
        return model if model.casefold().startswith(maker.split()[0].casefold()) else f"{maker} {model}"
    return model or maker


def _number(value: Any) -> float | None:
    try:
        found = float(Fraction(value)) if not isinstance(value, (float, tuple)) else float(_first(value))
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        return None
    return found if math.isfinite(found) and found > 0 else None


def _whole(value: Any) -> int | None:
    found = _number(_first(value) if isinstance(value, tuple) else value)
    return None if found is None else round(found)


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, tuple) else value


def _text(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    plain = "".join(letter for letter in value if letter.isprintable()).strip()
    return plain[:LONGEST_TEXT] or None
