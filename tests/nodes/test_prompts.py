"""Prompts of a user's own: what reaches the model, what is refused when they are read, and what keeps them apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agenticiqa.batch.preparing import BatchRequest, prepare_job
from agenticiqa.batch.sample import Sample
from agenticiqa.errors import ConfigError
from agenticiqa.nodes.prompts import SHIPPED, PromptBook, read_prompts, write_prompts
from support.builders import RATE
from support.scripted import RichScriptedClient, ScriptedClient, answer_reply

APPENDIX = """System:
You are a visual quality assessment assistant, in somebody else's words. Reply as {"final_answer": "...", ...}.
User:
Asked: {query}

Analysed: {distortion_analysis}

Measured: {tool_response}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "prompts").mkdir()
    return tmp_path / "prompts"


def test_shipped_prompts_written_out_and_read_back_are_the_same(tmp_path: Path) -> None:
    written = write_prompts(tmp_path / "out", SHIPPED)
    assert [file.stem for file in written] == [each.name for each in SHIPPED]
    assert read_prompts(tmp_path / "out", SHIPPED).sha256 == PromptBook({}, SHIPPED).sha256
    with pytest.raises(ConfigError, match="is there already"):
        write_prompts(tmp_path / "out", SHIPPED)


def test_own_words_reach_the_model(assessor, pair, folder: Path) -> None:
    (folder / "scoring.txt").write_text(APPENDIX)
    client = RichScriptedClient()
    result = assessor(client, pipeline__prompts=folder).assess(pair.test, RATE)
    request = client.requests[-1]
    assert request.system.startswith("You are a visual quality assessment assistant, in somebody else's words.")
    assert '{"final_answer": "...", ...}' in request.system
    question, analysed, measured = request.user.split("\n\n")
    assert question == f"Asked: {RATE}"
    assert json.loads(analysed.removeprefix("Analysed: "))["Global"][0]["type"] == "Blurs"
    assert measured.startswith('Measured: {"Global"')
    assert "planner in an image quality" in client.requests[0].system
    assert result.metadata["prompts_sha256"] == read_prompts(folder, SHIPPED).sha256


def test_a_file_without_a_user_part_keeps_our_message(assessor, pair, folder: Path) -> None:
    (folder / "planner.txt").write_text("You are a planner in an image quality assessment (IQA) system. Be brief.")
    client = ScriptedClient()
    assessor(client, pipeline__prompts=folder).assess(pair.test, RATE)
    (asked,) = client.script.of("plan")
    assert asked.system == "System:\nYou are a planner in an image quality assessment (IQA) system. Be brief."
    assert asked.user == f"Question:\n{RATE}\n\nReference image: none"


def test_the_cache_does_not_mix_prompts_up(assessor, pair, folder: Path) -> None:
    """Steps whose prompt is the same share their replies; the one that changed is asked anew, each time it changes."""
    client = ScriptedClient(answer=[answer_reply("B"), answer_reply("D"), answer_reply("E")])
    answers, hashes = [], set()
    for words in (None, APPENDIX, APPENDIX.replace("Asked", "They ask"), None, APPENDIX):
        (folder / "scoring.txt").write_text(words or APPENDIX)
        given = assessor(client, pipeline__prompts=folder if words else None)
        result = given.assess(pair.test, RATE)
        answers.append(result.answer)
        hashes.add(result.metadata["prompts_sha256"])
    assert answers == ["B", "D", "E", "B", "D"]
    assert len(hashes) == 3
    assert client.script.counts == {"plan": 1, "detection": 1, "analysis": 1, "selection": 1, "answer": 3}


def test_a_batch_does_not_take_results_of_other_prompts(isolated, folder: Path, monkeypatch) -> None:
    sample = Sample(sample_id="1", image_path="a.png")
    ids = {prepare_job(BatchRequest(backend="embedded")).run_id(sample)}
    monkeypatch.setenv("AGENTICIQA_PIPELINE__PROMPTS", str(folder))
    for words in (APPENDIX, APPENDIX.replace("Asked", "They ask")):
        (folder / "scoring.txt").write_text(words)
        ids.add(prepare_job(BatchRequest(backend="embedded")).run_id(sample))
    assert len(ids) == 3


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("scoring.txt", "Rate {picture}.\nUser:\n{query}", r"field \{picture\} that is not filled in"),
        ("scoring.txt", "Rate it.\nUser:\nGo on.", r"lacks the field \{query\}"),
        ("selection.txt", "Choose.\nUser:\n{query} {objects}", r"lacks the field \{tools\}"),
        ("scoring.txt", "User:\n{query}", "lacks a system text"),
        ("judge.txt", "Judge.", "judge.txt, which no step uses"),
        ("scoring.txt", b"\xff\xfe", "UTF-8"),
        ("scoring.txt", "x" * 300_000, "more than the limit"),
    ],
)
def test_wrong_prompts_are_refused_when_they_are_read(assessor, folder: Path, file, text, said) -> None:
    (folder / file).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError, match=said):
        assessor(ScriptedClient(), pipeline__prompts=folder)


def test_a_folder_without_prompts_is_refused(assessor, folder: Path) -> None:
    with pytest.raises(ConfigError, match="holds no prompt"):
        assessor(ScriptedClient(), pipeline__prompts=folder)
    with pytest.raises(ConfigError, match="There is no folder"):
        assessor(ScriptedClient(), pipeline__prompts=folder / "none")


def test_words_in_braces_in_a_question_stay_as_they_are(assessor, pair) -> None:
    client = ScriptedClient()
    assessor(client).assess(pair.test, "Rate the {query} of {options}.")
    assert all("Rate the {query} of {options}." in asked.user for asked in client.script.asked)


def test_the_command_writes_prompts(command_line) -> None:
    done = command_line("config", "prompts", "mine", "--json")
    assert len(json.loads(done.out)["files"]) == len(SHIPPED)
    assert command_line("config", "prompts", "mine").code == 1
