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
    Image.fromarray(pixels).save(path)
    return path


def png_header_claiming(width: int, height: int) -> bytes:
    """A PNG whose header promises more pixels than anybody wants to decode."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")
    )
