"""The smallest file above a bound of quality."""

from __future__ import annotations

import io

import cv2
import numpy as np
import pytest
from PIL import Image, ImageCms

import agenticiqa
from agenticiqa.api import encode as module
from agenticiqa.api.encode import encode
from agenticiqa.errors import ConfigError, ImageError, ToolError
from support.pictures import scene


@pytest.fixture(scope="module")
def picture() -> Image.Image:
    return Image.fromarray(cv2.GaussianBlur(scene(96, 128), (0, 0), 1.5))


@pytest.mark.parametrize("name", ["jpeg", "webp", "avif"])
def test_no_smaller_setting_is_good_enough(picture, name: str):
    found = encode(picture, metric="SSIMULACRA2>=70", formats=[name])
    best = found.best
    assert best is not None
    assert len(found.trials) <= 12
    original = module.Picture(np.asarray(picture), "reference")
    tool = module.default_registry().find("SSIMULACRA2")

    def value(quality: int) -> float:
        copy = module.decoded_pixels(module.encoded_file(picture, name, quality))
        return tool.metric.measure(module.Views(copy, original)).value

    good = [quality for quality in range(max(1, best.quality - 12), best.quality + 1) if value(quality) >= 70]
    assert min(good) >= best.quality - 1
    assert best.value == pytest.approx(value(best.quality))


def test_the_smallest_of_all_formats_is_returned_as_a_file(picture):
    found = encode(picture, min_score=4.0)
    assert found.best is not None
    assert found.data is not None
    by_format = [found.of_format(name) for name in module.FORMATS]
    assert found.best.bytes == min(each.bytes for each in by_format if each) == len(found.data)
    with Image.open(io.BytesIO(found.data)) as opened:
        assert opened.format.lower() == found.best.format
        assert opened.size == picture.size
    assert found.best.score >= 4.0
    assert found.plot().count("<circle") == 3
    assert found.as_dict()["best"]["format"] == found.best.format
    assert agenticiqa.encode is encode


def test_what_lower_is_better_for(picture):
    found = encode(picture, metric="GMSD<=0.05", formats=["jpeg"])
    assert found.best is not None
    assert found.best.value <= 0.05
    assert str(found.bound) == "GMSD<=0.05"


def test_a_bound_that_no_setting_reaches(picture):
    noise = np.random.default_rng(0).integers(0, 256, (96, 96, 3), np.uint8)
    found = encode(noise, metric="PSNR>=80", formats=["jpeg"])
    assert (found.best, found.data, len(found.trials)) == (None, None, 1)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"metric": "SSIMULACRA2<=80"}, "SSIMULACRA2>=80"),
        ({"metric": "NIQE<=4"}, "does not compare"),
        ({"metric": "SSIM>4"}, "not a bound"),
        ({"metric": "SSIM>=0.9", "min_score": 4.0}, "Give one"),
        ({"min_score": 70}, "SSIMULACRA2>=70"),
        ({"formats": ["gif"]}, "'gif'"),
        ({"formats": []}, "No format"),
    ],
)
def test_what_cannot_be_asked(picture, wrong: dict, says: str):
    with pytest.raises(ConfigError) as told:
        encode(picture, **wrong)
    assert says in str(told.value)


def test_what_is_no_picture_and_what_is_too_small():
    with pytest.raises(ImageError):
        encode(b"not a picture")
    with pytest.raises(ToolError, match="8×8"):
        encode(np.zeros((4, 4, 3), np.uint8))


def opened(data: bytes | None) -> Image.Image:
    assert data is not None
    return Image.open(io.BytesIO(data))


def test_what_shines_through_stays(picture):
    cut_out = picture.convert("RGBA")
    cut_out.paste((0, 0, 0, 0), (0, 0, 40, 96))
    found = encode(cut_out, min_score=4.0)
    assert {trial.format for trial in found.trials} == {"webp", "avif"}
    alpha = np.asarray(opened(found.data).getchannel("A"))
    assert alpha[:, :36].max() < 8
    assert alpha[:, 44:].min() > 247
    only = encode(cut_out, min_score=4.0, formats=["jpeg"])
    assert np.asarray(opened(only.data))[:, :32].min() > 220
    assert only.notes == ("transparent: a JPEG of it lies on white",)


@pytest.mark.parametrize("name", ["jpeg", "webp", "avif"])
def test_a_copy_is_upright_and_keeps_the_profile(picture, name: str, tmp_path):
    turned = Image.Exif()
    turned[0x0112] = 6
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    picture.save(tmp_path / "turned.png", exif=turned, icc_profile=profile)
    copy = opened(encode(tmp_path / "turned.png", min_score=3.5, formats=[name]).data)
    assert copy.size == picture.size[::-1]
    assert copy.info["icc_profile"] == profile
    assert copy.getexif().get(0x0112, 1) == 1


def test_sixteen_bits_are_told():
    deep = np.kron(np.arange(64, dtype=np.uint16).reshape(8, 8) * 1000, np.ones((8, 8), np.uint16))
    found = encode(deep, metric="PSNR>=25", formats=["jpeg"])
    assert found.best is not None
    assert found.notes == ("16 bits per sample: a copy has 8",)
