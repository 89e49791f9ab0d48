"""Asking until a reply can be used: retries, fallback, cache, time and accounts."""

from __future__ import annotations

import itertools
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

from agenticiqa.errors import (
    AuthenticationError,
    BackendError,
    BackendTimeoutError,
    BadResponseError,
    RateLimitError,
    RefusalError,
    TruncatedReplyError,
)
from agenticiqa.nodes import model_calls
from agenticiqa.nodes.model_calls import CallLog, ModelCaller, Step, parse_as, parse_json_object
from agenticiqa.pictures.images import LoadedImage, load_image
from agenticiqa.runtime.cache import DiskCache
from agenticiqa.vlm_client import (
    Images,
    LabelledImage,
    ModelReply,
    ModelRequest,
    ReplyTool,
    TypedBackend,
    VLMClient,
    labelled,
)
from support.scripted import RichScriptedClient

BAD_REPLIES = ["", "no JSON", "[1]", '{"number": ', '{"number": "x"}', '{"other": 1}', '{"a":' * 100_000, "null"]


class Number(BaseModel):
    number: int


class Replies(VLMClient):
    """Sends replies one by one, or raises them."""

    def __init__(self, *replies: str | BaseException, backend: str = "scripted.numbers") -> None:
        self.backend = backend
        self.replies = list(replies)
        self.prompts: list[str] = []
        self.timeouts: list[float] = []

    def generate(self, prompt: str, images: Images = None, **kwargs: Any) -> str:
        self.prompts.append(prompt)
        self.timeouts.append(kwargs["timeout_s"])
        reply = self.replies.pop(0)
        if isinstance(reply, BaseException):
            raise reply
        return reply


def asker(*clients: VLMClient, **more: Any) -> ModelCaller:
    cache = more.pop("cache", None)
    return ModelCaller(
        role="planner", clients=clients, typed_backend_of=lambda client: None, calls=CallLog(), cache=cache, **more
    )


def prompted(request: ModelRequest, parse: Any, name: str = "plan", **more: Any) -> Step[Any]:
    """A step for language models alone."""

    def no_typed_backend(_mind: TypedBackend) -> Any:
        raise AssertionError("nobody brought a typed backend")

    return Step(name, request=lambda: request, parse=parse, typed_call=no_typed_backend, **more)


def ask(given: ModelCaller, **more: Any) -> int:
    budget = more.pop("call_budget", None)
    step = prompted(ModelRequest(user="How many?"), parse_as(Number), **more)
    number: int = given.ask(step, call_budget=budget).value.number
    return number


# --- retries ---


@pytest.mark.parametrize(("first", "second"), list(itertools.product(BAD_REPLIES, BAD_REPLIES)))
def test_any_two_bad_replies_then_a_good_one(first: str, second: str) -> None:
    """D2-37, D2-19, D2-20, SC-35, D4-30: three calls in all, and the result is valid."""
    client = Replies(first, second, '{"number": 3}')
    assert ask(asker(client)) == 3
    assert len(client.prompts) == 3


@pytest.mark.parametrize("bad", BAD_REPLIES)
def test_three_bad_replies_fail(bad: str) -> None:
    """D2-37, D2-20, SC-35: there is no fourth call, and the model's words are kept."""
    client = Replies(bad, bad, bad, '{"number": 3}')
    with pytest.raises(BadResponseError) as caught:
        ask(asker(client))
    assert len(client.prompts) == 3
    assert caught.value.output == bad


def test_retries_are_stricter_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    """SC-36, SC-37, D4-31: the first prompt is plain; every failed attempt is logged with its number and type."""
    client = Replies("x", '{"number": "y"}', '{"number": 1}')
    with caplog.at_level(logging.WARNING):
        ask(asker(client))
    assert [prompt.endswith("Return ONLY valid JSON") for prompt in client.prompts] == [False, True, True]
    assert "attempt 1 of 3 failed: BadResponseError" in caplog.text
    assert "attempt 2 of 3 failed" in caplog.text
    assert "attempt 3" not in caplog.text


@pytest.mark.parametrize("error", [TruncatedReplyError("cut"), RefusalError("no"), BadResponseError("empty")])
def test_replies_that_the_backend_itself_refuses_are_asked_for_again(error: BackendError) -> None:
    """D2-19: truncated, refused and empty replies may be better the next time."""
    assert ask(asker(Replies(error, '{"number": 2}'))) == 2


@pytest.mark.parametrize("error", [AuthenticationError("401"), RateLimitError("429")])
def test_a_backend_that_fails_is_not_asked_again_here(error: BackendError) -> None:
    """D2-19: a wrong key stays wrong; transport retries belong to the client."""
    client = Replies(error, '{"number": 2}')
    with pytest.raises(type(error)):
        ask(asker(client))
    assert len(client.prompts) == 1


def test_a_call_that_took_too_long_is_made_again() -> None:
    """D2-19, D2-20, D4-30: three calls in all, in the same words, because nothing was wrong with them."""
    client = Replies(BackendTimeoutError("late"), TimeoutError(), '{"number": 2}')
    assert ask(asker(client)) == 2
    assert client.prompts == ["How many?"] * 3
    late = Replies(*[BackendTimeoutError("late")] * 3, '{"number": 2}')
    with pytest.raises(BackendTimeoutError, match="late"):
        ask(asker(late))
    assert len(late.prompts) == 3


def test_the_words_stay_stricter_after_a_reply_that_could_not_be_used() -> None:
    """SC-36: a call that took too long in between changes nothing of that."""
    client = Replies("x", BackendTimeoutError("late"), '{"number": 2}')
    assert ask(asker(client)) == 2
    assert [prompt.endswith("Return ONLY valid JSON") for prompt in client.prompts] == [False, True, True]


@pytest.mark.parametrize(
    ("raised", "mapped"),
    [(RuntimeError("boom"), BackendError), (KeyError("x"), BackendError)],
)
def test_whatever_a_client_raises_becomes_a_backend_error(raised: Exception, mapped: type[BackendError]) -> None:
    """D2-19: a third party's exception is neither a traceback nor an answer."""
    with pytest.raises(mapped):
        ask(asker(Replies(raised)))


def test_an_interrupt_is_not_swallowed() -> None:
    """D2-19: the user's Ctrl-C ends the run."""
    with pytest.raises(KeyboardInterrupt):
        ask(asker(Replies(KeyboardInterrupt(), '{"number": 2}')))


# --- fallback ---


def test_fallback_after_the_attempts(caplog: pytest.LogCaptureFixture) -> None:
    """D2-21, D2-19: another provider is asked, and the log says why."""
    first, second = Replies("x", "x", "x", backend="a.first"), Replies('{"number": 5}', backend="b.second")
    given = asker(first, second)
    answered = given.ask(prompted(ModelRequest(user="?"), parse_as(Number)))
    assert (answered.value.number, answered.backend) == (5, "b.second")
    assert "falling back to b.second" in caplog.text
    assert [record.backend for record in given.calls.made] == ["a.first"] * 3 + ["b.second"]


def test_fallback_after_a_dead_backend() -> None:
    """D2-21: at once, without asking the dead one again."""
    first = Replies(AuthenticationError("401"))
    assert ask(asker(first, Replies('{"number": 5}'))) == 5
    assert len(first.prompts) == 1


def test_both_fail() -> None:
    """D2-21: the last failure is raised, never replaced by a value."""
    with pytest.raises(BadResponseError):
        ask(asker(Replies("x", "x", "x"), Replies("y", "y", "y")))


@pytest.mark.parametrize("budget", [1, 2, 3, 4])
def test_a_budget_limits_the_calls_over_all_backends(budget: int) -> None:
    """RL-22: and leaves one for the fallback."""
    first, second = Replies(*["x"] * 9), Replies(*["y"] * 9)
    with pytest.raises(BadResponseError):
        ask(asker(first, second), call_budget=budget)
    assert len(first.prompts) + len(second.prompts) == budget
    assert second.prompts


def test_no_backend_at_all() -> None:
    """D2-21: says so."""
    with pytest.raises(BackendError):
        ask(asker())


# --- JSON ---


@pytest.mark.parametrize(
    "text",
    ['{"a": 1}', '```json\n{"a": 1}\n```', 'Sure! {"a": 1} Bye.', '```\n{"a": 1}```', ' \n{"a": 1}\n'],
)
def test_json_with_words_around(text: str) -> None:
    """SC-42: fences and chatter do not matter."""
    assert parse_json_object(text) == {"a": 1}


@pytest.mark.parametrize("text", ["", "   ", "a", "[]", '"a"', "{a: 1}", '{"a": 1'])
def test_no_json_object(text: str) -> None:
    """SC-42: anything else is a bad response that carries the output."""
    with pytest.raises(BadResponseError) as caught:
        parse_json_object(text)
    assert caught.value.output == text


# --- logging ---


def test_prompt_and_reply_at_debug(caplog: pytest.LogCaptureFixture) -> None:
    """SC-58: the full prompt; a very long reply is cut."""
    long = '{"number": 1, "x": "' + "z" * 5000 + '"}'
    with caplog.at_level(logging.DEBUG, logger="agenticiqa"):
        ask(asker(Replies(long)))
    debug = [record.getMessage() for record in caplog.records if record.levelno == logging.DEBUG]
    assert any("prompt:\nHow many?" in text for text in debug)
    reply = next(text for text in debug if "reply:" in text)
    assert "more characters)" in reply
    assert len(reply) < 2200


# --- time ---


def test_a_call_gets_what_is_left_of_the_agents_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """D2-24: node_timeout_s limits timeout_s and, used up, ends the model_calls."""
    now = 100.0
    monkeypatch.setattr(model_calls.time, "monotonic", lambda: now)
    client = Replies('{"number": 1}', '{"number": 1}')
    given = asker(client, deadline=now + 30)
    ask(given)
    now = 120.0
    ask(given)
    assert client.timeouts == [30, 10]
    now = 131.0
    with pytest.raises(BackendTimeoutError, match="used up its time"):
        ask(given)
    assert len(client.timeouts) == 2


# --- accounts ---


def test_every_call_is_on_record() -> None:
    """D4-31: also those that failed."""
    given = asker(Replies(AuthenticationError("401")), Replies("x", '{"number": 1}'))
    ask(given)
    assert [(record.error, record.cached) for record in given.calls.records] == [
        ("authentication", False),
        (None, False),
        (None, False),
    ]


# --- cache keys (C46) ---


@pytest.fixture
def cache(tmp_path: Path) -> Any:
    opened = DiskCache(tmp_path / "cache")
    yield opened
    opened.close()


def request_for(picture: LoadedImage, **changes: Any) -> ModelRequest:
    images = changes.pop("images", (LabelledImage("test image", picture),))
    return ModelRequest(**{"user": "Rate it", "system": "s", "images": images, "schema": Number, **changes})


def test_the_same_request_is_asked_once(cache: DiskCache, pair: Any) -> None:
    """D2-27: the second reply comes from the cache and costs nothing."""
    client = Replies('{"number": 4}')
    given = asker(client, cache=cache)
    request = request_for(load_image(pair.test))
    for _ in range(2):
        assert given.ask(prompted(request, parse_as(Number))).value.number == 4
    assert len(client.prompts) == 1
    assert [record.cached for record in given.calls.records] == [False, True]
    assert given.calls.records[1].cost_usd == 0.0


def test_an_offered_tool_does_not_change_the_key(cache: DiskCache, pair: Any) -> None:
    """A reply is the same JSON whichever way it was asked for: replies that are stored stay known."""
    client = Replies('{"number": 4}')
    given = asker(client, cache=cache)
    for tool in (None, ReplyTool("count", "Counts.")):
        given.ask(prompted(request_for(load_image(pair.test), tool=tool), parse_as(Number)))
    assert len(client.prompts) == 1


def test_a_copy_of_the_picture_is_the_same_picture(cache: DiskCache, pair: Any, tmp_path: Path) -> None:
    """D2-27: the content counts, not the path."""
    copy = tmp_path / "copy.png"
    copy.write_bytes(Path(pair.test).read_bytes())
    client = Replies('{"number": 4}')
    given = asker(client, cache=cache)
    for path in (pair.test, copy):
        given.ask(prompted(request_for(load_image(path)), parse_as(Number)))
    assert len(client.prompts) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"user": "Rate it. Feedback: no scores"},
        {"system": "other prompt version"},
        {"temperature": 0.5},
        {"top_p": 0.3},
        {"max_tokens": 7},
        {"answer_letters": ("A", "B")},
        {"images": "other"},
        {"images": "with reference"},
        {"images": "swapped labels"},
    ],
)
def test_whatever_changes_the_reply_changes_the_key(cache: DiskCache, pair: Any, changes: dict[str, Any]) -> None:
    """D2-27: query, feedback, prompt version, parameters, image and reference content."""
    test, reference = load_image(pair.test), load_image(pair.reference)
    pictures = {
        "other": labelled(reference),
        "with reference": labelled([test, reference]),
        "swapped labels": (LabelledImage("reference image", test),),
    }
    if "images" in changes:
        changes = {"images": pictures[changes["images"]]}
    client = Replies('{"number": 4}', '{"number": 5}')
    given = asker(client, cache=cache)
    first = given.ask(prompted(request_for(test), parse_as(Number))).value.number
    second = given.ask(prompted(request_for(test, **changes), parse_as(Number))).value.number
    assert (first, second) == (4, 5)


def test_another_backend_is_another_key(cache: DiskCache, pair: Any) -> None:
    """D2-27: replies of one model are never served as another's."""
    request = request_for(load_image(pair.test))
    for number, backend in ((4, "a.x"), (5, "a.y")):
        given = asker(Replies(f'{{"number": {number}}}', backend=backend), cache=cache)
        assert given.ask(prompted(request, parse_as(Number))).value.number == number


def test_bad_replies_are_not_kept(cache: DiskCache, pair: Any) -> None:
    """D2-27: only what could be used is served again."""
    request = request_for(load_image(pair.test))
    with pytest.raises(BadResponseError):
        asker(Replies("x", "x", "x"), cache=cache).ask(prompted(request, parse_as(Number)))
    later = Replies('{"number": 6}')
    assert asker(later, cache=cache).ask(prompted(request, parse_as(Number))).value.number == 6


def test_log_probabilities_survive_the_cache(cache: DiskCache, pair: Any) -> None:
    """D2-27, D4-33: a cached answer fuses like the first one."""
    client = RichScriptedClient({"A": -0.1, "B": -2.5})
    given = asker(client, cache=cache)
    request = request_for(load_image(pair.test), system="You are a visual quality assessment assistant")

    def keep(reply: ModelReply) -> ModelReply:
        return reply

    first, second = (given.ask(prompted(request, keep, "answer")).value for _ in range(2))
    assert client.calls == 1
    assert second.answer_logprobs == first.answer_logprobs == {"A": -0.1, "B": -2.5}


# --- typed backends ---


class Thinker(VLMClient):
    """Brings something that thinks instead of a language model."""

    backend = "own.backend"

    def __init__(self, typed: Any) -> None:
        self.typed = typed

    def generate(self, prompt: str, images: Any = None, **kwargs: Any) -> str:
        raise AssertionError("a client with a typed backend is not prompted")


def thinking(*clients: VLMClient) -> ModelCaller:
    return ModelCaller(
        role="planner",
        clients=clients,
        typed_backend_of=lambda client: getattr(client, "typed", None),
        calls=CallLog(),
        cache=None,
    )


def no_prompt() -> ModelRequest:
    raise AssertionError("no prompt is made for a typed backend")


def test_a_mind_is_asked_without_any_prompt() -> None:
    given = thinking(Thinker(SimpleNamespace(name="toy", number=7)))
    answered = given.ask(
        Step("plan", request=no_prompt, parse=parse_as(Number), typed_call=lambda backend: backend.number)
    )
    assert (answered.value, answered.backend) == (7, "own.backend")
    [record] = given.calls.made
    assert (record.step, record.backend, record.model, record.error) == ("plan", "own.backend", "toy", None)


def test_a_mind_takes_over_from_a_dead_model() -> None:
    given = thinking(Replies(AuthenticationError("401")), Thinker(SimpleNamespace(name="toy", number=7)))
    step = Step(
        "plan",
        request=lambda: ModelRequest(user="?"),
        parse=lambda reply: parse_as(Number)(reply).number,
        typed_call=lambda backend: backend.number,
    )
    assert given.ask(step).value == 7


def test_a_model_takes_over_from_a_failing_typed_backend() -> None:
    """Whatever a typed backend raises is a backend's failure and on record."""
    given = thinking(Thinker(SimpleNamespace(name="toy")), Replies('{"number": 5}'))
    step = Step(
        "plan",
        request=lambda: ModelRequest(user="?"),
        parse=lambda reply: parse_as(Number)(reply).number,
        typed_call=lambda backend: backend.number,
    )
    assert given.ask(step).value == 5
    assert [record.error for record in given.calls.made] == ["backend", None]
