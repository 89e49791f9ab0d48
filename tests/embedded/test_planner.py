"""The planner's rule table, row by row, and the worked examples of the paper."""

from __future__ import annotations

import pytest

from agenticiqa.embedded.question import understand
from agenticiqa.embedded.steps import plan_for
from agenticiqa.state import PlannerOutput


def plan(query: str, options: list[str] | None = None, *, reference: bool = False) -> PlannerOutput:
    return plan_for(understand(query, options, has_reference=reference), has_reference=reference)


def switched(made: PlannerOutput) -> tuple[bool, bool, bool, bool]:
    flags = made.plan
    return flags.distortion_detection, flags.distortion_analysis, flags.tool_selection, flags.tool_execution


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        # detection, analysis, selection, execution
        ("Rate the face with NIQE.", (True, True, False, True)),
        ("Rate the face.", (True, True, False, False)),
        ("Rate the photo with NIQE.", (True, True, False, True)),
        ("Rate the photo.", (True, True, True, True)),
        ("Use NIQE: is the face blurry?", (False, True, False, True)),
        ("Is the face blurry?", (False, True, False, False)),
        ("Is the photo blurry? Use NIQE.", (False, True, False, True)),
        ("Is the photo blurry?", (False, True, True, True)),
        ("How can I fix it?", (True, True, True, True)),
        ("Is the photo romantic?", (False, False, False, False)),
        ("Is the man happy?", (False, False, False, False)),
    ],
)
def test_switches(query: str, expected: tuple[bool, ...]) -> None:
    assert switched(plan(query)) == expected


def test_reference_mode_follows_the_picture_not_the_words() -> None:
    assert plan("Compare it with the reference.").reference_mode == "No-Reference"
    assert plan("Is it blurry, without looking at any reference?", reference=True).reference_mode == "Full-Reference"


def test_several_tools() -> None:
    made = plan("Calculate NIQE and BRISQUE.")
    assert (made.required_tool, made.extra_tools) == ("NIQE", ["BRISQUE"])


def test_paper_rating_with_reference() -> None:
    made = plan("Rate the perceptual quality.", reference=True)
    assert (made.query_type, made.query_scope, made.distortion_source) == ("IQA", "Global", "Inferred")
    assert switched(made) == (True, True, True, True)


def test_paper_blurry_vehicle() -> None:
    made = plan("How blurry is the vehicle?", ["A little bit", "Very", "Not at all"])
    assert made.distortions == {"vehicle": ["Blurs"]}
    assert switched(made) == (False, True, False, False)


def test_paper_major_distortion() -> None:
    made = plan("What is the major distortion?", ["Overexposure", "Underexposure", "Motion blur"])
    assert (made.query_scope, made.distortion_source) == ("Global", "Explicit")
    assert made.distortions == {"Global": ["Brightness change", "Blurs"]}
    assert switched(made) == (False, True, True, True)


def test_paper_singing_man() -> None:
    made = plan("Is the singing man emphasised?", ["No", "Yes"])
    assert (made.query_type, made.query_scope) == ("Other", ["singing man"])
    assert switched(made) == (False, False, False, False)
