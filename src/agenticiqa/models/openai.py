"""OpenAI's chat completions, through the official SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agenticiqa.errors import BackendError, BadResponseError, RateLimitError, RequestRejectedError
from agenticiqa.models import transport
from agenticiqa.models.faults import scrubbed
from agenticiqa.models.replies import ReplyToken, answer_logprobs, token_pairs
from agenticiqa.vlm_client import ModelReply, Provider

if TYPE_CHECKING:
    import openai as sdk


class OpenAIVLMClient(transport.TransportClient):
    """Chat completions with structured output and token log-probabilities."""

    provider = "openai"
    max_tokens_parameter = "max_completion_tokens"
    # "auto" may look at a thumbnail only, and fine detail is what a quality question is about.
    image_detail: str | None = "high"
    calls_tools = True

    def _make_sdk_client(self) -> sdk.OpenAI:
        import openai

        return openai.OpenAI(api_key=self.key or "none", base_url=self.base_url, max_retries=0)

    def _call(self, call: transport.Call) -> ModelReply:
        import openai

        completion = self._send(openai, self._sdk.chat.completions.create, self._arguments(call), call)
        return self._reply(completion, call)

    def _arguments(self, call: transport.Call) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "model": self.model,
            "messages": self._messages(call),
            self.max_tokens_parameter: call.request.max_tokens,
        }
        if call.tool:
            tool, form = call.tool
            function = {"name": tool.name, "description": tool.description, "parameters": form.schema}
            arguments["tools"] = [{"type": "function", "function": {**function, "strict": form.strict}}]
            arguments["tool_choice"] = "required"
        if call.wants_logprobs:
            arguments.update(logprobs=True, top_logprobs=transport.TOP_LOGPROBS)
        more = {"temperature": call.temperature, "top_p": call.top_p, "response_format": _response_format(call)}
        return arguments | {name: value for name, value in more.items() if value is not None}

    def _messages(self, call: transport.Call) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = []
        for label, image in call.images:
            picture = {"url": image.data_url}
            if self.image_detail:
                picture["detail"] = self.image_detail
            parts += [{"type": "text", "text": f"{label}:"}, {"type": "image_url", "image_url": picture}]
        parts.append({"type": "text", "text": call.user_text(call.json_mode)})
        system = [{"role": "system", "content": call.request.system}] if call.request.system else []
        return [*system, {"role": "user", "content": parts}]

    def _reply(self, completion: Any, call: transport.Call) -> ModelReply:
        choices = getattr(completion, "choices", None)
        if not isinstance(choices, list) or not choices:
            raise BadResponseError(
                f"{self.backend} sent something that is not a chat completion.",
                output=str(completion)[:2000],
                hint="Check base_url: it usually ends in /v1.",
                client_hint="",
            )
        choice = choices[0]
        message = getattr(choice, "message", None)
        reason = getattr(choice, "finish_reason", None)
        refusal = getattr(message, "refusal", None)
        if not refusal:
            refusal = "the content filter stopped it" if reason == "content_filter" else None
        said = self._said(call, getattr(message, "content", None), _tool_calls(message))
        text = transport.checked_text(
            self.backend, said, truncated=reason == "length", refusal=refusal and str(refusal)
        )
        return ModelReply(
            text=text,
            answer_logprobs=answer_logprobs(_tokens(choice), call.request.answer_letters),
            usage=transport.tokens_used(getattr(completion, "usage", None), "prompt_tokens", "completion_tokens"),
            model=str(getattr(completion, "model", None) or self.model),
        )

    def _status_error(self, error: sdk.APIStatusError) -> BackendError:
        body = error.body if isinstance(error.body, dict) else {}
        # The message does not always name the parameter that it is about.
        parameter = f" (parameter {body['param']})" if body.get("param") else ""
        detail = f"{body.get('message') or body.get('detail') or error.message}{parameter}"
        if error.status_code == 429 and body.get("code") == "insufficient_quota":
            spent = f"The quota of this {self.provider} account is used up."
            used_up = RateLimitError(spent, hint="Check its plan and billing.")
            used_up.retryable = False
            return used_up
        if error.status_code == 403 and transport.feature_named_in(detail):
            # Some models answer so when asked for log-probabilities; the key is fine.
            words = scrubbed(detail, self.key)
            return RequestRejectedError(f"{self.backend} rejected the request (HTTP 403): {words}")
        return self._error_for(error.status_code, detail, error.response.headers)


def _response_format(call: transport.Call) -> dict[str, Any] | None:
    if call.schema is None or call.json_mode in (transport.JsonMode.TOOL, transport.JsonMode.PROMPT):
        return None
    if call.json_mode is transport.JsonMode.OBJECT:
        return {"type": "json_object"}
    schema = {"name": call.schema.name, "strict": call.schema.strict, "schema": call.schema.schema}
    return {"type": "json_schema", "json_schema": schema}


def _tool_calls(message: Any) -> list[tuple[Any, Any]]:
    calls = getattr(message, "tool_calls", None)
    functions = [getattr(each, "function", None) for each in calls] if isinstance(calls, list) else []
    return [(getattr(each, "name", None), getattr(each, "arguments", None)) for each in functions]


def _tokens(choice: Any) -> list[ReplyToken]:
    content = getattr(getattr(choice, "logprobs", None), "content", None)
    if not isinstance(content, list):
        return []
    return [
        ReplyToken(*pair, tuple(token_pairs(item.top_logprobs))) for item in content for pair in token_pairs([item])
    ]


PROVIDER = Provider(
    name="openai",
    description="OpenAI models through the official SDK",
    create=OpenAIVLMClient,
    readiness=transport.sdk_readiness("openai", "openai", "OPENAI_API_KEY"),
)
