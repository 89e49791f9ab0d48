"""A model that says "Bad" where the tools measured 4.5 does not pass as good, nor does the reverse."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from agenticiqa import AgenticIQA
from agenticiqa.api.run_result import assessment_from
from agenticiqa.batch.outputs import flat_row
from agenticiqa.cli.assess import exit_code, print_assessment, show
from agenticiqa.cli.terminal import ExitCode, output_console
from agenticiqa.nodes.results import Assessment
from agenticiqa.nodes.summarizer import CONFLICT, summarizer_node
from agenticiqa.reports.assessment import ReportItem, render_report
from agenticiqa.research.gate import Rules, judge
from agenticiqa.research.results import read_results
from agenticiqa.runtime.runs import RunStore
from agenticiqa.score_fusion import HARDLY_OVERLAP, ScoreFusion
from agenticiqa.serve.langchain import _content_and_artifact
from agenticiqa.serve.mcp.replies import answer_text, assess_reply
from agenticiqa.state import Gap, SummarizerOutput
from support.builders import RATE, make_context, make_evidence, make_plan, make_settings, make_state, with_context
from support.scripted import RichScriptedClient, ScriptedClient, answer_reply, plan_reply, selection_reply


def summary(pair: Any, client: Any, score: float | None = 4.5, **more: Any) -> SummarizerOutput:
    """One pass over a picture whose tools measured this."""
    settings = more.pop("settings", None)
    state = make_state(pair.test, **{"executor_evidence": make_evidence("slight", score), **more})
    result: SummarizerOutput = summarizer_node(state, with_context(make_context(client, settings=settings)))[
        "summarizer_result"
    ]
    return result


def says(letter: str) -> ScriptedClient:
    return ScriptedClient(answer=answer_reply(letter))


# --- what counts as a conflict ---


@pytest.mark.parametrize(("letter", "fused"), [("E", 4.40), ("D", 4.36), ("C", 3.72), ("B", 4.05), ("A", 4.93)])
def test_the_formula_stays_the_documents(pair: Any, letter: str, fused: float) -> None:
    assert summary(pair, says(letter)).quality_score == pytest.approx(fused, abs=0.005)


@pytest.mark.parametrize(("letter", "expected"), [("E", True), ("D", True), ("C", False), ("B", False), ("A", False)])
def test_bad_and_poor_contradict_tools_at_4_5_and_fair_does_not(pair: Any, letter: str, expected: bool) -> None:
    assert (summary(pair, says(letter)).conflict is not None) is expected


def test_a_conflict_is_no_reason_to_plan_again_where_that_is_switched_off(pair: Any) -> None:
    assert summary(pair, says("E")).need_replan
    off = summary(pair, says("E"), settings=make_settings(pipeline__replan_on_conflict=False))
    assert (off.need_replan, off.conflict is not None) == (False, True)


def test_excellent_contradicts_tools_at_1_5(pair: Any) -> None:
    conflict = summary(pair, says("A"), 1.5).conflict
    assert conflict
    assert (conflict.tools, conflict.model) == (1.5, 5)


def test_the_threshold_is_where_a_worse_letter_gives_a_better_score() -> None:
    """Every tool mean: past the threshold the score turns back towards the tools; before it, it follows the letter."""
    fusion = ScoreFusion()
    for step in range(81):
        mean = 1 + step * 0.05
        scores = {
            level: fusion.fuse_scores([mean], fusion.extract_vlm_probabilities("EDCBA"[level - 1]))
            for level in range(1, 6)
        }
        for level, score in scores.items():
            between = [each for each in scores if level < each <= mean or mean <= each < level]
            turned = any(abs(scores[each] - mean) > abs(score - mean) for each in between)
            overlap = fusion.overlap([mean], {level: 1.0})
            if not 0.0295 < overlap < 0.032:
                assert turned is (overlap < HARDLY_OVERLAP), (mean, level, overlap)


def test_log_probabilities_that_hardly_overlap_are_a_conflict_too(pair: Any) -> None:
    sure = {letter: math.log(0.99 if letter == "E" else 0.0025) for letter in "ABCDE"}
    conflict = summary(pair, RichScriptedClient(sure, answer=answer_reply("E"))).conflict
    assert conflict
    assert conflict.model == pytest.approx(1.025, abs=0.001)


def test_log_probabilities_that_leave_room_are_none(pair: Any) -> None:
    unsure = {"E": math.log(0.6), "D": math.log(0.2), "C": math.log(0.1), "B": math.log(0.05), "A": math.log(0.05)}
    assert summary(pair, RichScriptedClient(unsure, answer=answer_reply("E"))).conflict is None


def test_a_spread_that_somebody_configured_does_not_hide_the_conflict(pair: Any) -> None:
    """What lies around a bare letter is our invention, however wide."""
    settings = make_settings(pipeline__fusion__class_confidence=0.21)
    assert summary(pair, says("E"), settings=settings).conflict


def test_no_measurement_no_conflict(pair: Any) -> None:
    assert summary(pair, says("E"), None).conflict is None


# --- what a conflict leads to ---


def test_a_conflict_asks_for_one_replan_and_no_second(pair: Any) -> None:
    first = summary(pair, says("E"))
    assert first.need_replan
    assert first.replan_reason == f"{CONFLICT}: the tools read 4.50, the model 1.00"
    again = summary(
        pair,
        says("E"),
        4.2,
        iteration_count=1,
        max_replan_iterations=5,
        replan_gaps=[Gap("conflict", first.replan_reason)],
    )
    assert not again.need_replan
    assert again.conflict


def test_both_readings_are_in_the_result_and_the_interval_spans_them(pair: Any) -> None:
    result = summary(pair, says("E"), max_replan_iterations=0)
    assert result.conflict
    assert (result.conflict.tools, result.conflict.model, result.final_answer) == (4.5, 1, "E")
    assert result.score_interval == (1, 4.5)
    assert "Conflict: the tools read 4.50, the model 1.00 (E (Bad)); the score is between 1.00 and 4.50." in (
        result.quality_reasoning
    )
    assert SummarizerOutput.model_validate_json(result.model_dump_json()) == result


@pytest.mark.usefixtures("isolated")
def test_the_replan_measures_with_more_tools_and_may_settle_it(pair: Any) -> None:
    """Sharpness alone reads 4.75 on a noisy picture; two more tools agree with the model."""
    client = ScriptedClient(
        plan=[plan_reply(), plan_reply(plan={"tool_selection": False, "tool_execution": False})],
        selection=selection_reply(("Global", "Blurs", "sharpness")),
        answer=answer_reply("D"),
    )
    with AgenticIQA(clients=dict.fromkeys(("planner", "executor", "summarizer"), client), record=False) as assessor:
        result = assessor.assess(pair.test, RATE)
    assert result.metadata["replans"] == 1
    assert CONFLICT in result.replan_history[0]
    assert result.executor_evidence
    tools = [log.tool for log in result.executor_evidence.tool_logs]
    assert tools[0] == "sharpness"
    assert len(tools) == 3
    assert (result.status, result.conflict) == ("ok", None)


@pytest.mark.hard
@pytest.mark.usefixtures("isolated")
@pytest.mark.parametrize(("limit", "replans"), [(2, 1), (5, 1), (0, 0)])
def test_a_conflict_that_stays_makes_the_run_partial_and_ends_after_one_replan(
    pair: Any, limit: int, replans: int
) -> None:
    client = ScriptedClient(answer=answer_reply("A"))
    with AgenticIQA(clients=dict.fromkeys(("planner", "executor", "summarizer"), client), record=False) as assessor:
        result = assessor.assess(pair.test, RATE, max_replan_iterations=limit)
    assert result.conflict
    assert result.conflict.tools < 2.5
    assert (result.status, result.metadata["replans"]) == ("partial", replans)


def test_tools_that_the_user_named_are_not_joined_by_others(pair: Any) -> None:
    result = summary(pair, says("E"), plan=make_plan(required_tool="TOPIQ_FR"))
    assert result.conflict
    assert not result.need_replan


# --- gates ---


def conflicting(pair: Any) -> Assessment:
    result = summary(pair, says("E"), max_replan_iterations=0)
    state = {**make_state(pair.test), "summarizer_result": result, "executor_evidence": make_evidence("slight", 4.5)}
    return assessment_from(state, make_context(says("E")))


def test_a_run_in_conflict_is_partial(pair: Any) -> None:
    assert conflicting(pair).status == "partial"


def test_bad_does_not_pass_a_gate_of_4_because_the_tools_said_4_5(pair: Any) -> None:
    result = conflicting(pair)
    assert result.score == pytest.approx(4.40, abs=0.005)
    assert result.gate_score == 1
    assert exit_code(result, 4) == ExitCode.BELOW_THRESHOLD
    assert exit_code(result, 1) == ExitCode.OK


def line(pair: Any, **changes: Any) -> str:
    return json.dumps({"sample_id": "1", **json.loads(conflicting(pair).model_dump_json()), **changes})


def test_the_gate_of_builds_counts_the_lower_reading(pair: Any, tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text(line(pair) + "\n")
    file = read_results(tmp_path / "results.jsonl")
    (problem,) = judge(file, Rules(min_score=4)).problems
    assert (problem.reason, problem.message) == ("below", "1.00 is below 4.00.")
    assert judge(file, Rules(min_score=1)).passed


def test_a_picture_that_came_into_conflict_is_a_regression(pair: Any, tmp_path: Path) -> None:
    (tmp_path / "now.jsonl").write_text(line(pair) + "\n")
    agreed = {"final_answer": "B", "quality_reasoning": "Good.", "quality_score": 4.4}
    (tmp_path / "before.jsonl").write_text(line(pair, status="ok", summarizer_result=agreed) + "\n")
    rules = Rules(baseline=read_results(tmp_path / "before.jsonl"))
    (problem,) = judge(read_results(tmp_path / "now.jsonl"), rules).problems
    assert problem.reason == "regression"


def test_a_gate_on_a_tool_counts_the_tool(pair: Any, tmp_path: Path) -> None:
    measured = [{"tool": "SSIM", "region": None, "calibrated": 4.5}]
    (tmp_path / "results.jsonl").write_text(line(pair, measurements=measured) + "\n")
    assert judge(read_results(tmp_path / "results.jsonl", score="tool:SSIM"), Rules(min_score=4)).passed


# --- every door shows both readings ---

BOTH = "the tools read 4.50, the model 1.00"


def test_every_door_shows_both_readings(pair: Any, capsys: pytest.CaptureFixture[str]) -> None:
    result = conflicting(pair)
    console = output_console()
    print_assessment(console, result)
    assert BOTH in " ".join(capsys.readouterr().out.replace("│", " ").split())
    show(result, json_output=False, quiet=True)
    assert capsys.readouterr().out == "E 1.00 to 4.50 (conflict)\n"
    assert BOTH in str(result)
    assert BOTH in render_report([ReportItem(result)])
    assert BOTH in answer_text(result)
    assert assess_reply(result).conflict == result.conflict
    assert BOTH in _content_and_artifact(result)[0]
    for row in (result.to_row(), flat_row(json.loads(result.model_dump_json()))):
        assert (row["score_low"], row["score_high"]) == (1, 4.5)


def test_lists_of_runs_show_the_reading_that_gates_count(pair: Any, tmp_path: Path) -> None:
    result = conflicting(pair)
    store = RunStore(tmp_path / "runs.sqlite")
    store.begin("1", {"query": RATE, "image_path": pair.test})
    store.finish("1", result.model_dump(mode="json"))
    assert store.find("1").score == 1


# --- the printed formula is for ablations ---


@pytest.mark.parametrize("score", [2.6, 4.5, None])
def test_the_printed_formula_never_becomes_a_level_or_a_missing_score(pair: Any, score: float | None) -> None:
    printed = make_settings(pipeline__fusion__normalize=False)
    ordinary = summary(pair, says("B"), score)
    result = summary(pair, says("B"), score, settings=printed)
    assert result.quality_score == ordinary.quality_score is not None
    assert result.quality_reasoning == ordinary.quality_reasoning
    fusion = (result.used_evidence or {})["fusion"]
    assert fusion["letter"] == (ordinary.used_evidence or {})["fusion"]["letter"]
    assert fusion["q_printed"] == pytest.approx(
        sum(level * fusion["alpha"][str(level)] * fusion["p"][str(level)] for level in range(1, 6))
    )
