"""Pictures as programs hold them: a path, bytes, an open file, a PIL image, a NumPy array or a torch tensor.

What is not a file already becomes one in memory, without loss: models are sent files, and tools must measure what the
models see. An array is measured as it is, and becomes a file only when a model is to be sent one. A picture is named
before it is opened, so that a damaged one can be reported by its name.
"""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import Any, Literal, Protocol, Union, runtime_checkable

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps

from agenticiqa.errors import ImageError, ImageFormatError, without_credentials
from agenticiqa.pictures import images
from agenticiqa.pictures.images import LoadedImage, check_header, decode_image, load_image, peek_size, png_bytes
from agenticiqa.runtime.config import ImageLimits

CHANNELS = (1, 3, 4)
_MODES_KEPT = ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")
"""Modes of PIL images that PNG stores as they are."""
_MODES_WITH_ALPHA = {"PA": "RGBA", "RGBa": "RGBA", "La": "LA"}
"""Modes that PNG does not store, and those that keep their transparency."""
Size = tuple[int, int]


@runtime_checkable
class ReadableFile(Protocol):
    """Anything with ``read()`` that gives bytes: an open file, ``io.BytesIO``, a reply of an HTTP client."""

    def read(self, size: int = -1, /) -> bytes: ...


@dataclass(frozen=True)
class GivenPicture:
    """A picture as given by the caller: its name, and how to open it."""

    name: str
    """The path as it was given; of a picture in memory, a name made of its content."""
    open: Callable[[ImageLimits], LoadedImage]
    in_memory: bool = False
    peek: Callable[[ImageLimits], Size] | None = None
    """(width, height) without decoding a pixel; None where only opening tells."""


PictureInput = Union[
    str,
    "PathLike[str]",
    bytes,
    bytearray,
    memoryview,
    ReadableFile,
    Image.Image,
    npt.NDArray[Any],
    LoadedImage,
    GivenPicture,
]
"""What every verb takes as a picture; a torch tensor too, where torch is installed."""


def given_picture(value: object) -> GivenPicture:
    """The picture that was meant. Nothing is decoded yet; what cannot be a picture at all is a TypeError."""
    for kinds, made in _MAKERS:
        if isinstance(value, kinds):
            return made(value)
    # Recognised without importing torch.
    if type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "detach"):
        return _from_array(_channels_last(value.detach().cpu().numpy()))
    raise TypeError(
        f"A picture is a path, bytes, an open file, a PIL image, a NumPy array or a torch tensor, "
        f"not {type(value).__name__}."
    )


def _from_path(value: str | PathLike[str]) -> GivenPicture:
    path = os.fspath(value)
    if ":/" in path and not os.path.exists(path):
        # An address where a path belongs: what is said and recorded of it must not tell how to open it.
        path = without_credentials(path)
    return GivenPicture(path, lambda limits: load_image(path, limits), peek=lambda limits: peek_size(path, limits))


def _from_loaded(value: LoadedImage) -> GivenPicture:
    name = value.path or _named(value.data)
    return GivenPicture(name, lambda _limits: value, in_memory=True, peek=lambda _limits: value.size)


def _from_bytes(data: bytes) -> GivenPicture:
    name = _named(data)
    return GivenPicture(
        name,
        lambda limits: decode_image(data, path=name, limits=limits),
        in_memory=True,
        peek=lambda limits: check_header(data, name=name, limits=limits),
    )


def _from_file(file: ReadableFile) -> GivenPicture:
    content = file.read()
    if not isinstance(content, bytes):
        raise TypeError("The file gives text: open it in binary mode, with open(path, 'rb').")
    return _from_bytes(content)


def _from_pil(given: Image.Image) -> GivenPicture:
    # Upright, as the same file is when it is given by its path.
    picture = ImageOps.exif_transpose(given)
    # The samples alone do not tell a wide picture from a tall one, nor one palette from another.
    about = (picture.mode, picture.size, picture.getpalette(), picture.info.get("transparency"))
    name = _named(picture.tobytes(), repr(about))

    def opened(limits: ImageLimits) -> LoadedImage:
        return decode_image(png_bytes(_storable(picture, name)), path=name, limits=limits)

    return GivenPicture(name, opened, in_memory=True, peek=lambda _: picture.size)


def _storable(picture: Image.Image, name: str) -> Image.Image:
    """The picture in a mode that PNG stores; samples that no mode of PNG holds are refused, not clipped."""
    if picture.mode in _MODES_KEPT:
        return picture
    if picture.mode.startswith("I"):
        samples = np.asarray(picture)
        if samples.min() >= 0 and samples.max() <= 65535:
            return Image.fromarray(samples.astype(np.uint16))
    if picture.mode[0] in "IF":
        raise ImageFormatError(
            f"The picture {name} holds {picture.mode!r} samples, whose white is not defined.",
            hint="Give 8 or 16 bits per sample, or a NumPy array of floats (0..1).",
        )
    return picture.convert(_MODES_WITH_ALPHA.get(picture.mode, "RGB"))


def _from_array(samples: npt.NDArray[Any]) -> GivenPicture:
    name = _named(np.ascontiguousarray(samples).tobytes(), f"{samples.shape}{samples.dtype}")
    size = (samples.shape[1], samples.shape[0]) if samples.ndim > 1 else (1, 1)

    def opened(limits: ImageLimits) -> LoadedImage:
        plain = _plain_samples(samples, name)
        if plain.shape[2:] == (4,):
            # What shines through is judged on white, as of a file.
            return decode_image(_encoded(plain), path=name, limits=limits)
        images.check_pixels(size, repr(name), limits)
        return _ArrayImage(plain, name)

    return GivenPicture(name, opened, in_memory=True, peek=lambda _: size)


class _ArrayImage(LoadedImage):
    """Grey or RGB samples of 8 or 16 bits, as the PNG file of them would be opened."""

    def __init__(self, samples: npt.NDArray[Any], name: str) -> None:
        deep = samples.dtype == np.uint16
        shown = (samples >> 8).astype(np.uint8) if deep else samples
        vars(self).update(
            pil=Image.fromarray(shown).convert("RGB"),
            format="PNG",
            path=name,
            notes=(images.DEEP_NOTE,) if deep else (),
            rotated_by_exif=False,
            precise=samples if deep else None,
        )

    @cached_property
    def data(self) -> bytes:
        return _encoded(self.measurable)

    @cached_property
    def sha256(self) -> str:
        """Of the samples: whoever only measures need not wait for a file."""
        return hashlib.sha256(f"{self.measurable.shape}".encode() + self.measurable.tobytes()).hexdigest()


def _named(content: bytes, more: str = "") -> str:
    return f"memory:{hashlib.sha256(content + more.encode()).hexdigest()[:12]}"


_MAKERS: tuple[tuple[Any, Callable[[Any], GivenPicture]], ...] = (
    (GivenPicture, lambda value: value),
    ((str, PathLike), _from_path),
    (LoadedImage, _from_loaded),
    ((bytes, bytearray, memoryview), lambda value: _from_bytes(bytes(value))),
    (Image.Image, _from_pil),
    (np.ndarray, _from_array),
    (ReadableFile, _from_file),
)


def _channels_last(samples: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Torch puts channels first, and often a batch of one before them.

    >>> _channels_last(np.zeros((1, 3, 20, 30))).shape
    (20, 30, 3)
    """
    if samples.ndim == 4 and samples.shape[0] == 1:
        samples = samples[0]
    return samples.transpose(1, 2, 0) if samples.ndim == 3 and samples.shape[0] in CHANNELS else samples


def _plain_samples(samples: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """8-bit samples as they are; floats, 0..1, in 16 bits, so that rounding adds nothing to see."""
    if samples.ndim == 3 and samples.shape[2] == 1:
        samples = samples[..., 0]
    if samples.size == 0 or samples.ndim not in (2, 3) or (samples.ndim == 3 and samples.shape[2] not in CHANNELS):
        raise ImageFormatError(
            f"The array {name} has the shape {samples.shape}.",
            hint="Give height × width, or height × width × 1, 3 or 4 channels.",
        )
    if samples.dtype == np.bool_:
        samples = samples.astype(np.uint8) * 255
    if np.issubdtype(samples.dtype, np.floating):
        low, high = float(np.min(samples)), float(np.max(samples))
        if not (np.isfinite(low) and np.isfinite(high)) or low < -1e-6 or high > 1 + 1e-6:
            raise ImageFormatError(
                f"The array {name} holds floats from {low:g} to {high:g}.",
                hint="Floats run from 0 (black) to 1 (white).",
            )
        samples = np.asarray(np.rint(np.clip(samples, 0, 1) * 65535), np.uint16)
    if samples.dtype not in (np.uint8, np.uint16):
        raise ImageFormatError(
            f"The array {name} holds {samples.dtype} samples, whose white is not defined.",
            hint="Give uint8 (0..255), uint16 (0..65535) or floats (0..1).",
        )
    return np.array(samples, order="C")


def _encoded(samples: npt.NDArray[Any]) -> bytes:
    """Grey, RGB or RGBA of 8 or 16 bits as a PNG file."""
    if samples.ndim == 3:
        samples = cv2.cvtColor(samples, cv2.COLOR_RGB2BGR if samples.shape[2] == 3 else cv2.COLOR_RGBA2BGRA)
    return cv2.imencode(".png", samples, [cv2.IMWRITE_PNG_COMPRESSION, 1])[1].tobytes()


# --- Pictures of one size ---


Align = Literal["none", "resize"]


def refuse_other_size(test: LoadedImage, reference: LoadedImage) -> None:
    """A picture and its reference are compared place by place."""
    if test.size != reference.size:
        sizes = [f"{width}×{height}" for width, height in (test.size, reference.size)]
        raise ImageError(
            f"The picture has {sizes[0]} pixels and its reference {sizes[1]}.",
            hint="Give a reference of the picture's size, or have the picture scaled to it (align: resize).",
        )


def aligned(test: LoadedImage, reference: LoadedImage) -> LoadedImage:
    """The picture at its reference's size, with a note where it had to be scaled."""
    if test.size == reference.size:
        return test
    (width, height), (wide, high) = test.size, reference.size
    note = f"scaled from {width}×{height} to its reference's {wide}×{high}"
    scaled = resized(test, reference.size)
    return replace(scaled, notes=(*test.notes, note))


def resized(image: LoadedImage, size: tuple[int, int]) -> LoadedImage:
    """The picture scaled to (width, height), in 16 bits, so that scaling adds no rounding of its own to the score."""
    shrinking = size[0] < image.size[0]
    samples = cv2.resize(image.pixels, size, interpolation=cv2.INTER_AREA if shrinking else cv2.INTER_CUBIC)
    deep = np.rint(np.clip(samples, 0, 1) * 65535).astype(np.uint16)
    return decode_image(_encoded(deep), path=image.path, limits=ImageLimits(max_pixels=size[0] * size[1]))
