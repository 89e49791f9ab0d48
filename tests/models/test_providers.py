"""Which backends there are, whether they can be used here, and how others add their own."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import textwrap

import pytest

from agenticiqa.errors import BackendUnavailableError
from agenticiqa.models import transport
from agenticiqa.models.anthropic import AnthropicVLMClient
from agenticiqa.models.backends import create_vlm_client, find_provider, provider_names
from agenticiqa.models.compatible import CompatibleVLMClient
from agenticiqa.models.google import GoogleVLMClient
from agenticiqa.models.openai import OpenAIVLMClient
from agenticiqa.models.qwen import QwenVLMClient
from agenticiqa.runtime.config import ProviderSettings, load_settings
from agenticiqa.vlm_client import ModelRequest

BUILT_IN = ("openai", "anthropic", "google", "compatible", "qwen")


@pytest.mark.parametrize("name", BUILT_IN)
def test_each_module_has_its_provider(name):
    provider = find_provider(name)
    assert provider.name == name
    assert provider.description


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("openai", "OPENAI_API_KEY is not set"),
        ("anthropic", "ANTHROPIC_API_KEY is not set"),
        ("google", "GOOGLE_API_KEY is not set"),
        ("compatible", "COMPATIBLE_BASE_URL is not set"),
    ],
)
def test_what_is_missing_is_named(name, reason):
    readiness = find_provider(name).readiness(ProviderSettings())
    assert (readiness.ready, readiness.reason) == (False, reason)
    given = ProviderSettings(base_url="http://127.0.0.1:1/v1", api_key="k")
    assert find_provider(name).readiness(given).ready


@pytest.mark.parametrize(
    ("name", "extra"),
    [
        ("openai", "openai"),
        ("anthropic", "anthropic"),
        ("google", "google"),
        ("compatible", "openai"),
        ("qwen", "qwen"),
    ],
)
def test_a_missing_extra_is_named(name, extra, monkeypatch):
    monkeypatch.setattr(transport.importlib.util, "find_spec", lambda module: None)
    readiness = find_provider(name).readiness(ProviderSettings(base_url="http://x", api_key="k", model="m"))
    assert not readiness.ready
    assert f"pip install 'agenticiqa[{extra}]'" in readiness.reason


@pytest.mark.parametrize(
    ("backend", "environment", "kind", "model"),
    [
        ("openai.gpt-4o", {"OPENAI_API_KEY": "k"}, OpenAIVLMClient, "gpt-4o"),
        ("anthropic.claude-3.5-sonnet", {"ANTHROPIC_API_KEY": "k"}, AnthropicVLMClient, "claude-3-5-sonnet-20241022"),
        ("google.gemini-2.5-flash", {"GOOGLE_API_KEY": "k"}, GoogleVLMClient, "gemini-2.5-flash"),
        ("compatible.a.b:c", {"COMPATIBLE_BASE_URL": "http://127.0.0.1:1/v1"}, CompatibleVLMClient, "a.b:c"),
    ],
)
def test_clients_from_a_name_and_the_environment(backend, environment, kind, model):
    client = create_vlm_client(backend, load_settings(environment=environment))
    assert type(client) is kind
    assert client.backend == backend
    assert client.model == model


def test_a_key_never_shows_in_the_identity():
    client = create_vlm_client("openai.gpt-4o", load_settings(environment={"OPENAI_API_KEY": "sk-very-secret"}))
    assert "secret" not in client.identity


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="torch is installed here")
def test_qwen_without_torch_names_the_extra():
    client = QwenVLMClient("qwen.x", "some/model", ProviderSettings())
    with pytest.raises(BackendUnavailableError, match=r"agenticiqa\[qwen\]"):
        client.complete(ModelRequest(user="x"))


def test_qwen_without_a_model_says_how_to_name_one():
    with pytest.raises(BackendUnavailableError, match="QWEN_MODEL"):
        QwenVLMClient("qwen2.5-vl-local", "", ProviderSettings())


def test_asking_for_readiness_imports_no_sdk():
    code = """
        import sys
        from agenticiqa.runtime.config import ProviderSettings
        from agenticiqa.models.backends import find_provider
        for name in ("openai", "anthropic", "google", "compatible", "qwen"):
            find_provider(name).readiness(ProviderSettings(api_key="k", base_url="http://x"))
        heavy = {"openai", "anthropic", "google.genai", "torch", "transformers"} & set(sys.modules)
        assert not heavy, heavy
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=120)


PLUG_IN = """
from agenticiqa.vlm_client import Provider, Readiness, VLMClient


class Echo(VLMClient):
    def __init__(self, model):
        self.model = model

    def generate(self, prompt, images=None, **kwargs):
        return f"{self.model} heard {prompt}"


PROVIDER = Provider(
    name="echo",
    description="Says it again",
    create=lambda backend, model, settings: Echo(model),
    readiness=lambda settings: Readiness(ready=True, reason="ready"),
)
NOT_A_PROVIDER = 7
"""


@pytest.fixture
def plug_in(tmp_path, monkeypatch):
    """A package of somebody else's, installed as pip would leave it."""
    (tmp_path / "echo_backend.py").write_text(PLUG_IN)
    info = tmp_path / "echo_backend-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: echo-backend\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[agenticiqa.backends]\necho = echo_backend:PROVIDER\nbroken = echo_backend:NOT_A_PROVIDER\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("echo_backend", None)


def test_a_third_party_backend(plug_in):
    assert "echo" in provider_names()
    client = create_vlm_client("echo.loud", load_settings(environment={}))
    assert client.generate("hello") == "loud heard hello"
    assert client.backend == "echo.loud"
    reply = client.complete(ModelRequest(user="hello", system="be brief"))
    assert reply.text == "loud heard System:\nbe brief\n\nUser:\nhello"
    assert reply.answer_logprobs is None


def test_a_plug_in_that_gives_something_else(plug_in):
    with pytest.raises(BackendUnavailableError):
        find_provider("broken")


def test_an_unknown_provider_lists_the_known_ones():
    with pytest.raises(BackendUnavailableError, match="openai, anthropic, google, compatible, qwen"):
        find_provider("nobody")
