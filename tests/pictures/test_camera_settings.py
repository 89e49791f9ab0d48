"""What cameras write beside a picture, and what damaged entries do."""

from __future__ import annotations

import io

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
    assert not found.known


def test_a_file_without_exif_or_of_another_kind_says_nothing():
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8)).save(buffer, "PNG")
    assert camera_settings(buffer.getvalue()) == CameraSettings()
    assert camera_settings(b"no picture at all") == CameraSettings()
