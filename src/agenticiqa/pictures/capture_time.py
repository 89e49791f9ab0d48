"""When a photograph was taken, as its camera wrote it down."""

from __future__ import annotations

import io
import re
from datetime import datetime, timedelta

from PIL import Image

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
