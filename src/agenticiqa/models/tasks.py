"""What an agent asks of its model, as data.

Language models read the prompt. A backend that is no language model (the embedded one, or a plug-in with a model of
its own) reads the task that travels beside it: the same question without the prose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agenticiqa.pictures.images import Box
from agenticiqa.state import ExecutorOutput, PlannerOutput


@dataclass(frozen=True)
class PlanTask:
    """Read the question, write the plan."""

    query: str
    options: Sequence[str] = ()
    has_reference: bool = False
    regions: Sequence[str] = ()
    previous_plan: PlannerOutput | None = None
    replan_reason: str | None = None


@dataclass(frozen=True)
class DetectionTask:
    """Find the distortions that show in each object."""

    scope: Sequence[str]
    boxes: Mapping[str, Box] = field(default_factory=dict)


@dataclass(frozen=True)
class AnalysisTask:
    """Judge how badly each distortion shows in each object."""

    distortions: Mapping[str, Sequence[str]]
    boxes: Mapping[str, Box] = field(default_factory=dict)
    query: str = ""


@dataclass(frozen=True)
class OfferedTool:
    """What is known of a tool that may be chosen."""

    name: str
    needs_reference: bool
    good_at: Sequence[str]


@dataclass(frozen=True)
class SelectionTask:
    """Choose one tool for each object and distortion; the tools come best first."""

    distortions: Mapping[str, Sequence[str]]
    tools: Sequence[OfferedTool]
    has_reference: bool


@dataclass(frozen=True)
class AnswerTask:
    """Answer the question from the evidence and the picture."""

    query: str
    mode: str
    """``scoring`` or ``explanation``."""
    options: Mapping[str, str]
    plan: PlannerOutput
    evidence: ExecutorOutput
    boxes: Mapping[str, Box] = field(default_factory=dict)


Task = PlanTask | DetectionTask | AnalysisTask | SelectionTask | AnswerTask
