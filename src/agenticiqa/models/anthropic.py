"""Anthropic's messages, through the official SDK. There are no token log-probabilities here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agenticiqa.errors import BackendError, BadResponseError
from agenticiqa.models.faults import (
    error_for_status,
    retry_after_seconds,
)
from agenticiqa.models.transport import (
    Call,
    JsonMode,
    TransportClient,
    checked_text,
    sdk_readiness,
    token_count,
)
from agenticiqa.vlm_client import ModelReply, Provider, TokenUsage

if TYPE_CHECKING:
    import anthropic as sdk


class AnthropicVLMClient(TransportClient):
    """Messages with structured output where the model and the schema allow it."""

    provider = "anthropic"

    def _make_sdk_client(self) -> sdk.Anthropic:
        import anthropic

        return anthropic.Anthropic(api_key=self.key, base_url=self.base_url, max_retries=0)

    def _call(self, call: Call) -> ModelReply:
        import anthropic

        message = self._send(anthropic, self._sdk.messages.create, self._arguments(call), call)
        return self._reply(message)

    # --- the request -------------------------------------------------------------------------------------

    def _arguments(self, call: Call) -> dict[str, Any]:
        mode = _json_mode(call)
        content: list[dict[str, Any]] = []
        for label, image in call.images:
            source = {"type": "base64", "media_type": image.media_type, "data": image.base64}
            content += [{"type": "text", "text": f"{label}:"}, {"type": "image", "source": source}]
        content.append({"type": "text", "text": call.user_text(mode)})
        arguments: dict[str, Any] = {
            "model": self.model,
            "max_tokens": call.request.max_tokens,
            "messages": [{"role": "user", "content": content}],
        }
        if call.request.system:
            arguments["system"] = call.request.system
        # Which of these are parameters of the SDK differs between its versions; the wire format has them all.
        arguments["extra_body"] = _extra_body(call, mode)
        return arguments

    # --- the reply ---------------------------------------------------------------------------------------

    def _reply(self, message: Any) -> ModelReply:
        blocks = getattr(message, "content", None)
        if not isinstance(blocks, list):
            raise BadResponseError(
                f"{self.backend} sent something that is not a message.",
                output=str(message)[:2000],
                hint="Check base_url.",
                client_hint="",
            )
        texts: list[Any] = [getattr(block, "text", None) for block in blocks if getattr(block, "type", None) == "text"]
        wrong = next((text for text in texts if not isinstance(text, str)), None)
        reason = getattr(message, "stop_reason", None)
        text = checked_text(
            self.backend,
            "".join(texts) if wrong is None else wrong,
            truncated=reason in ("max_tokens", "model_context_window_exceeded"),
            refusal="its safety rules stopped it" if reason in ("refusal", "content_filter") else None,
        )
        usage = getattr(message, "usage", None)
        return ModelReply(
            text=text,
            usage=TokenUsage(
                token_count(getattr(usage, "input_tokens", None)), token_count(getattr(usage, "output_tokens", None))
            ),
            model=str(getattr(message, "model", None) or self.model),
        )

    def _status_error(self, error: sdk.APIStatusError) -> BackendError:
        return error_for_status(
            self.backend,
            error.status_code,
            _detail(error),
            retry_after=retry_after_seconds(error.response.headers),
            secret=self.key,
        )


def _json_mode(call: Call) -> JsonMode:
    """Enforced only where the schema has no free maps: this provider wants every object closed."""
    if call.schema is None:
        return JsonMode.NONE
    return JsonMode.SCHEMA if call.json_mode is JsonMode.SCHEMA and call.schema.strict else JsonMode.PROMPT


def _extra_body(call: Call, mode: JsonMode) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if call.temperature is not None:
        body["temperature"] = call.temperature
    if call.top_p is not None:
        body["top_p"] = call.top_p
    if mode is JsonMode.SCHEMA and call.schema is not None:
        body["output_config"] = {"format": {"type": "json_schema", "schema": call.schema.schema}}
    return body


def _detail(error: sdk.APIStatusError) -> str:
    inner = error.body.get("error") if isinstance(error.body, dict) else None
    message = inner.get("message") if isinstance(inner, dict) else None
    return str(message or error.message)


PROVIDER = Provider(
    name="anthropic",
    description="Anthropic models through the official SDK",
    create=AnthropicVLMClient,
    readiness=sdk_readiness("anthropic", "anthropic", "ANTHROPIC_API_KEY"),
    extra="anthropic",
    options={"ANTHROPIC_API_KEY": "the key", "ANTHROPIC_BASE_URL": "another address of the same API"},
)
