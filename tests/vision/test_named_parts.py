"""Things of everyday kinds by what the vision model knows of each place: found, absent, or neither."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from agenticiqa.pictures.images import Box, load_image
from agenticiqa.vision.named_parts import find_part, judged_box, surest
from agenticiqa.vision.network import load_vision
from agenticiqa.vision.scene import Scene

DANDELION = Path(__file__).resolve().parents[2] / "examples" / "pictures" / "dandelion.jpg"
KINDS = [{"name": "dog", "found": 0.6, "absent": 0.2}, {"name": "cat", "found": 0.5, "absent": 0.1}]


def grid(*areas: tuple[slice, slice, float]) -> np.ndarray:
    chances = np.zeros((20, 20), np.float32)
    for rows, columns, chance in areas:
        chances[rows, columns] = chance
    return chances


def scene(dog: np.ndarray, cat: np.ndarray | None = None) -> Any:
    """A picture of which the model says just this."""
    chances = np.stack([dog, grid() if cat is None else cat], axis=-1)
    vision = SimpleNamespace(about={"parts": KINDS}, parts=lambda features: chances)
    return SimpleNamespace(vision=vision, features=None)


LARGE, SMALL = (slice(4, 16), slice(10, 18), 0.9), (slice(0, 3), slice(0, 3), 0.95)


def test_the_box_lies_inside_the_largest_area():
    assert judged_box(grid(LARGE, SMALL), (400, 200)) == Box(200, 40, 160, 120)


def test_a_small_area_is_widened_to_what_can_be_judged_and_stays_in_the_picture():
    box = judged_box(grid((slice(0, 1), slice(19, 20), 0.9)), (200, 100))
    assert box == Box(152, 0, 48, 48)


def test_places_that_are_half_as_sure_as_the_surest_belong_to_it():
    near, far = slice(5, 10), slice(10, 15)
    chances = grid((near, near, 0.8), (near, far, 0.41), (far, near, 0.39))
    assert surest(chances) == pytest.approx(0.8)
    assert judged_box(chances, (400, 400)) == Box(100, 100, 200, 100)


def test_found_absent_or_neither():
    asked, size = frozenset({"dog"}), (400, 400)
    found = find_part(scene(grid(LARGE)), asked, size)
    assert found.box == Box(200, 80, 160, 240)
    assert find_part(scene(grid()), asked, size).absent
    unsure = find_part(scene(grid((slice(4, 16), slice(10, 18), 0.4))), asked, size)
    assert (unsure.box, unsure.absent) == (None, False)


def test_what_the_model_does_not_know_is_neither_found_nor_absent():
    for labels in (frozenset({"vase"}), frozenset({"dog", "vase"})):
        sought = find_part(scene(grid()), labels, (400, 400))
        assert (sought.box, sought.absent) == (None, False)


def test_the_side_that_is_named_decides_and_absence_there_is_not_claimed():
    left, right = Box(0, 0, 200, 400), Box(200, 0, 200, 400)
    assert find_part(scene(grid(LARGE)), frozenset({"dog"}), (400, 400), right).box
    elsewhere = find_part(scene(grid(LARGE)), frozenset({"dog"}), (400, 400), left)
    assert (elsewhere.box, elsewhere.absent) == (None, False)


def test_tokens_are_of_the_same_look_as_the_content():
    """What the content tells of the mean of all places is that of the tokens' last layer, laid out on another grid."""
    vision = load_vision()
    features = vision.look(load_image(DANDELION).rgb)
    assert features.tokens.shape == (20, 20, 768)
    assert features.tokens[..., 384:].mean((0, 1)) == pytest.approx(features.content[384:768], abs=0.02)


@pytest.mark.hard
def test_chances_of_a_mirrored_picture_are_mirrored():
    vision, rgb = load_vision(), load_image(DANDELION).rgb
    one, other = (vision.parts(vision.look(np.ascontiguousarray(each))) for each in (rgb, rgb[:, ::-1]))
    assert one.shape[-1] == len(vision.about["parts"])
    # Seen the other way round, single places differ; the kinds do not.
    assert np.abs(one - other[:, ::-1]).mean() < 0.01


def test_a_flower_is_no_vehicle():
    image = load_image(DANDELION)
    seen = Scene.of(load_vision(), image.rgb)
    for kind in ("bus", "train", "tv"):
        assert find_part(seen, frozenset({kind}), image.size).box is None
