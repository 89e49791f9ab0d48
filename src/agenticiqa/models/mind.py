"""What plays the agents without being a language model.

A language model is sent a prompt and replies with text. A mind is handed the run's question as data and gives typed
answers: the embedded backend is one, and a plug-in with a model of its own can be another
(:meth:`agenticiqa.models.client.VLMClient.mind_for`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from agenticiqa.pictures.images import LoadedImage
from agenticiqa.state import Advice, DistortionAnalysis, ExecutorOutput, PlannerOutput

Distortions = dict[str, list[str]]
"""Distortion categories by object."""
Analysis = dict[str, list[DistortionAnalysis]]
"""Judged distortions by object."""
Selection = dict[str, dict[str, str]]
"""Tool by object and distortion."""
Mode = Literal["scoring", "explanation"]


@dataclass(frozen=True)
class Asked:
    """The question of one run, read once: its words, its options, its pictures and the places the user marked."""

    query: str
    """As it was asked."""
    question: str
    """Without its options."""
    options: Mapping[str, str]
    """By letter; empty where there are none."""
    open_image: Callable[[], LoadedImage]
    """Pictures are opened when somebody looks: a plan can be made without."""
    open_reference: Callable[[], LoadedImage] | None = None
    regions: Mapping[str, Sequence[int]] = field(default_factory=dict)

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
    """What to do about the picture, with amounts where the mind measured them."""
    doubt: str | None = None
    """One sentence on why this is no certain answer (weak evidence, evidence of another kind): the run is partial."""


class Mind(ABC):
    """Plays all three agents of one run. Steps of one run may come from two threads at once."""

    name: str
    """What the run's accounts call it."""
    own_tools: frozenset[str] = frozenset()
    """Tools whose measurement its chances of the levels are made of: beside these they would count twice."""

    def look_ahead(self) -> None:  # noqa: B027 - most minds have nothing to do before they are asked
        """Begin with what every question needs; called beside the start of a run, from another thread."""

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
