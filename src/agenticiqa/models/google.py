"""Google's Gemini models, through the official google-genai SDK."""

from __future__ import annotations

import math
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from agenticiqa.errors import AuthenticationError, BackendError
from agenticiqa.models import transport
from agenticiqa.models.faults import connection_error, retry_after_seconds, timeout_or_unreachable, unreadable_reply
from agenticiqa.models.known_models import Feature, known_provider
from agenticiqa.models.replies import ReplyToken, answer_logprobs, token_pairs
from agenticiqa.vlm_client import ModelReply, Provider, TokenUsage

if TYPE_CHECKING:
    from google import genai
    from google.genai import errors, types

API_VERSION = "v1beta"
# The service refuses shorter deadlines than this.
SHORTEST_SERVER_DEADLINE_S = 10
REFUSALS = frozenset(
    {
        "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
    }
)  # fmt: skip


class GoogleVLMClient(transport.TransportClient):
    """Gemini with structured output and, where the model gives them, token log-probabilities."""

    provider = "google"
    calls_tools = True

    def _make_sdk_client(self) -> genai.Client:
        from google import genai
        from google.genai import types

        return genai.Client(
            api_key=self.key,
            vertexai=False,
            http_options=types.HttpOptions(
                base_url=self.base_url, api_version=API_VERSION, retry_options=types.HttpRetryOptions(attempts=1)
            ),
        )

    def _call(self, call: transport.Call) -> ModelReply:
        from google.genai import errors

        try:
            response = self._sdk.models.generate_content(
                model=self.model, contents=_contents(call), config=self._config(call)
            )
        except errors.APIError as error:
            raise self._status_error(error) from None
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            # The SDK converts the body without looking first: a body of another shape can raise any of these.
            raise unreadable_reply(self.backend, error, secret=self.key) from error
        except _transport_errors() as error:
            if "Timeout" in type(error).__name__:
                raise timeout_or_unreachable(self.backend, error, call.request.timeout_s) from error
            raise connection_error(self.backend, error, secret=self.key) from error
        return self._reply(response, call)

    def _config(self, call: transport.Call) -> types.GenerateContentConfig:
        from google.genai import types

        deadline = max(SHORTEST_SERVER_DEADLINE_S, math.ceil(call.timeout_s))
        config = types.GenerateContentConfig(
            http_options=types.HttpOptions(
                timeout=max(1, round(call.timeout_s * 1000)), headers={"X-Server-Timeout": str(deadline)}
            ),
            system_instruction=call.request.system or None,
            temperature=call.temperature,
            top_p=call.top_p,
            max_output_tokens=call.request.max_tokens,
        )
        if call.wants_logprobs:
            config.response_logprobs, config.logprobs = True, transport.TOP_LOGPROBS
        if call.json_mode in (transport.JsonMode.SCHEMA, transport.JsonMode.OBJECT):
            config.response_mime_type = "application/json"
        if call.json_mode is transport.JsonMode.SCHEMA and call.schema is not None:
            config.response_json_schema = call.schema.schema
        if call.tool:
            tool, form = call.tool
            function = types.FunctionDeclaration(
                name=tool.name, description=tool.description, parameters_json_schema=form.schema
            )
            config.tools = [types.Tool(function_declarations=[function])]
            mode = types.FunctionCallingConfig(mode=types.FunctionCallingConfigMode.ANY)
            config.tool_config = types.ToolConfig(function_calling_config=mode)
        # Hidden thoughts count against the reply's token limit: a short JSON answer would be cut off before it starts.
        if known_provider(self.provider).may_skip_thinking(self.model) and Feature.THINKING_BUDGET not in call.without:
            config.thinking_config = types.ThinkingConfig(thinking_budget=0)
        return config

    def _reply(self, response: types.GenerateContentResponse, call: transport.Call) -> ModelReply:
        candidate = next(iter(response.candidates or []), None)
        blocked = response.prompt_feedback.block_reason if response.prompt_feedback else None
        reason = _name(candidate.finish_reason) if candidate else ""
        refusal = _name(blocked) if blocked else reason if reason in REFUSALS else None
        said = self._said(call, _text(candidate), _tool_calls(candidate))
        text = transport.checked_text(self.backend, said, truncated=reason == "MAX_TOKENS", refusal=refusal)
        usage = transport.tokens_used(response.usage_metadata, "prompt_token_count", "candidates_token_count")
        # Thoughts are billed as output.
        usage += TokenUsage(completion=getattr(response.usage_metadata, "thoughts_token_count", None))
        return ModelReply(
            text=text,
            answer_logprobs=answer_logprobs(_tokens(candidate), call.request.answer_letters),
            usage=usage,
            model=response.model_version or self.model,
        )

    def _status_error(self, error: errors.APIError) -> BackendError:
        detail = str(error.message or error.details or "")
        if error.code == 400 and ("API_KEY_INVALID" in str(error.details) or "api key not valid" in detail.casefold()):
            return AuthenticationError(f"{self.backend} refused the API key (HTTP {error.code}).")
        headers = getattr(error.response, "headers", None)
        return self._error_for(error.code, detail, headers, _retry_delay(error.details))


def _transport_errors() -> tuple[type[Exception], ...]:
    """What the SDK lets through from its HTTP library, which is httpx or httpx2 depending on its version."""
    from importlib import import_module

    found: list[type[Exception]] = [OSError]
    for name in ("httpx", "httpx2"):
        try:
            found.append(import_module(name).TransportError)
        except ModuleNotFoundError:
            continue
    return tuple(found)


def _contents(call: transport.Call) -> types.Content:
    from google.genai import types

    parts: list[types.Part] = []
    for label, image in call.images:
        parts += [types.Part(text=f"{label}:"), types.Part.from_bytes(data=image.data, mime_type=image.media_type)]
    parts.append(types.Part(text=call.user_text(call.json_mode)))
    return types.Content(role="user", parts=parts)


def _name(value: Any) -> str:
    return str(getattr(value, "value", value) or "")


def _text(candidate: types.Candidate | None) -> str:
    content = candidate.content if candidate else None
    parts = (content.parts if content else None) or []
    return "".join(part.text or "" for part in parts if not part.thought)


def _tool_calls(candidate: types.Candidate | None) -> list[tuple[Any, Any]]:
    content = candidate.content if candidate else None
    parts = (content.parts if content else None) or []
    return [(part.function_call.name, part.function_call.args) for part in parts if part.function_call]


def _tokens(candidate: types.Candidate | None) -> list[ReplyToken]:
    result = candidate.logprobs_result if candidate else None
    if result is None:
        return []
    tokens = []
    for chosen, top in zip_longest(result.chosen_candidates or [], result.top_candidates or []):
        alternatives = tuple(token_pairs(top.candidates if top else None, "log_probability"))
        tokens += [ReplyToken(*pair, alternatives) for pair in token_pairs([chosen], "log_probability")]
    return tokens


def _retry_delay(details: Any) -> float | None:
    """The figure in the error's body: ``{"@type": "…RetryInfo", "retryDelay": "34s"}``."""
    inner = details.get("error", details) if isinstance(details, dict) else {}
    items = inner.get("details") if isinstance(inner, dict) else None
    for item in items if isinstance(items, list) else []:
        delay = item.get("retryDelay") if isinstance(item, dict) else None
        if isinstance(delay, str):
            return retry_after_seconds({"retry-after": delay.removesuffix("s")})
    return None


PROVIDER = Provider(
    name="google",
    description="Google's Gemini models through the official SDK",
    create=GoogleVLMClient,
    readiness=transport.sdk_readiness("google.genai", "google", "GOOGLE_API_KEY"),
)
