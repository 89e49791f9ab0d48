"""One interface for every vision-language model, and for backends that answer without one.

A backend needs one method, :meth:`VLMClient.generate`. Backends that can do more (structured output, token
probabilities, usage) derive from :class:`RichVLMClient` and implement :meth:`VLMClient.complete`. A backend that is no
language model returns a :class:`TypedBackend` from :meth:`VLMClient.typed_backend_for`: it is handed the question as
data and gives typed answers.

The providers and the factory live in :mod:`agenticiqa.models`; the names of the design documents
(:func:`create_vlm_client`, ``OpenAIVLMClient``, ``AnthropicVLMClient``) can be imported from here and are loaded when
they are asked for.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal, cast

from pydantic import BaseModel

from agenticiqa.pictures.images import LoadedImage
from agenticiqa.pictures.inputs import PictureInput, given_picture
from agenticiqa.runtime.config import ImageLimits, ProviderSettings
from agenticiqa.state import Advice, DistortionAnalysis, ExecutorOutput, PlannerOutput, Turn

Distortions = dict[str, list[str]]
"""Distortion categories by object."""
Analysis = dict[str, list[DistortionAnalysis]]
"""Judged distortions by object."""
Selection = dict[str, dict[str, str]]
"""Tool by object and distortion."""
Mode = Literal["scoring", "explanation"]


@dataclass(frozen=True)
class Question:
    """The question of one run, read once: its words, its options, its pictures and the places the user marked."""

    query: str
    """As it was asked."""
    question: str
    """Without its options."""
    options: Mapping[str, str]
    """By letter; empty where there are none."""
    open_image: Callable[[], LoadedImage]
    """Opens the picture when it is first needed: a plan can be made without."""
    open_reference: Callable[[], LoadedImage] | None = None
    regions: Mapping[str, Sequence[int]] = field(default_factory=dict)
    earlier: Sequence[Turn] = ()
    """What was asked of the picture before, oldest first: a question may leave open what these say."""

    @property
    def image(self) -> LoadedImage:
        return self.open_image()

    @property
    def has_reference(self) -> bool:
        return self.open_reference is not None

    @property
    def reference(self) -> LoadedImage | None:
        return None if self.open_reference is None else self.open_reference()


@dataclass(frozen=True)
class OfferedTool:
    """What is known of a tool that may be chosen."""

    name: str
    needs_reference: bool
    good_at: Sequence[str]


@dataclass(frozen=True)
class Verdict:
    """An answer with its reasons; the chance of each option letter where the options were weighed."""

    answer: str
    reasoning: str
    probabilities: Mapping[str, float] = field(default_factory=dict)
    """Of the letters of the options; of a rating those of A to E, whose answer is then the level of the fused score."""
    advice: Sequence[Advice] = ()
    """What to do about the picture, with amounts where the backend measured them."""
    doubt: str | None = None
    """One sentence on why this is no certain answer (weak evidence, evidence of another kind): the run is partial."""
    measured: Sequence[str] = ()
    """The numbers behind the answer, a sentence each."""


class TypedBackend(ABC):
    """Plays all three agents of one run. Steps of one run may come from two threads at once."""

    name: str
    """What the run's accounts call it."""
    own_tools: frozenset[str] = frozenset()
    """Tools whose measurement its chances of the levels are made of: beside these they would count twice."""

    def prefetch(self) -> None:  # noqa: B027 - most have nothing to do before they are asked
        """Begin with what every question needs; called beside the start of a run, from another thread."""

    def mode(self, suggested: Mode) -> Mode:
        """Whether a level is asked for; ``suggested`` is what the wording alone says to those who cannot read it."""
        return suggested

    @abstractmethod
    def plan(self, previous: PlannerOutput | None = None) -> PlannerOutput:
        """The planner's work; ``previous`` is the plan that left a gap."""

    @abstractmethod
    def detect(self, scope: Sequence[str]) -> Distortions:
        """The distortions that show in each object."""

    @abstractmethod
    def analyse(self, distortions: Mapping[str, Sequence[str]]) -> Analysis:
        """How badly each distortion shows in each object."""

    @abstractmethod
    def select(self, distortions: Mapping[str, Sequence[str]], tools: Sequence[OfferedTool]) -> Selection:
        """One tool for each object and distortion; the tools come best first."""

    @abstractmethod
    def answer(self, mode: Mode, plan: PlannerOutput, evidence: ExecutorOutput) -> Verdict:
        """The summarizer's work, from the evidence and the picture."""


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
class ReplyTool:
    """A tool that a model is offered to call with its reply."""

    name: str
    description: str


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
    tool: ReplyTool | None = None
    """Backends with tool calling have the model call it: its arguments, which the schema describes, are the reply."""

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
        pairs = ((self.prompt, other.prompt), (self.completion, other.completion))
        return TokenUsage(*(None if pair == (None, None) else sum(count or 0 for count in pair) for pair in pairs))


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
    sees_side: int = 2048
    """Pixels of the longer side up to which a picture is seen as it is; larger ones are reduced before."""
    cancellable = False
    """Whether :meth:`complete` itself ends when the run is stopped; others are left behind in a thread of their own."""

    @abstractmethod
    def generate(self, prompt: str, images: Images = None, **kwargs: Any) -> str:
        """The model's text for a prompt and any number of pictures.

        Keywords are fields of :class:`ModelRequest`, such as ``temperature``. Backends that derive from
        :class:`RichVLMClient` also take ``limits``, the largest pictures that are opened.
        """

    def complete(self, request: ModelRequest) -> ModelReply:
        """The full form of :meth:`generate`. Here: the text alone, for backends that know nothing more."""
        parameters = {name: getattr(request, name) for name in ("temperature", "top_p", "max_tokens", "timeout_s")}
        return ModelReply(self.generate(request.full_prompt, request.images, **parameters), model=self.backend)

    def typed_backend_for(self, asked: Question) -> TypedBackend | None:
        """What answers a run's question in place of a language model; None where the model is to be prompted."""
        former: Callable[[Question], TypedBackend | None] | None = getattr(self, "mind_for", None)
        if former is None:
            return None
        warnings.warn("VLMClient.mind_for is called typed_backend_for now.", DeprecationWarning, stacklevel=2)
        return former(asked)

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

    def generate(
        self,
        prompt: str,
        images: Images = None,
        *,
        image: Images = None,
        limits: ImageLimits | None = None,
        **kwargs: Any,
    ) -> str:
        """``image`` is another name for ``images``: the design documents'.

        ``limits`` are the packaged ones unless given; those of a configuration are ``settings.pipeline.images``.
        """
        if images is not None and image is not None:
            raise TypeError("generate() takes images or image, not both.")
        pictures = labelled(image if images is None else images, limits)
        return self.complete(ModelRequest(user=prompt, images=pictures, **kwargs)).text


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


@dataclass(frozen=True)
class Readiness:
    """Whether a provider can be used here, and if not, what is missing."""

    ready: bool
    reason: str


@dataclass(frozen=True)
class Provider:
    """A family of backends: how to make a client and how to tell whether it would work."""

    name: str
    description: str
    create: Callable[[str, str, ProviderSettings], VLMClient]
    """(full backend name, model, provider settings) → client."""
    readiness: Callable[[ProviderSettings], Readiness]
    local: bool = False


# --- names of the design documents that live in the providers' modules ---

_LAZY_EXPORTS = {
    "AnthropicVLMClient": "agenticiqa.models.anthropic",
    "OpenAIVLMClient": "agenticiqa.models.openai",
    **dict.fromkeys(("BackendChoice", "choose_backend", "create_vlm_client"), "agenticiqa.models.backends"),
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY_EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY_EXPORTS[name]), name)
