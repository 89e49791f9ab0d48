"""The real SDKs against aimock, a server by others that speaks the providers' wire formats."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image
from pydantic import BaseModel
from wire import WIRES, Wire

from agenticiqa.errors import (
    AuthenticationError,
    BackendConnectionError,
    BackendServerError,
    BadResponseError,
    RateLimitError,
    RefusalError,
    RequestRejectedError,
    TruncatedReplyError,
)
from agenticiqa.pictures.images import load_image
from agenticiqa.vlm_client import LabelledImage, ModelRequest

pytestmark = pytest.mark.contract

LETTERS = ("A", "B", "C", "D", "E")
PATHS = {
    "openai": "/v1/chat/completions",
    "compatible": "/v1/chat/completions",
    "anthropic": "/v1/messages",
    "google": ":generateContent",
}


class Verdict(BaseModel):
    final_answer: str
    quality_reasoning: str


@pytest.fixture(params=list(WIRES), ids=list(WIRES))
def wire(request) -> Wire:
    return WIRES[request.param]


@pytest.fixture
def picture(tmp_path):
    pixels = np.random.default_rng(3).integers(0, 255, (24, 32, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "photo.png")
    return load_image(tmp_path / "photo.png")


def request_for(words: str, *pictures) -> ModelRequest:
    labels = ("test image", "reference image")
    return ModelRequest(
        user=words,
        system="You judge pictures.",
        images=tuple(LabelledImage(label, image) for label, image in zip(labels, pictures, strict=False)),
        schema=Verdict,
        answer_letters=LETTERS,
        timeout_s=20,
    )


@pytest.mark.hard
def test_structured_answer_with_two_pictures(aimock, wire, picture):
    reply = wire.make(aimock.url).complete(request_for("rate this picture", picture, picture))
    assert Verdict.model_validate_json(reply.text).final_answer == "B"
    assert (reply.usage.prompt, reply.usage.completion) == (120, 9)
    assert reply.transport_attempts == 1


def test_the_server_understood_the_request(aimock, wire, picture):
    wire.make(aimock.url).complete(request_for("rate this picture", picture))
    seen = json.dumps(aimock.journal(PATHS[wire.name])[-1]["body"])
    assert "You judge pictures." in seen
    assert "test image:" in seen
    assert "rate this picture" in seen


def test_wrong_key(aimock, wire):
    client = wire.make(aimock.url, api_key="another-key-987654321")
    with pytest.raises(AuthenticationError) as caught:
        client.complete(request_for("rate this picture"))
    assert "987654321" not in str(caught.value)


def test_rate_limit_carries_the_servers_figure(aimock, wire):
    waits: list[float] = []
    with pytest.raises(RateLimitError) as caught:
        wire.make(aimock.url, waits=waits, max_retries=1).complete(request_for("please slow down"))
    assert caught.value.retry_after == 7
    assert waits == [7.0]


def test_server_error(aimock, wire):
    with pytest.raises(BackendServerError, match="It broke"):
        wire.make(aimock.url, max_retries=0).complete(request_for("please fail"))


def test_token_limit(aimock, wire):
    with pytest.raises(TruncatedReplyError) as caught:
        wire.make(aimock.url).complete(request_for("please stop early"))
    assert caught.value.output.startswith('{"final_answer"')


def test_refusal(aimock, wire):
    with pytest.raises(RefusalError):
        wire.make(aimock.url).complete(request_for("please refuse"))


def test_empty_reply(aimock, wire):
    with pytest.raises(BadResponseError):
        wire.make(aimock.url).complete(request_for("please say nothing"))


def test_reply_that_is_not_json_is_handed_on(aimock, wire):
    reply = wire.make(aimock.url).complete(request_for("please babble"))
    assert reply.text == "I would say it is rather fine."
    assert reply.answer_logprobs is None


def test_damaged_body(aimock, wire):
    with pytest.raises(BadResponseError):
        wire.make(aimock.url).complete(request_for("please damage the reply"))


def test_connection_closed_without_a_word(aimock, wire):
    with pytest.raises(BackendConnectionError):
        wire.make(aimock.url, max_retries=1).complete(request_for("please hang up"))


def test_unknown_request_is_rejected(aimock, wire):
    with pytest.raises(RequestRejectedError):
        wire.make(aimock.url).complete(request_for("nothing in the list fits these words"))
