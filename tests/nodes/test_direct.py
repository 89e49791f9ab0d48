"""The bare model: one call, the same question and pictures, the same reading of the reply, the same accounts."""

from __future__ import annotations

import math

import pytest

from agenticiqa import AgenticIQA, run_pipeline
from agenticiqa.batch.preparing import BatchRequest, prepare_job
from agenticiqa.errors import ConfigError, RateLimitError
from support.batches import records, run_batch, write_jsonl
from support.builders import RATE, make_context
from support.scripted import RichScriptedClient, ScriptedClient, answer_reply

CHOICE = "Which distortion dominates? A. Blur B. Noise C. JPEG"
LEVELS = {"A": 0.1, "B": 0.2, "C": 0.4, "D": 0.2, "E": 0.1}
LOGPROBS = {letter: math.log(p) for letter, p in LEVELS.items()}


def test_a_rating_is_one_call_whose_probabilities_are_the_score(assessor, pair) -> None:
    client = RichScriptedClient(LOGPROBS)
    result = assessor(client).assess(pair.test, RATE, reference=pair.reference, mode="direct")
    (request,) = client.requests
    assert RATE in request.user
    assert [item.label for item in request.images] == ["test image", "reference image"]
    assert "tool" not in request.full_prompt.lower()
    assert result.status == "ok"
    assert result.score == pytest.approx(3.0)
    assert result.summarizer_result.used_evidence["fusion"]["p_source"] == "log-probabilities"
    assert (result.plan, result.executor_evidence) == (None, None)
    about = result.metadata
    assert (about["mode"], about["without"], about["calls"]) == ("direct", [], 1)
    assert about["tokens"] == {"prompt": 100, "completion": 10}
    assert about["backend"] == {"summarizer": "scripted.rich"}


def test_a_letter_without_probabilities_counts_as_its_level(assessor, pair) -> None:
    result = assessor(ScriptedClient(direct=answer_reply(4.0))).assess(pair.test, RATE, mode="direct")
    assert (result.answer, result.score) == ("B", 4.0)


def test_options_are_chosen_from_with_their_probabilities(assessor, pair) -> None:
    client = RichScriptedClient({"A": -3.0, "B": -0.1, "C": -3.0}, direct=answer_reply("Noise"))
    result = assessor(client).assess(pair.test, CHOICE, mode="direct")
    assert (result.answer, result.score) == ("B", None)
    assert result.summarizer_result.used_evidence["option_probabilities"]["B"] > 0.8
    assert client.requests[0].answer_letters == ("A", "B", "C")


def test_an_unusable_reply_is_asked_for_again_and_then_no_answer(assessor, pair) -> None:
    client = ScriptedClient(direct=[answer_reply("Z"), answer_reply("C")])
    assert assessor(client).assess(pair.test, RATE, mode="direct").answer == "C"
    assert client.calls == 2
    hopeless = assessor(ScriptedClient(direct="no JSON"), pipeline__cache__enabled=False)
    failed = hopeless.assess(pair.test, RATE, mode="direct")
    assert failed.status == "error"
    assert failed.metadata["error_kind"] == "bad_response"


def test_a_model_that_cannot_be_asked_is_an_error(assessor, pair) -> None:
    result = assessor(ScriptedClient(direct=RateLimitError("slow down"))).assess(pair.test, RATE, mode="direct")
    assert result.status == "error"
    assert result.metadata["error_kind"] == "rate_limit"


def test_the_embedded_backend_answers_directly(isolated, pair) -> None:
    with AgenticIQA("embedded", record=False) as assessor:
        rated = assessor.assess(pair.test, RATE, mode="direct")
        assert rated.status == "ok"
        assert 1 <= rated.score <= 5
        assert rated.metadata["calls"] == 1
        assert assessor.assess(pair.test, CHOICE, mode="direct").answer in "ABC"
        # A rating of something that no eye measures is no rating of the quality.
        assert assessor.assess(pair.test, "Rate the mood of the scene.", mode="direct").score is None


def test_the_configured_mode_counts_unless_another_is_given(assessor, pair) -> None:
    client = ScriptedClient()
    given = assessor(client, pipeline__mode="direct")
    assert given.assess(pair.test).metadata["mode"] == "direct"
    assert given.assess(pair.test, mode="agents").metadata["mode"] == "agents"
    assert client.script.counts["direct"] == 1


def test_a_recorded_direct_run_is_replayed_directly(assessor, pair) -> None:
    client = ScriptedClient()
    given = assessor(client, pipeline__cache__enabled=False)
    run_id = given.assess(pair.test, mode="direct").metadata["run_id"]
    record, again = given.replay(run_id)
    assert record.request["mode"] == "direct"
    assert again.metadata["mode"] == "direct"
    assert client.script.counts == {"direct": 2}


def test_the_cache_keeps_direct_answers_apart(assessor, pair) -> None:
    client = ScriptedClient(answer=answer_reply("B"), direct=answer_reply("E"))
    given = assessor(client)
    for _ in range(2):
        assert given.assess(pair.test, mode="direct").answer == "E"
        assert given.assess(pair.test, without=["executor"]).answer == "B"
    assert client.script.counts == {"direct": 1, "answer": 1}


def test_nothing_can_be_left_out_of_a_run_without_parts(assessor, pair) -> None:
    with pytest.raises(ConfigError, match="'tools' is no part of it"):
        assessor(ScriptedClient()).assess(pair.test, mode="direct", without=["tools"])
    with pytest.raises(ConfigError, match="'agents' or 'direct'"):
        assessor(ScriptedClient()).assess(pair.test, mode="alone")


def test_run_pipeline_and_batches_take_the_mode(isolated, pair, tmp_path) -> None:
    client = ScriptedClient()
    state = run_pipeline(RATE, pair.test, mode="direct", context=make_context(client))
    assert state["summarizer_result"].final_answer == "C"
    assert client.calls == 1
    manifest = write_jsonl(tmp_path / "manifest.jsonl", [{"sample_id": "1", "image_path": pair.test}])
    job = prepare_job(BatchRequest(backend="embedded", mode="direct"))
    assert run_batch(manifest, tmp_path / "results.jsonl", job=job).ok == 1
    (line,) = records(tmp_path / "results.jsonl")
    assert (line["metadata"]["mode"], line["metadata"]["calls"]) == ("direct", 1)


@pytest.mark.parametrize(
    ("query", "reply", "answer"),
    [
        (RATE, "B", "B"),
        (RATE, "Good.", "B"),
        (RATE, "**Quality: Poor**\n\nEdges are soft, and the sky is noisy all over.", "D"),
        (RATE, "B. There is a little blur, nothing more.", "B"),
        (RATE, "3.7", "B"),
        (RATE, "4/5", "B"),
        ("Rate the quality from 1 to 10.", "4", "D"),
        (CHOICE, "Noise", "B"),
        (CHOICE, "The answer is C", "C"),
        ("Is it blurry?", "Yes, a little around the edges of the petals.", "Yes"),
    ],
)
def test_a_plain_reply_is_read(assessor, pair, query, reply, answer) -> None:
    """Servers that cannot be held to JSON: a letter, a level or option in words, or a number."""
    client = ScriptedClient(direct=reply)
    result = assessor(client).assess(pair.test, query, mode="direct")
    assert (result.status, result.answer, client.calls) == ("ok", answer, 1)
    assert result.summarizer_result.quality_reasoning == reply
    assert (result.score is None) == (query not in (RATE, "Rate the quality from 1 to 10."))


@pytest.mark.parametrize(
    ("query", "reply"),
    [
        (RATE, "It would be an excellent picture without all the blur in it."),
        (RATE, "not good"),
        (RATE, "Good\nFair"),
        (RATE, "A. Excellent\nB. Good\nC. Fair"),
        (RATE, "72"),
        (RATE, "8/10"),
        (RATE, "-3"),
        (RATE, "I see 4 dandelions and 2 leaves."),
        (RATE, "I cannot see pictures."),
        (CHOICE, "Blur and noise are both there, I would say."),
        ("Is it blurry?", "No picture was attached to this conversation."),
        ("What is wrong with it?", "I cannot see pictures."),
    ],
)
def test_prose_that_names_no_answer_is_none_and_is_shown(assessor, pair, query, reply) -> None:
    result = assessor(ScriptedClient(direct=reply)).assess(pair.test, query, mode="direct")
    assert (result.status, result.summarizer_result.quality_score) == ("error", None)
    assert " ".join(reply.split())[:40] in result.error


def test_the_agents_show_a_reply_in_prose_too_and_cut_it(assessor, pair) -> None:
    result = assessor(ScriptedClient(plan="Well, " + "blur, " * 200)).assess(pair.test, RATE)
    assert result.status == "error"
    assert "It was: 'Well, blur, blur," in result.error
    assert len(result.error) < 400
