"""Retries, the time limit and refused features, on a client that needs no network."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from agenticiqa.errors import (
    AuthenticationError,
    BackendConnectionError,
    BackendServerError,
    BackendTimeoutError,
    BackendUnavailableError,
    RateLimitError,
    RequestRejectedError,
)
from agenticiqa.models.transport import Call, Feature, JsonMode, TransportClient, token_count
from agenticiqa.runtime.config import ProviderSettings
from agenticiqa.state import SummarizerOutput
from agenticiqa.vlm_client import ModelReply, ModelRequest


class Fake(TransportClient):
    """Plays a script of replies and errors against a clock that moves only when it sleeps."""

    provider = "openai"

    def __init__(self, *script: Any, max_retries: int = 3, **settings: Any) -> None:
        self.now = 0.0
        self.waits: list[float] = []
        self.calls: list[Call] = []
        self.script = list(script)
        super().__init__(
            "openai.fake",
            "fake",
            ProviderSettings(max_retries=max_retries, **settings),
            sleep=self._advance,
            clock=lambda: self.now,
        )

    def _advance(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def _make_sdk_client(self) -> Any:
        return object()

    def _call(self, call: Call) -> ModelReply:
        self.calls.append(call)
        item = self.script[min(len(self.calls), len(self.script)) - 1]
        if isinstance(item, Exception):
            raise item
        return ModelReply(text=item)


ASK = ModelRequest(user="x", timeout_s=100)


def test_each_attempt_gets_the_time_that_is_left():
    client = Fake(RateLimitError("slow", retry_after=30.0), RateLimitError("slow", retry_after=30.0), "ok")
    assert client.complete(ASK).transport_attempts == 3
    assert [call.timeout_s for call in client.calls] == [100, 70, 40]


def test_waits_grow_with_jitter_and_stay_bounded():
    first, second = (Fake(BackendServerError("x"), max_retries=8) for _ in range(2))
    for client in (first, second):
        with pytest.raises(BackendServerError):
            client.complete(ModelRequest(user="x", timeout_s=10_000))
    assert len(first.waits) == 8
    assert all(0.5 * 2**i <= wait <= 0.5 * 2**i + 0.5 for i, wait in enumerate(first.waits[:6]))
    assert max(first.waits) <= 30.5
    assert first.waits != second.waits


def test_no_wait_beyond_the_time_limit():
    client = Fake(BackendServerError("x"), max_retries=10)
    with pytest.raises(BackendServerError):
        client.complete(ModelRequest(user="x", timeout_s=5))
    assert client.now < 5


@pytest.mark.parametrize("error", [AuthenticationError("x"), RequestRejectedError("x"), BackendUnavailableError("x")])
def test_final_errors_are_not_retried(error):
    client = Fake(error, "ok")
    with pytest.raises(type(error)):
        client.complete(ASK)
    assert len(client.calls) == 1


def test_no_retries_when_switched_off():
    client = Fake(BackendConnectionError("x"), "ok", max_retries=0)
    with pytest.raises(BackendConnectionError):
        client.complete(ASK)


def test_an_error_that_is_not_ours_passes_through():
    with pytest.raises(ZeroDivisionError):
        Fake(ZeroDivisionError()).complete(ASK)


def test_a_call_that_hangs_is_abandoned():
    release = threading.Event()

    class Hanging(Fake):
        def _call(self, call: Call) -> ModelReply:
            release.wait()
            return ModelReply(text="late")

    client = Hanging(max_retries=0)
    try:
        with pytest.raises(BackendTimeoutError, match=r"0\.1 s"):
            client.complete(ModelRequest(user="x", timeout_s=0.1))
    finally:
        release.set()


def test_several_refusals_in_a_row():
    client = Fake(RequestRejectedError("no temperature here"), RequestRejectedError("no logprobs here"), "ok")
    reply = client.complete(ModelRequest(user="x", answer_letters=("A", "B"), timeout_s=100))
    assert reply.notes == ("fake does not take temperature", "fake does not take token log-probabilities")
    assert client.calls[-1].without == {Feature.TEMPERATURE, Feature.LOGPROBS}
    assert client.calls[-1].temperature is None
    assert not client.calls[-1].wants_logprobs


def test_a_refusal_of_something_that_was_not_sent_is_raised():
    with pytest.raises(RequestRejectedError):
        Fake(RequestRejectedError("logprobs are wrong"), "ok").complete(ASK)


def test_notes_only_about_what_was_asked_for():
    client = Fake(RequestRejectedError("no temperature here"), "ok")
    client.complete(ASK)
    assert client.complete(ModelRequest(user="x", temperature=None, timeout_s=100)).notes == ()


def test_json_modes():
    request = ModelRequest(user="x", schema=SummarizerOutput)
    modes = [
        Call(request, (), (), frozenset(without), 1.0).json_mode
        for without in ((), (Feature.JSON_SCHEMA,), (Feature.JSON_SCHEMA, Feature.JSON_OBJECT))
    ]
    assert modes == [JsonMode.SCHEMA, JsonMode.OBJECT, JsonMode.PROMPT]
    assert Call(ASK, (), (), frozenset(), 1.0).json_mode is JsonMode.NONE


def test_identity_tells_servers_apart_and_holds_no_password():
    one = Fake(base_url="http://me:secret@one.example/v1").identity
    other = Fake(base_url="http://two.example/v1").identity
    assert one != other
    assert "secret" not in one
    assert "one.example" in one


def test_a_model_must_be_named():
    with pytest.raises(BackendUnavailableError):
        TransportClientWithoutModel()


class TransportClientWithoutModel(Fake):
    def __init__(self) -> None:
        TransportClient.__init__(self, "openai", "", ProviderSettings())


def test_close_forgets_the_sdk_client():
    client = Fake("ok")
    first = client._sdk
    assert client._sdk is first
    client.close()
    assert client._sdk is not first


@pytest.mark.parametrize(("value", "count"), [(3, 3), (0, 0), (-1, None), (True, None), ("3", None), (None, None)])
def test_token_counts(value, count):
    assert token_count(value) == count


def test_stray_blanks_around_a_key_are_dropped():
    assert Fake(api_key=" sk-abc\n").key == "sk-abc"


@pytest.mark.parametrize("key", ["sk-\u00e9", "sk-a\x01b", "sk-a b", "sk-a\nb"])
def test_an_impossible_key_is_refused_without_being_quoted(key):
    with pytest.raises(AuthenticationError) as caught:
        Fake(api_key=key)
    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize("address", ["localhost:8000/v1", "ftp://x/v1", "http://", "http://[bad", "http://x:99999/v1"])
def test_an_impossible_address_is_refused(address):
    with pytest.raises(BackendUnavailableError):
        Fake(base_url=address)


def test_zero_seconds_to_wait_still_backs_off():
    client = Fake(RateLimitError("slow", retry_after=0.0), "ok")
    client.complete(ASK)
    assert client.waits[0] >= 0.5


def test_generate_takes_the_picture_under_the_documents_name(pair):
    """D2-02: ``generate(prompt, image, **kwargs)``, by position and by name."""
    client = Fake("seen")
    assert [client.generate("x", pair.test), client.generate("x", image=pair.test), client.generate("x")] == [
        "seen"
    ] * 3
    assert [len(call.images) for call in client.calls] == [1, 1, 0]
    with pytest.raises(TypeError, match="not both"):
        client.generate("x", pair.test, image=pair.test)
