"""How agents ask a model until its reply can be used: retries, fallbacks, cache, time limits, accounts, JSON."""

from __future__ import annotations

import json
import logging
import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, Field, ValidationError

from agenticiqa.errors import AgenticIQAError, BackendError, BackendTimeoutError, BadResponseError
from agenticiqa.models.known_models import estimate_cost
from agenticiqa.runtime.cache import DiskCache, content_key
from agenticiqa.runtime.logs import redact
from agenticiqa.runtime.stopping import Cancelled, checkpoint, run_cancellable
from agenticiqa.vlm_client import ModelReply, ModelRequest, TokenUsage, TypedBackend, VLMClient

logger = logging.getLogger(__name__)

# Lengths that a model's reply is asked to keep to. Servers with grammars enforce them, so that a small model cannot
# ramble until its tokens run out; a longer reply is still read.
Name = Annotated[str, Field(json_schema_extra={"minLength": 1, "maxLength": 80})]
Sentences = Annotated[str, Field(min_length=1, json_schema_extra={"maxLength": 800})]

T = TypeVar("T")
Few = Annotated[list[T], Field(json_schema_extra={"maxItems": 16})]
M = TypeVar("M", bound=BaseModel)

PROSE_HINT = "The agents need a model that writes JSON; --mode direct also reads a plain letter, level or number."
STRICTER = "Return ONLY valid JSON"
LOGGED_REPLY_CHARS = 2000
SHOWN_REPLY_CHARS = 160


@dataclass(frozen=True)
class CallRecord:
    """One call of a model, for the run's accounts."""

    role: str
    step: str
    backend: str
    model: str
    seconds: float
    usage: TokenUsage
    cost_usd: float | None
    cached_cost_usd: float | None = 0.0
    """What the reply cost when it was first asked for, where it now came from the cache."""
    cached: bool = False
    error: str | None = None
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """As it stands in a result's ``call_log``."""
        told = {**vars(self), "seconds": round(self.seconds, 4), "tokens": vars(self.usage), "notes": list(self.notes)}
        del told["usage"]
        return told

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> CallRecord:
        known = {name: told[name] for name in cls.__dataclass_fields__ if name in told}
        return cls(**{**known, "usage": TokenUsage(**told["tokens"]), "notes": tuple(told["notes"])})


@dataclass
class CallLog:
    """All calls of a run; agents append to it from several threads."""

    records: list[CallRecord] = field(default_factory=list)
    on_call: Callable[[CallRecord], None] = lambda _: None
    """Told of every call as soon as it has ended."""

    def add(self, record: CallRecord) -> None:
        self.records.append(record)
        self.on_call(record)

    @property
    def made(self) -> list[CallRecord]:
        """Calls that really reached a backend."""
        return [record for record in self.records if not record.cached]


@dataclass(frozen=True)
class Step(Generic[T]):
    """One thing that an agent wants to know: as a prompt for a language model, or as a call of a typed backend.

    Only one of the two is ever made. ``parse`` raises BadResponseError or ValidationError for a reply that is worth
    asking again for, with the words of ``stricter`` added.
    """

    name: str
    request: Callable[[], ModelRequest]
    parse: Callable[[ModelReply], T]
    typed_call: Callable[[TypedBackend], T]
    stricter: str = STRICTER
    log_context: str = ""
    """What it is asked with, in a few words for the log of failed attempts."""


@dataclass(frozen=True)
class Answered(Generic[T]):
    """What a step found out, and which backend answered."""

    value: T
    backend: str


@dataclass
class ModelCaller:
    """Everything one agent needs to ask its model."""

    role: str
    clients: Sequence[VLMClient]
    """The role's own client first, then fallbacks."""
    typed_backend_of: Callable[[VLMClient], TypedBackend | None]
    """The typed backend that a client brings instead of a language model; one per client and run."""
    calls: CallLog
    cache: DiskCache | None
    attempts: int = 3
    deadline: float = math.inf
    """When the agent's time is used up, on the clock of ``time.monotonic``."""
    secrets: Sequence[str] = ()
    """Keys that a provider's words may repeat; they are taken out of every failure."""

    def ask(self, step: Step[T], *, call_budget: int | None = None) -> Answered[T]:
        """What the step wants to know, from the first client that can say it.

        Each client gets ``attempts`` tries; ``call_budget`` limits the calls over all clients, keeping one for each
        fallback. Where all fail, the failure is the first one's, which is the one to mend.
        """
        left = call_budget if call_budget is not None else self.attempts * len(self.clients)
        failure: BackendError | None = None
        for position, client in enumerate(self.clients):
            reserved = len(self.clients) - position - 1
            tries = min(self.attempts, max(0, left - reserved))
            if position:
                logger.warning("%s: falling back to %s after: %s", self.role, client.backend, failure)
            try:
                backend = self.typed_backend_of(client)
                if backend is not None:
                    return Answered(self._call_typed(client, backend, step), client.backend)
                return self._prompt(client, step, tries)
            except BackendError as error:
                left -= tries
                if failure is None:
                    failure = error
                else:
                    failure.message += f" Its fallback {client.backend} failed too: {error.message}"
        raise failure or BadResponseError(f"The {self.role} has no backend to ask.")

    def _call_typed(self, client: VLMClient, backend: TypedBackend, step: Step[T]) -> T:
        started = time.perf_counter()
        failed = ""
        try:
            return step.typed_call(backend)
        except BackendError as error:
            failed = error.kind
            raise
        except (AgenticIQAError, Cancelled):
            raise
        except Exception as error:
            failure = _third_party(client, error)
            failed = failure.kind
            raise failure from error
        finally:
            self._record(client, step.name, started, ModelReply("", model=backend.name), failed)

    def _prompt(self, client: VLMClient, step: Step[T], tries: int) -> Answered[T]:
        """Asks again after an unusable reply, in stricter words, and after a late one; the client retries the rest."""
        failure: BackendError | None = None
        asked = request = step.request()
        for attempt in range(1, tries + 1):
            reply: ModelReply | None = None
            try:
                reply = self._reply(client, asked, step.name)
                value = step.parse(reply)
            except (BackendError, ValidationError) as error:
                failure = error if isinstance(error, BackendError) else _wrong_form(error)
                if isinstance(failure, BadResponseError):
                    failure.output = failure.output or (reply.text if reply else "")
                    failure.message = redact(with_reply(failure), self.secrets)
                again = (
                    isinstance(failure, (BadResponseError, BackendTimeoutError)) and time.monotonic() < self.deadline
                )
                on = step.log_context and f" on {step.log_context}"
                logger.warning(
                    "%s %s: attempt %d of %d%s failed: %s: %s",
                    self.role, step.name, attempt, tries if again else attempt, on, type(error).__name__,
                    failure.message,
                )  # fmt: skip
                if not again:
                    raise failure from error
                if isinstance(failure, BadResponseError):
                    asked = replace(request, user=f"{request.user}\n\n{step.stricter}")
                continue
            if self.cache and client.cacheable:
                self.cache.put(_cache_key(client, asked), _stored(reply))
            return Answered(value, client.backend)
        raise failure or BadResponseError(f"No call was left to ask {client.backend}.")

    def _reply(self, client: VLMClient, request: ModelRequest, step: str) -> ModelReply:
        """The reply to one request, from the cache where it is there; on record either way."""
        logger.debug("%s %s prompt:\n%s", self.role, step, request.full_prompt)
        started = time.perf_counter()
        stored = self.cache.get(_cache_key(client, request)) if self.cache and client.cacheable else None
        if stored is not None:
            # Replies of earlier versions were kept without their tokens.
            usage = TokenUsage(*stored.pop("tokens", ()))
            reply = ModelReply(**{**stored, "notes": tuple(stored["notes"])}, usage=usage)
        else:
            checkpoint()
            timely = replace(request, timeout_s=self._time_left(request))
            try:
                reply = _complete(client, timely)
            except BackendError as error:
                error.message = redact(error.message, self.secrets)
                self._record(client, step, started, ModelReply(""), error.kind)
                raise
        self._record(client, step, started, reply, cached=stored is not None)
        extra = len(reply.text) - LOGGED_REPLY_CHARS
        more = f"… ({extra} more characters)" if extra > 0 else ""
        logger.debug("%s %s reply: %s%s", self.role, step, reply.text[:LOGGED_REPLY_CHARS], more)
        return reply

    def _time_left(self, request: ModelRequest) -> float:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise BackendTimeoutError(
                f"The {self.role} used up its time.", hint=f"Raise {self.role}.node_timeout_s in model_backends.yaml."
            )
        return min(left, request.timeout_s)

    def _record(
        self, client: VLMClient, step: str, started: float, reply: ModelReply, error: str = "", *, cached: bool = False
    ) -> None:
        price = estimate_cost(client.backend, reply.usage)
        record = CallRecord(
            role=self.role,
            step=step,
            backend=client.backend,
            model=reply.model,
            seconds=0.0 if cached else time.perf_counter() - started,
            usage=TokenUsage(0, 0) if cached else reply.usage,
            cost_usd=0.0 if cached else price,
            cached_cost_usd=price if cached else 0.0,
            cached=cached,
            error=error or None,
            notes=reply.notes,
        )
        self.calls.add(record)


def _cache_key(client: VLMClient, request: ModelRequest) -> str:
    """Query, feedback and prompt version are all inside the prompt text."""
    return content_key(
        "reply",
        {
            "client": client.identity,
            "system": request.system,
            "user": request.user,
            "images": [(item.label, item.image.sha256) for item in request.images],
            "schema": request.schema.model_json_schema() if request.schema else None,
            "letters": request.answer_letters,
            "parameters": [request.temperature, request.top_p, request.max_tokens],
        },
    )


def _stored(reply: ModelReply) -> dict[str, Any]:
    return {
        "text": reply.text,
        "answer_logprobs": dict(reply.answer_logprobs) if reply.answer_logprobs else None,
        "model": reply.model,
        "notes": list(reply.notes),
        "tokens": [reply.usage.prompt, reply.usage.completion],
    }


def _complete(client: VLMClient, request: ModelRequest) -> ModelReply:
    """The reply; whatever a third party's client raises becomes one of our types."""
    try:
        if client.cancellable:
            return client.complete(request)
        # A plug-in's code: it is waited for as long as it takes, unless the run is stopped.
        return run_cancellable(lambda: client.complete(request), math.inf, f"call-{client.backend}")
    except (BackendError, Cancelled):
        raise
    except TimeoutError as error:
        raise BackendTimeoutError(f"{client.backend or 'The backend'} did not answer in time.") from error
    except Exception as error:
        raise _third_party(client, error) from error


def _third_party(client: VLMClient, error: Exception) -> BackendError:
    name = client.backend or type(client).__name__
    return BackendError(f"The backend {name} failed: {type(error).__name__}: {error}.")


def _wrong_form(error: ValidationError) -> BadResponseError:
    problems = "; ".join(
        f"{'.'.join(map(str, item['loc'])) or 'reply'}: {item['msg']}" for item in error.errors(include_url=False)[:5]
    )
    return BadResponseError(f"The reply does not have the required form ({problems}).")


def with_reply(error: BadResponseError) -> str:
    """What is wrong with a reply, and how it begins.

    >>> with_reply(BadResponseError("The reply is not a JSON object.", output="Looks\\n fine."))
    "The reply is not a JSON object. It was: 'Looks fine.'."
    """
    words = " ".join(error.output.split())
    shown = words if len(words) <= SHOWN_REPLY_CHARS else f"{words[:SHOWN_REPLY_CHARS]}…"
    return f"{error.message} It was: {shown!r}." if shown else error.message


# --- reading JSON replies ---

_FENCE = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL | re.IGNORECASE)


def parse_json_object(text: str) -> dict[str, Any]:
    """The JSON object in a reply, with or without a code fence or words around it."""
    if not text.strip():
        raise BadResponseError("The reply is empty.", output=text)
    outermost_braces = text[text.find("{") : text.rfind("}") + 1]
    for candidate in (text, *_FENCE.findall(text)[:1], outermost_braces):
        with suppress(ValueError, RecursionError):
            if isinstance(value := json.loads(candidate), dict):
                return value
    raise BadResponseError("The reply is not a JSON object.", output=text, hint=PROSE_HINT, client_hint="")


def parse_as(model: type[M]) -> Callable[[ModelReply], M]:
    """A parser for a :class:`Step`: the JSON object in a reply, checked against a Pydantic model."""
    return lambda reply: model.model_validate(parse_json_object(reply.text))
