"""Runs told again as conversations: the very prompts, and only replies that agree with people."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from training.qwen import tuning_data as module
from training.qwen.tuning_data import ConversationBuilder, TuningChoices, TuningData, build_tuning_data

from agenticiqa.nodes.prompts import SHIPPED, PromptBook
from agenticiqa.research.results import EvaluationError
from agenticiqa.tools.registry import default_registry
from support.builders import RATE, packaged_settings
from support.pictures import distorted, save, scene
from support.result_lines import write
from support.scripted import RichScriptedClient, answer_reply

CHOICE = "Which distortion dominates? A. Blur B. Noise C. JPEG"
ALL = TuningChoices(scale=(1, 5), held_out=0)


@pytest.fixture
def picture(tmp_path: Path) -> str:
    return str(save(tmp_path / "picture.png", distorted(scene(64, 96))))


@pytest.fixture
def run_line(assessor, picture: str) -> Any:
    """A result line of a real run on a scripted model, with what the model was really sent."""

    def made(query: str = RATE, answer: str = "C", sample_id: str = "1", **columns: Any):
        client = RichScriptedClient(answer=answer_reply(answer, "Grain is visible."), direct=answer_reply(answer))
        mode = columns.pop("mode", None)
        result = assessor(client, pipeline__cache__enabled=False).assess(picture, query, mode=mode)
        return {"sample_id": sample_id, **result.model_dump(mode="json"), **columns}, client.requests

    return made


def build(folder: Path, *lines: dict[str, Any], choices: TuningChoices = ALL) -> TuningData:
    builder = ConversationBuilder(packaged_settings(), default_registry(), PromptBook({}, SHIPPED))
    return build_tuning_data([write(folder / "runs.jsonl", lines)], folder / "out", builder, choices)


def read(folder: Path, name: str = "train.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "out" / name).read_text().splitlines()]


def said(sample: dict[str, Any], role: str) -> str:
    (message,) = [each for each in sample["messages"] if each["role"] == role]
    return message["content"][-1]["text"]


def test_a_run_becomes_the_conversations_that_it_was(tmp_path: Path, run_line, picture: str) -> None:
    line, requests = run_line(mos=3.2)
    built = build(tmp_path, line)
    samples = read(tmp_path)
    assert sorted(f"{each['role']} {each['step']}" for each in samples) == [
        "executor analysis", "executor detection", "executor selection", "planner plan", "summarizer answer",
    ]  # fmt: skip
    sent = {(request.system, request.user) for request in requests}
    assert {(said(each, "system"), said(each, "user")) for each in samples} == sent
    assert sum(built.train.values()) == 5
    for each in samples:
        assert each["images"] == [picture]
        assert [part["type"] for part in each["messages"][1]["content"]] == ["text", "image", "text"]
    (answer,) = [json.loads(said(each, "assistant")) for each in samples if each["step"] == "answer"]
    assert answer == {"final_answer": "C", "quality_reasoning": "Grain is visible."}
    (plan,) = [json.loads(said(each, "assistant")) for each in samples if each["step"] == "plan"]
    assert plan["query_scope"] == "Global"
    assert plan["plan"]["tool_execution"] is True


def test_only_the_answer_of_a_run_that_planned_again_is_told(tmp_path: Path, run_line) -> None:
    line, _ = run_line(mos=3.2)
    line["metadata"]["replans"] = 1
    build(tmp_path, line)
    assert [each["step"] for each in read(tmp_path)] == ["answer"]


def test_a_plan_with_parts_left_out_is_not_taught(tmp_path: Path, run_line) -> None:
    line, _ = run_line(mos=3.2)
    line["metadata"]["without"] = ["tools"]
    build(tmp_path, line)
    assert "plan" not in {each["step"] for each in read(tmp_path)}


def test_a_direct_run_is_one_conversation(tmp_path: Path, run_line) -> None:
    line, requests = run_line(query=CHOICE, answer="B", mode="direct")
    build(tmp_path, {**line, "answer": "Noise"})
    (sample,) = read(tmp_path)
    assert (sample["step"], said(sample, "user")) == ("direct", requests[0].user)


def test_only_what_agrees_with_people_is_taught(tmp_path: Path, run_line) -> None:
    near, _ = run_line(sample_id="near", mos=3.4)
    far, _ = run_line(sample_id="far", mos=1.0)
    unjudged, _ = run_line(sample_id="unjudged")
    partial = {**near, "sample_id": "partial", "status": "partial"}
    gone = {**near, "sample_id": "gone", "image_path": "/no/such.png"}
    built = build(tmp_path, near, far, unjudged, partial, gone)
    assert {each["sample_id"] for each in read(tmp_path)} == {"near"}
    assert built.left_out == {
        module.NOT_RIGHT: 1, module.NOT_JUDGED: 1, module.NOT_COMPLETE: 1, module.NO_PICTURE: 1,
    }  # fmt: skip


def test_right_and_wrong_choices_and_runs_that_nobody_judged(tmp_path: Path, run_line) -> None:
    line, _ = run_line(query=CHOICE, answer="B")
    assert build(tmp_path, {**line, "answer": "Noise"}).left_out == {}
    with pytest.raises(EvaluationError, match="the answer is not people's"):
        build(tmp_path, {**line, "answer": "Blur"})
    with pytest.raises(EvaluationError, match="--unjudged"):
        build(tmp_path, line)
    assert sum(build(tmp_path, line, choices=TuningChoices(unjudged=True, held_out=0)).train.values()) == 5


def test_a_tool_that_does_not_run_here_cannot_be_told(tmp_path: Path, run_line) -> None:
    line, _ = run_line(mos=3.0)
    line["executor_evidence"]["selected_tools"] = {"Global": {"Blurs": "QAlign"}}
    with pytest.raises(EvaluationError):
        build(tmp_path, line)


def test_known_answers_of_a_manifest_are_conversations_of_the_bare_model(
    tmp_path: Path, picture: str, isolated
) -> None:
    rows = [
        {"sample_id": "1", "image_path": picture, "query": "What is it?", "options": ["Blur", "Noise"], "answer": "B"},
        {"sample_id": "2", "image_path": picture, "mos": 80},
        {"sample_id": "3", "image_path": picture},
    ]
    built = build(tmp_path, *rows, choices=TuningChoices(scale=(0, 100), held_out=0))
    replies = [json.loads(said(each, "assistant")) for each in read(tmp_path)]
    assert replies == [
        {"final_answer": "B", "quality_reasoning": "Noise"},
        {"final_answer": "B", "quality_reasoning": "Good quality."},
    ]
    assert built.left_out == {module.NOT_JUDGED: 1}


def test_versions_of_one_picture_are_on_one_side(tmp_path: Path, isolated) -> None:
    rows = []
    for scene_number in range(12):
        reference = save(tmp_path / f"reference{scene_number}.png", scene(64, 64))
        for version in range(3):
            image = save(tmp_path / f"{scene_number}-{version}.png", scene(64, 64))
            name = f"{scene_number}-{version}"
            rows.append({"sample_id": name, "image_path": str(image), "reference_path": str(reference), "mos": 3})
    build(tmp_path, *rows, choices=TuningChoices(scale=(1, 5), held_out=0.4))
    train = {each["images"][1] for each in read(tmp_path)}
    held_out = {each["images"][1] for each in read(tmp_path, "held_out.jsonl")}
    assert train
    assert held_out
    assert not train & held_out


def test_the_command_tells_what_it_wrote(command_line, tmp_path: Path, picture: str) -> None:
    rows = [{"sample_id": "1", "image_path": picture, "mos": 3}, {"sample_id": "2", "image_path": picture}]
    manifest = write(tmp_path / "manifest.jsonl", rows)
    command_line = replace(command_line, module="training.qwen.tuning_data")
    command = (str(manifest), "--output", "data", "--scale", "1,5", "--held-out", "0")
    done = command_line(*command)
    assert "train.jsonl: 1 conversations (summarizer direct 1)" in done.out
    assert "left out: 1 because no opinion score is known" in done.out
    assert command_line(*command).code == 2
    assert command_line(*command, "--overwrite", "--json").code == 0
