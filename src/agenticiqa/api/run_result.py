"""From the last state of a run to its result."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib import metadata as package_metadata
from typing import Any

from agenticiqa._version import __version__
from agenticiqa.errors import AgenticIQAError
from agenticiqa.nodes.ablation import calls_per_pass
from agenticiqa.nodes.model_calls import CallLog
from agenticiqa.nodes.results import Assessment, Status
from agenticiqa.nodes.run_context import PipelineEvent, RunContext
from agenticiqa.runtime.runs import INTERRUPTED
from agenticiqa.state import ExecutorOutput, SummarizerOutput
from agenticiqa.vlm_client import TokenUsage
from agenticiqa.vocabulary import UNABLE_TO_DETERMINE


def assessment_from(state: Mapping[str, Any], context: RunContext) -> Assessment:
    result: SummarizerOutput | None = state.get("summarizer_result")
    return Assessment(
        status=_status(state, result),
        query=state["query"],
        image_path=state["image_path"],
        reference_path=state.get("reference_path"),
        plan=state.get("plan"),
        executor_evidence=state.get("executor_evidence"),
        summarizer_result=result,
        replan_history=state.get("replan_history") or [],
        error=_error(state),
        metadata=_metadata(state, context),
    )


@dataclass
class Progress:
    """What is known of a run while it goes on: the state after the last agent, and what the next one has found."""

    state: Mapping[str, Any]
    _steps: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def hear(self, event: PipelineEvent) -> None:
        if event.kind == "step":
            self._steps[event.name] = event.details
        elif event.kind == "node":
            # Whatever the agent reported on the way is in what it returned.
            self._steps.clear()
        else:
            self.state = event.details

    def interrupted(self, context: RunContext) -> Assessment:
        """What is known, as a result without an answer."""
        evidence = {
            field_name: self._steps[step][key] for field_name, step, key in _EVIDENCE_OF_STEPS if step in self._steps
        }
        state = {**self.state, "error": "Interrupted before there was an answer."}
        if evidence:
            state["executor_evidence"] = ExecutorOutput.model_validate(evidence)
        known = assessment_from({**state, "summarizer_result": None}, context)
        return known.model_copy(update={"metadata": {**known.metadata, "error_kind": INTERRUPTED}})


_EVIDENCE_OF_STEPS = (
    ("distortion_set", "detection", "distortions"),
    ("distortion_analysis", "analysis", "analysis"),
    ("selected_tools", "selection", "tools"),
    ("quality_scores", "tools", "scores"),
    ("tool_logs", "tools", "logs"),
)
"""(field of the evidence, step that reports it, under which key)"""


def _error(state: Mapping[str, Any]) -> str | None:
    result: SummarizerOutput | None = state.get("summarizer_result")
    error: str | None = state.get("error") or (result.error if result else None)
    return "The run ended without an answer." if result is None and error is None else error


def _status(state: Mapping[str, Any], result: SummarizerOutput | None) -> Status:
    if result is None or result.error:
        return "error"
    evidence: ExecutorOutput | None = state.get("executor_evidence")
    incomplete = (
        state.get("error")
        or result.need_replan
        or result.final_answer == UNABLE_TO_DETERMINE
        or result.conflict
        or result.doubt
        or (evidence and evidence.errors)
        or (result.used_evidence or {}).get("evidence_gaps")
    )
    return "partial" if incomplete else "ok"


def _metadata(state: Mapping[str, Any], context: RunContext) -> dict[str, Any]:
    calls = context.calls
    usage = sum((record.usage for record in calls.made), TokenUsage())
    return {
        "run_id": context.run_id,
        "mode": state.get("mode", "agents"),
        "without": list(state.get("without", [])),
        "profile": context.settings.pipeline.profile,
        "prompts_sha256": context.prompts.sha256,
        "tools": _chosen_tools(context),
        "backend": _backends(state, context),
        "calls": len(calls.made),
        "cached_calls": len(calls.records) - len(calls.made),
        "tokens": {"prompt": usage.prompt, "completion": usage.completion},
        "cost_usd": _cost(calls),
        "timings": {name: round(seconds, 4) for name, seconds in context.timings.items()},
        "replans": _replans(state),
        "error_kind": context.error_kind if _error(state) else None,
        "versions": dict(_versions()),
        "options": state.get("options"),
        "regions": state.get("regions"),
        **_picture_facts(state, context),
        "call_log": [
            {
                "role": record.role,
                "step": record.step,
                "backend": record.backend,
                "model": record.model,
                "seconds": round(record.seconds, 4),
                "tokens": asdict(record.usage),
                "cost_usd": record.cost_usd,
                "cached_cost_usd": record.cached_cost_usd,
                "cached": record.cached,
                "error": record.error,
                "notes": list(record.notes),
            }
            for record in calls.records
        ],
    }


def _chosen_tools(context: RunContext) -> dict[str, Any] | None:
    """The pool of tools and their curves, where they are not the usual ones."""
    tools = context.settings.pipeline.tools
    chosen = tools.model_dump(mode="json", include={"allow", "deny", "calibrations"})
    return chosen if any(chosen.values()) else None


def _replans(state: Mapping[str, Any]) -> int:
    """Passes after the first. The counter also counts a replan that the limit refused."""
    result: SummarizerOutput | None = state.get("summarizer_result")
    count = int(state.get("iteration_count", 0))
    refused = result is not None and result.need_replan and not state.get("error")
    return count - 1 if refused else count


def _backends(state: Mapping[str, Any], context: RunContext) -> dict[str, str | None]:
    """The backend of each role that takes part."""
    names: dict[str, str | None] = {}
    for role in calls_per_pass(state.get("mode", "agents"), state.get("without", [])):
        used = [record.backend for record in context.calls.records if record.role == role]
        try:
            names[role] = used[-1] if used else context.backend_choice(role).backend
        except AgenticIQAError:
            names[role] = None
    return names


def _cost(calls: CallLog) -> float | None:
    """The sum where every call's price is known; None as soon as one is not."""
    costs = [record.cost_usd for record in calls.made]
    known = [cost for cost in costs if cost is not None]
    return round(sum(known), 6) if len(known) == len(costs) else None


@cache
def _versions() -> dict[str, str]:
    return {
        "agenticiqa": __version__,
        "langgraph": package_metadata.version("langgraph"),
        "python": platform.python_version(),
    }


def _picture_facts(state: Mapping[str, Any], context: RunContext) -> dict[str, Any]:
    facts: dict[str, Any] = {"image_sha256": None, "reference_sha256": None}
    for key, path in (("image", state["image_path"]), ("reference", state.get("reference_path"))):
        picture = context.loaded_image(path) if path else None
        if picture is not None:
            facts[f"{key}_sha256"] = picture.sha256
            facts[f"{key}_size"] = list(picture.size)
            facts[f"{key}_notes"] = list(picture.notes)
    return facts
