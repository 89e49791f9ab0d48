"""What each real SDK does when the server misbehaves, and what our clients make of it."""

from __future__ import annotations

import socket

import pytest
from scripted_server import Answer
from wire import KEY, WIRES, Wire

from agenticiqa.errors import (
    AuthenticationError,
    BackendConnectionError,
    BackendServerError,
    BackendTimeoutError,
    BadResponseError,
    RateLimitError,
    RefusalError,
    RequestRejectedError,
    TruncatedReplyError,
)
from agenticiqa.vlm_client import ModelRequest

pytestmark = pytest.mark.contract

ASK = ModelRequest(user="rate this picture", timeout_s=20)


@pytest.fixture(params=list(WIRES), ids=list(WIRES))
def wire(request) -> Wire:
    return WIRES[request.param]


def test_good_reply(wire, scripted):
    server = scripted(Answer(wire.good("hello")))
    reply = wire.make(server.url).complete(ASK)
    assert (reply.text, reply.transport_attempts, reply.model) == ("hello", 1, "served-model")
    assert (reply.usage.prompt, reply.usage.completion) == (11, 7)
    assert reply.answer_logprobs is None


def test_rate_limit_waits_as_long_as_told(wire, scripted):
    waits: list[float] = []
    slow_down = Answer(wire.error("slow down"), status=429, headers={"retry-after": "7"})
    server = scripted(slow_down, slow_down, Answer(wire.good("hello")))
    reply = wire.make(server.url, waits=waits).complete(ASK)
    assert reply.text == "hello"
    assert reply.transport_attempts == 3
    assert waits == [7.0, 7.0]


def test_rate_limit_longer_than_the_time_left_fails_at_once(wire, scripted):
    waits: list[float] = []
    server = scripted(Answer(wire.error("slow down"), status=429, headers={"retry-after": "60"}))
    with pytest.raises(RateLimitError) as caught:
        wire.make(server.url, waits=waits).complete(ASK)
    assert caught.value.retry_after == 60
    assert len(server.asked) == 1
    assert waits == []


def test_retries_end(wire, scripted):
    waits: list[float] = []
    server = scripted(Answer(wire.error("broken"), status=503))
    with pytest.raises(BackendServerError, match="503"):
        wire.make(server.url, waits=waits, max_retries=2).complete(ASK)
    assert len(server.asked) == 3
    assert len(waits) == 2
    assert waits[0] < waits[1]


def test_server_error_then_good(wire, scripted, caplog):
    server = scripted(Answer(wire.error("broken"), status=500), Answer(wire.good("hello")))
    reply = wire.make(server.url).complete(ASK)
    assert (reply.text, reply.transport_attempts) == ("hello", 2)
    assert "attempt 1 of 4 failed" in caplog.text


@pytest.mark.parametrize("status", [401, 403])
def test_wrong_key_is_asked_once_and_never_quoted(wire, scripted, status):
    server = scripted(Answer(wire.error(f"bad key {KEY}"), status=status))
    with pytest.raises(AuthenticationError) as caught:
        wire.make(server.url).complete(ASK)
    assert len(server.asked) == 1
    assert KEY not in str(caught.value)


def test_rejected_request_is_asked_once(wire, scripted):
    server = scripted(Answer(wire.error(f"unknown model, key {KEY}"), status=404))
    with pytest.raises(RequestRejectedError, match="unknown model") as caught:
        wire.make(server.url).complete(ASK)
    assert len(server.asked) == 1
    assert KEY not in str(caught.value)


def test_silence_is_a_timeout(wire, scripted):
    server = scripted(Answer(silent=True))
    with pytest.raises(BackendTimeoutError):
        wire.make(server.url).complete(ModelRequest(user="hi", timeout_s=0.3))


def test_trickling_bytes_are_a_timeout(wire, scripted):
    server = scripted(Answer(trickle=True))
    with pytest.raises(BackendTimeoutError):
        wire.make(server.url).complete(ModelRequest(user="hi", timeout_s=0.5))


def test_connection_cut_in_mid_reply(wire, scripted):
    server = scripted(Answer(wire.good("hello"), cut_after=20), Answer(wire.good("hello")))
    assert wire.make(server.url).complete(ASK).transport_attempts == 2


def test_connection_cut_for_good(wire, scripted):
    server = scripted(Answer(wire.good("hello"), cut_after=20))
    with pytest.raises(BackendConnectionError):
        wire.make(server.url, max_retries=1).complete(ASK)
    assert len(server.asked) == 2


def test_dead_server_says_so_without_retries(wire):
    waits: list[float] = []
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(BackendConnectionError):
        wire.make(f"http://127.0.0.1:{port}", waits=waits).complete(ASK)
    assert waits == []


def test_truncated_json_body(wire, scripted):
    server = scripted(Answer(Answer(wire.good("hello")).data[:-9]))
    with pytest.raises(BadResponseError):
        wire.make(server.url).complete(ASK)


def test_reply_cut_at_the_token_limit_keeps_what_was_written(wire, scripted):
    server = scripted(Answer(wire.cut('{"final_answer": "B')))
    with pytest.raises(TruncatedReplyError) as caught:
        wire.make(server.url).complete(ASK)
    assert caught.value.output == '{"final_answer": "B'
    assert len(server.asked) == 1


def test_refusal(wire, scripted):
    server = scripted(Answer(wire.refused))
    with pytest.raises(RefusalError):
        wire.make(server.url).complete(ASK)


@pytest.mark.parametrize("text", ["", "  \n"])
def test_empty_reply(wire, scripted, text):
    server = scripted(Answer(wire.good(text)))
    with pytest.raises(BadResponseError, match="empty"):
        wire.make(server.url).complete(ASK)


@pytest.mark.parametrize("text", [7, ["a"], {"a": 1}, True])
def test_text_of_the_wrong_type(wire, scripted, text):
    server = scripted(Answer(wire.good(text)))
    with pytest.raises(BadResponseError):
        wire.make(server.url).complete(ASK)


@pytest.mark.parametrize("body", [[], {}, "words", 7, None, {"choices": "no", "content": 3, "candidates": {"a": 1}}])
def test_body_of_the_wrong_shape(wire, scripted, body):
    server = scripted(Answer(body))
    with pytest.raises(BadResponseError):
        wire.make(server.url).complete(ASK)


def test_web_page_instead_of_an_api(wire, scripted):
    server = scripted(Answer(b"<html><body>Welcome</body></html>", headers={"content-type": "text/html"}))
    with pytest.raises(BadResponseError):
        wire.make(server.url).complete(ASK)
