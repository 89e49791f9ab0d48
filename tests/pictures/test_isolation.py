"""Pictures read in other processes: the same pictures, within bounds."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from agenticiqa.errors import ImageError, ImageFormatError, ImageTooLargeError, client_messages
from agenticiqa.pictures import isolation
from agenticiqa.pictures.file_facts import read_file_facts
from agenticiqa.pictures.formats import jpeg_scans
from agenticiqa.pictures.images import check_header, decode_image
from agenticiqa.runtime.config import ImageLimits
from agenticiqa.runtime.stopping import Cancelled, stoppable
from support.http_service import PICTURE, encoded
from support.pictures import scene
from support.slow_pictures import blocks_j2k, many_chunks, many_pages, many_scans, scans_inside_tiff

LIMITS = ImageLimits(max_pixels=50_000_000)


@pytest.fixture(scope="module")
def isolated() -> Iterator[None]:
    with isolation.isolated_reading(2, 1):
        yield


def turned_jpeg() -> bytes:
    buffer, exif = BytesIO(), Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(scene()).save(buffer, "JPEG", exif=exif, progressive=True)
    return buffer.getvalue()


def deep_png() -> bytes:
    return encoded((scene()[..., 0].astype(np.uint16) << 8) + 7)


@pytest.mark.parametrize("data", [PICTURE, turned_jpeg(), deep_png()], ids=["png", "turned jpeg", "16 bits"])
def test_the_same_picture_comes_out(isolated: None, tmp_path, data: bytes):
    file = tmp_path / "picture"
    file.write_bytes(data)
    apart, facts = decode_image(data, path="a"), read_file_facts(file)
    assert check_header(data) == Image.open(BytesIO(data)).size
    pools, isolation._pools[:] = isolation._pools[:], []
    try:
        here, own_facts = decode_image(data, path="a"), read_file_facts(file)
    finally:
        isolation._pools[:] = pools
    assert np.array_equal(apart.rgb, here.rgb)
    assert np.array_equal(np.asarray(apart.pil), here.rgb)
    assert np.array_equal(apart.measurable, here.measurable)
    about = ("data", "format", "path", "notes", "rotated_by_exif", "size", "sha256")
    assert [getattr(apart, name) for name in about] == [getattr(here, name) for name in about]
    assert facts == own_facts


def test_errors_keep_their_kind_and_words(isolated: None):
    with pytest.raises(ImageFormatError, match=r"'x\.png' is damaged or cut off") as damaged:
        decode_image(PICTURE[:2000], path="x.png")
    assert "Give a complete" in str(damaged.value)
    with pytest.raises(ImageTooLargeError, match="more than the limit of 10") as large, client_messages():
        check_header(PICTURE, limits=ImageLimits(max_pixels=10))
    assert "yaml" not in large.value.client_hint


def test_scans_are_counted_and_bounded():
    assert jpeg_scans(turned_jpeg()) < 20
    with pytest.raises(ImageFormatError, match="more than 100 scans"):
        check_header(many_scans(64, 150))
    with pytest.raises(ImageFormatError, match="more than 100 scans"):
        decode_image(many_scans(64, 150))


def test_a_thumbnail_and_what_follows_the_picture_do_not_count():
    buffer, exif = BytesIO(), Image.Exif()
    exif[0x010E] = b"\xff\xda".decode("latin-1") * 300
    Image.fromarray(scene()).save(buffer, "JPEG", exif=exif)
    assert jpeg_scans(buffer.getvalue() + b"\xff\xda" * 300) == 1


def test_whoever_waits_can_end_it(isolated: None):
    """The picture would take minutes of processor time; no more than asked is waited."""
    stop = threading.Event()

    def check() -> None:
        if stop.is_set():
            raise Cancelled

    started = time.monotonic()
    threading.Timer(0.5, stop.set).start()
    with pytest.raises(Cancelled), stoppable(check):
        decode_image(many_chunks(200_000, side=6000), limits=LIMITS)
    assert time.monotonic() - started < 30
    assert decode_image(PICTURE).size


@pytest.mark.hard
@pytest.mark.parametrize(("read", "make"), [(check_header, many_chunks), (decode_image, many_pages)])
def test_a_file_that_takes_far_too_long_is_given_up(isolated: None, read, make):
    with pytest.raises(ImageError, match="takes far longer"):
        read(make(), limits=LIMITS)
    assert decode_image(PICTURE).size


@pytest.mark.hard
def test_a_file_of_five_kilobytes_does_not_take_gigabytes(isolated: None):
    with pytest.raises(ImageError):
        decode_image(blocks_j2k(), limits=ImageLimits(max_pixels=50_000_000))


@pytest.mark.hard
def test_scans_inside_tiff_end(isolated: None):
    """libtiff bounds them itself, at the same number."""
    with pytest.raises(ImageError):
        decode_image(scans_inside_tiff(), limits=LIMITS)
