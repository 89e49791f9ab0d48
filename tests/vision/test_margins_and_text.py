"""What lies along the sides of a picture, and whether letters stand in it."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont, ImageOps

from agenticiqa.auditing.findings import TEXT
from agenticiqa.vision.appearance.margins import margins_of
from agenticiqa.vision.appearance.text import text_chance
from support.shoots import photograph


def stored(picture: Image.Image, quality: int = 80) -> np.ndarray:
    """As it comes back from a JPEG file."""
    data = io.BytesIO()
    picture.convert("RGB").save(data, "JPEG", quality=quality)
    return np.asarray(Image.open(data))


@pytest.mark.parametrize("colour", ["black", "white", "#801e1e"])
@pytest.mark.parametrize("sides", [(12, 12, 12, 12), (0, 20, 0, 20), (16, 0, 16, 0), (0, 0, 0, 10)])
def test_bars_and_frames_are_measured(colour, sides):
    found = margins_of(stored(ImageOps.expand(photograph("coffee"), sides, colour)))
    assert found.border == pytest.approx(max(sides), abs=2)


@pytest.mark.parametrize("name", ["coffee", "cat", "astronaut"])
def test_a_photograph_has_no_border_and_no_plain_ground(name):
    found = margins_of(np.asarray(photograph(name)))
    assert found.border == 0
    assert found.white_margin < 0.5
    assert found.plain_margin < 0.9


def test_a_sky_that_grows_lighter_is_no_bar():
    sky = np.repeat(np.linspace(60, 250, 300).astype(np.uint8)[:, None, None], 400, axis=1).repeat(3, axis=2)
    assert margins_of(sky).border == 0


def test_a_product_on_white_and_on_grey():
    for ground, white in ((255, 1.0), (205, 0.0)):
        picture = Image.new("RGB", (400, 400), (ground,) * 3)
        ImageDraw.Draw(picture).ellipse((80, 60, 320, 340), fill="navy")
        found = margins_of(stored(picture))
        assert found.border == 0
        assert found.white_margin == pytest.approx(white, abs=0.02)
        assert found.plain_margin > 0.98


@pytest.mark.parametrize("size", [(1, 1), (3, 200), (200, 2), (20, 20)])
def test_the_smallest_pictures_are_measured_too(size):
    pixels = np.zeros((*size, 3), np.uint8)
    assert margins_of(pixels).plain_margin == 1
    assert 0 <= text_chance(pixels) <= 1


def with_words(picture: Image.Image, words: str, opacity: float, size: int) -> Image.Image:
    mask = Image.new("L", picture.size, 0)
    ImageDraw.Draw(mask).text((20, picture.height // 2), words, font=ImageFont.load_default(size), fill=255)
    over = picture.convert("RGB")
    over.paste((255, 255, 255), mask=mask.point(lambda value: int(value * opacity)))
    return over


@pytest.mark.parametrize(("words", "opacity", "size"), [("Best price today", 1.0, 34), ("SAMPLE PICTURE", 0.6, 40)])
def test_words_over_a_picture_are_found_and_the_picture_alone_is_left(words, opacity, size):
    picture = photograph("coffee").resize((600, 400))
    assert text_chance(stored(picture)) < TEXT
    assert text_chance(stored(with_words(picture, words, opacity, size))) >= TEXT
