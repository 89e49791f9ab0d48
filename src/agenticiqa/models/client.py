"""One interface for every vision-language model.

A backend needs one method, :meth:`VLMClient.generate`. Backends that can do more (structured output, token
probabilities, usage) derive from :class:`RichVLMClient` and implement :meth:`VLMClient.complete`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module, metadata
from typing import Any, cast

from pydantic import BaseModel

from agenticiqa.errors import BackendUnavailableError
from agenticiqa.models.mind import Asked, Mind
from agenticiqa.pictures.images import LoadedImage
from agenticiqa.pictures.inputs import PictureInput, given_picture
from agenticiqa.runtime.config import ImageLimits, ProviderSettings, RoleSettings, Settings, load_settings

TEST_IMAGE_LABEL = "test image"
REFERENCE_IMAGE_LABEL = "reference image"


@dataclass(frozen=True)
class LabelledImage:
    """A picture and the words that tell the model which one it is."""

    label: str
    image: LoadedImage


Images = PictureInput | LabelledImage | Sequence[PictureInput | LabelledImage] | None
"""One picture, several (a list or tuple), or none."""


@dataclass(frozen=True)
class ModelRequest:
    """One question to a model."""

    user: str
    system: str = ""
    images: tuple[LabelledImage, ...] = ()
    schema: type[BaseModel] | None = None
    """The shape of the JSON reply; backends with structured output enforce it."""
    answer_letters: tuple[str, ...] = ()
    """Letters the reply's ``final_answer`` chooses from; asks for their token log-probabilities."""
    temperature: float | None = 0.0
    top_p: float | None = None
    max_tokens: int = 1024
    timeout_s: float = 120.0

    @property
    def full_prompt(self) -> str:
        """System and user text as one, for backends that take a single string and for logs."""
        return f"System:\n{self.system}\n\nUser:\n{self.user}" if self.system else self.user


@dataclass(frozen=True)
class TokenUsage:
    """Tokens of one or many calls; None means that the provider did not say."""

    prompt: int | None = None
    completion: int | None = None

    def __add__(self, other: TokenUsage) -> TokenUsage:
        return TokenUsage(_sum(self.prompt, other.prompt), _sum(self.completion, other.completion))


def _sum(left: int | None, right: int | None) -> int | None:
    return None if left is None and right is None else (left or 0) + (right or 0)


@dataclass(frozen=True)
class ModelReply:
    """What a model answered, and what is known about the answer."""

    text: str
    answer_logprobs: Mapping[str, float] | None = None
    """Log-probability of each answer letter, from real token probabilities; None where the backend has none."""
    usage: TokenUsage = TokenUsage()
    model: str = ""
    transport_attempts: int = 1
    notes: tuple[str, ...] = ()
    """Anything done to the request that the user should know, such as a picture shrunk to fit."""


class VLMClient(ABC):
    """A vision-language model that can be asked about pictures."""

    backend: str = ""
    """The name it was created under, such as ``openai.gpt-4o``."""
    cacheable = True
    """False where asking again costs about as little as looking the reply up."""
    stops_when_told = False
    """Whether :meth:`complete` itself ends when the run is stopped; others are left behind in a thread of their own."""

    @abstractmethod
    def generate(self, prompt: str, images: Images = None, **kwargs: Any) -> str:
        """The model's text for a prompt and any number of pictures.

        Keywords are fields of :class:`ModelRequest`, such as ``temperature``. Backends that derive from
        :class:`RichVLMClient` also take ``limits``, the largest pictures that are opened.
        """

    def complete(self, request: ModelRequest) -> ModelReply:
        """The full form of :meth:`generate`. Here: the text alone, for backends that know nothing more."""
        text = self.generate(
            request.full_prompt,
            request.images,
            temperature=request.temperature,
            top_p=request.top_p,
            max_tokens=request.max_tokens,
            timeout_s=request.timeout_s,
        )
        return ModelReply(text=text, model=self.backend)

    def mind_for(self, asked: Asked) -> Mind | None:  # noqa: ARG002 - most backends are language models
        """What answers a run's question in place of a language model; None where the model is to be prompted."""
        return None

    @property
    def identity(self) -> str:
        """What distinguishes this client's replies from another's; part of every cache key."""
        return self.backend or type(self).__qualname__

    def close(self) -> None:  # noqa: B027 - most backends hold nothing to close
        """Release connections or memory."""


class RichVLMClient(VLMClient):
    """Base of backends that implement :meth:`complete`; :meth:`generate` is its thin form."""

    @abstractmethod
    def complete(self, request: ModelRequest) -> ModelReply: ...

    def generate(self, prompt: str, images: Images = None, *, limits: ImageLimits | None = None, **kwargs: Any) -> str:
        """``limits`` are the packaged ones unless given; those of a configuration are ``settings.pipeline.images``."""
        return self.complete(ModelRequest(user=prompt, images=labelled(images, limits), **kwargs)).text


def labelled(images: Images, limits: ImageLimits | None = None) -> tuple[LabelledImage, ...]:
    """One picture, several, or none, opened within the limits (by default the packaged ones), each with a label."""
    if images is None:
        return ()
    # Bytes and text are sequences too, of something else.
    given = images if isinstance(images, (list, tuple)) else [images]
    several = cast("Sequence[PictureInput | LabelledImage]", given)
    names = [TEST_IMAGE_LABEL, REFERENCE_IMAGE_LABEL]
    return tuple(
        item
        if isinstance(item, LabelledImage)
        else LabelledImage(names[i] if i < 2 else f"image {i + 1}", given_picture(item).open(limits or ImageLimits()))
        for i, item in enumerate(several)
    )


# --- finding and making backends -------------------------------------------------------------------------


@dataclass(frozen=True)
class BackendName:
    """``provider.model``, split at the first dot.

    >>> BackendName.parse("anthropic.claude-3.5-sonnet")
    BackendName(provider='anthropic', model='claude-3.5-sonnet')
    >>> BackendName.parse("qwen2.5-vl-local")
    BackendName(provider='qwen', model='')
    """

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


@dataclass(frozen=True)
class Readiness:
    """Whether a provider can be used here, and if not, what is missing."""

    ready: bool
    reason: str


BackendFactory = Callable[[str, str, ProviderSettings], VLMClient]
"""(full backend name, model, provider settings) → client."""


@dataclass(frozen=True)
class Provider:
    """A family of backends: how to make a client and how to tell whether it would work."""

    name: str
    description: str
    create: BackendFactory
    readiness: Callable[[ProviderSettings], Readiness]
    extra: str | None = None
    local: bool = False
    options: Mapping[str, str] = field(default_factory=dict)


# The modules are imported when a backend is first used: each pulls in a heavy SDK.
_BUILT_IN = {
    "openai": "agenticiqa.models.openai",
    "anthropic": "agenticiqa.models.anthropic",
    "google": "agenticiqa.models.google",
    "compatible": "agenticiqa.models.compatible",
    "qwen": "agenticiqa.models.qwen",
    "embedded": "agenticiqa.models.offline.provider",
}


def provider_names() -> list[str]:
    """Built-in providers first, then those that other packages add."""
    return [*_BUILT_IN, *(point.name for point in _plug_ins() if point.name not in _BUILT_IN)]


def _plug_ins() -> list[metadata.EntryPoint]:
    return list(metadata.entry_points(group=ENTRY_POINT_GROUP))


def find_provider(name: str) -> Provider:
    """The provider of that name, built in or added by a plug-in."""
    if name in _BUILT_IN:
        provider: Provider = import_module(_BUILT_IN[name]).PROVIDER
        return provider
    for point in _plug_ins():
        if point.name == name:
            loaded = point.load()
            if isinstance(loaded, Provider):
                return loaded
            raise BackendUnavailableError(
                f"The plug-in {point.value!r} does not give an agenticiqa.models.client.Provider.",
                hint="Report this to the plug-in's authors.",
            )
    raise BackendUnavailableError(
        f"There is no backend provider {name!r}.",
        hint=f"Known: {', '.join(provider_names())}. Write PROVIDER.MODEL, for example openai.gpt-4o.",
    )


def create_vlm_client(backend: str | RoleSettings, settings: Settings | None = None) -> VLMClient:
    """A client for a backend name such as ``openai.gpt-4o``, or for a role's settings."""
    name = backend.backend if isinstance(backend, RoleSettings) else backend
    settings = settings or load_settings()
    parsed = BackendName.parse(name)
    provider = find_provider(parsed.provider)
    provider_settings = settings.provider(parsed.provider)
    readiness = provider.readiness(provider_settings)
    if not readiness.ready:
        raise BackendUnavailableError(f"The backend {name!r} cannot be used: {readiness.reason}.")
    client = provider.create(name, parsed.model or provider_settings.model or "", provider_settings)
    client.backend = client.backend or name
    return client


@dataclass(frozen=True)
class BackendChoice:
    """The backend a role will run on and, where it is not the configured one, why."""

    backend: str
    reason: str | None = None
    is_the_usual_one: bool = False
    """The keyless backend where nobody chose another: nothing that a run would have to warn of."""


def choose_backend(role: str, settings: Settings) -> BackendChoice:
    """The configured backend; where it has no key here, its fallback; where that has none either, the keyless one.

    A backend named on the command line or in the environment gives way only to a fallback named beside it: the user
    asked for it.
    """
    wanted = settings.role(role)
    parsed = BackendName.parse(wanted.backend)
    readiness = find_provider(parsed.provider).readiness(settings.provider(parsed.provider))
    if readiness.ready:
        return BackendChoice(wanted.backend)
    reason = f"{wanted.backend} cannot be used: {readiness.reason}"
    if wanted.fallback_backend and readiness_of(wanted.fallback_backend, settings).ready:
        return BackendChoice(wanted.fallback_backend, reason)
    if role in settings.chosen_explicitly:
        return BackendChoice(wanted.backend)
    keyless = settings.keyless_backend
    if keyless is None:
        raise BackendUnavailableError(f"The {role}'s backend {wanted.backend!r} cannot be used: {readiness.reason}.")
    keyless_readiness = readiness_of(keyless, settings)
    if not keyless_readiness.ready:
        raise BackendUnavailableError(
            f"The {role}'s backend {wanted.backend!r} cannot be used: {readiness.reason}. "
            f"Neither can the keyless backend {keyless!r}: {keyless_readiness.reason}.",
            hint=WAYS_TO_A_BACKEND,
        )
    return BackendChoice(keyless, reason, is_the_usual_one=role not in settings.chosen)


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
