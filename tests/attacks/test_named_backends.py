"""A backend that the user named is the only one that gets the picture."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from agenticiqa import AgenticIQA
from agenticiqa.batch.preparing import BatchRequest, prepare_job
from agenticiqa.errors import AuthenticationError, BackendConnectionError, BadResponseError, ConfigError
from agenticiqa.models.backends import choose_backend
from agenticiqa.nodes.model_calls import CallLog, ModelCaller, Step
from agenticiqa.runtime.config import ROLES, load_settings
from agenticiqa.serve.http.work.pipeline_work import Pipeline
from agenticiqa.vlm_client import ModelRequest, TypedBackend
from support.scripted import ScriptedClient

pytestmark = pytest.mark.usefixtures("isolated")
PRIVATE = "compatible.private-model"


class Trap:
    """A provider's server that only counts who comes to it."""

    def __init__(self) -> None:
        self.visits: list[str] = []
        trap = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                trap.visits.append(self.path)
                self.send_error(401)

            def log_message(self, *_: object) -> None:
                """Keep the test output clean."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def anthropic(monkeypatch: pytest.MonkeyPatch) -> Iterator[Trap]:
    """The provider of the shipped planner's fallback, ready to take pictures."""
    trap = Trap()
    threading.Thread(target=trap.server.serve_forever, daemon=True).start()
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-of-the-user-1234")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", trap.address)
    yield trap
    trap.server.shutdown()
    trap.server.server_close()


@pytest.fixture
def dead_server(monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of the user's own server, which is not running."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{reserved.getsockname()[1]}/v1"
    monkeypatch.setenv("COMPATIBLE_BASE_URL", address)
    monkeypatch.setenv("AGENTICIQA_PROVIDERS__COMPATIBLE__MAX_RETRIES", "0")
    return address


# --- no picture goes to a backend that nobody named ---


@pytest.mark.hard
def test_a_dead_private_server_does_not_send_the_picture_to_the_shipped_fallback(
    pair: Any, anthropic: Trap, dead_server: str
) -> None:
    with AgenticIQA(PRIVATE) as assessor:
        result = assessor.assess(pair.test)
    assert anthropic.visits == []
    assert result.status == "error"
    assert PRIVATE in str(result.error)
    assert "anthropic" not in str(result.error)
    assert result.metadata["error_kind"] == "backend_connection"


@pytest.mark.parametrize("where", ["command line", "environment", "file"])
def test_naming_a_backend_drops_the_fallback_of_every_lower_place(where: str, tmp_path: Path) -> None:
    """A fallback belongs to the backend beside it, wherever the new one is named."""
    (tmp_path / "model_backends.yaml").write_text(f"planner:\n  backend: {PRIVATE}\n")
    settings = {
        "command line": lambda: load_settings(overrides={"backend": PRIVATE}, environment={}),
        "environment": lambda: load_settings(environment={"AGENTICIQA_BACKEND": PRIVATE}),
        "file": lambda: load_settings(tmp_path, environment={}),
    }[where]()
    assert (settings.planner.backend, settings.planner.fallback_backend) == (PRIVATE, None)


def test_a_fallback_of_the_users_file_is_not_used_for_a_backend_of_the_command_line(tmp_path: Path) -> None:
    text = "summarizer:\n  backend: openai.gpt-4o\n  fallback_backend: google.gemini-2.5-flash\n"
    (tmp_path / "model_backends.yaml").write_text(text)
    assert load_settings(tmp_path, environment={}).summarizer.fallback_backend == "google.gemini-2.5-flash"
    assert load_settings(tmp_path, {"backend": PRIVATE}, {}).summarizer.fallback_backend is None


def test_a_batch_on_a_named_backend_has_no_fallback_either(anthropic: Trap, dead_server: str) -> None:
    job = prepare_job(BatchRequest(backend=PRIVATE))
    assert [job.settings.role(role).fallback_backend for role in ROLES] == [None, None, None]


@pytest.mark.parametrize(
    "given",
    [
        {"overrides": {"backend": PRIVATE, "planner.fallback_backend": "embedded"}, "environment": {}},
        {"environment": {"AGENTICIQA_BACKEND": PRIVATE, "AGENTICIQA_PLANNER__FALLBACK_BACKEND": "embedded"}},
    ],
)
def test_a_fallback_named_in_the_same_place_counts(given: dict[str, Any]) -> None:
    assert load_settings(**given).planner.fallback_backend == "embedded"


def test_the_shipped_fallback_stays_with_the_shipped_backend() -> None:
    assert load_settings(environment={}).planner.fallback_backend == "anthropic.claude-3.5-sonnet"


def test_a_web_client_that_names_a_backend_does_not_get_the_configured_fallback(dead_server: str) -> None:
    pipeline = Pipeline(load_settings(), (PRIVATE,))
    settings = pipeline.assessor(PRIVATE).settings
    pipeline.close()
    assert [settings.role(role).fallback_backend for role in ROLES] == [None, None, None]
    assert settings.chosen_explicitly == set(ROLES)


@pytest.mark.parametrize("again", ["resume", "replay"])
def test_a_run_on_a_named_backend_is_not_continued_on_another_one(
    again: str, pair: Any, anthropic: Trap, dead_server: str
) -> None:
    """The user who says `runs resume ID` later does not say `--backend` again."""
    with AgenticIQA(PRIVATE) as assessor:
        run_id = assessor.assess(pair.test).metadata["run_id"]
    with AgenticIQA() as later:
        result = later.resume(run_id) if again == "resume" else later.replay(run_id)[1]
        assert {each["backend"] for each in result.metadata["call_log"]} == {PRIVATE}
    assert result.status == "error"
    assert anthropic.visits == []


def test_a_recorded_run_goes_to_another_backend_where_the_user_names_it_now(pair: Any, dead_server: str) -> None:
    with AgenticIQA(PRIVATE) as assessor:
        run_id = assessor.assess(pair.test).metadata["run_id"]
    with AgenticIQA("embedded") as later:
        assert later.resume(run_id).metadata["backend"] == dict.fromkeys(ROLES, "embedded")


# --- the error names the first cause ---


def ask(*clients: ScriptedClient) -> Any:
    def mindless(_: Any) -> TypedBackend | None:
        return None

    request = ModelRequest(user="?", system="You are a planner in an image quality assessment (IQA) system")
    step = Step("plan", request=lambda: request, parse=lambda reply: reply.text, typed_call=lambda backend: "")
    return ModelCaller("planner", clients, mindless, CallLog(), None).ask(step)


def test_the_error_is_that_of_the_backend_the_user_wanted_and_not_of_its_fallback() -> None:
    first = ScriptedClient("compatible.first", plan=BackendConnectionError("compatible.first is not running."))
    second = ScriptedClient("openai.second", plan=AuthenticationError("openai.second refused the key."))
    with pytest.raises(BackendConnectionError, match="first is not running") as caught:
        ask(first, second)
    assert "openai.second refused the key" in str(caught.value)


def test_a_bad_reply_is_the_first_cause_too() -> None:
    first = ScriptedClient("compatible.first", plan=BadResponseError("The reply is not JSON."))
    second = ScriptedClient("openai.second", plan=AuthenticationError("openai.second refused the key."))
    with pytest.raises(BadResponseError, match="not JSON"):
        ask(first, second)


# --- a configured fallback is tried when the first merely has no key ---


def test_a_configured_fallback_is_tried_when_the_first_backend_has_no_key(tmp_path: Path) -> None:
    text = "summarizer:\n  backend: openai.gpt-4o\n  fallback_backend: compatible.second\n"
    (tmp_path / "model_backends.yaml").write_text(text)
    settings = load_settings(tmp_path, environment={"COMPATIBLE_BASE_URL": "http://127.0.0.1:9/v1"})
    choice = choose_backend("summarizer", settings)
    assert choice.backend == "compatible.second"
    assert "openai.gpt-4o cannot be used" in str(choice.reason)
    assert choose_backend("executor", settings).backend == "embedded"


def test_only_who_chose_a_backend_is_warned_that_another_takes_its_place(tmp_path: Path) -> None:
    nobody = choose_backend("planner", load_settings(tmp_path, environment={}))
    assert (nobody.backend, nobody.is_default) == ("embedded", True)
    (tmp_path / "model_backends.yaml").write_text("planner:\n  backend: anthropic.claude-sonnet-4-5\n")
    somebody = load_settings(tmp_path, environment={})
    chosen = choose_backend("planner", somebody)
    assert (chosen.backend, chosen.is_default) == ("embedded", False)
    assert "ANTHROPIC_API_KEY" in str(chosen.reason)
    assert choose_backend("executor", somebody).is_default
    elsewhere = choose_backend("planner", load_settings(environment={"ANTHROPIC_API_KEY": "sk-ant-test-1234567890"}))
    assert elsewhere.backend.startswith("anthropic"), "the shipped fallback: pictures leave the machine"
    assert not elsewhere.is_default


def test_a_fallback_without_a_key_leaves_the_keyless_backend() -> None:
    assert choose_backend("planner", load_settings(environment={})).backend == "embedded"


def test_a_named_backend_without_a_key_is_not_replaced_but_by_a_fallback_named_beside_it() -> None:
    named = {"planner.backend": "openai.gpt-4o"}
    assert choose_backend("planner", load_settings(overrides=named, environment={})).backend == "openai.gpt-4o"
    beside = {**named, "planner.fallback_backend": "embedded"}
    assert choose_backend("planner", load_settings(overrides=beside, environment={})).backend == "embedded"


# --- overrides keep the backend ---


@pytest.mark.parametrize(
    "overrides",
    [
        {"executor": {"max_tokens": 333}},
        {"executor.max_tokens": 333},
        {"executor": {"max_tokens": 1}, "executor.max_tokens": 333},
    ],
)
def test_an_override_of_one_key_does_not_drop_the_named_backend(overrides: dict[str, Any]) -> None:
    with AgenticIQA("compatible.m", overrides=overrides, record=False) as assessor:
        executor = assessor.settings.executor
    assert (executor.backend, executor.max_tokens) == ("compatible.m", 333)
    assert assessor.settings.chosen_explicitly == set(ROLES)


def test_a_role_given_whole_in_the_environment_does_not_drop_the_named_backend() -> None:
    environment = {"AGENTICIQA_BACKEND": "compatible.m", "AGENTICIQA_EXECUTOR": "{max_tokens: 333}"}
    executor = load_settings(environment=environment).executor
    assert (executor.backend, executor.max_tokens) == ("compatible.m", 333)


def test_ready_settings_do_not_drop_the_named_backend() -> None:
    with AgenticIQA("compatible.m", settings=load_settings(environment={}), record=False) as assessor:
        settings = assessor.settings
    assert {settings.role(role).backend for role in ROLES} == {"compatible.m"}
    assert (settings.planner.fallback_backend, settings.chosen_explicitly) == (None, set(ROLES))


@pytest.mark.parametrize("more", [{"overrides": {"planner.max_tokens": 1}}, {"config_dir": "."}])
def test_ready_settings_do_not_drop_what_else_is_set(more: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="either settings, or"):
        AgenticIQA(settings=load_settings(environment={}), record=False, **more)


def test_a_roles_own_backend_still_wins() -> None:
    settings = load_settings(overrides={"backend": "compatible.m", "executor": {"backend": "embedded"}}, environment={})
    assert (settings.planner.backend, settings.executor.backend) == ("compatible.m", "embedded")


@pytest.mark.parametrize(
    "overrides",
    [{"executor": 5, "backend": "compatible.m"}, {"pipeline.fusion": 1, "pipeline.fusion.eta": 2}],
)
def test_overrides_that_contradict_each_other_are_refused(overrides: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="contradicts"):
        load_settings(overrides=overrides, environment={})
