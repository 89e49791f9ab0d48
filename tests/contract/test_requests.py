"""What goes over the wire, and how our clients get along with models that refuse a part of it."""

from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import pytest
from pydantic import BaseModel
from scripted_server import Answer
from wire import KEY, WIRES, Wire

from agenticiqa.errors import AuthenticationError, RateLimitError, RequestRejectedError
from agenticiqa.vlm_client import ModelRequest, ReplyTool

pytestmark = pytest.mark.contract

LETTERS = ("A", "B", "C", "D", "E")


class Verdict(BaseModel):
    final_answer: Literal["A", "B", "C", "D", "E"]
    why: str | None = None


class Plan(BaseModel):
    distortions: dict[str, list[str]]


ASK = ModelRequest(
    user="rate it",
    system="You judge.",
    schema=Verdict,
    answer_letters=LETTERS,
    temperature=0.0,
    top_p=0.1,
    timeout_s=20,
)
TEXT = '{"final_answer": "B", "why": null}'


@pytest.fixture(params=list(WIRES), ids=list(WIRES))
def wire(request) -> Wire:
    return WIRES[request.param]


def test_openai_request(scripted):
    wire = WIRES["openai"]
    server = scripted(Answer(wire.good(TEXT)))
    wire.make(server.url).complete(ASK)
    body = server.asked[0].body
    assert server.asked[0].path == "/v1/chat/completions"
    assert body["model"] == "gpt-4o"
    assert body["max_completion_tokens"] == 1024
    assert (body["temperature"], body["top_p"], body["logprobs"], body["top_logprobs"]) == (0.0, 0.1, True, 20)
    form = body["response_format"]["json_schema"]
    assert (body["response_format"]["type"], form["strict"], form["name"]) == ("json_schema", True, "Verdict")
    assert form["schema"]["required"] == ["final_answer", "why"]
    assert form["schema"]["additionalProperties"] is False


def test_no_logprobs_and_no_schema_unless_asked(scripted):
    wire = WIRES["openai"]
    server = scripted(Answer(wire.good("hello")))
    wire.make(server.url).complete(ModelRequest(user="hi", temperature=None))
    assert {"logprobs", "top_logprobs", "response_format", "temperature", "top_p"}.isdisjoint(server.asked[0].body)


def test_compatible_server_without_a_key(scripted):
    wire = WIRES["compatible"]
    server = scripted(Answer(wire.good("hello")))
    wire.make(server.url, api_key=None).complete(ModelRequest(user="hi"))
    assert server.asked[0].body["max_tokens"] == 1024


def test_anthropic_request(scripted):
    wire = WIRES["anthropic"]
    server = scripted(Answer(wire.good(TEXT)))
    wire.make(server.url).complete(ASK)
    body = server.asked[0].body
    assert server.asked[0].path == "/v1/messages"
    assert body["model"] == "claude-3-5-sonnet-20241022"
    assert (body["temperature"], body["top_p"], body["max_tokens"]) == (0.0, 0.1, 1024)
    form = body["output_config"]["format"]
    assert (form["type"], form["schema"]["additionalProperties"]) == ("json_schema", False)


def test_google_request(scripted):
    wire = WIRES["google"]
    server = scripted(Answer(wire.good(TEXT)))
    wire.make(server.url).complete(ASK)
    assert server.asked[0].path == "/v1beta/models/gemini-2.5-flash:generateContent"
    settings = server.asked[0].body["generationConfig"]
    assert (settings["temperature"], settings["topP"], settings["maxOutputTokens"]) == (0.0, 0.1, 1024)
    assert (settings["responseLogprobs"], settings["logprobs"]) == (True, 20)
    assert settings["responseMimeType"] == "application/json"
    assert settings["responseJsonSchema"]["required"] == ["final_answer", "why"]
    assert list(settings["thinkingConfig"].values()) == [0]


OFFERED = ModelRequest(user="look", schema=Verdict, tool=ReplyTool("decide", "Decides."), timeout_s=20)
TOOL_CHOICES = {
    "openai": "required",
    "anthropic": {"type": "tool", "name": "decide", "disable_parallel_tool_use": True},
    "google": {"functionCallingConfig": {"mode": "ANY"}},
}


@pytest.mark.parametrize("name", TOOL_CHOICES)
def test_a_tool_is_offered_in_the_providers_own_form(scripted, name):
    server = scripted(Answer(WIRES[name].good(TEXT)))
    WIRES[name].make(server.url).complete(OFFERED)
    body = server.asked[0].body
    (offered,) = body["tools"]
    tool = offered["function"] if name == "openai" else offered
    (tool,) = offered["functionDeclarations"] if name == "google" else [tool]
    (form,) = (value for key, value in tool.items() if "parameters" in key or key == "input_schema")
    assert (tool["name"], tool["description"]) == ("decide", "Decides.")
    assert form["required"] == ["final_answer", "why"]
    assert body["toolConfig" if name == "google" else "tool_choice"] == TOOL_CHOICES[name]
    # No provider takes an enforced schema beside a tool that must be called.
    assert not {"response_format", "output_config"} & {*body}
    assert "responseMimeType" not in body.get("generationConfig", {})
    assert WIRES[name].parts(body)[-1] == ("text", "look")


def test_a_compatible_server_is_offered_no_tool(scripted):
    server = scripted(Answer(WIRES["compatible"].good(TEXT)))
    reply = WIRES["compatible"].make(server.url).complete(OFFERED)
    assert "tools" not in server.asked[0].body
    assert server.asked[0].body["response_format"]["type"] == "json_schema"
    assert (reply.text, reply.notes) == (TEXT, ())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("openai", "This model does not support tools."),
        ("anthropic", "tool_choice forces tool use, which this model does not support."),
        ("google", "Function calling is not enabled for models/gemma-3"),
    ],
)
def test_refused_tools_give_way_to_the_schema_from_then_on(scripted, name, words):
    wire = WIRES[name]
    server = scripted(Answer(wire.error(words), status=400), Answer(wire.good(TEXT)))
    client = wire.make(server.url)
    replies = [client.complete(OFFERED) for _ in range(2)]
    assert [reply.text for reply in replies] == [TEXT, TEXT]
    assert replies[0].notes == (f"{client.model} does not take tool calls",)
    assert [("tools" in asked.body) for asked in server.asked] == [True, False, False]
    assert "final_answer" in json.dumps(server.asked[-1].body)


def test_a_schema_with_free_keys_is_not_called_strict(scripted):
    request = ModelRequest(user="plan it", schema=Plan)
    for name in ("openai", "compatible"):
        server = scripted(Answer(WIRES[name].good("{}")))
        WIRES[name].make(server.url).complete(request)
        assert server.asked[0].body["response_format"]["json_schema"]["strict"] is False
    server = scripted(Answer(WIRES["anthropic"].good("{}")))
    WIRES["anthropic"].make(server.url).complete(request)
    assert "output_config" not in server.asked[0].body
    assert "JSON schema" in WIRES["anthropic"].parts(server.asked[0].body)[-1][1]


def _logprob_reply(wire: Wire) -> Any:
    body = wire.good(TEXT)
    pieces = ['{"final_answer": "', "B", '", "why": null}']
    top = [{"token": "B", "logprob": math.log(0.7)}, {"token": "C", "logprob": math.log(0.2)}]
    if wire.name == "google":
        chosen = [{"token": piece, "logProbability": math.log(0.7)} for piece in pieces]
        ranked = [{"candidates": [{"token": t["token"], "logProbability": t["logprob"]} for t in top]}] * 3
        body["candidates"][0]["logprobsResult"] = {"chosenCandidates": chosen, "topCandidates": ranked}
    else:
        content = [{"token": p, "logprob": math.log(0.7), "bytes": None, "top_logprobs": top} for p in pieces]
        body["choices"][0]["logprobs"] = {"content": content, "refusal": None}
    return body


@pytest.mark.parametrize("name", ["openai", "compatible", "google"])
def test_answer_probabilities_are_read_from_the_reply(scripted, name):
    server = scripted(Answer(_logprob_reply(WIRES[name])))
    found = WIRES[name].make(server.url).complete(ASK).answer_logprobs
    assert found is not None
    assert found["B"] == pytest.approx(math.log(0.7))
    assert found["C"] == pytest.approx(math.log(0.2))
    assert found["A"] == pytest.approx(math.log(0.1 / 3))


@pytest.mark.parametrize(
    ("name", "status", "words", "gone"),
    [
        ("openai", 400, "Unsupported value: 'temperature' does not support 0 with this model.", "temperature"),
        ("openai", 400, "Unsupported parameter: 'top_p' is not supported with this model.", "top_p"),
        ("openai", 403, "You are not allowed to request logprobs from this model", "logprobs"),
        ("compatible", 422, "logprobs are not supported", "logprobs"),
        ("anthropic", 400, "`temperature` is deprecated for this model.", "temperature"),
        ("anthropic", 400, "`temperature` and `top_p` cannot both be specified for this model.", "top_p"),
        ("anthropic", 400, "'claude' does not support output_config.format", "output_config"),
        ("google", 400, "Logprobs is not enabled for models/gemini-2.5-flash", "responseLogprobs"),
        ("google", 400, "Budget 0 is invalid. This model only works in thinking mode.", "thinkingConfig"),
    ],
)
def test_a_refused_parameter_is_left_out_from_then_on(scripted, name, status, words, gone):
    wire = WIRES[name]
    server = scripted(Answer(wire.error(words), status=status), Answer(wire.good(TEXT)))
    client = wire.make(server.url)
    reply = client.complete(ASK)
    assert any("does not take" in note for note in reply.notes)
    assert reply.transport_attempts == 1
    client.complete(ASK)
    bodies = [asked.body.get("generationConfig", asked.body) for asked in server.asked]
    assert [gone in body for body in bodies] == [True, False, False]


@pytest.mark.parametrize("name", ["openai", "compatible", "google"])
def test_from_schema_to_json_mode_to_plain_prompt(scripted, name):
    wire = WIRES[name]
    no = Answer(wire.error("response_format is not supported here (response_mime_type)"), status=400)
    server = scripted(no, no, Answer(wire.good(TEXT)))
    reply = wire.make(server.url).complete(ASK)
    assert len(server.asked) == 3
    assert len(reply.notes) == 2
    last = server.asked[2].body
    assert "response_format" not in last
    assert "responseMimeType" not in last.get("generationConfig", {})
    assert [("final_answer" in wire.parts(asked.body)[-1][1]) for asked in server.asked] == [False, True, True]


def test_a_rejection_about_something_else_is_raised(wire, scripted):
    server = scripted(Answer(wire.error("the picture is too large"), status=400))
    with pytest.raises(RequestRejectedError, match="too large"):
        wire.make(server.url).complete(ASK)
    assert len(server.asked) == 1


def test_used_up_quota_is_not_retried(scripted):
    wire = WIRES["openai"]
    body = {"error": {"message": "You exceeded your quota", "type": "insufficient_quota", "code": "insufficient_quota"}}
    server = scripted(Answer(body, status=429))
    with pytest.raises(RateLimitError, match="quota"):
        wire.make(server.url).complete(ASK)
    assert len(server.asked) == 1


def test_googles_figure_in_the_body_counts(scripted):
    wire = WIRES["google"]
    waits: list[float] = []
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3.5s"}
    body = {"error": {"code": 429, "message": "slow", "status": "RESOURCE_EXHAUSTED", "details": [info]}}
    server = scripted(Answer(body, status=429), Answer(wire.good(TEXT)))
    wire.make(server.url, waits=waits).complete(ASK)
    assert waits == [3.5]


def test_googles_wrong_key_is_a_400(scripted):
    wire = WIRES["google"]
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
    body = {"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT", "details": [info]}}
    server = scripted(Answer(body, status=400))
    with pytest.raises(AuthenticationError):
        wire.make(server.url).complete(ASK)
    assert len(server.asked) == 1


def test_one_sdk_client_serves_concurrent_calls(wire, scripted):
    server = scripted(Answer(wire.good(TEXT)))
    client = wire.make(server.url)
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: client.complete(ASK), range(16)))
    assert {reply.text for reply in replies} == {TEXT}
    assert len(server.asked) == 16
    sdk = client._sdk
    assert client._sdk is sdk
    client.close()


def test_key_travels_in_a_header_only(wire, scripted):
    server = scripted(Answer(wire.good(TEXT)))
    wire.make(server.url).complete(ASK)
    asked = server.asked[0]
    assert any(KEY in value for value in asked.headers.values())
    assert KEY not in asked.path
    assert KEY not in json.dumps(asked.body)
