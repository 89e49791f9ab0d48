"""What every remote backend shares: pictures made ready, retries, a time limit, and features a model does not take.

A provider's module implements :meth:`TransportClient._call`: one request, no retries, errors already mapped.
"""

import importlib.util
import json
import logging
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import Any, Literal
from urllib.parse import urlsplit

from tenacity import RetryCallState, Retrying, retry_if_exception, wait_exponential, wait_random

from agenticiqa import errors
from agenticiqa.models import faults
from agenticiqa.models.known_models import Feature, known_models, known_provider
from agenticiqa.models.replies import ReplySchema, reply_schema
from agenticiqa.pictures.images import EncodedImage
from agenticiqa.runtime.config import ProviderSettings
from agenticiqa.runtime.stopping import OverdueError, pause, run_cancellable
from agenticiqa.vlm_client import ModelReply, ModelRequest, Readiness, ReplyTool, RichVLMClient, TokenUsage

logger = logging.getLogger(__name__)

TOP_LOGPROBS = 20
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 30.0
# A host that drops packets should not use up a whole call's time before it counts as unreachable.
CONNECT_LIMIT_S = 10.0


_WAYS_TO_JSON = (Feature.TOOL_CALLS, Feature.JSON_SCHEMA, Feature.JSON_OBJECT)


def feature_named_in(words: str) -> bool:
    """Whether a provider's message is about a feature rather than about, say, the key."""
    folded = words.casefold()
    return any(word in folded for names in known_models().refusal_words.values() for word in names)


class JsonMode(Enum):
    """How the reply's shape is asked for."""

    NONE = "none"
    TOOL = "tool"
    SCHEMA = "schema"
    OBJECT = "object"
    PROMPT = "prompt"


@dataclass(frozen=True)
class Call:
    """A request made ready for the wire."""

    request: ModelRequest
    images: tuple[tuple[str, EncodedImage], ...]
    notes: tuple[str, ...]
    without: frozenset[Feature]
    timeout_s: float
    schema_limits: bool = False

    @property
    def schema(self) -> ReplySchema | None:
        return reply_schema(self.request.schema, limits=self.schema_limits) if self.request.schema else None

    @property
    def json_mode(self) -> JsonMode:
        if self.request.schema is None:
            return JsonMode.NONE
        if self.request.tool and Feature.TOOL_CALLS not in self.without:
            return JsonMode.TOOL
        if Feature.JSON_SCHEMA not in self.without:
            return JsonMode.SCHEMA
        return JsonMode.PROMPT if Feature.JSON_OBJECT in self.without else JsonMode.OBJECT

    def user_text(self, mode: JsonMode) -> str:
        """The user's text, with the schema in words where nothing enforces it."""
        if self.schema is None or mode in (JsonMode.SCHEMA, JsonMode.TOOL):
            return self.request.user
        return f"{self.request.user}\n\n{self.schema.instruction}"

    @property
    def tool(self) -> tuple[ReplyTool, ReplySchema] | None:
        """What the model is to call, with the schema of its arguments; None where the reply is asked for as text."""
        if self.json_mode is not JsonMode.TOOL or self.request.tool is None or self.schema is None:
            return None
        return self.request.tool, self.schema

    @property
    def temperature(self) -> float | None:
        return None if Feature.TEMPERATURE in self.without else self.request.temperature

    @property
    def top_p(self) -> float | None:
        return None if Feature.TOP_P in self.without else self.request.top_p

    @property
    def wants_logprobs(self) -> bool:
        return bool(self.request.answer_letters) and Feature.LOGPROBS not in self.without


class TransportClient(RichVLMClient):
    """A remote model. Safe to use from several threads: the SDK's client is made once and shared."""

    provider = ""
    cancellable = True
    schema_limits = False
    """Whether a schema may limit lengths. Servers with grammars take that, the large providers refuse it."""
    calls_tools = False
    """Whether the provider's own tool calling is used, where a request offers a tool."""

    def __init__(
        self,
        backend: str,
        model: str,
        settings: ProviderSettings,
        *,
        sleep: Callable[[float], None] = pause,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not model:
            hint = f"Write {self.provider}.MODEL."
            raise errors.BackendUnavailableError(
                f"The backend {backend!r} names no model.", hint=hint, client_hint=hint
            )
        known = known_provider(self.provider)
        self.backend, self.model, self.settings = backend, known.model_id(model), settings
        self._features = frozenset(Feature) - known.cannot_take
        self.sees_side = min(known.sees_side, settings.max_image_side or known.sees_side)
        facts = known.find(self.model)
        self.key = settings.key and settings.key.strip()
        # One that cannot stand in a header would be quoted by the HTTP library's error.
        if self.key and (not (self.key.isascii() and self.key.isprintable()) or " " in self.key):
            raise errors.AuthenticationError(f"The API key of {backend} holds characters that no key has.")
        self.base_url = settings.base_url
        if self.base_url is not None and not _is_web_address(self.base_url):
            raise errors.BackendUnavailableError(
                f"{backend} cannot be used.",
                operator_detail="its base_url is not a web address",
                hint="Write for example http://127.0.0.1:8000/v1.",
            )
        self._sleep, self._clock = sleep, clock
        self._lock = threading.Lock()
        self._refused: set[Feature] = set(facts.cannot_take) if facts else set()
        self._sdk_client: Any = None

    # --- for providers -----------------------------------------------------------------------------------

    @abstractmethod
    def _make_sdk_client(self) -> Any:
        """The SDK's client, its own retries switched off."""

    @abstractmethod
    def _call(self, call: Call) -> ModelReply:
        """One request. Raises this package's errors only."""

    @property
    def _sdk(self) -> Any:
        with self._lock:
            if self._sdk_client is None:
                self._sdk_client = self._make_sdk_client()
            return self._sdk_client

    def _status_error(self, error: Any) -> errors.BackendError:
        """The error for a reply with a status outside 2xx, for SDKs that are called through :meth:`_send`."""
        raise NotImplementedError

    def _error_for(
        self, status: int, detail: str, headers: Any, retry_after: float | None = None
    ) -> errors.BackendError:
        """The error for a status, the provider's words and how long it wants to be left alone."""
        wait = retry_after or faults.retry_after_seconds(headers)
        return faults.error_for_status(self.backend, status, detail, retry_after=wait, secret=self.key)

    def _send(self, sdk: Any, create: Callable[..., Any], arguments: dict[str, Any], call: Call) -> Any:
        """One call of an SDK of the kind that OpenAI and Anthropic ship, its errors mapped to this package's."""
        limit = sdk.Timeout(call.timeout_s, connect=min(call.timeout_s, CONNECT_LIMIT_S))
        try:
            return create(**arguments, timeout=limit)
        except sdk.APITimeoutError as error:
            raise faults.timeout_or_unreachable(self.backend, error, call.request.timeout_s) from error
        except sdk.APIStatusError as error:
            raise self._status_error(error) from None
        except sdk.APIConnectionError as error:
            raise faults.connection_error(self.backend, error, secret=self.key) from error
        except (sdk.APIResponseValidationError, ValueError) as error:
            raise faults.unreadable_reply(self.backend, error, secret=self.key) from error

    def _said(self, call: Call, text: Any, tool_calls: Sequence[tuple[Any, Any]]) -> Any:
        """The reply of a model: the arguments of its first tool call, where it was offered a tool, else its text.

        ``tool_calls`` are the names and arguments of all that it called. Whoever writes words though a call is asked
        for does not know tools: from then on the reply is asked for by schema.
        """
        if call.tool is None:
            return text
        if not tool_calls:
            if isinstance(text, str) and text.strip():
                logger.warning("%s called no tool: asking for JSON from now on", self.backend)
                with self._lock:
                    self._refused.add(Feature.TOOL_CALLS)
            return text
        name, arguments = tool_calls[0]
        written = arguments if isinstance(arguments, str) else json.dumps(arguments)
        if name != call.tool[0].name:
            raise errors.BadResponseError(
                f"{self.backend} called a tool that it was not offered.", output=f"{name}({written})"
            )
        return written

    # --- the face ----------------------------------------------------------------------------------------

    @property
    def identity(self) -> str:
        where = urlsplit(self.base_url or "")
        # A password inside the address does not change what the server answers.
        address = where._replace(netloc=where.netloc.rpartition("@")[2]).geturl()
        limits = f"{self.settings.max_image_side or ''}/{self.settings.max_image_bytes or ''}"
        return "|".join((self.backend, self.model, address, limits))

    def close(self) -> None:
        with self._lock:
            client, self._sdk_client = self._sdk_client, None
        if client is not None and hasattr(client, "close"):
            client.close()

    def complete(self, request: ModelRequest) -> ModelReply:
        deadline = self._clock() + request.timeout_s
        images, notes = encoded_pictures(self.backend, request, self.settings)
        offered = request if self.calls_tools else replace(request, tool=None)
        call = Call(offered, images, notes, frozenset(), request.timeout_s, self.schema_limits)

        def give_up(state: RetryCallState) -> bool:
            enough = state.attempt_number > self.settings.max_retries
            return enough or self._clock() + state.upcoming_sleep >= deadline

        def log_retry(state: RetryCallState) -> None:
            of, wait = self.settings.max_retries + 1, state.upcoming_sleep
            text = "%s: attempt %d of %d failed, next in %.2f s: %s"
            logger.warning(text, self.backend, state.attempt_number, of, wait, _failure_of(state))

        # A failure that may pass is tried again; the last one is raised as it is.
        retrying = Retrying(
            retry=retry_if_exception(lambda error: isinstance(error, errors.BackendError) and error.retryable),
            stop=give_up,
            wait=_wait,
            sleep=self._sleep,
            before_sleep=log_retry,
            reraise=True,
        )
        reply = retrying(self._call_without_refused, call, deadline)
        return replace(reply, transport_attempts=retrying.statistics["attempt_number"])

    # --- one attempt -------------------------------------------------------------------------------------

    def _call_without_refused(self, call: Call, deadline: float) -> ModelReply:
        """Ask; when the model refuses a parameter, remember that and ask again without it."""
        while True:
            with self._lock:
                without = frozenset(self._refused)
            left = deadline - self._clock()
            if left <= 0:
                raise faults.timeout_error(self.backend, call.request.timeout_s)
            ready = replace(call, without=without, timeout_s=left)
            wanted = self._wanted(call.request)
            try:
                # SDK timeouts limit each read from the socket. A server that sends one byte now and then never meets
                # them. An abandoned call ends on its own in a daemon thread.
                reply = run_cancellable(partial(self._call, ready), left, f"call-{self.backend}")
            except OverdueError:
                raise faults.timeout_error(self.backend, call.request.timeout_s) from None
            except errors.RequestRejectedError as error:
                in_use = wanted - without
                # The ways to ask for JSON are used one after the other.
                in_use -= {*[way for way in _WAYS_TO_JSON if way in in_use][1:]}
                words = error.message.casefold()
                named = known_models().refusal_words.items()
                feature = next((f for f, names in named if f in in_use and any(name in words for name in names)), None)
                if feature is None:
                    raise
                logger.warning("%s does not take %s: asking again without it", self.backend, feature.value)
                with self._lock:
                    self._refused.add(feature)
            else:
                missing = wanted & without
                refused = (f"{self.model} does not take {each.value}" for each in Feature if each in missing)
                return replace(reply, notes=(*ready.notes, *refused, *reply.notes))

    def _wanted(self, request: ModelRequest) -> set[Feature]:
        """The features that the request asks for and that the provider's wire format has a place for."""
        wanted = {
            Feature.TEMPERATURE: request.temperature is not None,
            Feature.TOP_P: request.top_p is not None,
            Feature.LOGPROBS: bool(request.answer_letters),
            Feature.TOOL_CALLS: request.schema is not None and request.tool is not None,
            Feature.JSON_SCHEMA: request.schema is not None,
            Feature.JSON_OBJECT: request.schema is not None,
            Feature.THINKING_BUDGET: True,
        }
        return {feature for feature, yes in wanted.items() if yes and feature in self._features}


def encoded_pictures(
    backend: str, request: ModelRequest, settings: ProviderSettings
) -> tuple[tuple[tuple[str, EncodedImage], ...], tuple[str, ...]]:
    """A request's pictures by their labels, within the provider's limits; and notes on what was done to them."""
    images = tuple(
        (item.label, item.image.encode(max_side=settings.max_image_side, max_bytes=settings.max_image_bytes))
        for item in request.images
    )
    notes = tuple(f"{label}: {encoded.note}" for label, encoded in images if encoded.note)
    for note in notes:
        logger.warning("%s: %s", backend, note)
    return images, notes


def _failure_of(state: RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome else None


_backoff = wait_exponential(multiplier=FIRST_WAIT_S, max=LONGEST_WAIT_S) + wait_random(0, FIRST_WAIT_S)


def _wait(state: RetryCallState) -> float:
    """The provider's own figure where it gave one, else exponential backoff with jitter."""
    error = _failure_of(state)
    if isinstance(error, errors.RateLimitError) and error.retry_after:
        return error.retry_after
    return _backoff(state)


def _is_web_address(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


# --- judging a reply -------------------------------------------------------------------------------------


def checked_text(backend: str, text: Any, *, truncated: bool, refusal: str | None) -> str:
    """The reply's text, or the error that says why there is none."""
    written = text if isinstance(text, str) else ""
    if refusal is not None:
        raise errors.RefusalError(f"{backend} declined to answer: {refusal or 'no reason given'}.", output=written)
    if truncated:
        raise errors.TruncatedReplyError(f"The reply of {backend} was cut off at the token limit.", output=written)
    if text is not None and not isinstance(text, str):
        raise errors.BadResponseError(f"The reply of {backend} is not text.", output=repr(text)[:2000])
    if not written.strip():
        raise errors.BadResponseError(f"The reply of {backend} is empty.", output=written)
    return written


def tokens_used(usage: Any, prompt: str, completion: str) -> TokenUsage:
    """The token counts of a reply, by the names that the provider gives them."""
    return TokenUsage(token_count(getattr(usage, prompt, None)), token_count(getattr(usage, completion, None)))


def token_count(value: Any) -> int | None:
    """A usage figure; anything that is not a count is treated as not given."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


# --- readiness -------------------------------------------------------------------------------------------


def installed(module: str) -> bool:
    """Whether a module could be imported, without importing it."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ModuleNotFoundError, ValueError):
        return False


def sdk_readiness(
    module: str, extra: str, variable: str, setting: Literal["key", "base_url"] = "key"
) -> Callable[[ProviderSettings], Readiness]:
    """Tells whether a provider is ready, or the first thing that is missing: the SDK, then its key or address."""

    def readiness(settings: ProviderSettings) -> Readiness:
        missing = None if getattr(settings, setting) else f"{variable} is not set"
        if not installed(module):
            missing = f"the extra is missing: pip install 'agenticiqa[{extra}]'"
        return Readiness(ready=missing is None, reason=missing or "ready")

    return readiness
