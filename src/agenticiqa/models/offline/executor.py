"""The executor's work without a language model: detect, analyse, select tools, each from a look at the picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agenticiqa.models.offline.looking import Look
from agenticiqa.models.offline.measures import describe
from agenticiqa.models.offline.sentences import CLEAR_SHARE, in_sentence
from agenticiqa.models.tasks import AnalysisTask, DetectionTask, OfferedTool, SelectionTask


@dataclass(frozen=True)
class Seen:
    """A look at an object, and a note where the object could not be found."""

    look: Look
    note: str | None = None


Finder = Callable[[str], Seen]
"""From an object's name to a look at it."""


def detect(task: DetectionTask, find: Finder) -> dict[str, Any]:
    return {"objects": [{"object": name, "types": find(name).look.visible()} for name in task.scope]}


def analyse(task: AnalysisTask, find: Finder) -> dict[str, Any]:
    entries = []
    for name, categories in task.distortions.items():
        seen = find(name)
        entries += [
            {
                "object": name,
                "type": category,
                "severity": seen.look.severity_name(category) if category in seen.look.reading.severity else "none",
                "explanation": explanation(category, seen),
                "uncertain": category not in seen.look.reading.severity,
            }
            for category in categories
        ]
    return {"analysis": entries}


def explanation(category: str, seen: Seen) -> str:
    """What was measured, the likeliest kind, and where it was looked for."""
    if category not in seen.look.reading.severity:
        return f"This backend does not measure {category!r}."
    sentences = [kind_sentence(category, seen.look), *describe(category, seen.look.measures)]
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


def select(task: SelectionTask) -> dict[str, Any]:
    return {
        "selection": [
            {"object": name, "distortion": kind, "tool": best_tool(kind, task).name}
            for name, kinds in task.distortions.items()
            for kind in kinds
        ]
    }


def best_tool(kind: str, task: SelectionTask) -> OfferedTool:
    """The first tool (they come best first) that is good at the distortion and uses the reference if there is one."""
    fitting = [tool for tool in task.tools if tool.needs_reference == task.has_reference] or list(task.tools)
    return next((tool for tool in fitting if kind in tool.good_at), fitting[0])
