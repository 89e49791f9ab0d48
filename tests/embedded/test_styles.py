"""Style is named as what it is, and never beside damage of the same kind."""

import numpy as np
import pytest

from agenticiqa.embedded.findings import styles
from agenticiqa.embedded.looking import Look
from agenticiqa.vision.network import load_vision
from agenticiqa.vision.picture_facts import facts_of
from agenticiqa.vision.scene import Scene
from support.drawn import loaded
from support.looks import SEVERE, made_look

SHARP, SHALLOW = np.full((6, 6), 0.9), np.pad(np.full((2, 2), 0.9), 2, constant_values=0.05)
BLACK_AND_WHITE = "black and white"
DARK = "mostly dark with lit parts, as at night or in a low key"
SHALLOW_DEPTH = "a shallow depth of field"


def look_at(pixels, focus=SHARP, damaged=None, sorts=None):
    reading = made_look(damaged, sorts=sorts).reading
    scene = Scene(load_vision(), None, facts_of(pixels))  # type: ignore[arg-type]
    vars(scene).update(focus=focus, read=lambda: reading)
    return Look(scene, loaded(pixels))


def textured(low, high, *, colour=0.0, share=1.0):
    """Random tones between two levels, in a part of the frame; black elsewhere."""
    rng = np.random.default_rng(3)
    smooth = np.kron(rng.uniform(low, high, (16, 16)), np.ones((8, 8)))
    smooth[: round(128 * (1 - share))] = 2
    pixels = smooth[..., None] * np.array([1.0, 1 - colour, 1 - colour])
    return np.clip(pixels + rng.normal(0, 0.6, (128, 128, 1)), 0, 255).astype(np.uint8)


def test_an_ordinary_photograph_has_no_style_to_name():
    assert styles(look_at(textured(40, 220, colour=0.4))) == []


def test_a_photograph_without_colours_is_black_and_white():
    assert styles(look_at(textured(40, 220))) == [BLACK_AND_WHITE]


@pytest.mark.parametrize("tones", [(0, 20), (244, 254)])
def test_a_photograph_of_hardly_any_or_too_much_light_is_not_called_black_and_white(tones):
    assert BLACK_AND_WHITE not in styles(look_at(textured(*tones)))


def test_lit_parts_in_the_dark_are_a_low_key_unless_the_exposure_is_wrong():
    night = textured(150, 250, colour=0.4, share=0.2)
    assert styles(look_at(night)) == [DARK]
    assert styles(look_at(night, damaged={"Brightness change": SEVERE})) == []
    assert styles(look_at(textured(0, 30, colour=0.4))) == [], "dark without lights is only dark"


def test_what_looks_blurred_is_a_shallow_depth_of_field_where_a_sharp_part_stands_before_a_soft_rest():
    picture = textured(40, 220, colour=0.4)
    blurred = look_at(picture, SHALLOW, damaged={"Blurs": SEVERE})
    assert styles(blurred) == [SHALLOW_DEPTH]
    assert "Blurs" not in blurred.visible()
    assert styles(look_at(picture, SHARP, damaged={"Blurs": SEVERE})) == []
    assert styles(look_at(picture, SHALLOW)) == [], "plain ground is not in focus either, and not blurred"


def test_only_photographs_have_a_photographic_style():
    assert styles(look_at(textured(40, 220), SHALLOW, sorts={"drawing": 1.0})) == []
