"""Evidence about something else than the question is no evidence: it must not stop the search, nor enter the score."""

from __future__ import annotations

from typing import Any

import pytest

from agenticiqa.nodes.evidence import should_replan
from agenticiqa.nodes.summarizer import summarizer_node
from agenticiqa.state import ExecutorOutput
from support.builders import make_context, make_evidence, make_plan, make_state, with_context
from support.scripted import ScriptedClient, answer_reply

TOOLS_ON = {"distortion_detection": False, "tool_selection": False}
VEHICLE = make_plan(query_scope=["vehicle"], plan=TOOLS_ON)
BLURRY_VEHICLE = make_plan(query_scope=["vehicle"], distortions={"vehicle": ["Blurs"]}, plan=TOOLS_ON)


def evidence(scores: dict[str, dict[str, tuple[str, float]]], **analysis: list[tuple[str, str]]) -> ExecutorOutput:
    """Scores by object and distortion; (type, severity) by object."""
    return ExecutorOutput.model_validate(
        {
            "quality_scores": scores,
            "distortion_analysis": {
                name: [{"type": kind, "severity": severity, "explanation": "Seen."} for kind, severity in entries]
                for name, entries in analysis.items()
            },
        }
    )


def test_scores_of_the_background_do_not_answer_a_question_about_the_vehicle() -> None:
    found = evidence({"background": {"Blurs": ("SSIM", 4.5)}}, vehicle=[("Blurs", "severe")])
    assert should_replan(found, ["vehicle"], VEHICLE) == (True, "Missing tool scores for vehicle region")


def test_scores_of_one_region_do_not_answer_a_question_about_the_whole_picture() -> None:
    found = evidence({"vehicle": {"Blurs": ("SSIM", 4.5)}}, Global=[("Blurs", "severe")])
    again, reason = should_replan(found, "Global", make_plan(plan=TOOLS_ON))
    assert (again, reason) == (True, "Missing tool scores for the whole picture")


def test_every_object_that_was_asked_about_needs_a_score() -> None:
    plan = make_plan(query_scope=["vehicle", "road"], plan=TOOLS_ON)
    found = evidence(
        {"Vehicle ": {"Overall": ("SSIM", 2.0)}}, vehicle=[("Blurs", "severe")], road=[("Noise", "slight")]
    )
    assert should_replan(found, ["vehicle", "road"], plan) == (True, "Missing tool scores for road region")


def test_a_score_of_the_whole_picture_stands_for_an_object_whose_place_is_not_known() -> None:
    found = evidence({"Global": {"Overall": ("SSIM", 2.0)}}, vehicle=[("Blurs", "severe")])
    assert should_replan(found, ["vehicle"], VEHICLE) == (False, "")


def test_a_score_of_the_whole_picture_does_not_stand_for_a_region_that_could_not_be_measured() -> None:
    found = evidence({"Global": {"Overall": ("SSIM", 2.0)}}, vehicle=[("Blurs", "severe")])
    failed = {"tool": "SSIM", "object": "vehicle", "region": [0, 0, 4, 4], "error": "too small"}
    found = ExecutorOutput.model_validate({**found.model_dump(), "tool_logs": [failed]})
    assert should_replan(found, ["vehicle"], VEHICLE)[0]


def test_a_score_for_noise_does_not_answer_a_question_about_blur() -> None:
    found = evidence({"vehicle": {"Noise": ("noise", 4.5)}}, vehicle=[("Blurs", "severe")])
    assert should_replan(found, ["vehicle"], BLURRY_VEHICLE) == (True, "Missing tool scores for vehicle region: Blurs")


@pytest.mark.parametrize(
    ("scores", "severity"),
    [
        ({"vehicle": {"Noise": ("noise", 4.5)}}, "none"),
        ({"vehicle": {"Overall": ("SSIM", 2.0)}}, "severe"),
        ({"vehicle": {"Noise": ("noise", 4.5), "Blurs": ("sharpness", 2.0)}}, "severe"),
        ({"vehicle": {"Blurs": ("sharpness", 2.0), "Blurs (SSIM)": ("SSIM", 2.0)}}, "severe"),
    ],
)
def test_what_was_asked_and_measured_or_found_harmless_is_enough(scores: Any, severity: str) -> None:
    found = evidence(scores, vehicle=[("Blurs", severity)])
    assert should_replan(found, ["vehicle"], BLURRY_VEHICLE) == (False, "")


def test_an_analysis_of_noise_does_not_answer_a_question_about_blur() -> None:
    plan = make_plan(query_scope=["vehicle"], distortions={"vehicle": ["Blurs"]}, plan={"tool_execution": False})
    found = evidence({}, vehicle=[("Noise", "slight")])
    assert should_replan(found, ["vehicle"], plan) == (True, "Missing analysis of Blurs for {'vehicle'}")


def test_an_object_nobody_asked_about_does_not_ask_for_a_replan() -> None:
    found = evidence({"vehicle": {"Overall": ("SSIM", 2.0)}}, vehicle=[("Blurs", "severe")], sky=[("Noise", "severe")])
    found.selected_tools = {"vehicle": {"Overall": "SSIM"}, "sky": {"Noise": "noise"}}
    assert should_replan(found, ["vehicle"], VEHICLE) == (False, "")


def test_the_documents_rule_without_a_plan_stays_as_printed() -> None:
    found = evidence({"background": {"Blurs": ("SSIM", 4.5)}}, vehicle=[("Blurs", "severe")])
    assert should_replan(found, ["vehicle"]) == (False, "")


def test_scores_of_the_background_do_not_enter_the_score_of_the_vehicle(pair: Any) -> None:
    found = make_evidence("severe", None, name="vehicle")
    found.quality_scores = {"background": {"Blurs": ("SSIM", 4.9)}}
    state = make_state(pair.test, "Rate the vehicle.", plan=VEHICLE, executor_evidence=found)
    update = summarizer_node(state, with_context(make_context(ScriptedClient(answer=answer_reply("E")))))
    result = update["summarizer_result"]
    assert result.used_evidence["fusion"]["tool_scores"] == []
    assert result.quality_score == 1
    assert (result.need_replan, result.replan_reason) == (True, "Missing tool scores for vehicle region")
