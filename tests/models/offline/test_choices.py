"""How options are held against what was seen, with a reading made by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from agenticiqa.models.offline.choices import weigh, yes_probability
from agenticiqa.models.offline.language.options import read_options
from agenticiqa.models.offline.language.question import understand
from agenticiqa.models.offline.sentences import finding
from agenticiqa.state import ExecutorOutput, ToolExecutionLog
from agenticiqa.vision.network import load_vision
from agenticiqa.vision.picture_facts import facts_of
from agenticiqa.vision.scene import Reading, Scene
from agenticiqa.vocabulary import CATEGORIES

CLEAN, SEVERE = (0.98, 0.02, 0.0, 0.0, 0.0), (0.0, 0.05, 0.15, 0.7, 0.1)


def look_with(kinds: dict[str, float], *damaged: str, score: float = 2.5) -> Any:
    """A look whose categories are clean but for those named; ``kinds`` share what speaks for them."""
    vision = load_vision()
    reading = Reading(
        score=score,
        level_probabilities={1: 0.1, 2: 0.5, 3: 0.3, 4: 0.1, 5: 0.0},
        severity_probabilities={name: SEVERE if name in damaged else CLEAN for name in CATEGORIES},
        kinds=dict.fromkeys(vision.kinds, 1e-4) | kinds,
        flaws=dict.fromkeys(vision.flaws, 0.0),
        sorts={"photograph": 1.0},
        generated=0.0,
    )
    scene = Scene(vision, None, facts_of(np.zeros((64, 64, 3), np.uint8)))  # type: ignore[arg-type]
    return SimpleNamespace(reading=reading, scene=scene, severity=lambda name: reading.severity[name])


def chosen(question: str, options: list[str], look: Any) -> str:
    letters = {chr(ord("A") + place): text for place, text in enumerate(options)}
    weights = weigh(understand(question, options), read_options(letters), look, lambda _: pytest.fail("no place"))
    assert weights is not None
    assert sum(weights.values()) == pytest.approx(1)
    return letters[max(weights, key=lambda letter: weights[letter])]


def test_what_is_not_there_is_asked_for():
    look = look_with({"white_noise": 0.9, "jpeg": 0.9}, "Noise", "Compression")
    options = ["Noise", "Motion blur", "JPEG compression"]
    assert chosen("Which of these distortions is NOT present in the picture?", options, look) == "Motion blur"
    assert chosen("Which of these is present?", options, look) != "Motion blur"


def test_a_general_word_beside_a_finer_one_means_the_rest():
    options = ["Noise", "Salt-and-pepper noise"]
    question = "Which of these affects the picture?"
    assert chosen(question, options, look_with({"impulse_noise": 0.9}, "Noise")) == "Salt-and-pepper noise"
    assert chosen(question, options, look_with({"white_noise": 0.9}, "Noise")) == "Noise"


def test_a_finer_word_may_stand_for_its_category_where_no_other_option_does():
    look = look_with({"motion_blur": 0.9}, "Blurs")
    assert chosen("What is the main problem?", ["Out-of-focus blur", "Noise", "Underexposure"], look) != "Noise"


@pytest.mark.parametrize(("calibrated", "yes"), [(4.9, False), (2.5, True)])
def test_beside_a_reference_the_comparison_decides(calibrated, yes):
    log = ToolExecutionLog(tool="SSIM", object="Global", raw_score=0.9, calibrated_score=calibrated)
    question = understand("Is the quality of the picture visibly worse than that of the reference?")
    evidence = ExecutorOutput(tool_logs=[log])
    chance = yes_probability(question, look_with({}), evidence, beside_reference=True)
    assert chance is not None
    assert (chance > 0.5) == yes


@pytest.mark.parametrize(
    ("question", "yes"),
    [
        ("Is the picture degraded?", True),
        ("Is the picture free of artifacts?", False),
        ("Is the quality good?", False),
        ("Is the quality poor?", True),
    ],
)
def test_quality_as_such(question, yes):
    chance = yes_probability(understand(question), look_with({}, score=2.4))
    assert chance is not None
    assert (chance > 0.5) == yes


@pytest.mark.parametrize(("category", "hinted"), [("Blurs", True), ("Color distortions", True), ("Noise", False)])
def test_slight_findings_that_may_be_style_are_called_hints(category, hinted):
    look = look_with({})
    look.severity_name = lambda _: "slight"
    assert ("may be meant" in finding(category, look)) == hinted
    look.severity_name = lambda _: "severe"
    assert "may be meant" not in finding(category, look)
