"""Limits a minute: kept in every minute, shared by all callers, with pauses that providers ask for."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from agenticiqa.batch.rate_limits import (
    LimitedClient,
    ProviderLimit,
    RateLimits,
    SampleClock,
    current_clock,
    parse_limit,
)
from agenticiqa.errors import AuthenticationError, BackendServerError, BackendTimeoutError, ConfigError, RateLimitError
from agenticiqa.runtime.stopping import Cancelled, stoppable
from agenticiqa.vlm_client import ModelReply, ModelRequest, Question, RichVLMClient, TokenUsage, TypedBackend


class FakeTime:
    """A clock that moves only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        if seconds:
            self.slept.append(seconds)
        self.now += seconds


class Replying(RichVLMClient):
    """Answers, or raises what it was told to."""

    backend = "scripted.model"

    def __init__(self, *outcomes: Exception | TokenUsage) -> None:
        self.outcomes = list(outcomes)
        self.calls = 0

    def complete(self, request: ModelRequest) -> ModelReply:
        self.calls += 1
        outcome = self.outcomes.pop(0) if self.outcomes else TokenUsage(10, 5)
        if isinstance(outcome, Exception):
            raise outcome
        return ModelReply("hello", usage=outcome)


class Typed(Replying):
    """Answers a question itself, and differs from other clients in all that a client can say of itself."""

    cacheable = False
    cancellable = True
    sees_side = 1024
    identity = "scripted.model at 10.0.0.1"

    def __init__(self, answering: TypedBackend) -> None:
        super().__init__()
        self.answering = answering

    def typed_backend_for(self, asked: Question) -> TypedBackend | None:
        return self.answering


REQUEST = ModelRequest(user="x" * 400, max_tokens=400)  # 100 tokens of text, 100 assumed for the reply


@pytest.mark.parametrize("rpm", [1, 7, 60, 600])
def test_no_minute_holds_more_requests_than_allowed(rpm):
    fake = FakeTime()
    limit = ProviderLimit(rpm, None, clock=fake.clock, sleep=fake.sleep)
    made = []
    for _ in range(3 * rpm):
        limit.wait(0)
        made.append(fake.now)
    # One second's worth may come at once at the very start.
    allowed = rpm + max(1, rpm / 60)
    assert max(sum(start <= other < start + 60 for other in made) for start in made) <= allowed
    assert made[-1] - made[0] == pytest.approx((3 * rpm - max(1, rpm / 60)) * 60 / rpm, rel=0.05)


def test_tokens_are_counted_as_used_not_as_assumed():
    fake = FakeTime()
    limit = ProviderLimit(None, 6000, clock=fake.clock, sleep=fake.sleep)
    client = LimitedClient(Replying(*[TokenUsage(900, 100)] * 12), limit, 0, sleep=fake.sleep)
    start = fake.now
    for _ in range(12):
        client.complete(REQUEST)
    # 12 calls of 1000 tokens at 100 a second: the first goes through at once, the last is paid for later.
    assert 100 <= fake.now - start <= 120


def test_need_above_what_a_bucket_holds_is_granted_and_paid_back():
    fake = FakeTime()
    limit = ProviderLimit(None, 60, clock=fake.clock, sleep=fake.sleep)
    limit.wait(10)
    assert fake.now == 1000.0
    limit.wait(1)
    assert fake.now == pytest.approx(1010.0)


def test_too_many_requests_makes_every_caller_of_the_provider_wait():
    fake = FakeTime()
    limit = ProviderLimit(None, None, clock=fake.clock, sleep=fake.sleep)
    told = LimitedClient(Replying(RateLimitError("slow down", retry_after=30)), limit, 0, sleep=fake.sleep)
    other = LimitedClient(Replying(), limit, 0, sleep=fake.sleep)
    assert told.complete(REQUEST).transport_attempts == 2
    assert fake.now == 1030.0
    limit.pause(5)
    other.complete(REQUEST)
    assert fake.now == 1035.0


def test_being_told_to_slow_down_for_ever_is_an_error_at_last():
    fake = FakeTime()
    limit = ProviderLimit(None, None, clock=fake.clock, sleep=fake.sleep)
    inner = Replying(*[RateLimitError("slow down")] * 50)
    with pytest.raises(RateLimitError):
        LimitedClient(inner, limit, 2, sleep=fake.sleep).complete(REQUEST)
    assert inner.calls == 9
    assert fake.slept == [1, 2, 4, 8, 16, 32, 60, 60]


def test_other_errors_are_tried_again_as_often_as_configured():
    fake = FakeTime()
    limit = ProviderLimit(None, None, clock=fake.clock, sleep=fake.sleep)
    down = Replying(*[BackendServerError("503")] * 9)
    with pytest.raises(BackendServerError):
        LimitedClient(down, limit, 2, sleep=fake.sleep).complete(REQUEST)
    assert down.calls == 3
    # A wrong key stays wrong, and after a call that took too long the agent asks again: twice two would be four.
    for error in (AuthenticationError("no"), BackendTimeoutError("late")):
        once = Replying(error)
        with pytest.raises(type(error)):
            LimitedClient(once, limit, 2, sleep=fake.sleep).complete(REQUEST)
        assert once.calls == 1


def test_limited_client_says_of_itself_what_the_wrapped_one_does():
    limit = ProviderLimit(None, None)
    asked, answering = Mock(Question), Mock(TypedBackend)
    typed, plain = LimitedClient(Typed(answering), limit, 0), LimitedClient(Replying(), limit, 0)
    assert (typed.typed_backend_for(asked), plain.typed_backend_for(asked)) == (answering, None)
    assert (typed.cacheable, plain.cacheable) == (False, True)
    assert (typed.cancellable, plain.cancellable) == (True, False)
    assert (typed.sees_side, plain.sees_side) == (1024, 2048)
    assert (typed.identity, plain.identity) == ("scripted.model at 10.0.0.1", "scripted.model")


def test_waiting_for_a_turn_ends_when_the_work_is_told_to_stop():
    limit = ProviderLimit(None, None)
    limit.pause(60)

    def stop() -> None:
        raise Cancelled

    with stoppable(stop), pytest.raises(Cancelled):
        LimitedClient(Replying(), limit, 0).complete(REQUEST)


def test_limits_by_provider():
    limits = RateLimits({"openai": 60, "*": 6}, {})
    assert (limits.of("openai"), limits.of("anthropic")) == ((60, None), (6, None))


@pytest.mark.parametrize("text", ["fast", "0", "-5", "openai=", "inf", "nan"])
def test_unusable_limit(text):
    with pytest.raises(ConfigError):
        parse_limit(text)


def test_time_spent_waiting_for_a_turn_is_not_the_sample_s():
    now = [100.0]
    clock = SampleClock(lambda: now[0])
    seen: list[float] = []

    class Waiting(ProviderLimit):
        def wait(self, tokens: float) -> None:
            now[0] += 30.0
            seen.append(clock.seconds())

    class Working(Replying):
        def complete(self, request: ModelRequest) -> ModelReply:
            now[0] += 2.0
            return super().complete(request)

    token = current_clock.set(clock)
    try:
        now[0] += 1.0
        LimitedClient(Working(), Waiting(None, None), 0).complete(REQUEST)
    finally:
        current_clock.reset(token)
    assert (seen, clock.seconds()) == ([1.0], 3.0)
