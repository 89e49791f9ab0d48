"""The graph: edges, limits, logs, errors and pictures of it."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any, Literal, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.graph import END

from agenticiqa.errors import AuthenticationError, ConfigError
from agenticiqa.graph import (
    build_graph,
    decide_next_node,
    initial_state,
    run_pipeline,
    stream_pipeline,
    studio_graph,
    visualize_graph,
)
from agenticiqa.nodes.executor import executor_node
from agenticiqa.nodes.planner import planner_node
from agenticiqa.nodes.summarizer import summarizer_node
from agenticiqa.state import SummarizerOutput
from support.builders import RATE, make_context, make_evidence, make_plan, make_state
from support.scripted import (
    ALL_OFF,
    ScriptedClient,
    analysed,
    analysis_reply,
    answer_reply,
    detection_reply,
    plan_reply,
)

pytestmark = pytest.mark.usefixtures("isolated")

NO_ANALYSIS = {"analysis": []}
"""An analysis that never covers the scope: a gap in every pass."""


def wish(again: bool, reason: str | None = "gap") -> SummarizerOutput:
    return SummarizerOutput(
        final_answer="C", quality_reasoning="x", need_replan=again, replan_reason=reason if again else None
    )


def state_with(result: SummarizerOutput | None, **more: Any) -> Any:
    return {"query": "q", "image_path": "p", **({"summarizer_result": result} if result else {}), **more}


# --- the edge ---


def test_no_result_ends() -> None:
    """D4-24, RL-03, SM-15: nothing to decide on, whatever else the state holds; two answers are all there are."""
    assert decide_next_node(state_with(None)) == "__end__"
    assert decide_next_node(state_with(None, summarizer_result=None)) == "__end__"
    assert decide_next_node(state_with(None, plan=make_plan(), iteration_count=0, max_replan_iterations=9)) == "__end__"
    assert get_type_hints(decide_next_node)["return"] == Literal["planner", "__end__"]


@given(st.booleans(), st.integers(0, 15), st.integers(0, 15))
def test_the_printed_rule(again: bool, count: int, limit: int) -> None:
    """D4-26, RL-03, RL-08, RL-30: planner while asked for and below the limit."""
    decision = decide_next_node(state_with(wish(again), iteration_count=count, max_replan_iterations=limit))
    assert decision == ("planner" if again and count < limit else "__end__")


def test_defaults() -> None:
    """D4-25: count 0, limit 2."""
    assert decide_next_node(state_with(wish(True))) == "planner"
    assert decide_next_node(state_with(wish(True), iteration_count=1)) == "planner"
    assert decide_next_node(state_with(wish(True), iteration_count=2)) == "__end__"


def test_an_error_ends() -> None:
    """RL-22: whatever the last result wished."""
    assert decide_next_node(state_with(wish(True), error="planner failed")) == "__end__"


def test_the_decision_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """RL-17, RL-18: values, decision, and the replan with its reason and number at INFO."""
    with caplog.at_level(logging.INFO):
        decide_next_node(state_with(wish(True, "No sky"), iteration_count=1, max_replan_iterations=3))
    levels = {record.getMessage(): record.levelname for record in caplog.records}
    assert levels["Replanning triggered: No sky"] == "INFO"
    assert levels["Iteration 1/3"] == "INFO"
    line = caplog.messages[0]
    for part in ("need_replan=True", "iteration_count=1", "max_replan_iterations=3", "decision=planner"):
        assert part in line
    assert not [name for name in levels.values() if name == "WARNING"]


def test_a_limit_of_one_pass_is_no_logic_issue(caplog: pytest.LogCaptureFixture) -> None:
    decide_next_node(state_with(wish(True), iteration_count=1, max_replan_iterations=1))
    assert "Max replanning iterations (1) reached" in caplog.text
    assert "logic issue" not in caplog.text


@pytest.mark.parametrize(("state", "why"), [({}, "it gave none"), ({"error": "no picture"}, "no picture")])
def test_an_end_without_a_result_is_logged(state: dict[str, str], why: str, caplog: pytest.LogCaptureFixture) -> None:
    assert decide_next_node(state_with(None, **state)) == "__end__"
    assert f"ending without a result of the summarizer: {why}" in caplog.text


def test_the_limit_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """RL-09, RL-19, RL-29, RL-17: three warnings, and no "Replanning triggered"."""
    with caplog.at_level(logging.INFO):
        decide_next_node(state_with(wish(True), iteration_count=2, max_replan_iterations=2))
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert warnings[:2] == [
        "Max replanning iterations (2) reached",
        "Continuing with current evidence despite need_replan=true",
    ]
    assert "possible logic issue in the Summarizer" in warnings[2]
    assert "decision=__end__" in caplog.text
    assert "Replanning triggered" not in caplog.text


def test_a_plain_end_warns_of_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """RL-19, RL-17: the limit matters only where a replan was asked for."""
    with caplog.at_level(logging.INFO):
        decide_next_node(state_with(wish(False), iteration_count=5, max_replan_iterations=2))
    assert [record.levelname for record in caplog.records] == ["INFO"]


# --- structure ---


def edges(graph: Any) -> set[tuple[str, str]]:
    return {(edge.source, edge.target) for edge in graph.get_graph().edges}


def test_nodes_and_edges() -> None:
    """RL-01, RL-02, RL-04: the three nodes, no edge from the executor to the end, two ways out of the summarizer."""
    graph = build_graph()
    assert list(graph.builder.nodes) == ["planner", "executor", "summarizer"]
    functions = [graph.builder.nodes[name].runnable.func for name in graph.builder.nodes]  # type: ignore[attr-defined]
    assert functions == [planner_node, executor_node, summarizer_node]
    assert ("executor", "summarizer") in edges(graph)
    assert ("executor", END) not in edges(graph)
    (branch,) = graph.builder.branches["summarizer"].values()
    assert branch.ends == {"planner": "planner", "__end__": END}
    assert branch.path.func is decide_next_node  # type: ignore[attr-defined]


def test_smaller_graphs() -> None:
    """D2-25, D2-26, RL-32, SM-16: planner alone; planner and executor; the summarizer needs the executor."""
    assert list(build_graph(include_executor=False, include_summarizer=False).builder.nodes) == ["planner"]
    two = build_graph(include_summarizer=False)
    assert list(two.builder.nodes) == ["planner", "executor"]
    assert ("executor", END) in edges(two)
    with pytest.raises(ConfigError):
        build_graph(include_executor=False)
    assert list(studio_graph().builder.nodes) == ["planner", "executor", "summarizer"]


def test_plan_only_run(pair: Any) -> None:
    """D2-25, SM-16: a state with a plan alone; the summarizer is not called."""
    client = ScriptedClient()
    graph = build_graph(include_executor=False, include_summarizer=False)
    final = run_pipeline(RATE, pair.test, context=make_context(client), graph=graph)
    assert final["plan"] == make_plan()
    assert "executor_evidence" not in final
    assert "summarizer_result" not in final
    assert client.script.counts == {"plan": 1}


def test_run_without_summarizer(pair: Any) -> None:
    """RL-32, SM-15: planner, executor, end; no replan, even with a gap."""
    client = ScriptedClient(analysis=NO_ANALYSIS)
    graph = build_graph(include_summarizer=False)
    final = run_pipeline(RATE, pair.test, context=make_context(client), graph=graph)
    assert final["executor_evidence"]
    assert "summarizer_result" not in final
    assert client.script.counts["plan"] == 1
    assert final["iteration_count"] == 0


# --- pictures of the graph ---


def test_mermaid() -> None:
    """RL-15, RL-16: the document's five lines; the label shows the limit."""
    lines = [line.strip() for line in visualize_graph().splitlines()]
    assert lines[0] == "graph TD"
    for line in (
        "START([START]) --> planner[Planner]",
        "planner --> executor[Executor]",
        "executor --> summarizer[Summarizer]",
        "summarizer -->|need_replan=true & iter<max| planner",
        "summarizer -->|need_replan=false or iter>=max| END([END])",
    ):
        assert line in lines


def test_the_limit_is_explained() -> None:
    """RL-16: next to the key that sets it."""
    text = (Path(__file__).parents[1] / "src/agenticiqa/runtime/configs/pipeline.yaml").read_text()
    assert "At most max(1, N) passes" in text
    assert text.index("At most max(1, N)") < text.index("max_replan_iterations: 2")


# --- the initial state ---


def test_initial_state() -> None:
    """RL-05, RL-07, RL-11, SM-08, SM-09: count 0, limit 2 by default."""
    state = initial_state("q", "p.png")
    assert (state["query"], state["image_path"]) == ("q", "p.png")
    assert (state["iteration_count"], state["max_replan_iterations"]) == (0, 2)
    assert state["replan_history"] == []


@pytest.mark.parametrize("limit", [0, 1, 7])
def test_limits_are_passed_on(limit: int) -> None:
    """RL-05, RL-11, RL-30, D4-28: also 0, which is not "unset"."""
    assert initial_state("q", "p", max_replan_iterations=limit)["max_replan_iterations"] == limit


def test_a_negative_limit_is_an_error() -> None:
    """RL-05: it counts replans."""
    with pytest.raises(ConfigError, match="-1"):
        initial_state("q", "p", max_replan_iterations=-1)


# --- replanning ---


@pytest.mark.parametrize(("limit", "replans"), [(0, 0), (1, 0), (2, 1), (3, 2)])
def test_replans_for_each_limit(pair: Any, limit: int, replans: int, caplog: pytest.LogCaptureFixture) -> None:
    """D4-26, D4-40, D4-41, RL-08, RL-11, RL-27, RL-30, SC-31: 0, 1, 2, 3 allow 0, 0, 1, 2 replans."""
    client = ScriptedClient(analysis=NO_ANALYSIS)
    final = run_pipeline(RATE, pair.test, max_replan_iterations=limit, context=make_context(client))
    assert client.script.counts["plan"] == 1 + replans
    assert client.script.counts["answer"] == 1 + replans
    assert final["summarizer_result"].final_answer == "C"
    assert "Max replanning iterations" in caplog.text or limit == 3
    assert final.get("error") is None


def test_a_summarizer_that_never_has_enough(pair: Any, caplog: pytest.LogCaptureFixture) -> None:
    """RL-27, RL-28, RL-29, RL-09, RL-06, RL-07, SM-12: the limit ends it; the last wish stays true; a warning."""
    client = ScriptedClient(analysis=NO_ANALYSIS)
    final = run_pipeline(RATE, pair.test, context=make_context(client))
    assert final["summarizer_result"].need_replan is True
    assert final["iteration_count"] == 2
    assert final["replan_history"] == [
        "[Iteration 1] Missing analysis for {'Global'}",
        "[Iteration 2] Missing analysis for {'Global'}",
    ]
    assert "Max replanning iterations (2) reached" in caplog.messages
    assert "possible logic issue in the Summarizer" in caplog.text


def test_each_run_starts_at_zero(pair: Any) -> None:
    """RL-07: a second run with the same context does not inherit the count."""
    context = make_context(ScriptedClient(analysis=NO_ANALYSIS))
    for _ in range(2):
        final = run_pipeline(RATE, pair.test, context=context)
        assert final["iteration_count"] == 2
        assert len(final["replan_history"]) == 2


def test_no_replanning_at_all(pair: Any) -> None:
    """RL-30, RL-31: limit 0: one pass, the gap on record, no wish that nobody would hear."""
    client = ScriptedClient(analysis=NO_ANALYSIS)
    final = run_pipeline(RATE, pair.test, max_replan_iterations=0, context=make_context(client))
    result = final["summarizer_result"]
    assert client.script.counts["plan"] == 1
    assert result.need_replan is False
    assert (result.used_evidence or {})["evidence_gaps"] == ["Missing analysis for {'Global'}"]


def test_a_replan_that_helps(pair: Any) -> None:
    """D4-40, RL-12, RL-14, RL-20, SC-64: the planner hears the reason; plan, evidence and result are the new ones."""
    only_analysis = {**ALL_OFF, "distortion_analysis": True}
    first = plan_reply(query_scope=["vehicle", "background"], distortions={"vehicle": ["Blurs"]}, plan=only_analysis)
    client = ScriptedClient(
        plan=[first, {**first, "plan": {**only_analysis, "distortion_detection": True}}],
        detection=detection_reply(vehicle=["blur"], background=["noise"]),
        analysis=[
            analysis_reply(analysed("vehicle")),
            analysis_reply(analysed("vehicle"), analysed("background", "Noise", "slight")),
        ],
        answer=[answer_reply("The vehicle"), answer_reply("The vehicle, clearly")],
    )
    states = [
        event.details
        for event in stream_pipeline(
            initial_state("What is blurrier, vehicle or background?", pair.test), context=make_context(client)
        )
        if event.kind == "state"
    ]
    final = states[-1]
    assert client.script.counts == {"plan": 2, "detection": 1, "analysis": 2, "answer": 2}
    assert "What was missing: Missing analysis for {'background'}" in client.script.of("plan")[1].user
    assert final["plan"].plan.distortion_detection is True
    assert set(final["executor_evidence"].distortion_analysis) == {"vehicle", "background"}
    assert final["summarizer_result"].final_answer == "The vehicle, clearly"
    assert final["summarizer_result"].need_replan is False
    assert (final["iteration_count"], len(final["replan_history"])) == (1, 1)
    # While the planner works again, the old plan, evidence and result are still there.
    waiting = next(s for s in states if s.get("summarizer_result") and s["summarizer_result"].need_replan)
    assert waiting["plan"] == make_plan(**first)
    assert waiting["executor_evidence"].distortion_analysis
    assert waiting["replan_history"] == ["[Iteration 1] Missing analysis for {'background'}"]


def test_straight_to_the_end(pair: Any) -> None:
    """D4-40, SM-11, RL-02: one pass through all three; nothing is lost on the way."""
    client = ScriptedClient()
    final = run_pipeline(RATE, pair.test, context=make_context(client))
    assert client.script.counts == {"plan": 1, "detection": 1, "analysis": 1, "selection": 1, "answer": 1}
    assert final["plan"] == make_plan()
    assert final["executor_evidence"].quality_scores  # type: ignore[union-attr]
    assert final["summarizer_result"].need_replan is False
    assert final["iteration_count"] == 0
    assert final["replan_history"] == []


def test_the_state_does_not_grow(pair: Any) -> None:
    """RL-21: after nine passes the keys are those of one pass and the history is short."""
    scopes = [plan_reply(query_scope=[f"object {i}"]) for i in range(30)]
    client = ScriptedClient(plan=scopes, detection={"objects": []}, analysis=NO_ANALYSIS)
    once = run_pipeline(RATE, pair.test, max_replan_iterations=1, context=make_context(ScriptedClient(**_gap())))
    many = run_pipeline(RATE, pair.test, max_replan_iterations=14, context=make_context(client))
    assert set(many) == set(once)
    assert client.script.counts["plan"] == 14
    assert len(many["replan_history"]) == 10
    assert many["replan_history"][-1].startswith("[Iteration 14]")


def _gap() -> dict[str, Any]:
    return {"analysis": NO_ANALYSIS}


def test_the_same_plan_with_the_same_gap_ends_early(pair: Any) -> None:
    """RL-27, RL-14: nine allowed, three made."""
    client = ScriptedClient(analysis=NO_ANALYSIS)
    final = run_pipeline(RATE, pair.test, max_replan_iterations=9, context=make_context(client))
    assert client.script.counts["plan"] == 3
    assert "given up" in final["summarizer_result"].quality_reasoning


# --- errors ---


@pytest.mark.parametrize("failure", ["no JSON", AuthenticationError("401"), RuntimeError("boom")])
@pytest.mark.parametrize("with_fallback", [False, True])
def test_a_planner_that_fails_on_the_replan(pair: Any, failure: Any, with_fallback: bool) -> None:
    """RL-22, RL-23, RL-24: at most 8 calls, the error set, the last answer kept, the count not moved further."""
    client = ScriptedClient(plan=[plan_reply(), failure], analysis=NO_ANALYSIS)
    fallback = ScriptedClient("scripted.fallback", plan="no JSON either")
    context = make_context(client, **({"fallback": fallback} if with_fallback else {}))
    final = run_pipeline(RATE, pair.test, max_replan_iterations=5, context=context)
    assert client.calls + fallback.calls <= 8
    assert (final["error"] or "").startswith("Planning failed")
    assert final["summarizer_result"].final_answer == "C"
    assert final["summarizer_result"].error is None
    assert final["iteration_count"] == 1
    assert final["plan"] == make_plan()
    assert final["executor_evidence"]
    assert client.script.counts["answer"] == 1


def test_a_planner_that_fails_at_once(pair: Any) -> None:
    """RL-22, RL-23: no executor, no answer."""
    client = ScriptedClient(plan="no JSON")
    final = run_pipeline(RATE, pair.test, context=make_context(client))
    assert final["error"]
    assert "summarizer_result" not in final
    assert client.script.counts == {"plan": 3}


def test_an_executor_that_fails_on_the_replan(pair: Any) -> None:
    """RL-25, RL-26, RL-20: the summarizer gets the errors in new evidence; the limit ends the run."""
    client = ScriptedClient(detection=[detection_reply(), *["x"] * 9], analysis=[NO_ANALYSIS, *["x"] * 9])
    final = run_pipeline(RATE, pair.test, context=make_context(client))
    evidence = final["executor_evidence"]
    assert evidence
    assert {error.split(":")[0] for error in evidence.errors} == {"detection", "analysis"}
    assert evidence.distortion_set is None
    assert client.script.counts["plan"] == 2
    assert final["summarizer_result"].need_replan is True
    assert final["summarizer_result"].final_answer == "C"


# --- events ---


def test_steps_are_streamed(pair: Any) -> None:
    """D2-26: each step as it happens, also the one that runs in another thread."""
    context = make_context(ScriptedClient())
    events = list(stream_pipeline(initial_state(RATE, pair.test), context=context))
    steps = [event.name for event in events if event.kind == "step"]
    assert sorted(steps) == sorted(["plan", "detection", "analysis", "selection", "tools", "answer"])
    assert [event.name for event in events if event.kind == "node"] == ["planner", "executor", "summarizer"]
    assert events[-1].kind == "state"
    json.dumps([event.details for event in events if event.kind == "step"])


def test_nodes_merge_into_the_state(pair: Any) -> None:
    """SM-11, SC-49: LangGraph keeps what a node does not return."""
    graph = build_graph()
    state = make_state(pair.test, executor_evidence=make_evidence())
    config = {"configurable": {"__agenticiqa_context": make_context(ScriptedClient())}}
    final = graph.invoke(state, config)  # type: ignore[arg-type]
    assert final["query"] == RATE
    assert final["plan"]
    assert final["executor_evidence"]
    assert final["summarizer_result"]
