"""Pictures of every kind, good and bad."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from agenticiqa.errors import ImageError, ImageFormatError, ImageNotFoundError, ImageTooLargeError, RegionError
from agenticiqa.pictures.images import Box, LoadedImage, decode_image, load_image, png_bytes
from agenticiqa.pictures.regions import check_regions, find_region, parse_region
from agenticiqa.runtime.config import ImageLimits
from agenticiqa.tools.metrics import METRICS
from support.pictures import png_header_claiming, save, scene


def stored(picture: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, kind, **options)
    return buffer.getvalue()


def sent_pixels(loaded: LoadedImage) -> np.ndarray:
    """What a model decodes from what it is sent."""
    return np.asarray(Image.open(io.BytesIO(loaded.encode().data)).convert("RGB"))


# --- bad files ---


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("missing.png", None, ImageNotFoundError),
        ("empty.png", b"", ImageFormatError),
        ("text.png", b"this is not a picture", ImageFormatError),
        ("page.jpg", b"<html><body>404</body></html>", ImageFormatError),
        ("drawing.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>", ImageFormatError),
        ("script.ps", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", ImageFormatError),
        ("bomb.png", png_header_claiming(60_000, 60_000), ImageTooLargeError),
        ("wide.png", png_header_claiming(2_000_000_000, 2), ImageTooLargeError),
        ("zero.png", png_header_claiming(0, 10), ImageFormatError),
    ],
)
def test_bad_files_are_refused_by_name(
    tmp_path: Path, name: str, content: bytes | None, error: type[Exception]
) -> None:
    """SC-55: missing, empty, no picture, pixel bomb: a typed error that names the file."""
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(error, match=name) as caught:
        load_image(path)
    assert isinstance(caught.value, ImageError)
    assert caught.value.hint


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "TIFF", "BMP"])
def test_truncated_files(tmp_path: Path, kind: str) -> None:
    """SC-55: half a file is no picture, in any format."""
    whole = stored(Image.fromarray(scene(96, 96)), kind)
    path = tmp_path / "half"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ImageFormatError):
        load_image(path)


def test_a_folder_is_no_picture(tmp_path: Path) -> None:
    """SC-55: and the message says so."""
    with pytest.raises(ImageNotFoundError):
        load_image(tmp_path)


@pytest.mark.parametrize("path", ["a\0b.png", "x" * 5000 + ".png"])
def test_impossible_paths(path: str) -> None:
    """SC-55: a typed error, not what the operating system raises."""
    with pytest.raises(ImageError):
        load_image(path)


def test_limits_are_checked_before_decoding(tmp_path: Path) -> None:
    """SC-55: pixels and bytes, both configurable."""
    path = save(tmp_path / "p.png", scene(20, 20))
    with pytest.raises(ImageTooLargeError, match="400 pixels"):
        load_image(path, ImageLimits(max_pixels=399))
    with pytest.raises(ImageTooLargeError, match="bytes"):
        load_image(path, ImageLimits(max_bytes=10))
    assert load_image(path, ImageLimits(max_pixels=400)).size == (20, 20)


# --- unusual pictures ---


def test_one_pixel() -> None:
    """SC-53: is a picture."""
    loaded = decode_image(stored(Image.new("RGB", (1, 1), (9, 8, 7))))
    assert loaded.size == (1, 1)
    assert loaded.rgb.tolist() == [[[9, 8, 7]]]


def test_cmyk() -> None:
    """SC-53: converted for the model, with a note, and sent as PNG."""
    loaded = decode_image(stored(Image.fromarray(scene()).convert("CMYK"), "JPEG"))
    assert any("CMYK" in note for note in loaded.notes)
    assert loaded.encode().media_type == "image/png"
    assert np.array_equal(sent_pixels(loaded), loaded.rgb)


def test_sixteen_bit() -> None:
    """SC-53: tools keep the precision, the model gets an 8-bit view; the note says so."""
    ramp = (np.arange(64 * 64, dtype=np.uint16) * 16).reshape(64, 64)
    loaded = decode_image(stored(Image.fromarray(ramp)))
    assert np.array_equal(loaded.measurable, ramp)
    assert np.array_equal(loaded.rgb[..., 0], (ramp >> 8).astype(np.uint8))
    assert any("16-bit" in note for note in loaded.notes)


def deep_scene(channels: int = 3) -> np.ndarray:
    """16-bit samples whose low bytes matter."""
    return np.random.default_rng(4).integers(0, 65536, (24, 40, channels), np.uint16)


def deep_file(samples: np.ndarray, kind: str) -> bytes:
    order = [2, 1, 0, 3][: samples.shape[2]]
    return bytes(cv2.imencode(kind, np.ascontiguousarray(samples[..., order]))[1])


@pytest.mark.parametrize("kind", [".png", ".tiff"])
def test_sixteen_bit_colour_keeps_its_precision(kind: str) -> None:
    """SC-53: every bit reaches the tools; the model gets the high bytes."""
    samples = deep_scene()
    loaded = decode_image(deep_file(samples, kind))
    assert np.array_equal(loaded.measurable, samples)
    assert np.array_equal(loaded.rgb, (samples >> 8).astype(np.uint8))
    assert any("16-bit" in note for note in loaded.notes)
    assert loaded.pixels.shape == samples.shape
    assert np.array_equal(loaded.crop(Box(3, 2, 10, 5)), samples[2:7, 3:13])
    # A change that 8 bits cannot hold is measured.
    finer = decode_image(deep_file(samples ^ 1, kind))
    assert 90 < METRICS["PSNR"].measure(finer.measurable, loaded.measurable).value < 100


def test_sixteen_bit_colour_with_alpha_is_judged_on_white() -> None:
    """SC-53: transparency in full precision."""
    samples = deep_scene(4)
    samples[:12, :, 3], samples[12:, :, 3] = 65535, 0
    loaded = decode_image(deep_file(samples, ".png"))
    assert np.array_equal(loaded.measurable[:12], samples[:12, :, :3])
    assert (loaded.measurable[12:] == 65535).all()
    assert any("white background" in note for note in loaded.notes)


@pytest.mark.parametrize("orientation", [2, 3, 4, 5, 6, 7, 8])
def test_sixteen_bit_colour_is_turned_upright(orientation: int) -> None:
    """SC-53: like the 8-bit view of the same file."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = deep_file(deep_scene(), ".png")
    body = exif.tobytes().removeprefix(b"Exif\0\0")
    chunk = struct.pack(">I", len(body)) + b"eXIf" + body + struct.pack(">I", zlib.crc32(b"eXIf" + body))
    loaded = decode_image(data[:33] + chunk + data[33:])
    assert loaded.rotated_by_exif
    assert loaded.measurable.dtype == np.uint16
    assert np.array_equal((loaded.measurable >> 8).astype(np.uint8), loaded.rgb)


def test_cut_off_sixteen_bit_colour_is_refused() -> None:
    """SC-55: the second reader sees only what the first one accepted."""
    for kind in (".png", ".tiff"):
        whole = deep_file(deep_scene(), kind)
        with pytest.raises(ImageFormatError):
            decode_image(whole[: len(whole) // 2])
    with pytest.raises(ImageTooLargeError):
        decode_image(deep_file(deep_scene(), ".png"), limits=ImageLimits(max_pixels=100))


def test_palette() -> None:
    """SC-53: the colours of the palette, untouched bytes for the model."""
    picture = Image.fromarray(scene()).convert("P", palette=Image.Palette.ADAPTIVE, colors=8)
    data = stored(picture)
    loaded = decode_image(data)
    assert np.array_equal(loaded.rgb, np.asarray(picture.convert("RGB")))
    assert loaded.encode().data == data


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_alpha(mode: str) -> None:
    """SC-53: judged on white, said in a note, and the model sees the same."""
    picture = Image.new(mode, (8, 8), (0, 0, 0, 0) if mode == "RGBA" else (0, 0))
    loaded = decode_image(stored(picture))
    assert (loaded.rgb == 255).all()
    assert any("white background" in note for note in loaded.notes)
    assert np.array_equal(sent_pixels(loaded), loaded.rgb)


def test_alpha_that_is_opaque_all_over_is_no_transparency() -> None:
    pixels = np.full((8, 8, 4), 255, np.uint8)
    pixels[..., 0] = 10
    found = decode_image(png_bytes(Image.fromarray(pixels)))
    assert found.notes == ()
    assert found.rgb[0, 0].tolist() == [10, 255, 255]
    pixels[3, 3, 3] = 254
    assert decode_image(png_bytes(Image.fromarray(pixels))).notes == ("transparent: judged on a white background",)


def test_palette_with_a_transparent_colour() -> None:
    """SC-53: transparency hides in the palette too."""
    picture = Image.new("P", (4, 4), 0)
    picture.putpalette([10, 20, 30] * 256)
    loaded = decode_image(stored(picture, transparency=0))
    assert (loaded.rgb == 255).all()


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "TIFF"])
def test_animations(kind: str) -> None:
    """SC-53: the first frame is judged, the note says so, and only that frame is sent."""
    frames = [Image.new("RGB", (8, 8), colour) for colour in ((255, 0, 0), (0, 0, 255))]
    loaded = decode_image(stored(frames[0], kind, save_all=True, append_images=frames[1:], lossless=True))
    assert any("first frame" in note for note in loaded.notes)
    assert loaded.rgb[0, 0].tolist() == [255, 0, 0]
    assert loaded.encode().media_type == "image/png"
    assert np.array_equal(sent_pixels(loaded), loaded.rgb)


def test_exif_rotation() -> None:
    """SC-53: measured and sent upright."""
    exif = Image.Exif()
    exif[0x0112] = 6
    pixels = scene(24, 40)
    loaded = decode_image(stored(Image.fromarray(pixels), exif=exif))
    assert loaded.size == (24, 40)
    assert np.array_equal(loaded.rgb, np.rot90(pixels, -1))
    assert np.array_equal(sent_pixels(loaded), loaded.rgb)


def test_float_samples_are_refused() -> None:
    """SC-55: their white point is unknown, so there is nothing right to show."""
    with pytest.raises(ImageFormatError, match="range"):
        decode_image(stored(Image.fromarray(np.full((8, 8), 0.5, np.float32)), "TIFF"))


# --- what a model is sent ---


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_original_bytes_are_sent(kind: str) -> None:
    """SC-09: untouched, whatever the format's compression."""
    data = stored(Image.fromarray(scene()), kind)
    assert decode_image(data).encode().data == data


@pytest.mark.parametrize("kind", ["BMP", "TIFF", "PPM"])
def test_other_formats_are_sent_without_loss(kind: str) -> None:
    """SC-09: the very pixels of the file."""
    loaded = decode_image(stored(Image.fromarray(scene()), kind))
    assert loaded.encode().media_type == "image/png"
    assert np.array_equal(sent_pixels(loaded), scene())


def test_shrinking_is_forced_and_told() -> None:
    """SC-09: only when a provider's limit demands it, with a note."""
    loaded = decode_image(stored(Image.fromarray(scene(100, 200))))
    encoded = loaded.encode(max_side=50)
    assert Image.open(io.BytesIO(encoded.data)).size == (50, 25)
    assert "shrunk from 200×100 to 50×25" in (encoded.note or "")
    assert loaded.encode(max_side=200).note is None
    limit = 3000
    assert len(loaded.encode(max_bytes=limit).data) <= limit


def test_fingerprints_follow_the_content(tmp_path: Path) -> None:
    """D2-27: one pixel changes it, a new name does not."""
    one, copy = save(tmp_path / "1.png", scene()), save(tmp_path / "2.png", scene())
    changed = scene()
    changed[0, 0, 0] ^= 1
    other = save(tmp_path / "3.png", changed)
    assert load_image(one).sha256 == load_image(copy).sha256 != load_image(other).sha256


# --- regions ---


@pytest.mark.parametrize(
    "text", ["vehicle", "=1,2,3,4", "v=1,2,3", "v=1,2,3,x", "v=-1,0,3,4", "v=0,0,0,4", "v=1.5,0,3,4"]
)
def test_regions_written_wrongly(text: str) -> None:
    """SC-29: each is refused with the right way to write it."""
    with pytest.raises(RegionError, match="NAME=x,y,width,height"):
        parse_region(text)


def test_regions_outside_the_picture() -> None:
    """SC-29: an error, not a smaller region."""
    loaded = decode_image(stored(Image.fromarray(scene(20, 30))))
    check_regions({"v": [0, 0, 30, 20]}, loaded)
    for box in ([1, 0, 30, 20], [0, 1, 30, 20], [31, 0, 1, 1]):
        with pytest.raises(RegionError, match="30×20"):
            check_regions({"v": box}, loaded)
    with pytest.raises(RegionError):
        loaded.crop(Box(0, 0, 31, 20))


def test_regions_are_found_by_name() -> None:
    """SC-29: article and case do not matter; an unknown name has no region."""
    assert find_region("Vehicle", {"the vehicle": [1, 2, 3, 4]}) == Box(1, 2, 3, 4)
    assert find_region("sky", {"vehicle": [1, 2, 3, 4]}) is None
