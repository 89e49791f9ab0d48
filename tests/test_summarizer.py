"""The summarizer: prompts, evidence, answers, fusion, and the wish to plan again."""

from __future__ import annotations

import inspect
import json
import logging
import math
import re
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from langchain_core.runnables import RunnableConfig

from agenticiqa import score_fusion
from agenticiqa.errors import AuthenticationError, BackendTimeoutError
from agenticiqa.nodes import run_context
from agenticiqa.nodes.run_context import RunContext
from agenticiqa.nodes.summarizer import (
    EXPLANATION_PROMPT_TEMPLATE,
    NO_EVIDENCE_SENTENCE,
    SCORING_PROMPT_TEMPLATE,
    select_mode,
    summarizer_node,
)
from agenticiqa.state import AgenticIQAState, ExecutorOutput, Gap, SummarizerOutput
from agenticiqa.vocabulary import LETTER_LEVELS, LEVEL_NAMES
from support.builders import RATE, make_context, make_evidence, make_plan, make_settings, make_state, with_context
from support.scripted import ALL_OFF, RichScriptedClient, ScriptedClient, answer_reply

pytestmark = pytest.mark.usefixtures("isolated")

REQUIREMENTS = Path(__file__).parents[1] / "docs" / "inside" / "requirements.md"

NO_TOOLS = {"tool_selection": False, "tool_execution": False}
OTHER = make_plan(query_type="Other", plan=ALL_OFF)
VEHICLE = make_plan(query_scope=["vehicle", "background"], plan=NO_TOOLS)

# The one place with copies of the documents' prompts. The documents are not part of this repository, so a test can only
# hold the product's text against a copy: a change of a prompt then needs a second, deliberate change here. What
# docs/inside/requirements.md quotes of them is held against the product once more, by the test after those two.
EXPLANATION_TEXT = """\
System:
You are a visual quality assessment assistant. Your task is to select the most appropriate answer to the user's
question. You are given:
- Distortion analysis (severity and visual impact of listed distortions)
- Tool response (overall quality scores from IQA models)
- Image content
Decision process
1. First, understand what kind of visual information is needed to answer the user's question.
2. Check if the provided distortion analysis or tool response already contains the required information.
3. If the provided information is sufficient, use it to answer.
4. If the information is unclear or insufficient, analyze the image directly to determine the best answer.
Return a valid JSON object in the following format:
{
  "final_answer": "<one of the above letters>",
  "quality_reasoning": "<brief explanation, based on either distortion analysis, tool response, or direct visual observation>"
}"""  # noqa: E501

SCORING_TEXT = """\
System:
You are a visual quality assessment assistant. Given the question and the analysis (tool scores, distortion
analysis). Your task is to assess the image quality.
You must select one single answer from the following:
A. Excellent
B. Good
C. Fair
D. Poor
E. Bad
Return the JSON:
{
  "final_answer": "<one letter>",
  "quality_reasoning": "<concise justification referencing distortions or tool scores>"
}"""


def run(client: Any, state: AgenticIQAState, **more: Any) -> dict[str, Any]:
    return summarizer_node(state, with_context(make_context(client, **more)))


def result_of(client: Any, state: AgenticIQAState, **more: Any) -> SummarizerOutput:
    result = run(client, state, **more)["summarizer_result"]
    assert isinstance(result, SummarizerOutput)
    return result


# --- prompts ---


def test_explanation_prompt_is_verbatim() -> None:
    """SC-02, SC-03, SC-04, SC-05, D4-01: the document's text to the letter."""
    assert EXPLANATION_PROMPT_TEMPLATE == EXPLANATION_TEXT


def test_scoring_prompt_is_verbatim() -> None:
    """SC-11, SC-12, SC-13, D4-01: the document's text to the letter."""
    assert SCORING_PROMPT_TEMPLATE == SCORING_TEXT


QUOTED = {
    "SC-02": EXPLANATION_PROMPT_TEMPLATE,
    "SC-03": EXPLANATION_PROMPT_TEMPLATE,
    "SC-04": EXPLANATION_PROMPT_TEMPLATE,
    "SC-05": EXPLANATION_PROMPT_TEMPLATE,
    "SC-11": SCORING_PROMPT_TEMPLATE,
    "SC-12": SCORING_PROMPT_TEMPLATE,
    "SC-13": SCORING_PROMPT_TEMPLATE,
}


@pytest.mark.parametrize("line", QUOTED)
def test_prompts_hold_what_the_requirements_quote(line: str) -> None:
    """SC-02, SC-03, SC-04, SC-05, SC-11, SC-12, SC-13: the words between backticks, read from the requirements."""
    text = REQUIREMENTS.read_text(encoding="utf-8")
    (statement,) = re.findall(rf"^- {line} M  (.+)$", text, re.MULTILINE)
    quoted = [each.strip("… ") for each in re.findall(r"`([^`]+)`", statement)]
    prompt = " ".join(QUOTED[line].split())
    assert quoted
    assert [each for each in quoted if each not in prompt] == []


def test_the_five_options_stand_one_per_line_and_mean_their_levels(pair: Any) -> None:
    """SC-12, SC-13: in this order; each letter, sent as the prompt asks for it, is the answer that is understood."""
    lines = SCORING_PROMPT_TEMPLATE.splitlines()
    first = lines.index("A. Excellent")
    names = [f"{letter}. {LEVEL_NAMES[level]}" for letter, level in sorted(LETTER_LEVELS.items())]
    assert lines[first : first + 5] == names
    for letter in "ABCDE":
        asked_for = json.loads(SCORING_PROMPT_TEMPLATE.split("Return the JSON:")[1])
        asked_for["final_answer"] = letter
        assert result_of(ScriptedClient(answer=asked_for), make_state(pair.test)).final_answer == letter


def test_other_questions_use_the_explanation_prompt(pair: Any) -> None:
    """SC-01, SC-02, SC-52, D4-02: what the model receives begins with the whole template."""
    client = ScriptedClient(answer=answer_reply("Yes"))
    run(client, make_state(pair.test, "Is the singing man emphasised?", plan=OTHER))
    assert client.script.asked[0].system == EXPLANATION_TEXT


def test_ratings_use_the_scoring_prompt(pair: Any) -> None:
    """SC-10, SC-11, SC-52, D4-02: an IQA question that asks for a rating."""
    client = ScriptedClient()
    run(client, make_state(pair.test))
    assert client.script.asked[0].system == SCORING_TEXT


def test_iqa_questions_that_are_no_ratings_are_answered(pair: Any, caplog: pytest.LogCaptureFixture) -> None:
    """SC-01, SC-10, SC-52: explanation mode, and the log says so; the strict switch restores the printed rule."""
    plan = make_plan()
    with caplog.at_level(logging.INFO):
        assert select_mode(plan, "Is the vehicle blurry?", has_options=False) == "explanation"
    assert "Explanation mode although the query type is IQA" in caplog.text
    assert select_mode(plan, RATE, has_options=True) == "explanation"
    assert select_mode(plan, "Is the vehicle blurry?", has_options=True, strict=True) == "scoring"
    assert select_mode(OTHER, RATE, has_options=False, strict=True) == "explanation"
    client = ScriptedClient()
    settings = make_settings(pipeline__strict_mode_selection=True)
    run(client, make_state(pair.test, "Is the vehicle blurry?"), settings=settings)
    assert client.script.asked[0].system == SCORING_TEXT


def test_evidence_is_embedded_as_json_in_the_user_message(pair: Any) -> None:
    """SC-06, SC-07, SC-17, SC-18, SC-19, SC-20, D4-29: the documents' shapes with the documents' example."""
    client = ScriptedClient()
    run(client, make_state(pair.test))
    (asked,) = client.script.asked
    assert "Edges appear soft." not in asked.system
    sections = dict(section.split("\n", 1) for section in asked.user.split("\n\n") if "\n" in section)
    assert json.loads(sections["Distortion analysis:"]) == {
        "Global": [{"type": "Blurs", "severity": "moderate", "explanation": "Edges appear soft."}]
    }
    assert json.loads(sections["Tool response:"]) == {"Global": {"Blurs": ["TOPIQ_FR", 2.6]}}


def test_query_options_and_pictures_are_embedded(pair: Any) -> None:
    """SC-08, SC-09, SC-53, SC-54: question, choices, test image and reference, both labelled."""
    client = ScriptedClient(answer=answer_reply("B"))
    query = "Which dominates? A. Blur B. Noise"
    result = result_of(client, make_state(pair.test, query, reference_path=pair.reference))
    (asked,) = client.script.asked
    assert query in asked.user
    assert "Answer options:\nA. Blur\nB. Noise" in asked.user
    assert [(item.label, item.image.path) for item in asked.images] == [
        ("test image", pair.test),
        ("reference image", pair.reference),
    ]
    assert result.final_answer == "B"


def test_options_given_apart_from_the_query(pair: Any) -> None:
    """SC-08: they are listed with letters and the answer is checked against them."""
    client = ScriptedClient(answer=[answer_reply("C"), answer_reply("soft")])
    result = result_of(client, make_state(pair.test, "How is it?", options=["sharp", "soft"]))
    assert "A. sharp\nB. soft" in client.script.asked[0].user
    assert result.final_answer == "B"
    assert client.calls == 2


def test_open_questions_get_short_answers(pair: Any) -> None:
    """D4-03, SC-05: no options, one extra line instead."""
    client = ScriptedClient(answer=answer_reply("Motion blur on the left"))
    result = result_of(client, make_state(pair.test, "What is the major distortion?"))
    assert "There are no answer options: give a short, direct answer" in client.script.asked[0].user
    assert result.final_answer == "Motion blur on the left"
    assert result.quality_score is None


def test_yes_no_questions_get_yes_or_no(pair: Any) -> None:
    """D4-03: the model is asked for one of the two words."""
    client = ScriptedClient(answer=answer_reply("yes, clearly"))
    result = result_of(client, make_state(pair.test, "Is the vehicle blurry?"))
    assert 'answer "Yes" or "No"' in client.script.asked[0].user
    assert result.final_answer == "Yes"


# --- configuration and client ---


def test_configuration_of_the_summarizer() -> None:
    """SC-33, D4-23: the documents' block."""
    role = make_settings().summarizer
    assert (role.backend, role.temperature, role.max_tokens) == ("openai.gpt-4o", 0.0, 512)


def test_parameters_reach_the_model(pair: Any) -> None:
    """SC-33, D4-22, D2-24: what the file says is what the client gets."""
    client = ScriptedClient()
    settings = make_settings(summarizer__temperature=0.7, summarizer__max_tokens=99, summarizer__timeout_s=12)
    run(client, make_state(pair.test), settings=settings)
    kwargs = client.script.asked[0].kwargs
    assert (kwargs["temperature"], kwargs["max_tokens"], kwargs["timeout_s"]) == (0.7, 99, 12)


def test_client_is_made_by_create_vlm_client(pair: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """SC-34, D4-22: from the configured backend's name."""
    client, made = ScriptedClient(), []

    def create(backend: str, settings: Any) -> ScriptedClient:
        made.append((backend, settings.summarizer.max_tokens))
        return client

    monkeypatch.setattr(run_context, "create_vlm_client", create)
    context = RunContext(settings=make_settings(backend="openai.gpt-4o"))
    result = summarizer_node(make_state(pair.test), with_context(context))["summarizer_result"]
    assert made == [("openai.gpt-4o", 512)]
    assert result.final_answer == "C"


# --- retries and failure ---


BAD = ["not JSON", '{"final_answer": "C"}', '{"quality_reasoning": "x"}', answer_reply(" "), answer_reply("C", " \n")]


def test_two_bad_replies_then_a_good_one(pair: Any) -> None:
    """SC-35, SC-36, SC-42, SC-43, SC-45, SC-46, SC-47, D4-30: the third call gives a valid result."""
    client = ScriptedClient(answer=[*BAD[:2], answer_reply(" B ", " sharp enough ")])
    result = result_of(client, make_state(pair.test))
    assert (result.final_answer, result.error) == ("B", None)
    assert result.quality_reasoning.startswith("sharp enough")
    assert [asked.prompt.endswith("Return ONLY valid JSON") for asked in client.script.asked] == [False, True, True]


@pytest.mark.parametrize(("given", "letter"), [(3, "C"), ("3", "C"), (4.0, "B"), ("2 / 5", "D")])
def test_a_number_is_the_level_it_names(pair: Any, given: Any, letter: str) -> None:
    client = ScriptedClient(answer=[answer_reply(given)])
    assert result_of(client, make_state(pair.test)).final_answer == letter


@pytest.mark.parametrize("bad", [*BAD, *map(answer_reply, ("perhaps B or C", ["A"], None, True)), "", "[]"])
def test_three_bad_replies_give_the_fallback(pair: Any, bad: Any, caplog: pytest.LogCaptureFixture) -> None:
    """SC-35, SC-38, SC-39, SC-40, SC-41, D4-30, D4-31, D4-32: no answer, no score, an error, the full output."""
    client = ScriptedClient(answer=bad)
    with caplog.at_level(logging.WARNING):
        update = run(client, make_state(pair.test))
    result = update["summarizer_result"]
    assert client.calls == 3
    assert result.final_answer == "Unable to determine"
    assert result.quality_reasoning == "VLM output parsing failed"
    assert result.need_replan is False
    assert result.quality_score is None
    assert result.error
    assert result.error.startswith("bad_response")
    assert update["iteration_count"] == 0
    (error,) = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert error.endswith(f"full output: {bad if isinstance(bad, str) else json.dumps(bad)}")
    assert "BadResponseError" in error
    assert "1 distortions, 1 tool scores" in error


def test_full_output_is_not_cut(pair: Any, caplog: pytest.LogCaptureFixture) -> None:
    """SC-41, SC-58: DEBUG shortens a very long reply, ERROR does not."""
    client = ScriptedClient(answer="word " * 3000)
    with caplog.at_level(logging.DEBUG):
        run(client, make_state(pair.test))
    error = next(record.getMessage() for record in caplog.records if record.levelno == logging.ERROR)
    assert "word " * 3000 in error
    replies = [r.getMessage() for r in caplog.records if r.levelno == logging.DEBUG and " reply: " in r.getMessage()]
    assert len(replies) == 3
    assert all(len(text) < 2200 for text in replies)


SEEN = "on 1 distortions, 1 tool scores"
WAYS_TO_FAIL: dict[str, tuple[Any, dict[str, Any], str, list[str]]] = {
    "replies that cannot be used": (
        "x", {}, "BadResponseError", [f"attempt {n} of 3 {SEEN} failed: BadResponseError" for n in (1, 2, 3)],
    ),
    "a wrong key": (AuthenticationError("401"), {}, "AuthenticationError", [f"1 of 1 {SEEN} failed: Authentication"]),
    "a slow model": (
        BackendTimeoutError("late"), {}, "BackendTimeoutError",
        [f"attempt {n} of 3 {SEEN} failed: BackendTimeoutError" for n in (1, 2, 3)],
    ),
    "a stranger's exception": (RuntimeError("boom"), {}, "BackendError", [f"1 of 1 {SEEN} failed: BackendError"]),
    "a picture that is gone": (answer_reply(), {"image_path": "/no/such.png"}, "ImageNotFoundError", []),
}  # fmt: skip


@pytest.mark.parametrize(("reply", "changes", "kind", "attempts"), WAYS_TO_FAIL.values(), ids=WAYS_TO_FAIL.keys())
def test_every_failure_is_logged_with_attempts_type_and_evidence(
    pair: Any, caplog: pytest.LogCaptureFixture, reply: Any, changes: dict[str, Any], kind: str, attempts: list[str]
) -> None:
    """D4-31: whichever way it failed, one ERROR with type and evidence, and a WARNING for each attempt."""
    with caplog.at_level(logging.WARNING):
        run(ScriptedClient(answer=reply), {**make_state(pair.test), **changes})  # type: ignore[typeddict-item]
    (error,) = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert error.startswith(f"Summarizer failed with {kind} (")
    assert f"{SEEN};" in error
    warned = [text for text in caplog.messages if "attempt" in text]
    assert len(warned) == len(attempts)
    assert all(part in text for part, text in zip(attempts, warned, strict=True))


def test_sentences_that_are_added_begin_after_a_full_stop(pair: Any) -> None:
    result = run(ScriptedClient(answer=answer_reply("A", "Looks fine to me")), make_state(pair.test))[
        "summarizer_result"
    ]
    assert result.quality_reasoning.startswith("Looks fine to me. ")


def test_each_retry_is_logged(pair: Any, caplog: pytest.LogCaptureFixture) -> None:
    """SC-37, SC-58: with number and type of the error."""
    with caplog.at_level(logging.DEBUG):
        run(ScriptedClient(answer=["x", answer_reply("")]), make_state(pair.test))
    assert f"summarizer answer: attempt 1 of 3 {SEEN} failed: BadResponseError" in caplog.text
    assert f"summarizer answer: attempt 2 of 3 {SEEN} failed: ValidationError" in caplog.text
    assert SCORING_TEXT in caplog.text


@pytest.mark.parametrize("error", [AuthenticationError("401"), BackendTimeoutError("late"), RuntimeError("boom")])
def test_a_dead_model_is_an_error_not_an_answer(pair: Any, error: Exception) -> None:
    """D4-32, SC-55: the state's error is set and nothing looks like an answer."""
    update = run(ScriptedClient(answer=error), make_state(pair.test))
    assert update["error"]
    assert update["summarizer_result"].final_answer == "Unable to determine"
    assert update["summarizer_result"].error


def test_a_dead_model_on_a_replan_keeps_the_earlier_answer(pair: Any) -> None:
    """RL-22, RL-23: the answer of the pass before stays, with the error beside it."""
    earlier = SummarizerOutput(final_answer="C", quality_reasoning="x", need_replan=True, replan_reason="gap")
    update = run(
        ScriptedClient(answer=AuthenticationError("401")),
        make_state(pair.test, summarizer_result=earlier, iteration_count=1),
    )
    assert "summarizer_result" not in update
    assert "401" in update["error"]


# --- the node ---


def test_signature() -> None:
    """SC-48: state and an optional configuration."""
    parameters = inspect.signature(summarizer_node).parameters
    assert list(parameters) == ["state", "config"]
    hints = get_type_hints(summarizer_node)
    assert hints == {"state": AgenticIQAState, "config": RunnableConfig | None, "return": dict[str, Any]}
    assert parameters["config"].default is None


def test_update(pair: Any) -> None:
    """SC-44, SC-49, SC-56: a SummarizerOutput and the count, which stays without a replan."""
    update = run(ScriptedClient(), make_state(pair.test, iteration_count=1))
    assert isinstance(update["summarizer_result"], SummarizerOutput)
    assert update["iteration_count"] == 1
    assert update["error"] is None
    assert isinstance(update, dict)


def test_nothing_else_is_overwritten(pair: Any) -> None:
    """SM-11: plan and evidence are not in the update and the state given is untouched."""
    state = make_state(pair.test, executor_evidence=ExecutorOutput())
    before = dict(state)
    update = run(ScriptedClient(), state)
    assert set(update) <= {"summarizer_result", "iteration_count", "replan_history", "replan_gaps", "error"}
    assert dict(state) == before


@pytest.mark.parametrize("plan", [{}, {"plan": None}])
def test_without_plan(pair: Any, plan: dict[str, Any]) -> None:
    """SC-50: an error, and no model is asked."""
    state = make_state(pair.test)
    del state["plan"]
    client = ScriptedClient()
    update = run(client, {**state, **plan})  # type: ignore[typeddict-item]
    assert update["error"]
    assert "summarizer_result" not in update
    assert client.calls == 0


def test_without_evidence_key(pair: Any) -> None:
    """SC-51: an error, and no model is asked."""
    state = make_state(pair.test)
    del state["executor_evidence"]
    client = ScriptedClient()
    update = run(client, state)
    assert "executor_evidence" in update["error"]
    assert client.calls == 0


@pytest.mark.parametrize("which", ["image_path", "reference_path"])
def test_a_picture_that_cannot_be_loaded(pair: Any, which: str) -> None:
    """SC-53, SC-54, SC-55: a failure that says which file, no crash, no answer."""
    client = ScriptedClient()
    result = result_of(client, {**make_state(pair.test), which: "/no/such.png"})
    assert result.final_answer == "Unable to determine"
    assert "/no/such.png" in result.quality_reasoning
    assert result.error
    assert client.calls == 0


def test_start_is_logged(pair: Any, caplog: pytest.LogCaptureFixture) -> None:
    """SC-57: type, mode, evidence summary, paths."""
    with caplog.at_level(logging.INFO):
        run(ScriptedClient(), make_state(pair.test, reference_path=pair.reference))
    start = next(text for text in caplog.messages if text.startswith("Summarizer:"))
    for part in ("query type IQA", "scoring mode", "1 distortions, 1 tool scores", pair.test, pair.reference):
        assert part in start


# --- lack of evidence ---


@pytest.mark.parametrize(
    "evidence", [None, ExecutorOutput(), ExecutorOutput(quality_scores={}, distortion_analysis={})]
)
def test_answers_without_evidence(pair: Any, evidence: ExecutorOutput | None) -> None:
    """SC-21, SC-22, SC-23, SC-60, SC-61: from the picture alone; the sections go, the reasoning says so."""
    client = ScriptedClient(answer=answer_reply("Yes", "He stands out."))
    result = result_of(client, make_state(pair.test, "Is he emphasised?", plan=OTHER, executor_evidence=evidence))
    (asked,) = client.script.asked
    assert "Distortion analysis:\n" not in asked.user
    assert "Tool response:\n" not in asked.user
    assert asked.system == EXPLANATION_TEXT
    assert asked.images
    assert result.final_answer == "Yes"
    assert result.quality_reasoning == f"He stands out. {NO_EVIDENCE_SENTENCE}"
    assert "No tool" in NO_EVIDENCE_SENTENCE


@pytest.mark.parametrize(
    ("reasoning", "added"),
    [
        ("There is clear evidence of blur.", True),
        ("The evidence shows noise.", True),
        ("No tool evidence was given, but it looks sharp.", False),
        ("Without any evidence I look at the image.", False),
        ("Tool evidence is not available; it looks sharp.", False),
    ],
)
def test_the_lack_is_said_once_and_always(pair: Any, reasoning: str, added: bool) -> None:
    """SC-23, SC-61: a model that speaks of evidence it never had does not suppress the sentence."""
    state = make_state(pair.test, "Is he emphasised?", plan=OTHER, executor_evidence=None)
    result = result_of(ScriptedClient(answer=answer_reply("Yes", reasoning)), state)
    assert (NO_EVIDENCE_SENTENCE in result.quality_reasoning) is added


def test_with_evidence_nothing_is_added(pair: Any) -> None:
    """SC-23: the sentence is for its absence only."""
    result = result_of(ScriptedClient(), make_state(pair.test))
    assert NO_EVIDENCE_SENTENCE not in result.quality_reasoning


# --- fusion ---


def test_fusion_guides_the_model_and_gives_the_score(pair: Any) -> None:
    """SC-14, SC-15, D4-39: the documents' example: blur 2.6, brightness 2.8 give "C" and no replan."""
    evidence = ExecutorOutput.model_validate(
        {
            "distortion_analysis": {
                "Global": [
                    {"type": "Blurs", "severity": "moderate", "explanation": "Edges appear soft."},
                    {"type": "Brightness change", "severity": "slight", "explanation": "A little dark."},
                ]
            },
            "quality_scores": {
                "Global": {"Blurs": ("TOPIQ_FR", 2.6), "Brightness change": ("QAlign", 2.8)},
            },
        }
    )
    client = ScriptedClient()
    result = result_of(client, make_state(pair.test, executor_evidence=evidence))
    assert "Tool scores fused, 1 (bad) to 5 (excellent): 2.70, level C. Fair" in client.script.asked[0].user
    assert (result.final_answer, result.need_replan) == ("C", False)
    assert result.quality_score == pytest.approx(2.93, abs=0.05)
    assert result.used_evidence
    fusion = result.used_evidence["fusion"]
    assert fusion["tool_mean"] == pytest.approx(2.7)
    assert fusion["p"]["3"] == pytest.approx(0.8)
    assert fusion["p_source"] == "classification"
    assert (fusion["q"], fusion["letter"]) == (result.quality_score, "C")
    assert set(fusion["alpha"]) == set("12345")


def test_real_log_probabilities_are_used(pair: Any) -> None:
    """SC-14, D4-07, D4-33: they decide the fused score; the letters were asked for."""
    sure = {"A": -9.0, "B": -9.0, "C": -9.0, "D": -0.001, "E": -9.0}
    client = RichScriptedClient(sure, answer=answer_reply("D"))
    result = result_of(client, make_state(pair.test))
    assert client.requests[0].answer_letters == ("A", "B", "C", "D", "E")
    assert result.used_evidence
    assert result.used_evidence["fusion"]["p_source"] == "log-probabilities"
    assert result.quality_score == pytest.approx(2.0, abs=0.02)


@pytest.mark.parametrize("useless", [{}, {"A": -math.inf}, {"A": math.nan}])
def test_unusable_log_probabilities_fall_back_to_the_class(pair: Any, useless: dict[str, float]) -> None:
    """D4-33, D4-35: never a flat distribution that claims to be the model's."""
    result = result_of(RichScriptedClient(useless), make_state(pair.test))
    assert result.used_evidence
    fusion = result.used_evidence["fusion"]
    assert fusion["p_source"] == "classification"
    assert fusion["p"]["3"] == pytest.approx(0.8)


def test_probabilities_in_the_text_are_ignored(pair: Any) -> None:
    """D4-33: numbers that a model made up are no log-probabilities."""
    reply = {**answer_reply("C"), "logprobs": {"A": 0.0, "C": -50}, "A": 0.99}
    result = result_of(ScriptedClient(answer=reply), make_state(pair.test))
    assert result.used_evidence
    assert result.used_evidence["fusion"]["p"]["3"] == pytest.approx(0.8)


def test_letters_that_differ_are_explained(pair: Any) -> None:
    """SC-15, SC-16: the model's letter stays, the fused score is told in the reasoning."""
    result = result_of(
        ScriptedClient(answer=answer_reply("B")), make_state(pair.test, executor_evidence=make_evidence())
    )
    assert result.final_answer == "B"
    assert result.quality_score
    assert result.quality_score < 3.5
    assert re.search(
        r"fused score \d\.\d\d corresponds to [C-E] .*the model chose B \(Good\)", result.quality_reasoning
    )


def test_fusion_settings_take_effect(pair: Any) -> None:
    """D4-09, D2-24: class confidence, eta and thresholds come from the configuration."""
    plain = result_of(ScriptedClient(), make_state(pair.test))
    settings = make_settings(pipeline__fusion__class_confidence=0.3, pipeline__fusion__eta=5)
    changed = result_of(ScriptedClient(), make_state(pair.test), settings=settings)
    assert changed.quality_score != plain.quality_score
    moved = make_settings(pipeline__fusion__level_thresholds=[1.1, 1.2, 1.3, 1.4])
    result = result_of(ScriptedClient(), make_state(pair.test), settings=moved)
    assert result.used_evidence
    assert result.used_evidence["fusion"]["letter"] == "A"


def test_no_score_for_questions_that_ask_for_none(pair: Any) -> None:
    """SC-14: fusion is for scoring mode only; option probabilities are kept instead."""
    client = RichScriptedClient({"A": math.log(0.9), "B": math.log(0.1)}, answer=answer_reply("A"))
    result = result_of(client, make_state(pair.test, "Which? A. Blur B. Noise"))
    assert result.quality_score is None
    assert result.used_evidence
    assert "fusion" not in result.used_evidence
    assert result.used_evidence["option_probabilities"]["A"] == pytest.approx(0.9)


# --- planning again ---


def test_missing_object_asks_for_a_replan(pair: Any, caplog: pytest.LogCaptureFixture) -> None:
    """SC-24, SC-27, SC-28, SC-29, SC-56, SC-59, SC-64, RL-06, SM-12: reason, count and log."""
    state = make_state(
        pair.test,
        "Is the vehicle or the background noisier?",
        plan=VEHICLE,
        executor_evidence=make_evidence(name="vehicle", score=None),
    )
    with caplog.at_level(logging.INFO):
        update = run(ScriptedClient(answer=answer_reply("vehicle")), state)
    result = update["summarizer_result"]
    assert result.need_replan is True
    assert result.replan_reason == "Missing analysis for {'background'}"
    assert update["iteration_count"] == 1
    assert "need_replan=true, reason: Missing analysis for {'background'}, iteration_count: 0" in caplog.text


def test_history_entries(pair: Any) -> None:
    """SM-19, SM-20, RL-13: numbered after the increment, the earlier ones kept."""
    state = make_state(pair.test, executor_evidence=make_evidence(score=None), replan_history=[])
    first = run(ScriptedClient(), state)
    assert first["replan_history"] == ["[Iteration 1] No tool scores available"]
    second = run(
        ScriptedClient(),
        {**state, "iteration_count": 1, "max_replan_iterations": 5, **_history(first)},  # type: ignore[typeddict-item]
    )
    assert second["replan_history"] == [
        "[Iteration 1] No tool scores available",
        "[Iteration 2] No tool scores available",
    ]


def _history(update: dict[str, Any]) -> dict[str, Any]:
    return {key: update[key] for key in ("replan_history", "replan_gaps")}


def test_history_is_limited(pair: Any, caplog: pytest.LogCaptureFixture) -> None:
    """SM-21, SM-22, RL-21: ten entries, the oldest goes, with a warning; the list given is not changed."""
    old = [f"[Iteration {i}] gap {i}" for i in range(1, 11)]
    state = make_state(
        pair.test,
        executor_evidence=make_evidence(score=None),
        replan_history=old,
        iteration_count=10,
        max_replan_iterations=20,
    )
    update = run(ScriptedClient(), state)
    assert update["replan_history"] == [*old[1:], "[Iteration 11] No tool scores available"]
    assert len(old) == 10
    assert "Excessive replanning" in caplog.text


def test_ten_entries_are_not_excessive(pair: Any, caplog: pytest.LogCaptureFixture) -> None:
    """SM-21, SM-22: the limit itself is no reason to warn."""
    state = make_state(
        pair.test,
        executor_evidence=make_evidence(score=None),
        replan_history=[f"[Iteration {i}] gap {i}" for i in range(1, 10)],
        iteration_count=9,
        max_replan_iterations=20,
    )
    assert len(run(ScriptedClient(), state)["replan_history"]) == 10
    assert "Excessive" not in caplog.text


@pytest.mark.parametrize(("count", "limit"), [(0, 0), (2, 2), (3, 2)])
def test_at_the_limit(pair: Any, count: int, limit: int, caplog: pytest.LogCaptureFixture) -> None:
    """SC-30, SC-31, SC-32, RL-10: no further wish, a warning, and the gaps on record."""
    state = make_state(
        pair.test,
        executor_evidence=make_evidence(score=None),
        iteration_count=count,
        max_replan_iterations=limit,
    )
    update = run(ScriptedClient(), state)
    result = update["summarizer_result"]
    assert (result.need_replan, result.replan_reason) == (False, None)
    assert update["iteration_count"] == count
    assert "replan_history" not in update
    assert "Max replanning iterations reached" in caplog.messages
    assert result.used_evidence
    assert result.used_evidence["evidence_gaps"] == ["No tool scores available"]


def test_below_the_limit_nothing_is_warned(pair: Any, caplog: pytest.LogCaptureFixture) -> None:
    """SC-30, SC-32: the warning belongs to the limit."""
    run(ScriptedClient(), make_state(pair.test, executor_evidence=make_evidence(score=None)))
    assert "Max replanning" not in caplog.text


def test_defaults_of_the_counters(pair: Any) -> None:
    """D4-25, SM-08, SM-09: a state without them counts from 0 up to 2."""
    state = make_state(pair.test, executor_evidence=make_evidence(score=None))
    del state["iteration_count"], state["max_replan_iterations"], state["replan_history"]
    update = run(ScriptedClient(), state)
    assert update["iteration_count"] == 1
    assert run(ScriptedClient(), {**state, "iteration_count": 2})["summarizer_result"].need_replan is False


def test_contradictions_are_noted_and_worth_one_replan(pair: Any) -> None:
    """SC-26, SC-62, SC-63: in the reasoning every time, a reason to plan again only once."""
    evidence = make_evidence("severe", 4.5)
    state = make_state(pair.test, executor_evidence=evidence)
    first = run(ScriptedClient(), state)
    result = first["summarizer_result"]
    assert (
        "Contradictory evidence: severe Blurs but high scores (TOPIQ_FR 4.50) for Global." in result.quality_reasoning
    )
    assert result.need_replan is True
    assert result.replan_reason.startswith("Contradictory evidence")
    again = run(ScriptedClient(), {**state, "iteration_count": 1, **_history(first)})  # type: ignore[typeddict-item]
    assert again["summarizer_result"].need_replan is False
    assert "Contradictory evidence" in again["summarizer_result"].quality_reasoning


def test_going_in_circles_is_given_up(pair: Any, caplog: pytest.LogCaptureFixture) -> None:
    """RL-14, RL-27: the same plan with the same gap again and again ends early, and the reasoning says why."""
    reason = "No tool scores available"
    state = make_state(
        pair.test,
        executor_evidence=make_evidence(score=None),
        iteration_count=2,
        max_replan_iterations=9,
        replan_gaps=[Gap("scores", reason)] * 2,
        unchanged_plans=2,
    )
    result = result_of(ScriptedClient(), state)
    assert result.need_replan is False
    assert "Planning again was given up" in result.quality_reasoning
    assert "replanning stops" in caplog.text


def test_the_summarizer_fuses_with_the_module_and_nothing_else(pair: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """D4-04, SC-14: the number in the result is the one that score_fusion gives, for the scores that were measured."""
    given: list[list[float]] = []

    def fused(_self: Any, tool_scores: Any, _probabilities: Any) -> float:
        given.append(list(tool_scores))
        return 1.23

    monkeypatch.setattr(score_fusion.ScoreFusion, "fuse_scores", fused)
    assert result_of(ScriptedClient(), make_state(pair.test)).quality_score == 1.23
    assert given
    assert all(scores == [2.6] for scores in given)


def test_used_evidence(pair: Any) -> None:
    """D4-21, SM-06: what the answer rests on, and it reads back the same."""
    result = result_of(ScriptedClient(), make_state(pair.test))
    used = result.used_evidence
    assert used
    assert used["mode"] == "scoring"
    assert used["backend"] == "scripted.model"
    assert used["quality_scores"] == {"Global": {"Blurs": ["TOPIQ_FR", 2.6]}}
    assert used["distortions"]["Global"][0]["severity"] == "moderate"
    assert SummarizerOutput.model_validate_json(result.model_dump_json()) == result


def test_test_files_of_the_documents(pair: Any) -> None:
    """D4-36, D4-37: the three files hold tests; where a model is asked, it is the scripted one, which never varies."""
    folder = Path(__file__).parent
    for name in ("test_summarizer.py", "test_score_fusion.py", "test_integration.py"):
        text = (folder / name).read_text(encoding="utf-8")
        assert len(re.findall(r"^def test_", text, re.MULTILINE)) > 10
        assert name == "test_score_fusion.py" or "from support.scripted import" in text
    twice = [result_of(ScriptedClient(), make_state(pair.test)).model_dump() for _ in range(2)]
    assert twice[0] == twice[1]
