"""Where a closer look pays: at most four places, odd ones first, all by rule."""

from __future__ import annotations

import io

import cv2
import numpy as np
import pytest
from PIL import Image

from agenticiqa.pictures.images import Box, LoadedImage, decode_image
from agenticiqa.vision.closer_look import plan_views
from agenticiqa.vision.odd_places import candidates, find_odd_places
from agenticiqa.vision.views import place_around

SIZE = (2304, 1536)


def ground(seed: int = 3) -> np.ndarray:
    """Cloudy texture of all sizes with a little grain: sharp all over, nothing odd."""
    rng = np.random.default_rng(seed)
    values = np.zeros(SIZE[::-1], np.float32)
    for octave in range(9):
        small = rng.normal(size=(SIZE[1] // 2**octave + 2, SIZE[0] // 2**octave + 2)).astype(np.float32)
        values += cv2.resize(small, SIZE, interpolation=cv2.INTER_LINEAR) * 1.4**octave
    values = 128 + 30 * (values - values.mean()) / values.std()
    return np.repeat(values.clip(0, 255).astype(np.uint8)[..., None], 3, axis=2)


def opened(pixels: np.ndarray) -> LoadedImage:
    stored = io.BytesIO()
    Image.fromarray(pixels).save(stored, "PNG", compress_level=1)
    return decode_image(stored.getvalue())


def flawed(kind: str) -> tuple[np.ndarray, Box]:
    pixels, place = ground(), Box(1300, 500, 320, 320)
    part = pixels[place.rows, place.columns]
    if kind == "blur":
        part[:] = cv2.GaussianBlur(part, (0, 0), 8)
    elif kind == "noise":
        pixels[:] = cv2.GaussianBlur(pixels, (0, 0), 3)
        part[:] = (part + np.random.default_rng(1).normal(0, 12, part.shape)).clip(0, 255)
    elif kind == "blocks":
        pixels[:] = cv2.GaussianBlur(pixels, (0, 0), 12)
        stored = io.BytesIO()
        Image.fromarray(np.ascontiguousarray(part)).save(stored, "JPEG", quality=7)
        part[:] = np.asarray(Image.open(stored))
    elif kind == "scratch":
        cv2.line(pixels, (1310, 510), (1600, 790), (250, 250, 250), 3, cv2.LINE_AA)
    else:
        pixels[:] = cv2.GaussianBlur(pixels, (0, 0), 2)
        part[:, :200] = np.roll(pixels, -12, axis=0)[place.rows, place.columns][:, :200]
    return pixels, place


@pytest.mark.hard
@pytest.mark.parametrize("kind", ["blur", "noise", "blocks", "scratch", "seam"])
def test_a_small_flaw_is_found_named_and_shown(kind) -> None:
    pixels, place = flawed(kind)
    middle = place.x + place.width / 2, place.y + place.height / 2
    views = plan_views(opened(pixels))
    assert len(views) <= 4
    found = [view for view in views if view.oddity == kind]
    assert found, [(each.oddity, each.chance) for each in find_odd_places(pixels)]
    assert views[0].oddity is not None
    box = Box(*found[0].box)
    assert box.x - 100 < middle[0] < box.x + box.width + 100
    assert box.y - 100 < middle[1] < box.y + box.height + 100


@pytest.mark.hard
def test_nothing_is_called_odd_where_nothing_is() -> None:
    assert not any(each.sure for each in find_odd_places(ground()))
    views = plan_views(opened(ground()))
    assert 1 <= len(views) <= 4
    assert all(view.oddity is None and view.reason for view in views)


def test_of_each_oddity_there_are_two_places_apart_and_at_most_one_is_said() -> None:
    pixels, _ = flawed("scratch")
    cv2.line(pixels, (300, 1100), (700, 1300), (250, 250, 250), 3, cv2.LINE_AA)
    found = find_odd_places(pixels)
    assert [each.chance for each in found] == sorted((each.chance for each in found), reverse=True)
    for oddity in {each.oddity for each in found}:
        own = [each for each in found if each.oddity == oddity]
        assert len(own) <= 2
        assert sum(each.sure for each in own) <= 1
    first, second = (each.box for each in found if each.oddity == "scratch")
    assert abs(first.x - second.x) > 500


@pytest.mark.hard
def test_marked_parts_come_first_and_small_places_are_enlarged() -> None:
    first, *_ = plan_views(opened(ground()), regions={"sign": [100, 200, 150, 90]})
    x, y, width, height = first.box
    assert x <= 100 <= 250 <= x + width
    assert y <= 200 <= 290 <= y + height
    assert "sign" in first.reason
    assert first.scale * max(width, height) <= 768
    assert first.scale == 2


@pytest.mark.hard
def test_dark_places_have_their_shadows_lifted() -> None:
    dark = (ground() // 6).astype(np.uint8)
    assert {view.kind for view in plan_views(opened(dark))} == {"shadows"}


def test_beside_a_reference_the_first_place_is_shown_as_it_differs() -> None:
    pixels, _ = flawed("noise")
    views = plan_views(opened(pixels), reference=opened(cv2.GaussianBlur(ground(), (0, 0), 3)))
    assert len(views) <= 4
    assert (views[0].kind, views[1].kind) == ("magnified", "difference")
    assert views[0].box == views[1].box


def test_no_view_is_larger_than_a_model_takes() -> None:
    for view in plan_views(opened(ground()), side=300):
        assert view.scale * max(view.box[2:]) <= 300


def test_a_narrow_picture_has_no_surroundings() -> None:
    assert find_odd_places(np.zeros((100, 3000, 3), np.uint8)) == ()
    assert place_around(5, 5, 768, 768, (3000, 100)) == Box(0, 0, 768, 100)


def test_a_picture_without_a_far_place_is_compared_with_itself() -> None:
    found = candidates(ground()[:300, :400])
    assert {each.oddity for each in found} >= {"blur", "blocks", "noise"}
    assert all(np.isfinite(each.features).all() for each in found)


def test_a_line_in_a_picture_longer_than_opencv_takes() -> None:
    pixels = np.full((300, 33_000, 3), 120, np.uint8)
    cv2.line(pixels, (20_000, 60), (20_600, 200), (235, 235, 235), 3)
    cv2.line(pixels, (5, 150), (32_990, 150), (20, 20, 20), 2)
    assert all(0 <= place.box.x < 33_000 for place in find_odd_places(pixels))


@pytest.mark.hard
def test_beside_a_reference_a_flaw_is_told_of_once() -> None:
    pixels, _ = flawed("scratch")
    views = plan_views(opened(pixels), reference=opened(ground()))
    assert [view.kind for view in views].count("difference") == 1
    assert all(view.oddity is None for view in views if view.kind == "difference")
