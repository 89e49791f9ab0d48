"""A region the user gave and asked about is what is judged, whatever the planner made of the question."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from agenticiqa import AgenticIQA
from agenticiqa.nodes.evidence import enforce_regions
from agenticiqa.state import PlannerOutput
from support.builders import make_plan

pytestmark = pytest.mark.usefixtures("isolated")

BOX = [8, 8, 80, 80]


def held(plan: PlannerOutput, question: str, *names: str) -> PlannerOutput:
    return enforce_regions(plan, question, dict.fromkeys(names, BOX), keep_switches=False)


def test_an_overlooked_region_takes_the_place_of_the_whole_picture():
    plan = held(make_plan(distortions={"Global": ["Blurs"]}), "How blurry is the region?", "region")
    assert plan.query_scope == ["region"]
    assert plan.distortions == {"region": ["Blurs"]}
    assert not plan.plan.tool_selection
    assert not plan.plan.tool_execution


def test_a_named_tool_still_runs():
    plan = held(make_plan(required_tool="NIQE"), "NIQE of the spot?", "spot")
    assert plan.plan.tool_execution


def test_a_replan_keeps_its_switches():
    before = make_plan()
    plan = enforce_regions(before, "Is the spot sharp?", {"spot": BOX}, keep_switches=True)
    assert plan.query_scope == ["spot"]
    assert plan.plan == before.plan


@pytest.mark.parametrize(
    ("scope", "question", "names", "expected"),
    [
        (["car"], "How sharp is the detail on the car?", ["detail"], ["detail", "car"]),
        (["purple flowers"], "Are the purple flowers sharp?", ["flowers"], ["flowers"]),
        (["edge of the flowers"], "Is the edge of the flowers sharp?", ["flowers"], ["edge of the flowers", "flowers"]),
        ("Global", "Is the part sharper than the area?", ["area", "part"], ["part", "area"]),
        ("Global", "Is it sharp?", ["face"], ["face"]),
        ("Global", "Is the picture sharp?", ["face"], "Global"),
        ("Global", "Is it sharp?", ["face", "hand"], "Global"),
        ("Global", "Ignoring the face, is it sharp?", ["face"], "Global"),
        (["car"], "Is the car sharp?", ["face"], ["car"]),
        (["Face"], "Is the Face sharp?", ["face"], ["Face"]),
        ("Global", "Is this partly sharp?", ["part", "art"], "Global"),
    ],
)
def test_what_a_question_is_about(scope, question, names, expected):
    assert held(make_plan(query_scope=scope), question, *names).query_scope == expected


@pytest.fixture
def half_blurred(tmp_path: Path) -> Path:
    """Noise on the left, a flat ramp on the right."""
    noise = np.random.default_rng(3).integers(0, 256, (192, 192, 3), np.uint8)
    ramp = np.broadcast_to(np.linspace(60, 200, 192).astype(np.uint8)[None, :, None], (192, 192, 3))
    Image.fromarray(np.concatenate([noise, ramp], axis=1)).save(tmp_path / "half.png")
    return tmp_path / "half.png"


@pytest.mark.parametrize("name", ["region", "object", "spot", "detail", "area", "part", "quality patch"])
def test_the_embedded_backend_judges_the_box_whatever_it_is_called(half_blurred, name):
    box = [192, 0, 192, 192]
    with AgenticIQA("embedded") as assessor:
        found = assessor.assess(half_blurred, f"How noisy is the {name}?", regions={name: box})
        plainly = assessor.assess(half_blurred, "How noisy is the car?", regions={"car": box})
    assert found.plan.query_scope == [name]
    assert found.answer == plainly.answer
    assert list(found.executor_evidence.distortion_analysis) == [name]


def test_a_colour_is_that_of_the_thing_asked_about(tmp_path):
    pixels = np.zeros((128, 256, 3), np.uint8)
    pixels[:, :128] = (200, 30, 30)
    pixels[:, 128:] = (30, 160, 30)
    pixels[::2, ::3] //= 2
    Image.fromarray(pixels).save(tmp_path / "two.png")
    boxes = {"car": [0, 0, 128, 128], "bus": [128, 0, 128, 128]}
    with AgenticIQA("embedded") as assessor:
        answers = [
            assessor.assess(tmp_path / "two.png", f"What colour is the {n}?", regions=boxes).answer for n in boxes
        ]
    assert answers == ["Red", "Green"]
