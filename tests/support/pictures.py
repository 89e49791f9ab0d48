"""Small pictures, made the same way every time."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
from PIL import Image


def scene(height: int = 64, width: int = 80) -> np.ndarray:
    """Edges, a gradient and texture, RGB."""
    y, x = np.mgrid[0:height, 0:width]
    grey = 60 + 120 * x / width + 40 * ((x // 8 + y // 8) % 2)
    return np.stack([grey, np.roll(grey, 3, axis=0), 255 - grey], axis=2).clip(0, 255).astype(np.uint8)


def distorted(picture: np.ndarray, strength: float = 25.0) -> np.ndarray:
    noise = np.random.default_rng(1).normal(0, strength, picture.shape)
    return (picture + noise).clip(0, 255).astype(np.uint8)


def save(path: Path, pixels: np.ndarray) -> Path:
    Image.fromarray(pixels).save(path, compress_level=1)
    return path


def png_header_claiming(width: int, height: int) -> bytes:
    """A PNG whose header promises more pixels than anybody wants to decode."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")
    )


def camera_raw(pixels: np.ndarray) -> bytes:
    """A DNG file with the picture behind a Bayer filter, and a small preview as its first picture, as cameras do it."""
    height, width = pixels.shape[0] // 2 * 2, pixels.shape[1] // 2 * 2
    linear = (pixels[:height, :width].astype(np.float64) / 255) ** 2.2 * 60000
    mosaic = linear[..., 1].copy()
    mosaic[0::2, 0::2], mosaic[1::2, 1::2] = linear[0::2, 0::2, 0], linear[1::2, 1::2, 2]
    identity = [part for value in (1, 0, 0, 0, 1, 0, 0, 0, 1) for part in (value, 1)]
    common = [
        (271, 2, b"Made here\0"),
        (272, 2, b"Made here\0"),
        (50706, 1, bytes([1, 4, 0, 0])),
        (50708, 2, b"Made here\0"),
        (50721, 10, struct.pack("<18i", *identity)),
        (50728, 5, struct.pack("<6I", 1, 1, 1, 1, 1, 1)),
    ]
    preview = np.full((8, 8, 3), 200, np.uint8)
    first = _tiff_tags(8, 8, (8, 8, 8), 2, subfile=1) + common
    second = [
        *_tiff_tags(width, height, (16,), 32803, subfile=0),
        (33421, 3, struct.pack("<2H", 2, 2)),
        (33422, 1, bytes([0, 1, 1, 2])),
        (50717, 4, struct.pack("<I", 60000)),
    ]
    return _tiff(first, preview.tobytes(), second, mosaic.astype("<u2").tobytes())


def _tiff_tags(width: int, height: int, bits: tuple[int, ...], photometric: int, *, subfile: int) -> list:
    return [
        (254, 4, struct.pack("<I", subfile)),
        (256, 4, struct.pack("<I", width)),
        (257, 4, struct.pack("<I", height)),
        (258, 3, struct.pack(f"<{len(bits)}H", *bits)),
        (259, 3, struct.pack("<H", 1)),
        (262, 3, struct.pack("<H", photometric)),
        (274, 3, struct.pack("<H", 1)),
        (277, 3, struct.pack("<H", len(bits))),
        (278, 4, struct.pack("<I", height)),
    ]


_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 10: 8}


def _tiff(first: list, first_pixels: bytes, second: list, second_pixels: bytes) -> bytes:
    """Two folders of tags; the second hangs below the first (tag 330)."""
    data = bytearray(b"II*\0\0\0\0\0")

    def place(content: bytes) -> int:
        while len(data) % 4:
            data.append(0)
        start = len(data)
        data.extend(content)
        return start

    def folder(tags: list, pixels: bytes) -> int:
        strip = place(pixels)
        tags = sorted([*tags, (273, 4, struct.pack("<I", strip)), (279, 4, struct.pack("<I", len(pixels)))])
        entries = b""
        for number, kind, content in tags:
            count = len(content) // _SIZES[kind]
            value = content.ljust(4, b"\0") if len(content) <= 4 else struct.pack("<I", place(content))
            entries += struct.pack("<HHI", number, kind, count) + value
        return place(struct.pack("<H", len(tags)) + entries + b"\0\0\0\0")

    below = folder(second, second_pixels)
    top = folder([*first, (330, 4, struct.pack("<I", below))], first_pixels)
    data[4:8] = struct.pack("<I", top)
    return bytes(data)
