"""Open pictures safely and hand them on unchanged.

A picture's quality is what the user asks about, so nothing here re-compresses it. Two forms are kept: the file's
own bytes (what a model may be sent) and the decoded pixels (what tools measure). Limits are checked on the header,
before any pixel is decoded.
"""

from __future__ import annotations

import base64
import hashlib
import io
import math
import os
import stat
import struct
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import IO, TypeVar

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps, TiffImagePlugin, UnidentifiedImageError

from agenticiqa import errors
from agenticiqa.pictures import formats, isolation
from agenticiqa.runtime.config import ImageLimits
from agenticiqa.runtime.files import stat_or_none

T = TypeVar("T")
UInt8Image = npt.NDArray[np.uint8]
FloatImage = npt.NDArray[np.float32]

# Formats every provider accepts as they are. Anything else is re-packed as PNG, which loses nothing.
SENDABLE_AS_IS = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp"}
DEEP_NOTE = "16-bit: models are sent an 8-bit version, tools measure the full precision"
TRANSPARENT_NOTE = "transparent: judged on a white background"
EXIF_ORIENTATION = 0x0112
_LIMITING = threading.Lock()
TIFF_BITS_PER_SAMPLE = 258
# What each EXIF orientation asks for, on arrays.
UPRIGHT: dict[int, Callable[[npt.NDArray[np.uint16]], npt.NDArray[np.uint16]]] = {
    2: lambda samples: samples[:, ::-1],
    3: lambda samples: samples[::-1, ::-1],
    4: lambda samples: samples[::-1],
    5: lambda samples: samples.swapaxes(0, 1),
    6: lambda samples: samples.swapaxes(0, 1)[:, ::-1],
    7: lambda samples: samples[::-1, ::-1].swapaxes(0, 1),
    8: lambda samples: samples.swapaxes(0, 1)[::-1],
}


@dataclass(frozen=True)
class Box:
    """A rectangle in pixels, top-left origin.

    >>> Box.parse("10,20,30,40")
    Box(x=10, y=20, width=30, height=40)
    """

    x: int
    y: int
    width: int
    height: int

    @property
    def rows(self) -> slice:
        return slice(self.y, self.y + self.height)

    @property
    def columns(self) -> slice:
        return slice(self.x, self.x + self.width)

    @classmethod
    def parse(cls, text: str) -> Box:
        try:
            x, y, width, height = (int(part) for part in text.split(","))
        except ValueError:
            raise errors.RegionError(f"{text!r} is not a region.") from None
        if x < 0 or y < 0 or width < 1 or height < 1:
            raise errors.RegionError(f"{text!r} is not a region: x and y start at 0, width and height at 1.")
        return cls(x, y, width, height)

    def holds(self, x: float, y: float) -> bool:
        return self.x <= x < self.x + self.width and self.y <= y < self.y + self.height

    def as_list(self) -> list[int]:
        return [self.x, self.y, self.width, self.height]

    def check_inside(self, size: tuple[int, int], name: str | None = None) -> None:
        """Refuse a box that leaves the picture."""
        width, height = size
        if self.x + self.width > width or self.y + self.height > height:
            which = f"{name!r} ({self.as_list()})" if name else self.as_list()
            raise errors.RegionError(f"The region {which} leaves the picture, which is {width}×{height} pixels.")


@dataclass(frozen=True)
class EncodedImage:
    """Bytes ready for a model, and whether anything about the picture changed on the way."""

    data: bytes
    media_type: str
    note: str | None = None

    @property
    def base64(self) -> str:
        return base64.b64encode(self.data).decode("ascii")

    @property
    def data_url(self) -> str:
        return f"data:{self.media_type};base64,{self.base64}"


@dataclass(frozen=True)
class LoadedImage:
    """A verified picture: its original bytes, its decoded upright pixels, and a fingerprint of its content."""

    data: bytes
    pil: Image.Image = field(repr=False)
    format: str
    path: str | None = None
    notes: tuple[str, ...] = ()
    rotated_by_exif: bool = False
    precise: npt.NDArray[np.uint16] | None = field(default=None, repr=False)
    """16-bit samples, H×W or H×W×3, where the file has them; ``pil`` then holds the 8-bit view of the same picture."""

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) of the upright picture."""
        return self.pil.size

    @cached_property
    def rgb(self) -> UInt8Image:
        return np.asarray(self.pil, dtype=np.uint8)

    @property
    def measurable(self) -> npt.NDArray[np.uint8] | npt.NDArray[np.uint16]:
        """The samples as stored, 16-bit grey or RGB or 8-bit RGB: what tools measure."""
        return self.rgb if self.precise is None else self.precise

    @cached_property
    def pixels(self) -> FloatImage:
        """RGB in 0..1, float32, with the file's full precision."""
        if self.precise is not None:
            samples: FloatImage = np.divide(self.precise, 65535, dtype=np.float32)
            return samples if samples.ndim == 3 else np.repeat(samples[..., None], 3, axis=2)
        return np.divide(self.rgb, 255, dtype=np.float32)

    def crop(self, box: Box) -> npt.NDArray[np.uint8] | npt.NDArray[np.uint16]:
        """The samples inside ``box``; a box that leaves the picture is an error, not a smaller box."""
        box.check_inside(self.size)
        return self.measurable[box.rows, box.columns]

    def encode(self, *, max_side: int | None = None, max_bytes: int | None = None) -> EncodedImage:
        """Bytes for a model: the original ones where possible, else PNG. Shrinks only when a limit forces it."""
        width, height = self.size
        fits = max_side is None or max(width, height) <= max_side
        untouched = self.format in SENDABLE_AS_IS and not self.rotated_by_exif and not self.notes
        if fits and untouched and (max_bytes is None or len(self.data) <= max_bytes):
            return EncodedImage(self.data, SENDABLE_AS_IS[self.format])
        picture = self.pil
        if max_side is not None and not fits:
            picture = _scaled(picture, max_side / max(width, height))
        encoded = png_bytes(picture)
        while max_bytes is not None and len(encoded) > max_bytes and min(picture.size) > 1:
            # PNG size grows about linearly with the pixel count; aim a little below the limit.
            picture = _scaled(picture, min(0.9, 0.95 * math.sqrt(max_bytes / len(encoded))))
            encoded = png_bytes(picture)
        note = None
        if picture.size != (width, height):
            note = f"shrunk from {width}×{height} to {picture.width}×{picture.height} to fit the provider's limit"
        return EncodedImage(encoded, "image/png", note)


def _scaled(picture: Image.Image, scale: float) -> Image.Image:
    size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
    return picture.resize(size, Image.Resampling.LANCZOS)


def png_bytes(picture: Image.Image) -> bytes:
    """The picture as a PNG file, without loss."""
    buffer = io.BytesIO()
    # Level 1 costs a tenth of the default's time for a few per cent of size.
    picture.save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def check_allowed(path: str | Path, roots: Sequence[Path]) -> tuple[Path, Path]:
    """The allowed folder that a path lies in and the path, both without links; one outside all of them is refused."""
    resolved = Path(path).resolve()
    for root in (each.resolve() for each in roots):
        if resolved.is_relative_to(root):
            return root, resolved
    raise errors.ImageNotFoundError(
        f"{str(path)!r} is not inside an allowed folder.",
        hint="allowed_roots in pipeline.yaml names them.",
        client_hint="",
    )


def read_beneath(path: str | Path, roots: Sequence[Path], max_bytes: int) -> bytes:
    """A file below one of the folders, opened once, so that no link put in its way leads out; ImageError or OSError."""
    root, real = check_allowed(path, roots)
    with open(_open_beneath(root, real.relative_to(root).parts), "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode) or about.st_size > max_bytes:
            raise errors.ImageError(f"{str(path)!r} is no file of at most {max_bytes:,} bytes.")
        return file.read(max_bytes)


def _open_beneath(root: Path, parts: Sequence[str]) -> int:
    """A descriptor of a file, found folder by folder from a root, without following links."""
    if os.open not in os.supports_dir_fd:
        return os.open(root.joinpath(*parts), os.O_RDONLY | getattr(os, "O_BINARY", 0))
    here = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    for place, part in enumerate(parts, 1):
        # Not blocking: what opens may be a pipe.
        kind = os.O_DIRECTORY if place < len(parts) else os.O_NONBLOCK
        try:
            inside = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | kind, dir_fd=here)
        finally:
            os.close(here)
        here = inside
    return here


def load_image(path: str | Path, limits: ImageLimits | None = None) -> LoadedImage:
    """Read, verify and decode one picture file."""
    limits = limits or ImageLimits()
    return decode_image(read_picture_file(path, limits), path=str(path), limits=limits)


def read_picture_file(path: str | Path, limits: ImageLimits) -> bytes:
    # One look at the file, and no path objects: in a batch of small pictures opening them is most of the work.
    found = stat_or_none(path)
    if found is None:
        raise errors.ImageNotFoundError(f"There is no file {str(path)!r}.")
    if not stat.S_ISREG(found.st_mode):
        raise errors.ImageNotFoundError(f"{str(path)!r} is not a file.", hint="Give the path of one picture.")
    if found.st_size > limits.max_bytes:
        raise errors.ImageTooLargeError(
            f"{str(path)!r} has {found.st_size:,} bytes, more than the limit of {limits.max_bytes:,}.",
            hint="Scale it down or raise images.max_bytes in pipeline.yaml.",
        )
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError as error:
        raise errors.ImageError(f"{str(path)!r} cannot be read: {error.strerror or error}.") from error


def decode_image(data: bytes, *, path: str | None = None, limits: ImageLimits | None = None) -> LoadedImage:
    """Decode a picture from memory, with the same checks as :func:`load_image`."""
    limits = limits or ImageLimits()
    elsewhere = isolation.pool()
    if elsewhere is None:
        return _decoded(data, path, limits)
    about, (pixels, *precise) = elsewhere.ask("decode", data, path, limits)
    pixels.flags.writeable = False
    image = LoadedImage(
        data,
        Image.fromarray(pixels),
        about["format"],
        path,
        notes=tuple(about["notes"]),
        rotated_by_exif=about["rotated"],
        precise=precise[0] if precise else None,
    )
    # Another copy of what has come is not needed.
    vars(image)["rgb"] = pixels
    return image


def decode_apart(data: bytes, path: str | None, limits: ImageLimits) -> isolation.Reply:
    """What :func:`decode_image` asks another process."""
    image = _decoded(data, path, limits)
    about = {"format": image.format, "notes": image.notes, "rotated": image.rotated_by_exif}
    return about, [image.rgb, *([] if image.precise is None else [image.precise])]


def _decoded(data: bytes, path: str | None, limits: ImageLimits) -> LoadedImage:
    name = repr(path) if path else "The picture"
    with opened_picture(data, name, limits, path) as opened:
        if isinstance(opened, formats.RawFile):
            samples = opened.developed()
            shown = Image.fromarray((samples >> 8).astype(np.uint8))
            return LoadedImage(data, shown, formats.CAMERA_RAW, path, notes=(formats.DEVELOPED,), precise=samples)
        _within(limits, opened.load)
        return _normalised(opened, data, path)


def check_header(data: bytes, *, name: str | None = None, limits: ImageLimits | None = None) -> tuple[int, int]:
    """Width and height by the header, without decoding a pixel; what is no picture or has too many is refused."""
    limits, elsewhere = limits or ImageLimits(), isolation.pool()
    about, _ = size_apart(data, name, limits) if elsewhere is None else elsewhere.ask("size", data, name, limits)
    width, height = about["size"]
    return width, height


def size_apart(data: bytes, path: str | None, limits: ImageLimits) -> isolation.Reply:
    """What :func:`check_header` asks another process."""
    with opened_picture(data, repr(path) if path else "The picture", limits, path) as opened:
        return {"size": opened.size}, []


def peek_size(path: str | Path, limits: ImageLimits | None = None) -> tuple[int, int]:
    return check_header(read_picture_file(path, limits or ImageLimits()), name=str(path), limits=limits)


@contextmanager
def opened_picture(
    data: bytes, name: str, limits: ImageLimits, path: str | None
) -> Iterator[Image.Image | formats.RawFile]:
    """The picture with its header read and checked; whatever its decoder raises inside becomes an ImageError."""
    if not data:
        raise errors.ImageFormatError(f"{name} is empty.", hint=_what_opens())
    if data.startswith(formats.JPEG_START) and formats.jpeg_scans(data) > formats.MOST_SCANS:
        raise errors.ImageFormatError(
            f"{name} is a JPEG file of more than {formats.MOST_SCANS} scans.", hint="Save it anew: cameras write 10."
        )
    try:
        with warnings.catch_warnings():
            # Our own pixel limit is the one that counts; Pillow's advice about the same thing would be noise.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with _open(data, name, path, limits) as opened:
                check_pixels(opened.size, name, limits)
                yield opened
    except errors.ImageError:
        raise
    except Image.DecompressionBombError as error:
        raise errors.ImageTooLargeError(
            f"{name} has parts of more pixels than the limit of {limits.max_pixels:,}."
        ) from error
    except UnidentifiedImageError as error:
        raise errors.ImageFormatError(f"{name} is not a picture this program can read.", hint=_what_opens()) from error
    except MemoryError as error:
        raise errors.ImageTooLargeError(f"{name} does not fit into memory.") from error
    except (OSError, SyntaxError, ValueError, EOFError, IndexError, TypeError, OverflowError) as error:
        # Pillow's decoders report damage with many exception types; all of them mean the same to the user.
        raise errors.ImageFormatError(f"{name} is damaged or cut off ({error}).", hint=_what_opens()) from error


def check_pixels(size: tuple[int, int], name: str, limits: ImageLimits) -> None:
    width, height = size
    if width * height > limits.max_pixels:
        counted = f"{width}×{height} = {width * height:,} pixels"
        raise errors.ImageTooLargeError(f"{name} has {counted}, more than the limit of {limits.max_pixels:,}.")


def _open(data: bytes, name: str, path: str | None, limits: ImageLimits) -> Image.Image | formats.RawFile:
    if formats.is_camera_raw(data, path):
        return formats.RawFile(data, name)
    if formats.is_heic(data):
        return formats.open_heic(data, name)
    opened = _open_with_pillow(data, limits)
    if formats.is_raw_inside_tiff(opened):
        return formats.RawFile(data, name)
    return opened


def _open_with_pillow(data: bytes, limits: ImageLimits) -> Image.Image:
    """What ``Image.open`` does, without the limit that is Pillow's own: ours is checked next, on the same header."""
    start = data[:16]
    for code in [each.code for each in formats.readable() if each.module is None]:
        make, accepts = Image.OPEN[code]
        answer = accepts is None or accepts(start)
        # Text is a reason to refuse.
        if not answer or isinstance(answer, str):
            continue
        try:
            return _within(limits, partial(_read_header, make, data))
        except (SyntaxError, IndexError, TypeError, struct.error):
            # Not its kind after all.
            continue
    raise UnidentifiedImageError("no reader takes it")


def _read_header(make: Callable[[IO[bytes], str | bytes], Image.Image], data: bytes) -> Image.Image:
    return make(io.BytesIO(data), "")  # a fresh stream: a reader that gave up has read from the last one


def _within(limits: ImageLimits, read: Callable[[], T]) -> T:
    """The result of a Pillow reader, with Pillow's process-wide pixel limit replaced by ours meanwhile."""
    try:
        return read()
    except Image.DecompressionBombError:
        with _LIMITING:
            usual, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, limits.max_pixels
            try:
                return read()
            finally:
                Image.MAX_IMAGE_PIXELS = usual


def _what_opens() -> str:
    return f"Give a complete {formats.readable_names()} file."


def _normalised(opened: Image.Image, data: bytes, path: str | None) -> LoadedImage:
    """The first frame, upright, opaque, 8-bit RGB; what had to change is written down."""
    notes: list[str] = []
    if getattr(opened, "n_frames", 1) > 1 and opened.format != "MPO":
        notes.append("animated or multi-page: only the first frame is judged")
    orientation = opened.getexif().get(EXIF_ORIENTATION, 1)
    rotated = orientation not in (0, 1)
    frame: Image.Image = ImageOps.exif_transpose(opened) if rotated else opened
    precise = _sixteen_bit(frame) if not _is_deep_colour(opened, data) else _deep_colour(data, frame, orientation)
    if opened.format == formats.HEIF:
        precise = formats.deep_heic(data, path or "The picture")
    if precise is not None:
        notes.append(DEEP_NOTE)
        if precise.ndim == 2:
            frame = Image.fromarray((precise >> 8).astype(np.uint8))
    elif frame.mode in ("F", "I"):
        raise errors.ImageFormatError(
            f"{path or 'The picture'} stores {frame.mode!r} samples, whose range is not defined.",
            hint="Save it as an 8- or 16-bit PNG or TIFF.",
        )
    if frame.mode in ("CMYK", "YCCK"):
        notes.append("CMYK: converted to RGB without a colour profile")
    may_shine_through = frame.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in frame.info
    # Many programs write an alpha channel that is opaque all over.
    if may_shine_through and int(np.asarray(frame.convert("RGBA").getchannel("A")).min()) < 255:
        frame = on_white(frame)
        notes.append(TRANSPARENT_NOTE)
    return LoadedImage(
        data=data,
        # Converting copies, which takes most of the time of decoding a large photograph. A JPEG file has one frame and
        # nothing more to read.
        pil=frame if frame.mode == "RGB" and opened.format == "JPEG" else frame.convert("RGB"),
        format=opened.format or "unknown",
        path=path,
        notes=tuple(notes),
        rotated_by_exif=rotated,
        precise=precise,
    )


def on_white(frame: Image.Image) -> Image.Image:
    """A picture that may be transparent, laid on white."""
    backdrop = Image.new("RGBA", frame.size, (255, 255, 255, 255))
    return Image.alpha_composite(backdrop, frame.convert("RGBA")).convert("RGB")


def _sixteen_bit(frame: Image.Image) -> npt.NDArray[np.uint16] | None:
    if frame.mode.startswith("I;16"):
        return np.asarray(frame.convert("I"), dtype=np.int64).clip(0, 65535).astype(np.uint16)
    if frame.mode == "I":
        # 16-bit PNGs arrive as 32-bit integers in older Pillow versions; wider values have no defined white point.
        samples = np.asarray(frame)
        if samples.size and samples.min() >= 0 and samples.max() <= 65535:
            return samples.astype(np.uint16)
    return None


def _is_deep_colour(opened: Image.Image, data: bytes) -> bool:
    """Whether the header says 16 bits for each of several channels, of which Pillow keeps eight."""
    if opened.format == "PNG":
        # Bit depth and colour type stand at fixed places; types 2, 4 and 6 have colours, alpha or both.
        return data[24] == 16 and data[25] in (2, 4, 6)
    if isinstance(opened, TiffImagePlugin.TiffImageFile):
        bits = opened.tag_v2.get(TIFF_BITS_PER_SAMPLE, ())
        return len(bits) >= 3 and set(bits) == {16}
    return False


def _deep_colour(data: bytes, frame: Image.Image, orientation: int) -> npt.NDArray[np.uint16] | None:
    """Upright 16-bit RGB on white; None when OpenCV reads another picture than Pillow, whose checks it has passed."""
    try:
        found = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    except cv2.error:
        return None
    if found is None or found.dtype != np.uint16 or found.ndim != 3:
        return None
    swapped = cv2.cvtColor(found, cv2.COLOR_BGRA2RGBA if found.shape[2] == 4 else cv2.COLOR_BGR2RGB)
    samples: npt.NDArray[np.uint16] = np.asarray(swapped, np.uint16)
    high_bytes = np.asarray(frame.convert("RGBA" if found.shape[2] == 4 else "RGB"))
    # Readers differ in whether they turn a picture upright by themselves.
    for upright in (samples, UPRIGHT.get(orientation, np.asarray)(samples)):
        if upright.shape == high_bytes.shape and not np.any((upright >> 8).astype(np.uint8) != high_bytes):
            break
    else:
        return None
    if upright.shape[2] == 3:
        return np.ascontiguousarray(upright)
    on_white = np.empty((*upright.shape[:2], 3), np.uint16)
    # Row by row: all at once would take ten times the picture's own memory.
    for row, out in zip(upright, on_white, strict=True):
        alpha = row[..., 3:].astype(np.float64) / 65535
        out[:] = np.rint(row[..., :3] * alpha + 65535 * (1 - alpha))
    return on_white
