"""Pictures as telephones and cameras write them, files that do not open here, and limits above Pillow's own."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import numpy as np
import pillow_heif
import pytest
from PIL import Image

import agenticiqa
from agenticiqa.errors import ImageFormatError, ImageTooLargeError
from agenticiqa.pictures.images import check_header, decode_image, load_image
from agenticiqa.runtime.config import ImageLimits
from support.command_line import CommandLine
from support.pictures import camera_raw, distorted, png_header_claiming, save, scene

pytestmark = pytest.mark.hard


def heic(pixels: np.ndarray, **options: object) -> bytes:
    buffer = io.BytesIO()
    pillow_heif.from_pillow(Image.fromarray(pixels)).save(buffer, quality=95, **options)
    return buffer.getvalue()


# --- reading ---


def test_heic_is_read() -> None:
    clean = scene(96, 128)
    found = decode_image(heic(clean))
    assert (found.size, found.format) == ((128, 96), "HEIF")
    assert np.abs(found.rgb.astype(int) - clean).mean() < 5


def test_heic_is_upright_and_deep_colour_is_kept() -> None:
    turned = Image.Exif()
    turned[0x0112] = 6
    assert decode_image(heic(scene(96, 128), exif=turned.tobytes())).size == (96, 128)
    deep = (scene(96, 128).astype(np.uint16) * 257) ^ 85
    buffer = io.BytesIO()
    pillow_heif.from_bytes("RGB;16", (128, 96), deep.tobytes()).save(buffer, quality=-1)
    found = decode_image(buffer.getvalue())
    assert found.precise is not None
    assert np.abs(found.pixels * 255 - scene(96, 128)).mean() < 5


def test_heic_is_limited_before_it_is_decoded() -> None:
    with pytest.raises(ImageTooLargeError, match="12,288 pixels"):
        check_header(heic(scene(96, 128)), limits=ImageLimits(max_pixels=1000))


@pytest.mark.parametrize("name", ["p.dng", None])
def test_camera_raw_is_developed_and_not_judged_by_its_preview(name: str | None) -> None:
    grey = np.repeat(scene(96, 128)[..., :1], 3, axis=2)
    found = decode_image(camera_raw(grey), path=name)
    assert (found.size, found.format) == ((128, 96), "RAW"), "the preview inside is 8×8"
    assert found.precise is not None
    assert any("LibRaw" in note for note in found.notes)
    assert np.corrcoef(found.rgb[..., 1].ravel(), grey[..., 1].ravel())[0, 1] > 0.9


def test_camera_raw_is_limited_before_it_is_developed_and_damage_is_told() -> None:
    with pytest.raises(ImageTooLargeError, match="12,288 pixels"):
        check_header(camera_raw(scene(96, 128)), limits=ImageLimits(max_pixels=1000))
    with pytest.raises(ImageFormatError, match="LibRaw"):
        decode_image(b"not raw at all" * 50, path="p.nef")


def test_a_misnamed_file_is_what_it_is(tmp_path: Path) -> None:
    save(tmp_path / "p.png", scene())
    (tmp_path / "p.png").rename(tmp_path / "p.dng")
    assert load_image(tmp_path / "p.dng").format == "PNG"


@pytest.mark.parametrize(("data", "extra"), [(heic(scene()), "heic"), (camera_raw(scene()), "raw")])
def test_without_the_extra_its_name_is_told(data: bytes, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, {"heic": "pillow_heif", "raw": "rawpy"}[extra], None)
    with pytest.raises(ImageFormatError) as refused:
        decode_image(data)
    assert f"agenticiqa[{extra}]" in refused.value.hint


# --- lists of formats ---


def test_messages_name_what_really_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ImageFormatError) as refused:
        decode_image(b"no picture")
    for name in ("PNG", "JPEG 2000", "AVIF", "HEIC", "camera raw"):
        assert name in refused.value.hint


def test_every_format_that_is_promised_opens() -> None:
    """The list is not longer than what can be read."""
    from agenticiqa.pictures.formats import readable

    for each in readable():
        if each.module is None:
            buffer = io.BytesIO()
            Image.fromarray(scene()).save(buffer, each.code)
            assert decode_image(buffer.getvalue()).size == (80, 64), each.name


# --- what is passed over ---


@pytest.fixture
def holiday(command_line: CommandLine) -> Path:
    folder = command_line.folder / "holiday"
    folder.mkdir()
    save(folder / "a.png", distorted(scene()))
    (folder / "b.heic").write_bytes(heic(distorted(scene())))
    (folder / "c.DNG").write_bytes(camera_raw(scene()))
    (folder / "notes.txt").write_text("a fine day", encoding="utf-8")
    return folder


def test_nothing_in_a_folder_is_dropped_without_a_word(command_line: CommandLine, holiday: Path) -> None:
    done = command_line("batch", "holiday", "--measure", "noise", "-w", "1", "-o", "r.jsonl", "--json")
    assert done.code == 0, done.err
    summary = json.loads(done.out)
    assert summary["total"] == 3
    assert summary["skipped"] == [{"reason": "no picture by its name", "count": 1, "files": ["notes.txt"]}]
    measured = command_line("measure", "holiday", "--tool", "noise", "--json")
    assert [Path(row["image"]).name for row in json.loads(measured.out)] == ["a.png", "b.heic", "c.DNG"]
    assert "notes.txt" in measured.err


def test_what_does_not_open_here_is_counted_named_and_explained(
    command_line: CommandLine, holiday: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agenticiqa.pictures import formats
    from agenticiqa.pictures import formats as finding

    few = tuple(each for each in formats.FORMATS if each.module is None)
    monkeypatch.setattr(finding, "readable", lambda: few)
    for words in (
        ("batch", "holiday", "--measure", "noise", "-w", "1", "-o", "r.jsonl"),
        ("batch", "holiday", "--dry-run"),
        ("batch", "holiday/*", "--dry-run"),
        ("measure", "holiday", "--tool", "noise"),
    ):
        done = command_line(*words)
        assert done.code == 0, done.err
        said = " ".join((done.out + done.err).split())
        assert "Skipped 1 file (HEIC needs `pip install 'agenticiqa[heic]'`)" in said
        assert "b.heic" in said
        assert "c.DNG" in said
    (holiday / "a.png").unlink()
    nothing = command_line("measure", "holiday", "--tool", "noise")
    assert nothing.code == 1
    assert "agenticiqa[heic]" in nothing.err


def test_python_says_what_was_passed_over(holiday: Path) -> None:
    summary = agenticiqa.run_batch(holiday, tools=["noise"], workers=1).summary()
    assert (summary.total, summary.skipped.count) == (3, 1)


# --- limits above Pillow's own ---


@pytest.mark.parametrize("side", [14_000, 40_000])
def test_a_limit_above_pillows_own_counts(side: int) -> None:
    before = Image.MAX_IMAGE_PIXELS
    check_header(png_header_claiming(side, side), limits=ImageLimits(max_pixels=side * side))
    with pytest.raises(ImageTooLargeError, match=f"{side}×{side}"):
        check_header(png_header_claiming(side, side), limits=ImageLimits(max_pixels=side * side - 1))
    assert before == Image.MAX_IMAGE_PIXELS, "the limit of the program around us is its own"


@pytest.mark.parametrize("code", ["PNG", "WEBP", "GIF", "TIFF", "JPEG"])
def test_no_reader_of_pillows_keeps_its_own_limit(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = io.BytesIO()
    Image.fromarray(scene()).save(buffer, code)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    assert decode_image(buffer.getvalue(), limits=ImageLimits(max_pixels=10_000)).size == (80, 64)
    assert Image.MAX_IMAGE_PIXELS == 100


def test_a_picture_scaled_to_its_reference_may_be_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above the packaged limit, where the user raised it."""
    from agenticiqa.pictures import images

    small, large = scene(40, 50), scene(64, 80)
    monkeypatch.setattr(images, "ImageLimits", lambda: ImageLimits(max_pixels=4000))
    measured = agenticiqa.measure(small, reference=large, tools=["PSNR"], align="resize")
    assert measured["PSNR"].error is None
