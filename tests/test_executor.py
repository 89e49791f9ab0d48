"""The executor: four steps, each behind its switch, each able to fail alone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from agenticiqa.errors import BackendServerError
from agenticiqa.nodes.executor import executor_node
from agenticiqa.nodes.run_context import RunContext
from agenticiqa.runtime.cache import DiskCache
from agenticiqa.state import AgenticIQAState, ExecutorOutput, SummarizerOutput
from agenticiqa.tools.calibration import load_calibrations
from agenticiqa.tools.metrics import METRICS, Measurement, MetricSpec
from agenticiqa.tools.registry import Tool, ToolRegistry, default_registry
from agenticiqa.vocabulary import CATEGORIES
from support.builders import RATE, make_context, make_plan, make_settings, with_context
from support.scripted import (
    ALL_OFF,
    ScriptedClient,
    analysed,
    analysis_reply,
    detection_reply,
    selection_reply,
)

pytestmark = pytest.mark.usefixtures("isolated")

ONLY_TOOLS = {**ALL_OFF, "tool_execution": True}
ONLY_ANALYSIS = {**ALL_OFF, "distortion_analysis": True}


def state_for(pair: Any, plan: Any, **more: Any) -> AgenticIQAState:
    return {"query": RATE, "image_path": pair.test, "reference_path": None, "plan": plan, **more}  # type: ignore[typeddict-item]


def run(client: ScriptedClient, state: AgenticIQAState, **more: Any) -> ExecutorOutput:
    update = executor_node(state, with_context(make_context(client, **more)))
    assert set(update) == {"executor_evidence"}
    evidence = update["executor_evidence"]
    assert isinstance(evidence, ExecutorOutput)
    return evidence


class OneTool:
    """A measuring tool that does what the test says."""

    def __init__(self, measure: Callable[[], float], name: str = "Plugin", kind: Any = "NR") -> None:
        self.spec = MetricSpec(
            name=name,
            kind=kind,
            range=(0.0, 1.0),
            higher_is_better=True,
            variant="test",
            paper="none",
            good_at=("Blurs",),
        )
        self._measure = measure
        self.calls = 0
        self._lock = threading.Lock()

    def measure(self, *_: Any) -> Measurement:
        with self._lock:
            self.calls += 1
        return Measurement(self._measure())


def registry(*metrics: Any) -> ToolRegistry:
    return ToolRegistry([Tool(metric, load_calibrations()["SSIM"]) for metric in metrics])


def boom() -> float:
    raise RuntimeError("CUDA out of memory")


# --- the four steps ---


def test_everything_on(pair: Any) -> None:
    """SC-17, SC-19, D2-31: detection, analysis, selection and real measurements, each in its field."""
    client = ScriptedClient(selection=selection_reply(("Global", "Blurs", "sharpness")))
    evidence = run(client, state_for(pair, make_plan()))
    assert client.script.counts == {"detection": 1, "analysis": 1, "selection": 1}
    assert evidence.distortion_set == {"Global": ["Blurs"]}
    assert evidence.distortion_analysis
    assert evidence.distortion_analysis["Global"][0].severity == "moderate"
    assert evidence.selected_tools == {"Global": {"Blurs": "sharpness"}}
    assert evidence.quality_scores
    tool, score = evidence.quality_scores["Global"]["Blurs"]
    (log,) = evidence.tool_logs
    assert (tool, log.tool) == ("sharpness", "sharpness")
    assert score == pytest.approx(log.calibrated_score, abs=1e-4)
    assert log.raw_score is not None
    assert evidence.errors == []


@pytest.mark.parametrize("switch", sorted(ALL_OFF))
def test_each_step_has_its_switch(pair: Any, switch: str) -> None:
    """D2-17: only what is switched on runs."""
    client = ScriptedClient()
    evidence = run(client, state_for(pair, make_plan(plan={**ALL_OFF, switch: True})))
    steps = {"distortion_detection": "detection", "distortion_analysis": "analysis", "tool_selection": "selection"}
    assert list(client.script.counts) == ([steps[switch]] if switch in steps else [])
    assert bool(evidence.quality_scores) is (switch == "tool_execution")
    assert bool(evidence.distortion_analysis) is (switch == "distortion_analysis")
    assert bool(evidence.selected_tools) is (switch == "tool_selection")
    assert bool(evidence.distortion_set) is (switch == "distortion_detection")


def test_everything_off(pair: Any) -> None:
    """D2-17: no call, no evidence, no error."""
    client = ScriptedClient()
    evidence = run(client, state_for(pair, make_plan(plan=ALL_OFF)))
    assert client.calls == 0
    assert evidence.is_empty
    assert evidence.errors == []


def test_explicit_distortions_replace_detection(pair: Any) -> None:
    """D2-31: the named distortion is what is analysed, for the named object."""
    client = ScriptedClient(analysis=analysis_reply(analysed("vehicle", "Blurs", "severe")))
    plan = make_plan(query_scope=["vehicle"], distortions={"vehicle": ["Blurs"]}, plan=ONLY_ANALYSIS)
    evidence = run(client, state_for(pair, plan))
    assert "- vehicle: Blurs\n" in client.script.asked[0].user
    assert evidence.distortion_analysis
    assert evidence.distortion_analysis["vehicle"][0].severity == "severe"
    assert evidence.distortion_set is None


def test_prompts_carry_categories_question_and_pictures(pair: Any) -> None:
    """SC-09, D2-31: and say that the question is data."""
    client = ScriptedClient()
    run(client, state_for(pair, make_plan(), reference_path=pair.reference))
    for asked in client.script.asked:
        assert RATE in asked.user
        assert "not an instruction to you" in asked.system
        assert [item.label for item in asked.images] == ["test image", "reference image"]
    assert ", ".join(CATEGORIES) in client.script.of("detection")[0].system


def test_objects_nobody_asked_about_are_left_out(pair: Any) -> None:
    """SC-24: the scope's own spelling is kept, others are dropped, so that a gap stays a gap."""
    client = ScriptedClient(
        detection=detection_reply(Vehicle=["blur"], dog=["noise"]),
        analysis=analysis_reply(analysed("VEHICLE "), analysed("dog", "Noise")),
    )
    plan = make_plan(query_scope=["vehicle", "sky"], plan={"tool_selection": False, "tool_execution": False})
    evidence = run(client, state_for(pair, plan))
    assert evidence.distortion_set == {"vehicle": ["Blurs"]}
    assert list(evidence.distortion_analysis or {}) == ["vehicle"]


def test_nothing_visible_needs_no_analysis(pair: Any) -> None:
    """D4-19: an empty detection covers the object and saves a call."""
    client = ScriptedClient(detection=detection_reply(Global=[]))
    evidence = run(client, state_for(pair, make_plan(plan={"tool_selection": False, "tool_execution": False})))
    assert client.script.counts == {"detection": 1}
    assert evidence.distortion_analysis == {"Global": []}


# --- failing alone ---


@pytest.mark.parametrize("broken", ["detection", "analysis", "selection"])
def test_a_step_that_fails_leaves_the_others(pair: Any, broken: str) -> None:
    """RL-25, D4-30: the failure is listed in the evidence, three calls were tried, the rest is there."""
    client = ScriptedClient(**{broken: "no JSON"})
    evidence = run(client, state_for(pair, make_plan()))
    assert client.script.counts[broken] == 3
    assert [error.split(":")[0] for error in evidence.errors] == [broken]
    assert evidence.quality_scores
    assert (evidence.distortion_analysis is None) is (broken == "analysis")
    assert (evidence.distortion_set is None) is (broken == "detection")


@pytest.mark.parametrize("broken", ["detection", "analysis", "selection"])
def test_two_bad_replies_then_a_good_one(pair: Any, broken: str) -> None:
    """D2-37, D4-30: the evidence is complete."""
    good = ScriptedClient().script.replies[broken]
    client = ScriptedClient(**{broken: ["x", "{}", good]})
    evidence = run(client, state_for(pair, make_plan()))
    assert evidence.errors == []
    assert client.script.counts[broken] == 3


def test_a_dead_model_still_leaves_measurements(pair: Any) -> None:
    """RL-25: tools need no model; each step's failure is on record."""
    client = ScriptedClient(**dict.fromkeys(("detection", "analysis", "selection"), BackendServerError("503")))
    evidence = run(client, state_for(pair, make_plan()))
    assert len(evidence.errors) == 3
    assert evidence.quality_scores
    assert evidence.distortion_analysis is None


def test_a_picture_that_cannot_be_read(pair: Any) -> None:
    """RL-25, SC-55: evidence is written anew, with the error in it."""
    evidence = run(ScriptedClient(), {**state_for(pair, make_plan()), "image_path": "/no/such.png"})
    assert evidence.is_empty
    assert "/no/such.png" in evidence.errors[0]


def test_without_a_plan(pair: Any) -> None:
    """RL-25: the same."""
    update = executor_node(state_for(pair, None), with_context(make_context(ScriptedClient())))
    assert "without a plan" in update["executor_evidence"].errors[0]


def test_a_tool_of_another_package_fails_alone(pair: Any) -> None:
    """RL-25, SC-25: whatever it raises; the other tool's score stays."""
    tools = registry(OneTool(boom, "Broken"), OneTool(lambda: 0.9, "Works"))
    plan = make_plan(required_tool=["Broken", "Works"], plan=ONLY_TOOLS)
    evidence = run(ScriptedClient(), state_for(pair, plan), tools=tools)
    assert evidence.tool_scores() == [pytest.approx(3.06, abs=0.01)]
    assert evidence.errors == ["tool Broken: CUDA out of memory"]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_tool_that_gives_no_number_gives_no_score(pair: Any, value: float) -> None:
    """SC-25: an error, not a default."""
    plan = make_plan(required_tool="Plugin", plan=ONLY_TOOLS)
    evidence = run(ScriptedClient(), state_for(pair, plan), tools=registry(OneTool(lambda: value)))
    assert evidence.quality_scores is None
    assert evidence.tool_scores() == []
    assert evidence.errors[0].startswith("tool Plugin:")


def test_a_tool_without_a_calibration_says_so(pair: Any) -> None:
    """D2-16, SC-25: it runs, its raw value is on record, and no score on 1..5 is made up."""
    plan = make_plan(required_tool="Plugin", plan=ONLY_TOOLS)
    tools = ToolRegistry([Tool(OneTool(lambda: 0.7))])  # type: ignore[arg-type]
    evidence = run(ScriptedClient(), state_for(pair, plan), tools=tools)
    (log,) = evidence.tool_logs
    assert (log.raw_score, log.calibrated_score, log.error) == (0.7, None, None)
    assert "Plugin has no calibration" in (log.note or "")
    assert evidence.quality_scores is None


def test_no_tool_at_all_keeps_the_analysis(pair: Any) -> None:
    """RL-25: tools that cannot run do not cost the evidence that is already there."""
    evidence = run(ScriptedClient(), state_for(pair, make_plan()), tools=registry(OneTool(boom, kind="FR")))
    assert evidence.distortion_analysis
    assert evidence.quality_scores is None
    assert evidence.errors


# --- tools ---


def test_a_named_tool_runs(pair: Any) -> None:
    """D2-16: "Use SSIM": the real SSIM on the real pictures, calibrated, without asking a model."""
    client = ScriptedClient()
    plan = make_plan(required_tool="ssim", plan=ONLY_TOOLS)
    evidence = run(client, state_for(pair, plan, reference_path=pair.reference))
    (log,) = evidence.tool_logs
    assert (log.tool, log.error) == ("SSIM", None)
    assert log.raw_score is not None
    assert 0 < log.raw_score < 1
    assert log.calibrated_score == pytest.approx(load_calibrations()["SSIM"](log.raw_score))
    assert client.calls == 0


def test_all_named_tools_run_beside_the_selected(pair: Any) -> None:
    """D2-16: every one of a list, first."""
    plan = make_plan(required_tool=["SSIM", "PSNR"])
    evidence = run(ScriptedClient(), state_for(pair, plan, reference_path=pair.reference))
    assert [log.tool for log in evidence.tool_logs] == ["SSIM", "PSNR", "noise"]
    scores = (evidence.quality_scores or {})["Global"]
    assert {tool for tool, _ in scores.values()} == {"SSIM", "PSNR", "noise"}


@pytest.mark.parametrize(("tool", "words"), [("SSIM", "reference"), ("NoSuchTool", "There is no tool")])
def test_a_named_tool_that_cannot_run_says_why(pair: Any, tool: str, words: str) -> None:
    """D2-16, SC-25: and is replaced by nothing."""
    evidence = run(ScriptedClient(), state_for(pair, make_plan(required_tool=tool, plan=ONLY_TOOLS)))
    assert evidence.quality_scores is None
    assert len(evidence.errors) == 1
    assert tool in evidence.errors[0]
    assert words in evidence.errors[0]


def test_only_tools_that_can_run_are_offered(pair: Any) -> None:
    """D2-33: full-reference tools only with a reference, and then first."""
    client = ScriptedClient()
    run(client, state_for(pair, make_plan()))
    run(client, state_for(pair, make_plan(), reference_path=pair.reference))
    without, with_reference = (asked.system for asked in client.script.of("selection"))
    assert "(full-reference)" not in without
    assert "- sharpness (no-reference)" in without
    assert with_reference.index("(full-reference)") < with_reference.index("(no-reference)")


def test_a_tool_that_was_not_offered_is_asked_for_again(pair: Any) -> None:
    """D4-30: SSIM without a reference is a bad reply; after three the catalogue chooses."""
    client = ScriptedClient(selection=selection_reply(("Global", "Blurs", "SSIM")))
    evidence = run(client, state_for(pair, make_plan()))
    assert client.script.counts["selection"] == 3
    assert evidence.errors[0].startswith("selection")
    chosen = (evidence.selected_tools or {})["Global"]["Blurs"]
    assert not default_registry().find(chosen).needs_reference


def test_each_distinct_tool_runs_once(pair: Any) -> None:
    """SC-19: one measurement for three distortions, filed under each, counted once."""
    metric = OneTool(lambda: 0.9)
    kinds = ["Blurs", "Noise", "Contrast"]
    client = ScriptedClient(
        detection=detection_reply(Global=kinds),
        selection=selection_reply(*[("Global", kind, "Plugin") for kind in kinds]),
    )
    evidence = run(client, state_for(pair, make_plan()), tools=registry(metric))
    assert metric.calls == 1
    assert list((evidence.quality_scores or {})["Global"]) == kinds
    assert len(evidence.tool_scores()) == 1


def test_tools_run_in_parallel(pair: Any) -> None:
    """SC-19: two tools wait for each other and both finish."""
    meeting = threading.Barrier(2, timeout=10)

    def meet() -> float:
        meeting.wait()
        return 0.9

    plan = make_plan(required_tool=["One", "Two"], plan=ONLY_TOOLS)
    evidence = run(ScriptedClient(), state_for(pair, plan), tools=registry(OneTool(meet, "One"), OneTool(meet, "Two")))
    assert evidence.errors == []
    assert len(evidence.tool_scores()) == 2


def test_scores_of_a_region(pair: Any) -> None:
    """SC-19, SC-29: computed on the region where its place is known; labelled as the whole picture's where not."""
    plan = make_plan(query_scope=["vehicle", "sky"], required_tool="sharpness", plan=ONLY_TOOLS)
    evidence = run(ScriptedClient(), state_for(pair, plan, regions={"the Vehicle": [0, 0, 40, 40]}))
    assert set(evidence.quality_scores or {}) == {"vehicle", "Global"}
    region, whole = evidence.tool_logs
    assert (region.object, region.region, region.note) == ("vehicle", [0, 0, 40, 40], None)
    assert (whole.object, whole.region) == ("Global", None)
    assert "'sky' has no known region" in (whole.note or "")
    assert region.raw_score != whole.raw_score


def test_tool_scores_are_cached_by_content(pair: Any, tmp_path: Any) -> None:
    """D2-27: the same tool on the same picture is computed once; another region is another key."""
    metric = OneTool(lambda: 0.9)
    plan = make_plan(query_scope=["vehicle"], required_tool="Plugin", plan=ONLY_TOOLS)
    cache = DiskCache(tmp_path / "cache")
    for regions in (None, None, {"vehicle": [0, 0, 16, 16]}, {"vehicle": [0, 0, 16, 16]}):
        state = state_for(pair, plan, regions=regions)
        evidence = run(ScriptedClient(), state, tools=registry(metric), cache=cache)
    assert metric.calls == 2
    assert evidence.tool_logs[0].cached
    cache.close()


# --- concurrency, time, replans ---


def test_analysis_and_selection_run_at_the_same_time(pair: Any) -> None:
    """D2-26: each waits inside its call until the other is there; one after the other would never meet."""
    meeting = threading.Barrier(2, timeout=10)

    def met(reply: Any) -> Callable[[Any], Any]:
        def answer(_: Any) -> Any:
            meeting.wait()
            return reply

        return answer

    client = ScriptedClient(analysis=met(analysis_reply()), selection=met(selection_reply()))
    evidence = run(client, state_for(pair, make_plan()))
    assert evidence.errors == []
    assert evidence.distortion_analysis
    assert evidence.selected_tools


def test_detection_comes_first(pair: Any) -> None:
    """D2-31: both need what it found."""
    client = ScriptedClient(
        detection=detection_reply(Global=["Noise"]), analysis=analysis_reply(analysed("Global", "Noise"))
    )
    run(client, state_for(pair, make_plan()))
    assert client.script.asked[0].step == "detection"
    for asked in client.script.asked[1:]:
        assert "- Global: Noise\n" in asked.user


def test_one_time_limit_for_the_whole_pass(pair: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """D2-24: node_timeout_s is not renewed by each step."""
    ends: list[float | None] = []
    make_caller = RunContext.model_caller

    def noted(self: RunContext, role: str, asked: Any, *, deadline: float | None = None) -> Any:
        ends.append(deadline)
        return make_caller(self, role, asked, deadline=deadline)

    monkeypatch.setattr(RunContext, "model_caller", noted)
    before = time.monotonic()
    run(ScriptedClient(), state_for(pair, make_plan()), settings=make_settings(executor__node_timeout_s=77))
    assert len(ends) > 1
    (end,) = set(ends)
    assert end is not None
    assert before + 77 <= end <= time.monotonic() + 77


def test_replies_of_the_last_pass_do_not_answer_the_next(pair: Any, tmp_path: Any) -> None:
    """D2-27, RL-20: the cache must not defeat replanning; the gap is told to each step."""
    cache = DiskCache(tmp_path / "cache")
    client = ScriptedClient()
    state = state_for(pair, make_plan())
    for _ in range(2):
        run(client, state, cache=cache)
    assert client.calls == 3
    asked = SummarizerOutput(final_answer="C", quality_reasoning="x", need_replan=True, replan_reason="No sky")
    run(client, {**state, "summarizer_result": asked}, cache=cache)
    assert client.calls == 6
    assert all("The last pass left a gap: No sky" in question.user for question in client.script.asked[3:])
    cache.close()


def test_evidence_is_always_written_anew(pair: Any) -> None:
    """RL-20, RL-21, RL-25: nothing of the old evidence is left."""
    old = ExecutorOutput(errors=["old"], distortion_set={"old": ["Noise"]})
    state = {**state_for(pair, make_plan(plan=ALL_OFF)), "executor_evidence": old}
    assert run(ScriptedClient(), state) == ExecutorOutput()  # type: ignore[arg-type]


def test_real_metrics_are_on_the_bench() -> None:
    """D4-05: PSNR, SSIM, sharpness and noise are there, each with a calibration to 1..5."""
    for name in ("PSNR", "SSIM", "sharpness", "noise"):
        assert default_registry().find(name).name == name
        assert name in METRICS
