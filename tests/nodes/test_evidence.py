"""When evidence is enough, and when the planner is asked again."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from agenticiqa.nodes.evidence import find_contradictions, find_gaps, scope_names, should_replan
from agenticiqa.state import ExecutorOutput
from support.builders import RATE, make_evidence, make_plan
from support.scripted import (
    ALL_OFF,
    ScriptedClient,
    analysed,
    analysis_reply,
    answer_reply,
    detection_reply,
    plan_reply,
    selection_reply,
)

NO_TOOLS = {"tool_selection": False, "tool_execution": False}


def entry(kind: str = "Blurs", severity: str = "moderate", **more: Any) -> dict[str, Any]:
    return {"type": kind, "severity": severity, "explanation": "seen", **more}


# --- as printed ---


def test_the_printed_signature() -> None:
    """D4-15: two arguments; a third is optional."""
    parameters = inspect.signature(should_replan).parameters
    assert list(parameters)[:2] == ["executor_output", "query_scope"]
    assert parameters["plan"].default is None


def test_missing_objects_are_named() -> None:
    """D4-16, D4-14, SC-24, SC-64: analysis that leaves out an object of the scope."""
    evidence = make_evidence(name="vehicle")
    again, reason = should_replan(evidence, ["vehicle", "background"])
    assert again
    assert reason == "Missing analysis for {'background'}"


def test_global_scope_needs_global_analysis() -> None:
    """D4-16: "Global" is one name, as a text or in a list."""
    assert should_replan(make_evidence(name="vehicle"), "Global") == (True, "Missing analysis for {'Global'}")
    assert should_replan(make_evidence(), "Global") == (False, "")
    assert should_replan(make_evidence(), ["Global"]) == (False, "")
    assert scope_names("Global") == ["Global"]


@pytest.mark.parametrize("scores", [None, {}, {"Global": {}}])
def test_no_scores(scores: Any) -> None:
    """D4-17, D4-14, SC-25: None and empty are the same gap."""
    evidence = make_evidence(score=None)
    evidence.quality_scores = scores
    assert should_replan(evidence, "Global") == (True, "No tool scores available")


def test_absent_analysis_is_no_gap_without_a_plan() -> None:
    """D4-16, D4-18: as printed, only partly missing analysis counts."""
    evidence = ExecutorOutput(quality_scores={"Global": {"Blurs": ("SSIM", 3.0)}})
    assert should_replan(evidence, ["vehicle"]) == (False, "")


def test_enough_evidence() -> None:
    """D4-18: nothing to plan again for."""
    assert should_replan(make_evidence(), "Global") == (False, "")
    assert should_replan(make_evidence(), "Global", make_plan()) == (False, "")


@pytest.mark.parametrize("written", ["Vehicle", " vehicle ", "VEHICLE"])
def test_names_compare_without_case(written: str) -> None:
    """D4-16: trimmed and case-insensitive."""
    assert should_replan(make_evidence(name="vehicle"), [written]) == (False, "")


# --- with the plan ---


def test_switched_off_is_not_missing() -> None:
    """D4-17, D4-19, SC-25: a plan without tools has no missing scores, one without analysis no missing analysis."""
    vehicle = make_plan(query_scope=["vehicle"], plan=NO_TOOLS)
    assert should_replan(make_evidence(score=None, name="vehicle"), ["vehicle"], vehicle) == (False, "")
    assert should_replan(ExecutorOutput(), "Global", make_plan(plan=ALL_OFF)) == (False, "")


def test_switched_on_and_absent_is_missing() -> None:
    """D4-16, D4-17, SC-24, SC-27: with the plan, analysis that is wholly absent is a gap."""
    plan = make_plan(query_scope=["vehicle"], plan=NO_TOOLS)
    assert should_replan(ExecutorOutput(), ["vehicle"], plan) == (True, "Missing analysis for {'vehicle'}")
    plan = make_plan(plan={"distortion_analysis": False})
    assert should_replan(ExecutorOutput(), "Global", plan) == (True, "No tool scores available")


def test_missing_scores_of_a_key_distortion_name_the_region() -> None:
    """SC-25, SC-28, SC-29, D4-14: wording like "Missing tool scores for vehicle region"."""
    evidence = ExecutorOutput.model_validate(
        {
            "distortion_analysis": {"vehicle": [entry("Blurs")], "sky": [entry("Noise", "none")]},
            "selected_tools": {"vehicle": {"Blurs": "SSIM"}, "sky": {"Noise": "noise"}},
            "quality_scores": {"sky": {"Contrast": ("PSNR", 3.0)}},
        }
    )
    plan = make_plan(query_scope=["vehicle", "sky"])
    again, reason = should_replan(evidence, ["vehicle", "sky"], plan)
    assert again
    assert reason.startswith("Missing tool scores for vehicle region")
    assert "Blurs" in reason
    # The sky's noise is absent, so nobody misses its score.
    assert not any("sky" in gap.reason for gap in find_gaps(evidence, ["vehicle", "sky"], plan))


def test_a_score_of_another_object_does_not_fill_the_gap() -> None:
    """SC-25, SC-29: the same tool measured the sky, but failed on the vehicle."""
    evidence = ExecutorOutput.model_validate(
        {
            "distortion_analysis": {"vehicle": [entry("Blurs")], "sky": [entry("Blurs")]},
            "selected_tools": {"vehicle": {"Blurs": "SSIM"}, "sky": {"Blurs": "SSIM"}},
            "quality_scores": {"sky": {"Blurs": ("SSIM", 3.0)}},
            "tool_logs": [
                {"tool": "SSIM", "object": "vehicle", "distortions": ["Blurs"], "error": "too small"},
                {"tool": "SSIM", "object": "sky", "distortions": ["Blurs"], "calibrated_score": 3.0},
            ],
        }
    )
    again, reason = should_replan(evidence, ["vehicle", "sky"], make_plan(query_scope=["vehicle", "sky"]))
    assert (again, reason) == (True, "Missing tool scores for vehicle region: Blurs")


def test_a_score_of_the_whole_picture_counts_for_an_object_without_a_place() -> None:
    """SC-25, D4-19: such scores are filed under Global, under a key of their own where two tools ran."""
    evidence = ExecutorOutput.model_validate(
        {
            "distortion_analysis": {"vehicle": [entry("Blurs")]},
            "selected_tools": {"vehicle": {"Blurs": "SSIM"}},
            "quality_scores": {"Global": {"Blurs": ("PSNR", 3.0), "Blurs (SSIM)": ("SSIM", 3.0)}},
        }
    )
    assert should_replan(evidence, ["vehicle"], make_plan(query_scope=["vehicle"])) == (False, "")


@pytest.mark.parametrize(("severity", "score"), [("severe", 4.01), ("extreme", 5.0)])
def test_contradictions(severity: str, score: float) -> None:
    """SC-26, SC-29, SC-62, D4-14: severe or extreme by eye, above 4.0 by measurement."""
    evidence = make_evidence(severity, score)
    (text,) = find_contradictions(evidence)
    assert text.startswith(f"Contradictory evidence: {severity} Blurs but high scores")
    assert should_replan(evidence, "Global", make_plan()) == (True, text)


@pytest.mark.parametrize(
    "evidence",
    [
        make_evidence("severe", 4.0),
        make_evidence("moderate", 4.9),
        make_evidence("severe", 4.9, quality_scores={"Global": {"Noise": ("SSIM", 4.9)}}),
        make_evidence("severe", 4.9, name="vehicle", quality_scores={"sky": {"Blurs": ("SSIM", 4.9)}}),
    ],
)
def test_no_contradiction(evidence: ExecutorOutput) -> None:
    """SC-26, D4-19: not at 4.0, not for moderate, not across distortions or objects."""
    assert find_contradictions(evidence) == []


@pytest.mark.parametrize(
    ("filed", "tools"),
    [
        ({"Global": {"Blurs": ("SSIM", 4.6)}}, "SSIM 4.60"),
        ({"Global": {"Overall": ("SSIM", 4.6)}}, "SSIM 4.60"),
        ({"Global": {"Blurs": ("PSNR", 2.0), "Blurs (SSIM)": ("SSIM", 4.6)}}, "SSIM 4.60"),
        ({"vehicle": {"Overall": ("SSIM", 4.6), "Noise": ("PSNR", 4.9)}}, "SSIM 4.60"),
    ],
)
def test_scores_of_the_whole_picture_and_overall_ones_can_contradict(filed: dict[str, Any], tools: str) -> None:
    """SC-26, SC-62: also where an object has no region, and where a tool measured quality overall."""
    evidence = make_evidence("severe", 4.6, name="vehicle", quality_scores=filed)
    (text,) = find_contradictions(evidence)
    where = "" if "vehicle" in filed else ", measured on the whole picture"
    assert text == f"Contradictory evidence: severe Blurs but high scores ({tools}) for vehicle{where}"
    assert should_replan(evidence, ["vehicle"], make_plan(query_scope=["vehicle"])) == (True, text)


def test_the_score_of_the_distortion_itself_counts_more_than_an_overall_one() -> None:
    """SC-26: what was measured for the blur agrees with the analysis; the picture as a whole may still be good."""
    scores = {"Global": {"Blurs": ("SSIM", 2.0), "Overall": ("PSNR", 4.9)}}
    assert find_contradictions(make_evidence("severe", 2.0, name="vehicle", quality_scores=scores)) == []


def test_a_score_of_the_whole_picture_says_nothing_of_an_object_that_was_measured_itself() -> None:
    """SC-26, D4-19."""
    logs = [{"tool": "SSIM", "object": "vehicle", "distortions": ["Blurs"], "error": "too small"}]
    scores = {"Global": {"Blurs": ("SSIM", 4.9)}}
    assert (
        find_contradictions(make_evidence("severe", 4.9, name="vehicle", quality_scores=scores, tool_logs=logs)) == []
    )


def test_open_uncertainty() -> None:
    """D4-14, SC-27: an object about which nothing is certain; one sure entry is enough."""
    unsure = ExecutorOutput.model_validate({"distortion_analysis": {"vehicle": [entry(uncertain=True)]}})
    plan = make_plan(query_scope=["vehicle"], plan=NO_TOOLS)
    again, reason = should_replan(unsure, ["vehicle"], plan)
    assert again
    assert "uncertain about Blurs for vehicle" in reason
    sure = ExecutorOutput.model_validate({"distortion_analysis": {"vehicle": [entry(uncertain=True), entry("Noise")]}})
    assert should_replan(sure, ["vehicle"], plan) == (False, "")


def test_nothing_found_is_evidence() -> None:
    """D4-19: an object in which detection saw no distortion is covered."""
    evidence = ExecutorOutput(distortion_set={"Global": []}, distortion_analysis={"Global": []})
    assert not evidence.is_empty
    assert should_replan(evidence, "Global", make_plan(plan=NO_TOOLS)) == (False, "")


def test_a_severe_blur_of_an_object_without_a_region_is_planned_for_again(assessor: Any, pair: Any) -> None:
    """SC-26, SC-62, SC-63: through all agents, with a real measurement of two equal pictures."""
    client = ScriptedClient(
        plan=plan_reply(query_scope=["vehicle"]),
        detection=detection_reply(vehicle=["Blurs"]),
        analysis=analysis_reply(analysed("vehicle", severity="severe")),
        selection=selection_reply(("vehicle", "Blurs", "SSIM")),
        answer=answer_reply("A"),
    )
    result = assessor(client).assess(pair.test, RATE, reference=pair.test)
    assert result.metadata["replans"] == 1
    assert "severe Blurs but high scores (SSIM" in result.replan_history[0]
    assert "for vehicle, measured on the whole picture." in result.summarizer_result.quality_reasoning
