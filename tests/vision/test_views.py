"""Closer looks as pictures: pure functions of the picture, whose own pixels they keep."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from agenticiqa.errors import BadResponseError, RegionError
from agenticiqa.pictures.images import decode_image
from agenticiqa.state import View
from agenticiqa.vision.views import SHOWN, asked_view, place_around, render, view_label
from support.pictures import scene


def picture(pixels: np.ndarray):
    stored = io.BytesIO()
    Image.fromarray(pixels).save(stored, "PNG")
    return decode_image(stored.getvalue())


@pytest.fixture(scope="module")
def image():
    return picture(scene(120, 160))


def test_the_magnifier_shows_the_pictures_own_pixels_and_repeats_them(image) -> None:
    shown = render(View(box=(10, 20, 30, 40), scale=3, reason="x"), image)
    assert shown.size == (90, 120)
    np.testing.assert_array_equal(shown.rgb[::3, ::3], image.rgb[20:60, 10:40])
    np.testing.assert_array_equal(shown.rgb[1::3, 2::3], image.rgb[20:60, 10:40])
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(shown.data))), shown.rgb)


@pytest.mark.parametrize("kind", [kind for kind in SHOWN if kind != "difference"])
def test_a_view_is_the_same_every_time_and_has_its_places_size(image, kind) -> None:
    view = View(kind=kind, box=(0, 0, 64, 48), reason="x")
    first, second = render(view, image), render(view, image)
    assert first.data == second.data
    assert first.size == (64, 48)
    assert (kind == "magnified") == bool((first.rgb == image.rgb[:48, :64]).all())


def test_shadows_are_lifted_and_lights_lowered(image) -> None:
    own = image.rgb[:48, :64].mean()
    shadows, lights = (render(View(kind=kind, box=(0, 0, 64, 48), reason="x"), image) for kind in ("shadows", "lights"))
    assert lights.rgb.mean() < own - 10 < own + 10 < shadows.rgb.mean()


def test_clipping_is_marked_where_it_is() -> None:
    pixels = np.full((40, 40, 3), 120, np.uint8)
    pixels[:10], pixels[30:] = 255, 0
    shown = render(View(kind="clipping", box=(0, 0, 40, 40), reason="x"), picture(pixels)).rgb
    assert (shown[:10] == (255, 0, 0)).all()
    assert (shown[30:] == (0, 64, 255)).all()
    assert (shown[10:30] == shown[15, 15, 0]).all()


def test_a_difference_is_grey_where_nothing_differs_and_forgives_a_small_shift() -> None:
    rng = np.random.default_rng(1)
    whole = rng.integers(0, 256, (140, 180, 3), dtype=np.uint8)
    original, moved = whole[4:124, 4:164], whole[6:126, 7:167].copy()
    moved[50:60, 50:60] = 255 - moved[50:60, 50:60]
    view = View(kind="difference", box=(0, 0, 160, 120), reason="x")
    shown = render(view, picture(moved), picture(original)).rgb
    inner = np.ones((120, 160), bool)
    inner[50:60, 50:60] = inner[:4] = inner[-4:] = inner[:, :4] = inner[:, -4:] = False
    assert (shown[inner] == 128).mean() > 0.99
    assert np.abs(shown[50:60, 50:60].astype(int) - 128).mean() > 60


def test_what_cannot_be_shown_is_refused(image) -> None:
    with pytest.raises(RegionError):
        render(View(box=(150, 0, 20, 20), reason="x"), image)
    with pytest.raises(RegionError, match="reference"):
        render(View(kind="difference", box=(0, 0, 20, 20), reason="x"), image)


@pytest.mark.parametrize("place", [(-50, -50, 40, 40), (4000, 10, 5, 5), (10, 10, 0, 5), (10, 10, -5, 5)])
def test_a_place_outside_the_picture_is_a_bad_reply(place) -> None:
    with pytest.raises(BadResponseError):
        asked_view("magnified", place, "x", (4000, 3000))


def test_every_place_lies_inside_and_is_small_enough() -> None:
    rng = np.random.default_rng(2)
    for _ in range(300):
        size = tuple(int(side) for side in rng.integers(300, 9000, 2))
        numbers = rng.uniform(-100, 9000, 4)
        box = place_around(*numbers, size)
        box.check_inside(size)
        assert max(box.width, box.height) <= 768


def test_the_label_says_that_it_is_a_part_where_and_how_large() -> None:
    label = view_label(2, View(box=(10, 20, 300, 200), scale=2, reason="x"), (6000, 4000))
    for words in ("view 2", "part of the test image", "300×200", "x 10, y 20", "6000×4000", "enlarged 2 times"):
        assert words in label


@pytest.mark.parametrize("box", [(10, 10, 1, 40), (10, 10, 40, 1), (0, 0, 160, 120)])
def test_a_difference_of_any_place_can_be_drawn(image, box) -> None:
    shown = render(View(kind="difference", box=box, reason="x"), image, image)
    assert (shown.rgb == 128).all()
