"""Each provider's wire format in a few lines, so that one test can run against all of them."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agenticiqa.models.anthropic import AnthropicVLMClient
from agenticiqa.models.compatible import CompatibleVLMClient
from agenticiqa.models.google import GoogleVLMClient
from agenticiqa.models.openai import OpenAIVLMClient
from agenticiqa.models.transport import TransportClient
from agenticiqa.runtime.config import ProviderSettings

KEY = "test-key-0123456789"
CALLED_PLACE, WRITTEN_PLACE = (100, 50, 200, 100), (300, 200, 150, 120)
"""Where a model of aimock asks to look closer: by a tool call, and as JSON where it is offered no tool."""


@dataclass(frozen=True)
class Wire:
    name: str
    client: type[TransportClient]
    model: str
    path: str
    """What follows the server's address in base_url."""
    good: Callable[[str], Any]
    """A complete reply with that text."""
    cut: Callable[[str], Any]
    """A reply that ended at the token limit."""
    refused: Any
    error: Callable[[str], Any]
    parts: Callable[[Any], list[tuple[str, Any]]]
    """The user message of a recorded request as ("text", str) and ("image", (media type, bytes)) pairs."""
    system: Callable[[Any], str | None]

    def make(self, url: str, **settings: Any) -> TransportClient:
        """A client with our test key for a server at ``url``; ``waits`` collects what it would have slept."""
        waits = settings.pop("waits", None)
        sleep = waits.append if waits is not None else (lambda seconds: None)
        provider = ProviderSettings(base_url=url + self.path, **{"api_key": KEY, **settings})
        return self.client(f"{self.name}.{self.model}", self.model, provider, sleep=sleep)


def _openai(text: Any, reason: str = "stop", refusal: str | None = None) -> Any:
    message = {"role": "assistant", "content": text, "refusal": refusal}
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "served-model",
        "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }


def _anthropic(text: Any, reason: str = "end_turn") -> Any:
    return {
        "id": "x",
        "type": "message",
        "role": "assistant",
        "model": "served-model",
        "content": [{"type": "text", "text": text}],
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 11, "output_tokens": 7},
    }


def _google(text: Any, reason: str = "STOP") -> Any:
    return {
        "candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": reason, "index": 0}],
        "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18},
        "modelVersion": "served-model",
    }


def _openai_parts(body: Any) -> list[tuple[str, Any]]:
    return [
        ("text", part["text"]) if part["type"] == "text" else ("image", _data_url(part["image_url"]["url"]))
        for part in body["messages"][-1]["content"]
    ]


def _data_url(url: str) -> tuple[str, bytes]:
    head, _, data = url.partition(";base64,")
    return head.removeprefix("data:"), base64.b64decode(data, validate=True)


def _anthropic_parts(body: Any) -> list[tuple[str, Any]]:
    return [
        ("text", part["text"])
        if part["type"] == "text"
        else ("image", (part["source"]["media_type"], base64.b64decode(part["source"]["data"], validate=True)))
        for part in body["messages"][-1]["content"]
    ]


def _google_parts(body: Any) -> list[tuple[str, Any]]:
    return [
        ("text", part["text"]) if "text" in part else ("image", _inline_data(part["inlineData"]))
        for part in body["contents"][-1]["parts"]
    ]


def _inline_data(blob: Any) -> tuple[str, bytes]:
    # Protocol buffers read both spellings from JSON; the SDK uses either, depending on its version.
    return blob.get("mime_type") or blob["mimeType"], base64.urlsafe_b64decode(blob["data"])


def _openai_wire(name: str, client: type[TransportClient]) -> Wire:
    return Wire(
        name=name,
        client=client,
        model="gpt-4o" if name == "openai" else "llava",
        path="/v1",
        good=_openai,
        cut=lambda text: _openai(text, "length"),
        refused=_openai(None, refusal="I will not judge this."),
        error=lambda words: {"error": {"message": words, "type": "x", "param": None, "code": None}},
        parts=_openai_parts,
        system=lambda body: body["messages"][0]["content"] if body["messages"][0]["role"] == "system" else None,
    )


WIRES: dict[str, Wire] = {
    "openai": _openai_wire("openai", OpenAIVLMClient),
    "compatible": _openai_wire("compatible", CompatibleVLMClient),
    "anthropic": Wire(
        name="anthropic",
        client=AnthropicVLMClient,
        model="claude-3.5-sonnet",
        path="",
        good=_anthropic,
        cut=lambda text: _anthropic(text, "max_tokens"),
        refused=_anthropic("", "refusal"),
        error=lambda words: {"type": "error", "error": {"type": "x", "message": words}},
        parts=_anthropic_parts,
        system=lambda body: body.get("system"),
    ),
    "google": Wire(
        name="google",
        client=GoogleVLMClient,
        model="gemini-2.5-flash",
        path="",
        good=_google,
        cut=lambda text: _google(text, "MAX_TOKENS"),
        refused={"promptFeedback": {"blockReason": "SAFETY"}},
        error=lambda words: {"error": {"code": 400, "message": words, "status": "X"}},
        parts=_google_parts,
        system=lambda body: body["systemInstruction"]["parts"][0]["text"] if "systemInstruction" in body else None,
    ),
}
