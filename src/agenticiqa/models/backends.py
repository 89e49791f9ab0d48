"""Finding, choosing and making backends: which provider a name means, and whether it works here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from agenticiqa._data import plug_ins
from agenticiqa.errors import BackendUnavailableError
from agenticiqa.runtime.config import RoleSettings, Settings, load_settings
from agenticiqa.vlm_client import Provider, Readiness, VLMClient


@dataclass(frozen=True)
class BackendName:
    """``provider.model``, split at the first dot; ``qwen2.5-vl-local`` names no model."""

    provider: str
    model: str

    @classmethod
    def parse(cls, name: str) -> BackendName:
        if name in _WHOLE_NAMES:
            return cls(_WHOLE_NAMES[name], "")
        provider, _, model = name.partition(".")
        return cls(provider, model)


# Names that hold a dot or no model at all.
_WHOLE_NAMES = {"qwen2.5-vl-local": "qwen"}

ENTRY_POINT_GROUP = "agenticiqa.backends"


# The modules are imported when a backend is first used: each pulls in a heavy SDK.
_BUILT_IN = {
    "openai": "agenticiqa.models.openai",
    "anthropic": "agenticiqa.models.anthropic",
    "google": "agenticiqa.models.google",
    "compatible": "agenticiqa.models.compatible",
    "qwen": "agenticiqa.models.qwen",
    "embedded": "agenticiqa.embedded.backend",
}


def provider_names() -> list[str]:
    """Built-in providers first, then those that other packages add."""
    return [*_BUILT_IN, *(point.name for point in plug_ins(ENTRY_POINT_GROUP) if point.name not in _BUILT_IN)]


def find_provider(name: str) -> Provider:
    """The provider of that name, built in or added by a plug-in."""
    if name in _BUILT_IN:
        provider: Provider = import_module(_BUILT_IN[name]).PROVIDER
        return provider
    for point in plug_ins(ENTRY_POINT_GROUP):
        if point.name == name:
            if isinstance(loaded := point.load(), Provider):
                return loaded
            wrong = f"The plug-in {point.value!r} does not give an agenticiqa.vlm_client.Provider."
            raise BackendUnavailableError(wrong, hint="Report this to the plug-in's authors.")
    hint = f"Known: {', '.join(provider_names())}. Write PROVIDER.MODEL, for example openai.gpt-4o."
    raise BackendUnavailableError(f"There is no backend provider {name!r}.", hint=hint, client_hint=hint)


def create_vlm_client(backend: str | RoleSettings, settings: Settings | None = None) -> VLMClient:
    """A client for a backend name such as ``openai.gpt-4o``, or for a role's settings."""
    name = backend.backend if isinstance(backend, RoleSettings) else backend
    settings = settings or load_settings()
    parsed = BackendName.parse(name)
    provider = find_provider(parsed.provider)
    provider_settings = settings.provider(parsed.provider)
    readiness = provider.readiness(provider_settings)
    if not readiness.ready:
        raise BackendUnavailableError(f"The backend {name!r} cannot be used.", operator_detail=readiness.reason)
    client = provider.create(name, parsed.model or provider_settings.model or "", provider_settings)
    client.backend = client.backend or name
    return client


@dataclass(frozen=True)
class BackendChoice:
    """The backend a role will run on and, where it is not the configured one, why."""

    backend: str
    reason: str | None = None
    is_default: bool = False
    """The keyless backend where no other was configured: nothing that a run would have to warn of."""


def choose_backends(settings: Settings) -> dict[str, BackendChoice | BackendUnavailableError]:
    """What each role will run on, or why it has nothing to run on; a provider is asked once whether it is ready."""
    of_provider = cache(lambda provider: readiness_of(provider, settings))

    def readiness(backend: str) -> Readiness:
        return of_provider(BackendName.parse(backend).provider)

    chosen: dict[str, BackendChoice | BackendUnavailableError] = {}
    for role in settings.roles:
        try:
            chosen[role] = _choose(role, settings, readiness)
        except BackendUnavailableError as error:
            chosen[role] = error
    return chosen


def usable(choice: BackendChoice | BackendUnavailableError) -> BackendChoice:
    """The choice; raises where a role has nothing to run on."""
    if isinstance(choice, BackendUnavailableError):
        raise choice
    return choice


def choose_backend(role: str, settings: Settings) -> BackendChoice:
    """The configured backend; where it has no key here, its fallback; where that has none either, the keyless one.

    A backend named on the command line or in the environment gives way only to a fallback named beside it: the user
    asked for it. One of several that answer together gives way to none: where it fails, the others answer.
    """
    return usable(choose_backends(settings)[role])


def _choose(role: str, settings: Settings, readiness_of_backend: Callable[[str], Readiness]) -> BackendChoice:
    wanted = settings.role(role)
    find_provider(BackendName.parse(wanted.backend).provider)
    readiness = readiness_of_backend(wanted.backend)
    if readiness.ready or (role in settings.answering and len(settings.answering) > 1):
        return BackendChoice(wanted.backend)
    reason = f"{wanted.backend} cannot be used: {readiness.reason}"
    if wanted.fallback_backend and readiness_of_backend(wanted.fallback_backend).ready:
        return BackendChoice(wanted.fallback_backend, reason)
    if role in settings.chosen_explicitly:
        return BackendChoice(wanted.backend)
    keyless, detail, hint = settings.keyless_backend, readiness.reason, None
    if keyless is not None:
        of_keyless = readiness_of_backend(keyless)
        if of_keyless.ready:
            return BackendChoice(keyless, reason, is_default=role not in settings.chosen)
        detail += f". Neither can the keyless backend {keyless!r}: {of_keyless.reason}"
        hint = WAYS_TO_A_BACKEND
    message = f"The {role}'s backend {wanted.backend!r} cannot be used."
    raise BackendUnavailableError(message, operator_detail=detail, hint=hint)


def readiness_of(backend: str, settings: Settings) -> Readiness:
    """Whether a backend can be used here: its provider is installed and has its key or address."""
    name = BackendName.parse(backend).provider
    if name not in provider_names():
        return Readiness(ready=False, reason="it is not installed")
    return find_provider(name).readiness(settings.provider(name))


WAYS_TO_A_BACKEND = (
    "Set OPENAI_API_KEY, ANTHROPIC_API_KEY or GOOGLE_API_KEY; or set COMPATIBLE_BASE_URL to an OpenAI-compatible "
    "server (vLLM, Ollama, llama.cpp, LM Studio) and use --backend compatible.MODEL; or set QWEN_MODEL to a local "
    "Qwen2.5-VL and use --backend qwen2.5-vl-local. `agenticiqa doctor` shows what works here."
)
