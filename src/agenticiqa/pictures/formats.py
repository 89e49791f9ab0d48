"""Which kinds of pictures there are, which of them open here, and how cameras' own files are opened.

Messages and lists of formats are made of this. HEIC opens through pillow-heif, raw files through LibRaw: both are
extras, without which such a file is refused with the name of the extra, and never judged by the small preview in it.
"""

from __future__ import annotations

import glob
import io
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image, TiffImagePlugin

from agenticiqa._data import read_data
from agenticiqa.errors import ImageFormatError, ImageNotFoundError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

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
    def advice(self) -> str:
        missing = f"needs `pip install 'agenticiqa[{self.extra}]'`" if self.extra else "does not open here"
        return f"{self.name} {missing}"


FORMATS = tuple(
    PictureFormat(**{**each, "endings": tuple(each["endings"])}) for each in read_data("pictures/formats.yaml")
)


@cache
def readable() -> tuple[PictureFormat, ...]:
    # Pillow registers the less common readers on demand only.
    Image.init()
    return tuple(each for each in FORMATS if (find_spec(each.module) if each.module else each.code in Image.OPEN))


def readable_names() -> str:
    """For messages: "PNG, JPEG, … or AVIF"."""
    names = [each.name for each in readable()]
    return f"{', '.join(names[:-1])} or {names[-1]}"


def format_named(path: str | Path) -> PictureFormat | None:
    """The format that a file's name promises, whether or not it opens here.

    >>> format_named("a/IMG_1.HEIC").name, format_named("notes.txt")
    ('HEIC', None)
    """
    ending = Path(path).suffix.lower()
    return next((each for each in FORMATS if ending in each.endings), None)


# --- Which pictures a path, a folder or a pattern names ---


STANDARD_INPUT = "-"
NAMED_AT_MOST = 20
NO_PICTURE = "no picture by its name"
BESIDE_PICTURES = ".xmp"
"""What programs write beside pictures is nobody's picture, and not worth a word."""


@dataclass
class Skipped:
    """Files of a folder or pattern that were passed over, and why: all are counted, the first ones named."""

    counts: dict[str, int] = field(default_factory=dict)
    names: dict[str, list[str]] = field(default_factory=dict)

    def opens(self, path: str | Path) -> bool:
        """Whether the file is one to open here; if not, it is noted."""
        promised = format_named(path)
        if promised in readable():
            return True
        if str(path).lower().endswith(BESIDE_PICTURES):
            return False
        self.note(path, promised.advice if promised else NO_PICTURE)
        return False

    def note(self, path: str | Path, why: str) -> None:
        self.counts[why] = self.counts.get(why, 0) + 1
        if len(named := self.names.setdefault(why, [])) < NAMED_AT_MOST:
            named.append(as_text(str(path)))

    @property
    def count(self) -> int:
        return sum(self.counts.values())

    def lines(self) -> list[str]:
        """For people, one line for each reason."""
        return [
            f"Skipped {count} {'file' if count == 1 else 'files'} ({why}): {', '.join(self.names[why])}"
            f"{', …' if count > len(self.names[why]) else ''}"
            for why, count in self.counts.items()
        ]

    def as_dict(self) -> list[dict[str, Any]]:
        return [{"reason": why, "count": count, "files": self.names[why]} for why, count in self.counts.items()]


def is_pattern(source: str) -> bool:
    """Whether it is a pattern that no shell has expanded; a file may have such characters in its name.

    >>> is_pattern("photos/*.png"), is_pattern("photos/a.png")
    (True, False)
    """
    return any(mark in source for mark in "*?[") and not os.path.exists(source)


def pictures_matching(pattern: str, skipped: Skipped) -> list[str]:
    """By name, in order; ``**`` reaches into folders."""
    matching = sorted(path for path in glob.iglob(pattern, recursive=True) if os.path.isfile(path))
    found = [path for path in matching if skipped.opens(path)]
    if not found:
        hint = " ".join(skipped.lines()) or "`**/*.png` also looks into folders."
        raise ImageNotFoundError(f"No picture matches {pattern!r}.", hint=hint)
    return found


def pictures_in(folder: Path, skipped: Skipped) -> list[Path]:
    """Those directly in the folder, in order."""
    return sorted(path for path in folder.iterdir() if path.is_file() and skipped.opens(path))


def pictures_below(folder: str | Path, skipped: Skipped) -> Iterator[str]:
    """Those in the folder and its folders, as paths from there, in no order."""
    for parent, _, files in os.walk(folder):
        for name in files:
            path = (Path(parent) / name).relative_to(folder).as_posix()
            if skipped.opens(path):
                yield path


def listed_paths(lines: Iterable[bytes]) -> Iterator[str]:
    """One path per line, as other programs print them."""
    for line in lines:
        path = os.fsdecode(line.rstrip(b"\r\n"))
        if path.strip():
            yield path


def as_text(path: str) -> str:
    """A name that is no valid text gets question marks, and is reported as missing."""
    return path.encode("utf-8", "replace").decode()


# --- Pictures that take long to read ---


JPEG_START = b"\xff\xd8"
MOST_SCANS = 100
"""Of a JPEG file, as in libtiff: each scan goes over the whole picture again."""
_JPEG_MARKER = re.compile(rb"\xff([\x01-\xcf\xd8-\xfe])")
"""Neither an escaped byte of the pixels nor a mark inside a scan."""


def jpeg_scans(data: bytes) -> int:
    """How many scans the first picture of a JPEG file has; counting stops above :data:`MOST_SCANS`."""
    scans, place = 0, len(JPEG_START)
    while scans <= MOST_SCANS and (found := _JPEG_MARKER.search(data, place)) and found[1] != b"\xd9":
        scans += found[1] == b"\xda"
        place = found.end()
        if found[1] not in (b"\x01", b"\xd8"):
            # What belongs to a marker may look like others: a thumbnail has scans of its own.
            place += int.from_bytes(data[place : place + 2], "big")
    return scans


# --- Pictures as cameras and telephones write them ---


DEVELOPED = "camera raw: developed with LibRaw, the camera's white balance and automatic brightness"

_HEIF_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")
_RAW_STARTS = (b"FUJIFILMCCD-RAW", b"IIU\0", b"IIRO", b"IIRS", b"MMOR", b"FOVb", b"\0MRM")
_OTHER_STARTS = (b"\x89PNG", b"\xff\xd8")
"""Whatever their names say."""
_CR2_MARK = (b"II*\0", b"CR")
_DNG_VERSION, _SUB_FOLDERS, _KIND_OF_FOLDER, _REDUCED = 50706, 330, 254, 1


def is_heic(data: bytes) -> bool:
    """By the box that such a file begins with; AVIF begins with the same box, of another brand."""
    return data[4:8] == b"ftyp" and data[8:12] in _HEIF_BRANDS and b"avif" not in data[8:64]


def open_heic(data: bytes, name: str) -> Image.Image:
    """The picture with its header read; pixels are decoded when asked for."""
    found: Image.Image = _reader(HEIF, name).HeifImageFile(io.BytesIO(data))
    return found


def deep_heic(data: bytes, name: str) -> npt.NDArray[np.uint16] | None:
    """16-bit samples where the file has more than eight bits of colour and no transparency."""
    opened = _reader(HEIF, name).open_heif(io.BytesIO(data), convert_hdr_to_8bit=False)
    if not opened.mode.endswith(";16") or opened.has_alpha:
        return None
    import numpy as np

    return np.array(opened, dtype=np.uint16)


def is_camera_raw(data: bytes, path: str | None) -> bool:
    """By its name where it has one, or by how it begins."""
    promised = format_named(path) if path else None
    if promised is not None and promised.code == CAMERA_RAW and not data.startswith(_OTHER_STARTS):
        return True
    if data.startswith(_RAW_STARTS) or data[4:12] == b"ftypcrx ":
        return True
    return data.startswith(_CR2_MARK[0]) and data[8:10] == _CR2_MARK[1]


def is_raw_inside_tiff(opened: Image.Image) -> bool:
    """Many raw files are TIFF files whose first picture is a small preview: that one must not be judged."""
    if not isinstance(opened, TiffImagePlugin.TiffImageFile):
        return False
    tags = opened.tag_v2
    return _DNG_VERSION in tags or (_SUB_FOLDERS in tags and tags.get(_KIND_OF_FOLDER) == _REDUCED)


class RawFile:
    """A raw file whose header was read."""

    def __init__(self, data: bytes, name: str) -> None:
        self._name = name
        self._module = _reader(CAMERA_RAW, name)
        try:
            self._opened = self._module.imread(io.BytesIO(data))
        except self._module.LibRawError as error:
            raise self._unreadable(error) from error

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) of the upright picture."""
        sizes = self._opened.sizes
        sideways = sizes.flip in (5, 6)
        return (sizes.height, sizes.width) if sideways else (sizes.width, sizes.height)

    def developed(self) -> npt.NDArray[np.uint16]:
        try:
            found: npt.NDArray[np.uint16] = self._opened.postprocess(output_bps=16, use_camera_wb=True)
        except self._module.LibRawError as error:
            raise self._unreadable(error) from error
        return found

    def __enter__(self) -> RawFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def _unreadable(self, error: Exception) -> ImageFormatError:
        detail = error.args[0] if error.args else error
        words = detail.decode(errors="replace") if isinstance(detail, bytes) else str(detail)
        return ImageFormatError(
            f"{self._name} is no camera raw file that LibRaw can read ({words}).",
            hint="Give a complete file, or develop it and give a TIFF.",
        )


def _reader(code: str, name: str) -> Any:
    wanted = next(each for each in FORMATS if each.code == code)
    try:
        return import_module(str(wanted.module))
    except ImportError:
        raise ImageFormatError(
            f"{name} is a {wanted.name} picture, which does not open here.",
            hint=f"Install its reader with `pip install 'agenticiqa[{wanted.extra}]'`.",
            client_hint="",
        ) from None
