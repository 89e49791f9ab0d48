"""Two thousand damaged picture files through the measuring command's core: errors, never a score from a broken file."""

from __future__ import annotations

import io
import math
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from agenticiqa.api.measure import Measurer, Pair
from agenticiqa.runtime.config import ImageLimits, ToolSettings
from agenticiqa.tools.registry import default_registry
from support.pictures import scene

FILES = 2000
SIDE = 40
# Small, so that a header that claims a huge picture is refused instead of decoded.
LIMITS = ImageLimits(max_pixels=1_000_000)
TOOLS = ("PSNR", "SSIM", "sharpness")


def whole_files() -> dict[str, bytes]:
    picture = Image.fromarray(scene(SIDE, SIDE))
    options: dict[str, list[dict[str, object]]] = {
        "PNG": [{}, {"compress_level": 0}],
        "JPEG": [{"quality": 80}, {"quality": 60, "progressive": True}],
        "WEBP": [{"quality": 70}, {"lossless": True}],
        "TIFF": [{}, {"compression": "tiff_lzw"}, {"compression": "tiff_adobe_deflate"}],
        "BMP": [{}],
        "GIF": [{}],
    }
    files = {
        f"{kind}{place}": _stored(picture, kind, each) for kind in options for place, each in enumerate(options[kind])
    }
    deep = scene(SIDE, SIDE).astype(np.uint16) * 257
    return files | {f"deep {kind}": bytes(cv2.imencode(kind, deep)[1]) for kind in (".png", ".tiff")}


def _stored(picture: Image.Image, kind: str, options: dict[str, object]) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, kind, **options)
    return buffer.getvalue()


def bits_flipped(data: bytes, rng: np.random.Generator) -> bytes:
    damaged = bytearray(data)
    for _ in range(int(rng.integers(1, 12))):
        # Half of them hit the first bytes, where the structure stands.
        end = min(len(damaged), 96) if rng.random() < 0.5 else len(damaged)
        damaged[int(rng.integers(end))] ^= 1 << int(rng.integers(8))
    return bytes(damaged)


def cut_off(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: int(rng.integers(len(data)))]


def pieces_swapped(data: bytes, rng: np.random.Generator) -> bytes:
    a, b, c, d = sorted(int(place) for place in rng.integers(0, len(data) + 1, 4))
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def bytes_overwritten(data: bytes, rng: np.random.Generator) -> bytes:
    start = int(rng.integers(len(data)))
    noise = rng.integers(0, 256, int(rng.integers(1, 33)), np.uint8).tobytes()
    return (data[:start] + noise + data[start + len(noise) :])[: len(data)]


def png_chunks_swapped(data: bytes, rng: np.random.Generator) -> bytes:
    """Whole chunks in another order, repeated or with another length, their checksums right."""
    if not data.startswith(b"\x89PNG"):
        return pieces_swapped(data, rng)
    chunks, place = [], 8
    while place < len(data):
        length = struct.unpack(">I", data[place : place + 4])[0]
        chunks.append((data[place + 4 : place + 8], data[place + 8 : place + 8 + length]))
        place += length + 12
    order = rng.integers(0, len(chunks), int(rng.integers(1, len(chunks) + 3)))
    out = data[:8]
    for kind, body in (chunks[index] for index in order):
        shorter = body[: int(rng.integers(len(body) + 1))] if rng.random() < 0.3 else body
        out += struct.pack(">I", len(shorter)) + kind + shorter + struct.pack(">I", zlib.crc32(kind + shorter))
    return out


MUTATIONS = (bits_flipped, cut_off, pieces_swapped, bytes_overwritten, png_chunks_swapped)


def mutated_files(seed: int, count: int) -> Iterator[tuple[str, bytes]]:
    rng = np.random.default_rng(seed)
    files = list(whole_files().items())
    for number in range(count):
        kind, data = files[number % len(files)]
        yield kind, MUTATIONS[int(rng.integers(len(MUTATIONS)))](data, rng)


def decodable(data: bytes) -> bool:
    """Whether Pillow reads every pixel of the first frame."""
    try:
        with Image.open(io.BytesIO(data)) as opened:
            if opened.width * opened.height > LIMITS.max_pixels:
                return False
            opened.load()
    except Exception:  # noqa: BLE001 - Pillow reports damage with many types
        return False
    return True


@pytest.mark.hard
@pytest.mark.filterwarnings("ignore")
def test_damaged_files_give_errors_and_never_a_score(tmp_path: Path) -> None:
    reference = tmp_path / "reference.png"
    reference.write_bytes(whole_files()["PNG0"])
    registry = default_registry()
    tools = [registry.find(name) for name in TOOLS]
    measurer = Measurer(tools, ToolSettings(timeout_s=20, max_workers=1), LIMITS)
    path = tmp_path / "damaged"
    scored = refused = 0
    for number, (kind, data) in enumerate(mutated_files(seed=3, count=FILES)):
        path.write_bytes(data)
        records = list(measurer.measure(Pair.of(path, reference)))
        assert [record.tool for record in records] == list(TOOLS)
        for record in records:
            told = f"file {number} ({kind}): {record}"
            assert (record.raw is None) == (record.error is not None), told
            assert record.error is None or "took longer" not in record.error, told
            assert record.raw is None or math.isfinite(record.raw), told
        if any(record.raw is not None for record in records):
            assert decodable(data), f"file {number} ({kind}) cannot be decoded, and yet: {records}"
            scored += 1
        else:
            refused += 1
    # Both ways were really taken: a flipped pixel of a BMP is a sound file, half a file is none.
    assert min(scored, refused) > FILES // 10
