"""The executor's work without a language model: detect, analyse, select tools, each from a look at the picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agenticiqa.models.mind import Analysis, Distortions, OfferedTool, Selection
from agenticiqa.models.offline.looking import Look
from agenticiqa.models.offline.measures import describe
from agenticiqa.models.offline.sentences import CLEAR_SHARE, in_sentence
from agenticiqa.state import DistortionAnalysis


@dataclass(frozen=True)
class Seen:
    """A look at an object, and a note where the object could not be found."""

    look: Look
    note: str | None = None
    guess: bool = False
    """Whether what was looked at is only perhaps the object."""


Finder = Callable[[str], Seen]
"""From an object's name to a look at it."""


def detect(scope: Sequence[str], find: Finder) -> Distortions:
    return {name: find(name).look.visible() for name in scope}


def analyse(distortions: Mapping[str, Sequence[str]], find: Finder) -> Analysis:
    return {name: [_judged(category, find(name)) for category in kinds] for name, kinds in distortions.items()}


def _judged(category: str, seen: Seen) -> DistortionAnalysis:
    known = category in seen.look.reading.severity
    return DistortionAnalysis.model_validate(
        {
            "type": category,
            "severity": seen.look.severity_name(category) if known else "none",
            "explanation": explanation(category, seen),
            "uncertain": not known,
        }
    )


def explanation(category: str, seen: Seen) -> str:
    """What was measured, the likeliest kind, and where it was looked for."""
    if category not in seen.look.reading.severity:
        return f"This backend does not measure {category!r}."
    found = seen.look.severity_name(category) != "none"
    sentences = [kind_sentence(category, seen.look), *describe(category, seen.look.measures, found=found)]
    if seen.note:
        sentences.append(f"{seen.note[0].upper()}{seen.note[1:]}.")
    return " ".join(sentence for sentence in sentences if sentence)


def kind_sentence(category: str, look: Look) -> str:
    """Names the finer kind where it is seen and likely."""
    if look.severity_name(category) == "none":
        return ""
    title, share = look.scene.likeliest_kind(category, look.reading)
    if title is None or share < CLEAR_SHARE:
        return ""
    return f"Most like {in_sentence(title)} ({share:.0%})."


def select(distortions: Mapping[str, Sequence[str]], tools: Sequence[OfferedTool], *, has_reference: bool) -> Selection:
    fitting = [tool for tool in tools if tool.needs_reference == has_reference] or tools
    return {name: {kind: best_tool(kind, fitting).name for kind in kinds} for name, kinds in distortions.items()}


def best_tool(kind: str, tools: Sequence[OfferedTool]) -> OfferedTool:
    """The first tool (they come best first) that is good at the distortion."""
    return next((tool for tool in tools if kind in tool.good_at), tools[0])
