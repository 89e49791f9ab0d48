"""Which kinds of pictures there are, and which of them open here: messages and lists are made of this."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from PIL import Image

HEIF = "HEIF"
CAMERA_RAW = "RAW"


@dataclass(frozen=True)
class PictureFormat:
    """A kind of picture file. ``code`` is Pillow's name where Pillow reads it."""

    code: str
    name: str
    endings: tuple[str, ...]
    extra: str | None = None
    """The extra of this package that brings its reader, and the module that it installs."""
    module: str | None = None

    @property
    def opens_here(self) -> bool:
        return find_spec(self.module) is not None if self.module else self.code in _pillow_reads()

    @property
    def advice(self) -> str:
        return (
            f"{self.name} needs `pip install 'agenticiqa[{self.extra}]'`"
            if self.extra
            else f"{self.name} does not open here"
        )


FORMATS = (
    PictureFormat("PNG", "PNG", (".png",)),
    PictureFormat("JPEG", "JPEG", (".jpg", ".jpeg")),
    PictureFormat("WEBP", "WebP", (".webp",)),
    PictureFormat("TIFF", "TIFF", (".tif", ".tiff")),
    PictureFormat("BMP", "BMP", (".bmp",)),
    PictureFormat("GIF", "GIF", (".gif",)),
    PictureFormat("PPM", "PPM", (".ppm", ".pgm", ".pbm", ".pnm")),
    PictureFormat("JPEG2000", "JPEG 2000", (".jp2", ".j2k")),
    # There when Pillow was built with it.
    PictureFormat("AVIF", "AVIF", (".avif",)),
    PictureFormat(HEIF, "HEIC", (".heic", ".heif", ".hif"), "heic", "pillow_heif"),
    PictureFormat(
        CAMERA_RAW,
        "camera raw",
        (
            ".3fr", ".arw", ".cr2", ".cr3", ".crw", ".dng", ".erf", ".iiq", ".kdc", ".mef", ".mos", ".mrw", ".nef",
            ".nrw", ".orf", ".pef", ".raf", ".raw", ".rw2", ".rwl", ".sr2", ".srf", ".srw", ".x3f",
        ),
        "raw",
        "rawpy",
    ),
)  # fmt: skip


@cache
def _pillow_reads() -> frozenset[str]:
    # Pillow registers the less common readers on demand only.
    Image.init()
    return frozenset(Image.OPEN)


@cache
def readable() -> tuple[PictureFormat, ...]:
    """The formats that open here."""
    return tuple(each for each in FORMATS if each.opens_here)


def readable_by_pillow() -> list[str]:
    return [each.code for each in readable() if each.module is None]


def readable_names() -> str:
    """For messages: "PNG, JPEG, … or AVIF"."""
    names = [each.name for each in readable()]
    return f"{', '.join(names[:-1])} or {names[-1]}"


def format_named(path: str | Path) -> PictureFormat | None:
    """The format that a file's name promises.

    >>> format_named("a/IMG_1.HEIC").name, format_named("notes.txt")
    ('HEIC', None)
    """
    ending = Path(path).suffix.lower()
    return next((each for each in FORMATS if ending in each.endings), None)


def find_format(code: str) -> PictureFormat:
    return next(each for each in FORMATS if each.code == code)
