"""What facts and the map of focus change in the model's reading."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from agenticiqa.vision.network import load_vision
from agenticiqa.vision.picture_facts import facts_of
from agenticiqa.vision.scene import (
    INTENDED_BLUR_CHANCE,
    Reading,
    adjusted_by_facts,
    adjusted_by_focus,
    looks_blurred_by_focus,
)
from agenticiqa.vocabulary import CATEGORIES

SOFT = (0.3, 0.4, 0.2, 0.1, 0.0)


@pytest.fixture
def reading() -> Reading:
    severities = dict.fromkeys(CATEGORIES, (1.0, 0.0, 0.0, 0.0, 0.0)) | {"Blurs": SOFT}
    flaws = dict.fromkeys(load_vision().flaws, 0.0) | {"out_of_focus": 0.7, "blurry": 0.6}
    return Reading(4.0, dict.fromkeys(range(1, 6), 0.2), severities, {}, flaws, {"photograph": 1.0}, 0.0)


def focus(sharp: int, rest: float) -> np.ndarray:
    found = np.full((10, 10), rest, np.float32)
    found[0, :sharp] = 0.95
    return found


def test_a_sharp_part_before_a_soft_rest_is_no_blur(reading):
    assert looks_blurred_by_focus(reading)
    found = adjusted_by_focus(reading, focus(6, 0.02))
    assert found.presence("Blurs") == pytest.approx(INTENDED_BLUR_CHANCE)
    assert max(found.flaws["out_of_focus"], found.flaws["blurry"]) <= INTENDED_BLUR_CHANCE
    assert found.severity_probabilities["Blurs"][2] / found.severity_probabilities["Blurs"][1] == pytest.approx(0.5)


@pytest.mark.parametrize(("sharp", "rest"), [(0, 0.02), (2, 0.02), (6, 0.5)])
def test_nothing_sharp_or_everything_half_sharp_stays_blurred(reading, sharp, rest):
    assert adjusted_by_focus(reading, focus(sharp, rest)) is reading


def test_motion_is_no_choice_of_depth(reading):
    assert not looks_blurred_by_focus(replace(reading, flaws=reading.flaws | {"motion_blur": 0.6}))


# --- lights ---


@pytest.fixture
def burnt() -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.clip(rng.normal(255, 60, (64, 64, 3)) + rng.normal(0, 80, (64, 64, 1)), 0, 255).astype(np.uint8)


def test_a_photograph_clipped_in_lights_and_colours_is_overexposed(reading, burnt):
    for content in ({"deviation": 50.0, "agreement": 0.9}, {"one_tone": 0.9, "colourfulness": 3.0, "agreement": 0.9},
                    {"flat_share": 0.8, "plain_blocks": 0.5, "agreement": 0.9}):  # fmt: skip
        found = adjusted_by_facts(reading, replace(facts_of(burnt), **content))
        assert found.presence("Brightness change") > 0.5
        assert found.flaws["too_bright"] > 0.5


def test_a_cartoon_and_a_white_ground_are_not(reading, burnt):
    drawn = replace(reading, sorts={"photograph": 0.1, "drawing": 0.9})
    facts = replace(facts_of(burnt), agreement=0.9)
    assert adjusted_by_facts(drawn, facts).presence("Brightness change") == 0
    ground = np.full((64, 64, 3), 255, np.uint8)
    ground[8:56, 8:56] = (90, 60, 40)
    assert adjusted_by_facts(reading, facts_of(ground)).presence("Brightness change") == 0
