"""Pictures that are small as files and take minutes to read: what a stranger may send."""

from __future__ import annotations

import struct
import zlib
from io import BytesIO

from PIL import Image

SCAN = b"\xff\xda"


def many_scans(side: int = 6000, scans: int = 1500) -> bytes:
    """A progressive JPEG whose last scan is repeated: each goes over all coefficients again."""
    buffer = BytesIO()
    Image.new("L", (side, side), 128).save(buffer, "JPEG", progressive=True)
    data = buffer.getvalue()
    last = data.rindex(SCAN)
    return data[:last] + data[last:-2] * scans + data[-2:]


def scans_inside_tiff(side: int = 6000, scans: int = 1500) -> bytes:
    """The same inside a TIFF file, where no marker at the beginning tells of it."""
    return _tiff(many_scans(side, scans), side, side, compression=7)


def _tiff(strip: bytes, width: int, height: int, *, compression: int) -> bytes:
    values = {256: width, 257: height, 258: 8, 259: compression, 262: 1, 273: 8, 277: 1, 278: height, 279: len(strip)}
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in values.items())
    folder = 8 + len(strip)
    return struct.pack("<2sHI", b"II", 42, folder) + strip + struct.pack("<H", len(values)) + entries + bytes(4)


def many_pages(pages: int = 250_000, side: int = 1) -> bytes:
    """A TIFF file with one small page after the other: counting them means reading them all."""
    first = _tiff(bytes(side * side), side, side, compression=1)
    page, body = first[8 + side * side : -4], bytearray(first[:-4])
    for _ in range(pages):
        body += struct.pack("<I", len(body) + 4) + page
    return bytes(body) + bytes(4)


def many_chunks(chunks: int = 2_500_000, side: int = 8) -> bytes:
    """A PNG file with empty chunks of no meaning before its pixels."""
    buffer = BytesIO()
    Image.new("L", (side, side)).save(buffer, "PNG")
    data = buffer.getvalue()
    empty = b"\0\0\0\0abCd" + struct.pack(">I", zlib.crc32(b"abCd"))
    return data[:33] + empty * chunks + data[33:]


def blocks_j2k(side: int = 7000) -> bytes:
    """A JPEG 2000 file whose header asks for code blocks of four pixels: its reader keeps a record of each."""
    buffer = BytesIO()
    Image.new("RGB", (64, 64)).save(buffer, "JPEG2000", no_jp2=True, codeblock_size=(4, 4), num_resolutions=1)
    data = bytearray(buffer.getvalue())
    size = data.index(b"\xff\x51") + 6
    struct.pack_into(">II", data, size, side, side)
    struct.pack_into(">II", data, size + 16, side, side)
    return bytes(data)
