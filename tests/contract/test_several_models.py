"""Several models on servers that others wrote: three wire formats in one run, and the same evidence in each."""

from __future__ import annotations

import json

import pytest
from scripted_server import Answer
from test_aimock import PATHS
from wire import KEY, WIRES

from agenticiqa import AgenticIQA
from agenticiqa.runtime.config import load_settings
from support.pictures import distorted, save, scene
from support.scripted import STEP_PHRASES, answer_reply

pytestmark = pytest.mark.contract

NAMES = ("openai", "anthropic", "google")
BACKENDS = {name: f"{name}.{WIRES[name].model}" for name in NAMES}


@pytest.fixture
def together(aimock, tmp_path):
    made = []

    def make(*names, wrong_key=(), **overrides):
        where = {f"providers.{name}.base_url": aimock.url + WIRES[name].path for name in NAMES}
        keys = {f"providers.{name}.api_key": "another-key" if name in wrong_key else KEY for name in NAMES}
        files = {"pipeline.runs.database": tmp_path / "runs.sqlite", "pipeline.cache.enabled": False}
        named = {"backends": [BACKENDS.get(name, name) for name in names]}
        settings = load_settings(overrides={**named, **where, **keys, **files, **overrides}, environment={})
        made.append(AgenticIQA(settings=settings))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def picture(tmp_path):
    return save(tmp_path / "picture.png", distorted(scene()))


def words_of_last_answer(aimock, name):
    """System and user text of the last request of the summarizer on one wire, as the server understood them."""
    # Other tests share the server, and not all that they send is understood.
    messages = [entry["body"]["messages"] for entry in aimock.journal(PATHS[name]) if "messages" in entry["body"]]
    system, user = next(each for each in reversed(messages) if STEP_PHRASES["answer"] in each[0]["content"])
    parts = user["content"] if isinstance(user["content"], list) else [{"text": user["content"]}]
    return system["content"], "".join(part.get("text", "") for part in parts)


def test_the_same_evidence_goes_out_on_three_wires(together, aimock, picture):
    result = together(*NAMES, "embedded").assess(picture, "Rate the quality.", max_replan_iterations=0)
    assert result.status in ("ok", "partial"), result.error
    assert [each.answer for each in result.models[:3]] == ["C", "C", "C"]
    assert [each.error for each in result.models] == [None] * 4
    assert "say C. Fair" in result.summarizer_result.agreement
    sent = [call for call in result.metadata["call_log"] if call["step"] == "answer"]
    assert [call["backend"] for call in sent] == [*BACKENDS.values(), "embedded"]
    assert {call["tokens"]["prompt"] for call in sent[:3]} == {120}
    assert len({words_of_last_answer(aimock, name) for name in NAMES}) == 1
    assert '"sharpness", ' in words_of_last_answer(aimock, "google")[1]
    # Planned and looked once, on the first wire alone.
    assert {call["backend"] for call in result.metadata["call_log"] if call["role"] in ("planner", "executor")} == {
        BACKENDS["openai"]
    }


def test_the_same_bytes_of_the_picture_go_out_on_three_wires(scripted, picture):
    reply = json.dumps(answer_reply("C"))
    servers = {name: scripted(Answer(WIRES[name].good(reply))) for name in NAMES}
    where = {f"providers.{name}.base_url": server.url + WIRES[name].path for name, server in servers.items()}
    overrides = {"backends": [*BACKENDS.values()], **where, **{f"providers.{name}.api_key": KEY for name in NAMES}}
    with AgenticIQA(settings=load_settings(overrides=overrides, environment={}), record=False) as assessor:
        result = assessor.assess(picture, "Rate the quality.", mode="direct")
    assert (result.status, result.metadata["calls"]) == ("ok", 3)
    sent = [WIRES[name].parts(server.asked[0].body) for name, server in servers.items()]
    assert sent[0] == sent[1] == sent[2]
    assert ("image", ("image/png", picture.read_bytes())) in sent[0]


def test_a_refused_key_is_told_and_the_others_answer(together, picture):
    result = together(*NAMES, wrong_key=["anthropic"]).assess(picture, "Rate the quality.", max_replan_iterations=0)
    assert (result.status, [each.answer for each in result.models]) == ("partial", ["C", None, "C"])
    assert f"corresponds to {result.answer} " in result.reasoning
    assert "the models together say C (Fair)" in result.reasoning
    assert result.models[1].error.startswith("authentication")
    assert [each.weight for each in result.models] == [0.5, 0, 0.5]
    assert "gave no answer (authentication)" in result.reasoning


def test_where_every_key_is_refused_there_is_no_answer(together, picture):
    result = together(*NAMES, wrong_key=NAMES).assess(picture, "Rate the quality.", mode="direct")
    assert result.status == "error"
    assert result.models == []
    assert result.error.count("failed too") == 2


@pytest.mark.parametrize("words", ["please refuse", "please babble", "please say nothing", "please stop early"])
def test_a_question_that_the_servers_answer_badly_ends_well(together, picture, words):
    """All three give the same bad reply; the embedded model still answers, and says so."""
    settings = {"summarizer.retry_attempts": 1}
    result = together(*NAMES, "embedded", **settings).assess(picture, f"Is it noisy? {words}", mode="direct")
    assert result.status == "partial", result.error
    assert [each.answer is None for each in result.models] == [True, True, True, False]
    assert result.models[3].weight == 1
    assert result.reasoning.count("gave no answer") >= 3
