"""The typed contract between the agents."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError
from typing_extensions import NotRequired, get_type_hints

import agenticiqa
from agenticiqa import state as state_module
from agenticiqa.graph import build_graph, decide_next_node, initial_state
from agenticiqa.state import (
    NO_REASON,
    AgenticIQAState,
    DistortionAnalysis,
    ExecutorOutput,
    PlanControlFlags,
    PlannerOutput,
    SummarizerOutput,
    ToolExecutionLog,
)
from support.builders import make_context, make_evidence, make_plan, with_context
from support.scripted import ScriptedClient, plan_reply

VEHICLE_PLAN = {
    "query_type": "IQA",
    "query_scope": ["vehicle"],
    "distortion_source": "Explicit",
    "distortions": {"vehicle": ["Blurs"]},
    "reference_mode": "No-Reference",
    "required_tool": None,
    "plan": {
        "distortion_detection": False,
        "distortion_analysis": True,
        "tool_selection": False,
        "tool_execution": False,
    },
}


def not_required(name: str) -> bool:
    hints = get_type_hints(AgenticIQAState, include_extras=True)
    return get_origin(hints[name]) is NotRequired


# --- SummarizerOutput ---


def test_summarizer_output_has_the_five_fields() -> None:
    """SM-01, D4-21: names, types and defaults of the documents."""
    assert issubclass(SummarizerOutput, BaseModel)
    fields = SummarizerOutput.model_fields
    assert [name for name in ("final_answer", "quality_reasoning") if fields[name].is_required()] == [
        "final_answer",
        "quality_reasoning",
    ]
    made = SummarizerOutput(final_answer="A", quality_reasoning="sharp")
    assert (made.need_replan, made.replan_reason, made.used_evidence) == (False, None, None)
    schema = SummarizerOutput.model_json_schema()["properties"]
    assert schema["quality_reasoning"]["minLength"] == 1
    assert SummarizerOutput(final_answer="A", quality_reasoning="x", used_evidence={"k": [1]}).used_evidence == {
        "k": [1]
    }


def test_failures_have_a_field_of_their_own() -> None:
    """D4-32: the error flag is part of the summarizer's result."""
    assert SummarizerOutput(final_answer="A", quality_reasoning="x").error is None
    assert SummarizerOutput(final_answer="A", quality_reasoning="x", error="timeout").error == "timeout"


@pytest.mark.parametrize("answer", ["A", "Excellent", "Unable to determine"])
def test_answers_are_letters_or_levels(answer: str) -> None:
    """SM-02: both kinds of answers are text."""
    assert SummarizerOutput(final_answer=answer, quality_reasoning="x").final_answer == answer


@pytest.mark.parametrize("blank", ["", " ", "\n\t "])
@pytest.mark.parametrize("field", ["final_answer", "quality_reasoning"])
def test_blank_texts_are_refused(field: str, blank: str) -> None:
    """SM-03, SM-04, SM-05: empty or whitespace only is a ValidationError."""
    values: dict[str, Any] = {"final_answer": "A", "quality_reasoning": "x", field: blank}
    with pytest.raises(ValidationError):
        SummarizerOutput(**values)


def test_texts_are_trimmed() -> None:
    """SM-03, SM-05: the surrounding whitespace goes, the inner one stays."""
    made = SummarizerOutput(final_answer="  B \n", quality_reasoning="\t a b ")
    assert (made.final_answer, made.quality_reasoning) == ("B", "a b")


@given(
    answer=st.text(min_size=1).filter(str.strip),
    reasoning=st.text(min_size=1).filter(str.strip),
    again=st.booleans(),
    reason=st.none() | st.text(),
    score=st.none() | st.floats(1, 5),
)
def test_round_trip_keeps_all_fields(
    answer: str, reasoning: str, again: bool, reason: str | None, score: float | None
) -> None:
    """SM-06: through JSON and back nothing changes."""
    made = SummarizerOutput(
        final_answer=answer,
        quality_reasoning=reasoning,
        need_replan=again,
        replan_reason=reason,
        used_evidence={"scores": [1.5, 2.0], "nested": {"a": None}},
        quality_score=score,
        error="x",
    )
    assert SummarizerOutput.model_validate_json(made.model_dump_json()) == made


@pytest.mark.parametrize("given_reason", [{}, {"replan_reason": None}, {"replan_reason": "  "}])
def test_replan_without_reason_gets_one_and_warns(
    given_reason: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """SM-13, SM-14: also when the field is left out altogether."""
    with caplog.at_level(logging.WARNING):
        made = SummarizerOutput(final_answer="A", quality_reasoning="x", need_replan=True, **given_reason)
    assert made.replan_reason == "No reason provided" == NO_REASON
    assert "without a replan_reason" in caplog.text


def test_a_given_reason_stays_and_nothing_is_warned(caplog: pytest.LogCaptureFixture) -> None:
    """SM-13, SM-14: the default is for missing reasons only."""
    made = SummarizerOutput(final_answer="A", quality_reasoning="x", need_replan=True, replan_reason="gap")
    assert made.replan_reason == "gap"
    assert not caplog.records
    assert SummarizerOutput(final_answer="A", quality_reasoning="x").replan_reason is None


def test_schema_examples_are_the_documents_and_are_valid() -> None:
    """SM-17, SM-18: one answer, one wish to plan again."""
    qa, replan = SummarizerOutput.model_json_schema()["examples"]
    assert qa == {
        "final_answer": "B",
        "quality_reasoning": "The image shows moderate blur affecting sharpness, consistent with tool score of 2.6.",
        "need_replan": False,
    }
    assert replan["final_answer"] == "Unable to determine"
    assert replan["need_replan"] is True
    assert replan["replan_reason"] == "Missing tool scores for vehicle region"
    for example in (qa, replan):
        SummarizerOutput.model_validate(example)


@pytest.mark.parametrize("score", [0.99, 5.01, float("nan"), float("inf")])
def test_scores_outside_the_scale_are_refused(score: float) -> None:
    """D2-10: no number that is not a score passes for one."""
    with pytest.raises(ValidationError):
        SummarizerOutput(final_answer="A", quality_reasoning="x", quality_score=score)


# --- the state ---


@pytest.mark.parametrize(
    ("ids", "field"),
    [
        ("D4-20, SM-07", "summarizer_result"),
        ("SM-08", "iteration_count"),
        ("SM-09", "max_replan_iterations"),
        ("SM-10", "replan_history"),
        ("C50", "plan"),
    ],
)
def test_state_fields_are_not_required(ids: str, field: str) -> None:
    """D4-20, D4-27, SM-07, SM-08, SM-09, SM-10: each is there and may be absent."""
    assert not_required(field)


def test_state_types() -> None:
    """D4-20, D4-27, SM-07, SM-10, D2-18: what the fields hold."""
    # typing_extensions' own reading: typing's does not strip NotRequired before Python 3.11.
    hints = get_type_hints(AgenticIQAState)
    assert hints["summarizer_result"] is SummarizerOutput
    assert hints["iteration_count"] is int
    assert hints["max_replan_iterations"] is int
    assert hints["replan_history"] == list[str]
    assert hints["plan"] == PlannerOutput | None
    assert hints["reference_path"] == str | None
    TypeAdapter(AgenticIQAState).validate_python({"query": "q", "image_path": "p"})
    with pytest.raises(ValidationError):
        TypeAdapter(AgenticIQAState).validate_python({"query": "q"})


def test_partial_states_are_valid() -> None:
    """SM-15: plan and evidence without a result end the run instead of failing."""
    state: AgenticIQAState = {
        "query": "q",
        "image_path": "p",
        "plan": make_plan(),
        "executor_evidence": make_evidence(),
    }
    assert decide_next_node(state) == "__end__"
    assert decide_next_node({"query": "q", "image_path": "p", "plan": make_plan()}) == "__end__"


def test_every_state_object_is_a_pydantic_model() -> None:
    """D2-10: and refuses what does not fit."""
    for model in (
        PlannerOutput,
        PlanControlFlags,
        DistortionAnalysis,
        ToolExecutionLog,
        ExecutorOutput,
        SummarizerOutput,
    ):
        assert issubclass(model, BaseModel)
    with pytest.raises(ValidationError):
        DistortionAnalysis(type="Blurs", severity="terrible", explanation="x")  # type: ignore[arg-type]
    with pytest.raises(ValidationError):
        ToolExecutionLog(tool="SSIM", calibrated_score=7)
    with pytest.raises(ValidationError):
        ExecutorOutput(quality_scores={"Global": {"Blurs": ("SSIM", "high")}})  # type: ignore[dict-item]


def test_a_sample_stays_small(pair: Any) -> None:
    """D2-28: what a run of the planner leaves, as JSON, is below 1 KB; so little that reading it is under 1 ms.

    The size is what is asserted: a time would depend on the machine.
    """
    graph = build_graph(include_executor=False, include_summarizer=False)
    start = initial_state("Is the vehicle blurry?", pair.test, pair.reference, 2)
    for reply in (VEHICLE_PLAN | {"distortions": [{"object": "vehicle", "types": ["Blurs"]}]}, plan_reply()):
        state = graph.invoke(start, with_context(make_context(ScriptedClient(plan=reply))))
        written = TypeAdapter(AgenticIQAState).dump_json(state)
        assert json.loads(written)["plan"]["query_scope"] == reply["query_scope"]
        assert len(written) < 1024


# --- PlannerOutput ---


def test_the_documents_plan_is_accepted() -> None:
    """D2-39, D2-11, D2-12, D2-13, D2-14, D2-15, D2-16, D2-17: the vehicle example, field by field."""
    plan = PlannerOutput.model_validate(VEHICLE_PLAN)
    assert plan.model_dump(exclude={"extra_tools"}) == VEHICLE_PLAN
    assert PlannerOutput.model_json_schema()["examples"] == [VEHICLE_PLAN]
    assert PlannerOutput.model_validate_json(plan.model_dump_json()) == plan


@pytest.mark.parametrize(
    ("field", "written", "stored"),
    [
        ("query_type", "iqa", "IQA"),
        ("query_type", "other", "Other"),
        ("distortion_source", "explicit", "Explicit"),
        ("distortion_source", "Explict", "Explicit"),
        ("distortion_source", "INFERRED", "Inferred"),
        ("reference_mode", "no-reference", "No-Reference"),
        ("reference_mode", "Full_Reference", "Full-Reference"),
        ("reference_mode", "full reference", "Full-Reference"),
    ],
)
def test_other_spellings_are_understood(field: str, written: str, stored: str) -> None:
    """D2-11, D2-13, D2-15: case and hyphens do not matter."""
    assert getattr(make_plan(**{field: written}), field) == stored


@pytest.mark.parametrize(
    ("field", "word"),
    [
        ("query_type", "MCQ"),
        ("query_type", ""),
        ("distortion_source", "maybe"),
        ("reference_mode", "half-reference"),
        ("query_scope", None),
        ("query_scope", [1]),
        ("distortions", {"vehicle": "Blurs"}),
        ("required_tool", 7),
    ],
)
def test_words_nobody_can_interpret_fail(field: str, word: Any) -> None:
    """D2-10, D2-11, D2-12, D2-13, D2-14, D2-15, D2-16, D2-31: unknown words are refused, not guessed."""
    with pytest.raises(ValidationError):
        make_plan(**{field: word})


@pytest.mark.parametrize(
    ("written", "scope"),
    [
        ("Global", ["Global"]),
        ("global", ["Global"]),
        (["Global"], ["Global"]),
        ([], ["Global"]),
        ("vehicle", ["vehicle"]),
        (["vehicle", " background ", "vehicle"], ["vehicle", "background"]),
    ],
)
def test_scopes(written: Any, scope: list[str]) -> None:
    """D2-12, D2-33: the whole picture, one object, several objects."""
    assert make_plan(query_scope=written).scope_names == scope


def test_one_tool_or_several() -> None:
    """D2-16: the first named tool fills the field, the others are kept too."""
    assert make_plan(required_tool="SSIM").named_tools == ["SSIM"]
    several = make_plan(required_tool=["SSIM", " PSNR "])
    assert (several.required_tool, several.extra_tools) == ("SSIM", ["PSNR"])
    assert make_plan(required_tool=[]).required_tool is None
    assert make_plan(required_tool="none").required_tool is None


def test_switches() -> None:
    """D2-17: four booleans; the paper's name of the last one is accepted too."""
    assert set(PlanControlFlags.model_fields) == {
        "distortion_detection",
        "distortion_analysis",
        "tool_selection",
        "tool_execution",
    }
    plan = plan_reply()
    plan["plan"]["tool_execute"] = plan["plan"].pop("tool_execution")
    assert PlannerOutput.model_validate(plan).plan.tool_execution is True
    with pytest.raises(ValidationError):
        PlanControlFlags.model_validate({"distortion_detection": True})


def test_distortions_are_canonical() -> None:
    """D2-14: synonyms become categories, empty entries go, unknown words stay as written."""
    plan = make_plan(distortions={" vehicle ": ["blur", "Motion blur", "moiré"], "sky": []})
    assert plan.distortions == {"vehicle": ["Blurs", "Spatial distortions"]}
    assert make_plan(distortions={}).distortions is None
    assert make_plan(distortions={"x": ["beauty"]}).distortions == {"x": ["beauty"]}


@pytest.mark.parametrize(
    ("written", "stored"), [("Mild", "slight"), ("heavy", "severe"), ("EXTREME", "extreme"), ("none", "none")]
)
def test_severities(written: str, stored: str) -> None:
    """SC-17: five names, the paper's other words map to them."""
    entry = DistortionAnalysis(type="blur", severity=written, explanation="x")  # type: ignore[arg-type]
    assert (entry.type, entry.severity) == ("Blurs", stored)


def test_the_documents_modules_do_what_the_documents_say(pair: Any) -> None:
    """D2-01: nodes/planner.py, state.py, graph.py and vlm_client.py, each with its part in one run of the planner."""
    from agenticiqa import graph, vlm_client
    from agenticiqa.nodes import planner

    package = Path(agenticiqa.__file__).parent
    places = {planner: "nodes/planner.py", state_module: "state.py", graph: "graph.py", vlm_client: "vlm_client.py"}
    assert {Path(module.__file__ or "") for module in places} == {package / name for name in places.values()}
    client = vlm_client.create_vlm_client("embedded")
    assert isinstance(client, vlm_client.VLMClient)
    compiled = graph.build_graph(include_executor=False, include_summarizer=False)
    assert compiled.builder.nodes["planner"].runnable.func is planner.planner_node  # type: ignore[attr-defined]
    assert compiled.builder.state_schema is state_module.AgenticIQAState
    start = graph.initial_state("Is the vehicle blurry?", pair.test, None, 2)
    plan = compiled.invoke(start, with_context(make_context(client)))["plan"]
    assert type(plan) is state_module.PlannerOutput
    assert plan.query_scope == ["vehicle"]


def test_what_a_state_must_hold_is_known_at_run_time() -> None:
    """D4-25, SM-07, SM-08, D2-18: question and picture; all else may be left out."""
    keys = state_module.AgenticIQAState
    assert keys.__required_keys__ == {"query", "image_path"}
    assert {"plan", "executor_evidence", "summarizer_result", "iteration_count"} <= keys.__optional_keys__
    assert state_module.Turn.__optional_keys__ == {"options"}
