"""Pictures as cameras and telephones write them: HEIC through pillow-heif, raw files through LibRaw.

Both readers are extras; without them such a file is refused with the name of the extra, and never judged by the small
preview that it carries.
"""

from __future__ import annotations

import io
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, TiffImagePlugin

from agenticiqa.errors import ImageFormatError
from agenticiqa.pictures.formats import CAMERA_RAW, HEIF, find_format, format_named

DEVELOPED = "camera raw: developed with LibRaw, the camera's white balance and automatic brightness"

_HEIF_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")
_RAW_STARTS = (b"FUJIFILMCCD-RAW", b"IIU\0", b"IIRO", b"IIRS", b"MMOR", b"FOVb", b"\0MRM")
_OTHER_STARTS = (b"\x89PNG", b"\xff\xd8")
"""Whatever their names say."""
_CR2_MARK = (b"II*\0", b"CR")
_DNG_VERSION, _SUB_FOLDERS, _KIND_OF_FOLDER, _REDUCED = 50706, 330, 254, 1


# --- HEIC ------------------------------------------------------------------------------------------------


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
    return np.array(opened, dtype=np.uint16)


# --- camera raw ------------------------------------------------------------------------------------------


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
        said = error.args[0] if error.args else error
        words = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
        return ImageFormatError(
            f"{self._name} is no camera raw file that LibRaw can read ({words}).",
            hint="Give a complete file, or develop it and give a TIFF.",
        )


def _reader(code: str, name: str) -> Any:
    """The module that reads such files."""
    wanted = find_format(code)
    try:
        return import_module(str(wanted.module))
    except ImportError:
        raise ImageFormatError(
            f"{name} is a {wanted.name} picture, which does not open here.",
            hint=f"Install its reader with `pip install 'agenticiqa[{wanted.extra}]'`.",
            client_hint="",
        ) from None
