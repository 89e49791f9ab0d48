"""Requests and tokens per minute, shared by all callers of a provider: "too many requests" makes all wait."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import count

from agenticiqa.errors import BackendError, BackendTimeoutError, BackendUnavailableError, ConfigError, RateLimitError
from agenticiqa.models.backends import BackendName, create_vlm_client, find_provider
from agenticiqa.runtime.config import Settings
from agenticiqa.runtime.stopping import pause
from agenticiqa.vlm_client import ModelReply, ModelRequest, Question, RichVLMClient, TokenUsage, TypedBackend, VLMClient

logger = logging.getLogger(__name__)

MINUTE = 60.0
# What is assumed of a call before its reply says what it really used.
CHARS_PER_TOKEN = 4
TOKENS_PER_PICTURE = 1000
RATE_LIMIT_RETRIES = 8
FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 60.0

Clock = Callable[[], float]
Sleep = Callable[[float], None]


@dataclass(frozen=True)
class RateLimits:
    """Limits by provider; the key ``*`` stands for every provider without one of its own."""

    requests: Mapping[str, float] = field(default_factory=dict)
    tokens: Mapping[str, float] = field(default_factory=dict)

    def of(self, provider: str) -> tuple[float | None, float | None]:
        """Requests and tokens that one provider may be asked for in a minute; None: any number."""
        requests, tokens = (table.get(provider, table.get("*")) for table in (self.requests, self.tokens))
        return requests, tokens


def parse_limit(text: str | None) -> dict[str, float]:
    """``500`` for every provider, or ``openai=500,anthropic=50``."""
    limits = {}
    for part in filter(str.strip, (text or "").split(",")):
        name, separator, number = part.rpartition("=")
        try:
            limit = float(number)
        except ValueError:
            limit = 0.0
        if limit <= 0 or not limit < float("inf"):
            raise ConfigError(f"{part.strip()!r} is not a limit.", hint="Write 500, or openai=500,anthropic=50.")
        limits[name.strip() if separator else "*"] = limit
    return limits


class Bucket:
    """Refills steadily and holds one second's worth; a larger need is granted when it is full, and paid back."""

    def __init__(self, per_minute: float, now: float) -> None:
        self._rate = per_minute / MINUTE
        self._capacity = max(1.0, self._rate)
        self._level = self._capacity
        self._seen = now

    def wait_for(self, need: float, now: float) -> float:
        """Seconds until ``need`` may be taken; 0 when it was taken."""
        self._level = min(self._capacity, self._level + (now - self._seen) * self._rate)
        self._seen = now
        missing = min(need, self._capacity) - self._level
        if missing > 1e-9:
            return missing / self._rate
        self._level -= need
        return 0.0

    def give_back(self, amount: float) -> None:
        """Correct an assumption; negative when more was used than assumed."""
        self._level = min(self._capacity, self._level + amount)


class ProviderLimit:
    """One provider's pace: both limits, and the pause it asked for."""

    def __init__(
        self, requests: float | None, tokens: float | None, *, clock: Clock = time.monotonic, sleep: Sleep = pause
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._requests = Bucket(requests, clock()) if requests else None
        self._tokens = Bucket(tokens, clock()) if tokens else None
        self._paused_until = 0.0

    def wait(self, tokens: float) -> None:
        """Return when a call of about so many tokens may be made."""
        while (seconds := self._take(tokens)) > 0:
            self._sleep(seconds)

    def _take(self, tokens: float) -> float:
        with self._lock:
            now = self._clock()
            if now < self._paused_until:
                return self._paused_until - now
            if self._tokens and (seconds := self._tokens.wait_for(tokens, now)):
                return seconds
            if self._requests and (seconds := self._requests.wait_for(1, now)):
                if self._tokens:
                    self._tokens.give_back(tokens)
                return seconds
            return 0.0

    def settle(self, assumed: float, usage: TokenUsage) -> None:
        if self._tokens is None or usage.prompt is None:
            return
        with self._lock:
            self._tokens.give_back(assumed - usage.prompt - (usage.completion or 0))

    def pause(self, seconds: float) -> None:
        with self._lock:
            self._paused_until = max(self._paused_until, self._clock() + seconds)


class SampleClock:
    """How long a sample has been worked on, not counting the time it waited for its provider's limits."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._started = clock()
        self._lock = threading.Lock()
        self._waiting = 0
        self._waiting_since = 0.0
        self._waited = 0.0

    def seconds(self) -> float:
        with self._lock:
            now = self._clock()
            current = now - self._waiting_since if self._waiting else 0.0
            return now - self._started - self._waited - current

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Two calls of a sample that wait side by side count once."""
        with self._lock:
            self._waiting += 1
            if self._waiting == 1:
                self._waiting_since = self._clock()
        try:
            yield
        finally:
            with self._lock:
                self._waiting -= 1
                if not self._waiting:
                    self._waited += self._clock() - self._waiting_since


current_clock: ContextVar[SampleClock | None] = ContextVar("agenticiqa_sample_clock", default=None)


class LimitedClient(RichVLMClient):
    """A client that waits for its turn, and tries again what may succeed later; in all else the one that it wraps."""

    def __init__(self, client: VLMClient, limit: ProviderLimit, retries: int, *, sleep: Sleep = pause) -> None:
        self.backend = client.backend
        self.cacheable = client.cacheable
        self.cancellable = client.cancellable
        self.sees_side = client.sees_side
        self._client = client
        self._limit = limit
        self._retries = retries
        self._sleep = sleep

    @property
    def identity(self) -> str:
        return self._client.identity

    def typed_backend_for(self, asked: Question) -> TypedBackend | None:
        return self._client.typed_backend_for(asked)

    def complete(self, request: ModelRequest) -> ModelReply:
        for attempt in count(1):
            try:
                return replace(self._once(request), transport_attempts=attempt)
            except BackendError as error:
                # Being told to slow down is no failure: a batch has time.
                patient = isinstance(error, RateLimitError)
                most = max(self._retries, RATE_LIMIT_RETRIES) if patient else self._retries
                # After a call that took too long the agent itself asks again.
                if not error.retryable or isinstance(error, BackendTimeoutError) or attempt > most:
                    raise
                logger.warning("%s: attempt %d failed: %s", self.backend, attempt, error)
                seconds = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** (attempt - 1))
                if isinstance(error, RateLimitError):
                    # All callers of the provider wait, this one too.
                    self._limit.pause(error.retry_after or seconds)
                else:
                    self._sleep(seconds)
        raise AssertionError("attempts do not end")

    def _once(self, request: ModelRequest) -> ModelReply:
        text = len(request.full_prompt) / CHARS_PER_TOKEN
        assumed = text + TOKENS_PER_PICTURE * len(request.images) + request.max_tokens / 4
        clock = current_clock.get()
        with clock.waiting() if clock else nullcontext():
            self._limit.wait(assumed)
        try:
            reply = self._client.complete(request)
        except BackendError:
            self._limit.settle(assumed, TokenUsage(0, 0))
            raise
        self._limit.settle(assumed, reply.usage)
        return reply

    def close(self) -> None:
        self._client.close()


def limited_clients(settings: Settings, backends: Mapping[str, str], limits: RateLimits) -> dict[str, VLMClient]:
    """A client for each role and each fallback; remote ones keep the pace of their provider."""
    paces: dict[str, ProviderLimit] = {}

    @cache
    def client(backend: str) -> VLMClient:
        name = BackendName.parse(backend).provider
        if find_provider(name).local:
            return create_vlm_client(backend, settings)
        provider = settings.provider(name)
        # Every request passes the limiter, so the limiter is who repeats them.
        once = {**settings.providers, name: provider.changed(max_retries=0)}
        pace = paces.setdefault(name, ProviderLimit(*limits.of(name)))
        return LimitedClient(create_vlm_client(backend, settings.changed(providers=once)), pace, provider.max_retries)

    clients: dict[str, VLMClient] = {}
    for role, backend in backends.items():
        clients[role] = client(backend)
        fallback = settings.role(role).fallback_backend
        if fallback and fallback != backend:
            try:
                clients[f"{role}.fallback"] = client(fallback)
            except BackendUnavailableError as error:
                logger.debug("The %s has no fallback: %s", role, error)
    return clients
