"""Runs without one of their parts: the calls they make, counted, and that nothing misses what was left out."""

from __future__ import annotations

import pytest

from agenticiqa import AgenticIQA
from agenticiqa.batch.preparing import BatchRequest, estimate, prepare_job
from agenticiqa.batch.sample import Sample
from agenticiqa.errors import ConfigError
from agenticiqa.nodes.ablation import calls_per_pass
from agenticiqa.state import PARTS, known_parts
from support.builders import RATE
from support.pictures import distorted, save, scene
from support.scripted import ScriptedClient, analysed, analysis_reply, answer_reply, plan_reply, selection_reply

FULL = {"plan": 1, "detection": 1, "analysis": 1, "selection": 1, "answer": 1}
CALLS = {
    (): FULL,
    ("planner",): {"detection": 1, "analysis": 1, "selection": 1, "answer": 1},
    ("executor",): {"answer": 1},
    ("tools",): {"plan": 1, "detection": 1, "analysis": 1, "answer": 1},
    ("detection",): {"plan": 1, "analysis": 1, "selection": 1, "answer": 1},
    ("analysis",): {"plan": 1, "detection": 1, "selection": 1, "answer": 1},
    ("fusion",): FULL,
    ("replan",): FULL,
    ("detection", "analysis", "tools"): {"plan": 1, "answer": 1},
    ("planner", "tools"): {"detection": 1, "analysis": 1, "answer": 1},
}


@pytest.mark.parametrize("without", CALLS, ids=lambda parts: "+".join(parts) or "nothing")
def test_each_ablation_makes_exactly_its_calls(assessor, pair, without) -> None:
    client = ScriptedClient()
    result = assessor(client).assess(pair.test, RATE, without=without)
    assert client.script.counts == CALLS[without]
    assert sum(CALLS[without].values()) == sum(calls_per_pass("agents", without).values())
    assert (result.status, result.error, result.metadata["replans"]) == ("ok", None, 0)
    assert result.metadata["without"] == known_parts(without)
    assert "evidence_gaps" not in result.summarizer_result.used_evidence
    measured = bool(result.executor_evidence.tool_logs)
    assert measured == (not {"tools", "executor"} & set(without))


@pytest.mark.hard
@pytest.mark.parametrize("query", [RATE, "Is the vehicle blurry? A. Yes B. No"])
def test_the_embedded_backend_runs_without_each_part(isolated, tmp_path, query) -> None:
    """Neither partial nor planned again because of what is not there."""
    small = scene(64, 96)
    reference, test = save(tmp_path / "clean.png", small), save(tmp_path / "noisy.png", distorted(small))
    with AgenticIQA("embedded", record=False) as given:
        whole = given.assess(test, query, reference=reference)
        for part in PARTS:
            result = given.assess(test, query, reference=reference, without=[part])
            assert result.metadata["without"] == [part]
            assert (result.status, result.metadata["replans"]) == (whole.status, 0)


def test_without_a_planner_everything_is_looked_for_in_the_whole_picture(assessor, pair) -> None:
    result = assessor(ScriptedClient()).assess(
        pair.test, "Is the vehicle blurry?", reference=pair.reference, without=["planner"]
    )
    assert (result.plan.query_scope, result.plan.distortions) == ("Global", None)
    assert result.plan.reference_mode == "Full-Reference"
    assert all(result.plan.plan.model_dump().values())
    assert result.metadata["backend"].keys() == {"executor", "summarizer"}


def test_without_fusion_the_models_level_is_the_score(assessor, pair) -> None:
    client = ScriptedClient(answer=answer_reply("A"))
    result = assessor(client).assess(pair.test, RATE, without=["fusion"])
    assert result.score == 5.0
    assert result.conflict is None
    (asked,) = client.script.of("answer")
    assert "Tool response" in asked.user
    assert "fused" not in asked.user


def test_without_replanning_a_gap_is_told_and_not_planned_for(assessor, pair) -> None:
    client = ScriptedClient(analysis={"analysis": []})
    result = assessor(client).assess(pair.test, RATE, without=["replan"])
    assert client.script.counts["plan"] == 1
    assert (result.status, result.metadata["replans"]) == ("partial", 0)
    assert result.summarizer_result.used_evidence["evidence_gaps"] == ["Missing analysis for {'Global'}"]
    planned_again = ScriptedClient(analysis={"analysis": []})
    assessor(planned_again, pipeline__cache__enabled=False).assess(pair.test, RATE)
    assert planned_again.script.counts["plan"] == 2


def test_a_contradiction_that_one_replan_would_have_settled_is_no_gap(assessor, pair) -> None:
    """The full run ends ok after one replan: so must the one that may not plan again."""
    severe = analysis_reply(analysed("Global", severity="severe"))
    measured = selection_reply(("Global", "Blurs", "PSNR"))
    client = ScriptedClient(analysis=severe, selection=measured, answer=answer_reply("A"))
    given = assessor(client, pipeline__cache__enabled=False)
    whole = given.assess(pair.test, RATE, reference=pair.test)
    assert (whole.status, whole.metadata["replans"]) == ("ok", 1)
    result = given.assess(pair.test, RATE, reference=pair.test, without=["replan"])
    assert (result.status, result.metadata["replans"]) == ("ok", 0)
    assert result.summarizer_result.used_evidence["contradictions"]


def test_a_tool_that_the_user_named_does_not_run_without_tools(assessor, pair) -> None:
    client = ScriptedClient(plan=plan_reply(required_tool=["PSNR"]))
    result = assessor(client).assess(pair.test, "What is the PSNR?", reference=pair.reference, without=["tools"])
    assert (result.status, result.executor_evidence.tool_logs) == ("ok", [])


def test_unknown_parts_are_refused() -> None:
    assert known_parts("Tools, planner,tools") == ["planner", "tools"]
    with pytest.raises(ConfigError, match="planer"):
        known_parts(["planer"])


def test_parts_are_a_setting(isolated, monkeypatch) -> None:
    monkeypatch.setenv("AGENTICIQA_PIPELINE__WITHOUT", "tools,planner")
    assert prepare_job(BatchRequest(backend="embedded")).settings.pipeline.without == ("planner", "tools")
    monkeypatch.setenv("AGENTICIQA_PIPELINE__WITHOUT", "everything")
    with pytest.raises(ConfigError, match="everything"):
        prepare_job(BatchRequest(backend="embedded"))


def test_a_batch_keeps_results_of_different_ways_apart_and_knows_their_cost(isolated) -> None:
    sample = Sample(sample_id="1", image_path="a.png")
    ways = [{}, {"mode": "direct"}, {"without": ("tools",)}, {"without": ("fusion",)}, {"without": ("executor",)}]
    jobs = [prepare_job(BatchRequest(backend="embedded", **way)) for way in ways]
    assert len({job.run_id(sample) for job in jobs}) == len(ways)
    assert [estimate(job, 10).calls for job in jobs] == [(50, 100), (10, 10), (40, 80), (50, 100), (10, 10)]
