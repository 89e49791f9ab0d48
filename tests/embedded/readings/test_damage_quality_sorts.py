"""Readers of damage, of quality and of the sort of picture, on readings made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from agenticiqa.embedded.properties import properties
from agenticiqa.embedded.readings.base import PropertyReading, reader_of
from agenticiqa.embedded.readings.detail import READ
from agenticiqa.vision.network import load_vision
from support.drawn import loaded
from support.looks import SEVERE, made_look


def read(name, look) -> PropertyReading:
    found = reader_of(name)
    assert found is not None
    told = found(look)
    assert told is not None
    return told


@pytest.mark.parametrize("name", [*READ, "quality", "flaw", "flaw_count", "real"])
def test_chances_are_chances_of_a_property_that_can_be_asked(name):
    assert name in properties()
    told = read(name, made_look({"Blurs": SEVERE}, flaws={"motion_blur": 0.9}))
    assert told.amounts is not None
    assert sum(told.amounts) == pytest.approx(1)
    assert min(told.amounts) >= 0
    assert told.sentence.endswith(".")


def test_damage_lowers_what_is_wanted_and_raises_what_is_not():
    sound, blurred = made_look(), made_look({"Blurs": SEVERE, "Noise": SEVERE})
    assert read("sharp", blurred).amount < 0.4 < read("sharp", sound).amount
    assert read("noisy", sound).amount < 0.4 < read("noisy", blurred).amount


def test_a_kind_is_there_as_far_as_its_category_or_its_flaw_is():
    moving = made_look({"Blurs": SEVERE}, kinds={"motion_blur": 0.9}, flaws={"motion_blur": 0.95})
    assert read("motion_blurred", moving).presence > 0.9
    assert read("in_focus", moving).amount > 0.8
    assert "Motion blur is likely" in read("motion_blurred", moving).sentence
    assert "No visible motion blur" in read("motion_blurred", made_look()).sentence


def test_things_known_from_made_damage_only_are_guesses():
    assert read("warped", made_look()).guess
    assert not read("noisy", made_look()).guess


def test_flaws_are_counted():
    assert read("flaw_count", made_look()).numbers["count"] == 0
    two = read("flaw_count", made_look({"Blurs": SEVERE, "Noise": SEVERE}))
    assert two.numbers["count"] == 2
    assert two.amount > 0.6


def test_a_low_score_says_that_something_is_wrong_where_nothing_is_found():
    low = made_look(levels=(0.5, 0.5, 0.0, 0.0, 0.0))
    assert read("flaw", low).presence > 0.9
    assert read("flaw", made_look()).presence < 0.5


def test_sorts_and_generators():
    drawn = made_look(sorts={"drawing": 0.7, "sketch": 0.2, "photograph": 0.1}, generated=0.8)
    values = read("picture_kind", drawn).values
    assert values["drawing"] == pytest.approx(0.9)
    assert values["generated"] == 0.8
    assert read("real", drawn).amount == pytest.approx(0.2)


@pytest.mark.parametrize("sort", load_vision().sorts)
def test_every_sort_of_the_weights_has_a_value_that_can_be_asked_about(sort):
    asked, told = properties()["picture_kind"], read("picture_kind", made_look(sorts={sort: 1.0}))
    likeliest = [value for value, chance in told.values.items() if chance == 1.0]
    assert likeliest
    assert set(likeliest) <= set(asked.values)
    assert any(value in told.sentence or sort in told.sentence for value in likeliest)


def test_no_overexposure_is_a_guess_where_lights_are_clipped():
    sound = made_look()
    assert not read("overexposed", sound).guess
    pixels = np.full((64, 64, 3), 120, np.uint8)
    pixels[:20] = 255
    sound.image = loaded(pixels)
    told = read("overexposed", sound)
    assert told.guess
    assert "31 % of it is pure white." in told.measured
    blown = made_look({"Brightness change": SEVERE}, flaws={"too_bright": 0.95})
    blown.image = loaded(pixels)
    assert not read("overexposed", blown).guess


def test_a_white_ground_is_no_overexposure_for_sure():
    ground = np.full((64, 64, 3), 255, np.uint8)
    ground[20:40, 20:40] = (90, 60, 40)
    sound = made_look()
    sound.image = loaded(ground)
    told = read("overexposed", sound)
    assert (told.presence < 0.5, told.guess) == (True, True)


@pytest.mark.parametrize(("colours", "banded"), [(16, True), (4096, False)])
def test_few_colours_are_banding_in_a_photograph(colours, banded):
    look = made_look()
    codes = np.random.default_rng(1).integers(0, colours, (96, 96))
    look.image = loaded(np.stack([codes % 16 * 16, codes // 16 % 16 * 16, codes // 256 * 16], -1).astype(np.uint8))
    assert (read("banded", look).presence > 0.5) == banded
    drawing = made_look(sorts={"drawing": 1.0})
    drawing.image = look.image
    assert read("banded", drawing).presence < 0.5
