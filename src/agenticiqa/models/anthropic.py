"""Anthropic's messages, through the official SDK. There are no token log-probabilities here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agenticiqa.errors import BackendError, BadResponseError
from agenticiqa.models.transport import Call, JsonMode, TransportClient, checked_text, sdk_readiness, tokens_used
from agenticiqa.vlm_client import ModelReply, Provider

if TYPE_CHECKING:
    import anthropic as sdk


class AnthropicVLMClient(TransportClient):
    """Messages with structured output where the model and the schema allow it."""

    provider = "anthropic"
    calls_tools = True

    def _make_sdk_client(self) -> sdk.Anthropic:
        import anthropic

        return anthropic.Anthropic(api_key=self.key, base_url=self.base_url, max_retries=0)

    def _call(self, call: Call) -> ModelReply:
        import anthropic

        message = self._send(anthropic, self._sdk.messages.create, self._arguments(call), call)
        return self._reply(message, call)

    def _arguments(self, call: Call) -> dict[str, Any]:
        # Enforced only where the schema has no free maps: this provider wants every object closed.
        schema = call.schema if call.schema and call.schema.strict and call.json_mode is JsonMode.SCHEMA else None
        content: list[dict[str, Any]] = []
        for label, image in call.images:
            source = {"type": "base64", "media_type": image.media_type, "data": image.base64}
            content += [{"type": "text", "text": f"{label}:"}, {"type": "image", "source": source}]
        enforced = schema or call.tool
        content.append({"type": "text", "text": call.user_text(JsonMode.SCHEMA if enforced else JsonMode.PROMPT)})
        arguments: dict[str, Any] = {
            "model": self.model,
            "max_tokens": call.request.max_tokens,
            "messages": [{"role": "user", "content": content}],
        }
        if call.request.system:
            arguments["system"] = call.request.system
        output = {"format": {"type": "json_schema", "schema": schema.schema}} if schema else None
        extra: dict[str, Any] = {"temperature": call.temperature, "top_p": call.top_p, "output_config": output}
        if call.tool:
            tool, form = call.tool
            extra["tools"] = [{"name": tool.name, "description": tool.description, "input_schema": form.schema}]
            extra["tool_choice"] = {"type": "tool", "name": tool.name, "disable_parallel_tool_use": True}
        # Which of these are parameters of the SDK differs between its versions; the wire format has them all.
        arguments["extra_body"] = {name: value for name, value in extra.items() if value is not None}
        return arguments

    def _reply(self, message: Any, call: Call) -> ModelReply:
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
        tool_calls = [
            (getattr(block, "name", None), getattr(block, "input", None))
            for block in blocks
            if getattr(block, "type", None) == "tool_use"
        ]
        reason = getattr(message, "stop_reason", None)
        text = checked_text(
            self.backend,
            self._said(call, "".join(texts) if wrong is None else wrong, tool_calls),
            truncated=reason in ("max_tokens", "model_context_window_exceeded"),
            refusal="its safety rules stopped it" if reason in ("refusal", "content_filter") else None,
        )
        return ModelReply(
            text=text,
            usage=tokens_used(getattr(message, "usage", None), "input_tokens", "output_tokens"),
            model=str(getattr(message, "model", None) or self.model),
        )

    def _status_error(self, error: sdk.APIStatusError) -> BackendError:
        inner = error.body.get("error") if isinstance(error.body, dict) else None
        message = inner.get("message") if isinstance(inner, dict) else None
        return self._error_for(error.status_code, str(message or error.message), error.response.headers)


PROVIDER = Provider(
    name="anthropic",
    description="Anthropic models through the official SDK",
    create=AnthropicVLMClient,
    readiness=sdk_readiness("anthropic", "anthropic", "ANTHROPIC_API_KEY"),
)
