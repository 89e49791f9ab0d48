"""What cameras write beside a picture, and what damaged entries do."""

from __future__ import annotations

import io
from datetime import datetime

import pytest
from PIL import Image, TiffImagePlugin

from agenticiqa.pictures.file_facts import CameraSettings, camera_settings

EXIF_TABLE = 0x8769


def jpeg_with(main: dict[int, object], fine: dict[int, object]) -> bytes:
    exif = Image.Exif()
    exif.update(main)
    exif.get_ifd(EXIF_TABLE).update(fine)
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8)).save(buffer, "JPEG", exif=exif)
    return buffer.getvalue()


def test_exposure_lens_and_camera_are_read():
    rational = TiffImagePlugin.IFDRational
    exposure = {0x829A: rational(1, 250), 0x829D: rational(28, 10), 0x8827: 400}
    fine = exposure | {0x920A: rational(50, 1), 0xA434: "50mm F1.8"}
    found = camera_settings(jpeg_with({0x010F: "Canon", 0x0110: "Canon EOS R5"}, fine))
    assert found == CameraSettings(1 / 250, 2.8, 400, 50.0, "Canon EOS R5", "50mm F1.8", None)
    assert found.shutter == "1/250 s"


def test_damaged_entries_count_as_missing():
    rational = TiffImagePlugin.IFDRational
    found = camera_settings(jpeg_with({0x010F: "\x01\x02"}, {0x829A: rational(1, 0), 0x829D: rational(0, 1)}))
    assert found == CameraSettings()


def test_a_file_without_exif_or_of_another_kind_says_nothing():
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8)).save(buffer, "PNG")
    assert camera_settings(buffer.getvalue()) == CameraSettings()
    assert camera_settings(b"no picture at all") == CameraSettings()


def test_time_counts_parts_of_a_second_and_falls_back_to_the_digitizing():
    when = "2024:05:01 10:00:02"
    assert camera_settings(jpeg_with({}, {0x9003: when, 0x9291: "25"})).time == datetime(2024, 5, 1, 10, 0, 2, 250_000)
    assert camera_settings(jpeg_with({}, {0x9004: when})).time == datetime(2024, 5, 1, 10, 0, 2)
    assert camera_settings(jpeg_with({0x0132: when}, {})).time is None


def test_heic_files_say_it_too():
    pillow_heif = pytest.importorskip("pillow_heif")
    exif = Image.Exif()
    exif[0x0110] = "Phone 9"
    buffer = io.BytesIO()
    pillow_heif.from_pillow(Image.new("RGB", (64, 64))).save(buffer, exif=exif.tobytes())
    assert camera_settings(buffer.getvalue()).camera == "Phone 9"
