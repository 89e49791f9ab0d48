"""With a reference, the embedded backend's levels come from both pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from training.distortions import distort

from agenticiqa import assess
from agenticiqa.embedded.looking import level_chances
from agenticiqa.vision.scene import LEVELS, Reading

pytestmark = pytest.mark.usefixtures("isolated")

UNSURE = Reading(3.0, dict.fromkeys(LEVELS, 0.2), {}, {}, {}, {}, 0.0)


@pytest.fixture(scope="module")
def scene() -> np.ndarray:
    with Image.open(Path(__file__).resolve().parents[2] / "examples" / "pictures" / "dandelion.jpg") as picture:
        return np.asarray(picture.convert("RGB").crop((100, 0, 612, 384)))


@pytest.mark.parametrize("score", [1.0, 2.3, 3.7, 4.6])
def test_the_likeliest_level_is_the_nearest_and_chances_sum_to_one(score: float) -> None:
    found = level_chances(score, UNSURE)
    assert max(found, key=lambda level: found[level]) == round(score)
    assert sum(found.values()) == pytest.approx(1)


def test_a_better_score_never_lowers_the_expected_level() -> None:
    expected = [
        sum(level * chance for level, chance in level_chances(score, UNSURE).items())
        for score in np.linspace(1, 4.6, 50)
    ]
    assert all(np.diff(expected) > 0)


def test_a_bad_picture_that_equals_its_reference_is_rated_better_than_beside_the_original(scene: np.ndarray) -> None:
    damaged = np.ascontiguousarray(distort(scene, "jpeg", 5))
    as_it_should_be = assess(damaged, reference=damaged.copy())
    beside_original = assess(damaged, reference=scene)
    assert as_it_should_be.score > beside_original.score + 1
    assert as_it_should_be.answer == "A"


def test_a_measurement_that_the_levels_are_made_of_does_not_count_twice(scene: np.ndarray) -> None:
    found = assess(np.ascontiguousarray(distort(scene, "white_noise", 3)), reference=scene)
    fusion = found.summarizer_result.used_evidence["fusion"]
    assert {log.tool for log in found.executor_evidence.tool_logs} == {"AIQA_FR"}
    assert set(fusion["alpha"].values()) == {0.2}
    assert found.score == pytest.approx(sum(int(level) * chance for level, chance in fusion["p"].items()))


def test_what_is_in_the_reference_too_is_not_held_against_the_picture() -> None:
    bad = Reading(1.5, {1: 0.5, 2: 0.5, 3: 0.0, 4: 0.0, 5: 0.0}, {}, {}, {}, {}, 0.0)
    assert level_chances(4.6, bad)[1] < 1e-6
    assert level_chances(4.0, bad)[1] > 0.1


def test_worse_than_the_reference_asks_what_was_done_to_the_picture(scene: np.ndarray) -> None:
    damaged = np.ascontiguousarray(distort(scene, "jpeg", 4))
    question = "Is it visibly worse than the reference?"
    assert assess(damaged, question, reference=scene).answer == "Yes"
    assert assess(damaged, question, reference=damaged.copy()).answer == "No"
