"""Tells a finished run again as conversations: the very prompts its agents would send, and the replies that led there.

Nothing is asked and nothing measured. The agents run as they always do, on a client that answers from the record and
keeps what it was asked; so samples can never drift from what the pipeline really says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.runnables import RunnableConfig

from agenticiqa.errors import AgenticIQAError
from agenticiqa.models.client import ModelReply, ModelRequest, RichVLMClient, VLMClient
from agenticiqa.models.qwen import chat_messages
from agenticiqa.nodes.direct import direct_node
from agenticiqa.nodes.executor import executor_node
from agenticiqa.nodes.planner import planner_node
from agenticiqa.nodes.prompt_templates import PromptBook
from agenticiqa.nodes.run_context import CONTEXT_KEY, RunContext
from agenticiqa.nodes.run_state import initial_state
from agenticiqa.nodes.summarizer import NO_EVIDENCE_SENTENCE, summarizer_node
from agenticiqa.runtime.config import ROLES, Settings
from agenticiqa.state import AgenticIQAState, ExecutorOutput, PlannerOutput
from agenticiqa.tools.registry import ToolRegistry

# What the summarizer adds to a model's own words.
_ADDED = re.compile(
    r"\s*The fused score [\d.]+ corresponds to [A-E] \(\w+\), the model chose [A-E] \(\w+\)\."
    r"|\s*" + re.escape(NO_EVIDENCE_SENTENCE)
)


@dataclass(frozen=True)
class Conversation:
    """One question of one agent and its right reply, as chat trainers of transformers and TRL read them."""

    role: str
    step: str
    messages: list[dict[str, Any]]

    def as_line(self, images: Sequence[str], sample_id: str) -> str:
        content = {"messages": self.messages, "images": list(images), "role": self.role, "step": self.step}
        return json.dumps({**content, "sample_id": sample_id}, ensure_ascii=False) + "\n"


@dataclass
class _Recorded(RichVLMClient):
    """Answers each step from the record, and keeps what it was asked."""

    replies: Mapping[str, Any]
    backend: str = "recorded"
    asked: dict[str, tuple[ModelRequest, str]] = field(default_factory=dict)
    cacheable = False
    stops_when_told = True

    def complete(self, request: ModelRequest) -> ModelReply:
        kind = request.schema.__name__ if request.schema else ""
        text = json.dumps(self.replies[kind], ensure_ascii=False)
        self.asked[kind] = (request, text)
        return ModelReply(text=text, model=self.backend)


_STEPS = {
    "PlanReply": ("planner", "plan"),
    "DetectionReply": ("executor", "detection"),
    "AnalysisReply": ("executor", "analysis"),
    "SelectionReply": ("executor", "selection"),
    "SummaryReply": ("summarizer", "answer"),
}
"""Role and step by the form of the reply."""


class Reteller:
    """Tells runs again under one configuration: its prompts, and the tools that are offered to a model."""

    def __init__(self, settings: Settings, tools: ToolRegistry, prompts: PromptBook) -> None:
        self._settings, self._tools, self._prompts = settings, tools, prompts

    def retold(self, line: Mapping[str, Any]) -> list[Conversation]:
        """The conversations of a finished run, by its line of a result file."""
        state = _state_of(line)
        if (line.get("metadata") or {}).get("mode") == "direct":
            return self._told(direct_node, state, {"SummaryReply": _answer(line)}, "direct")
        plan = PlannerOutput.model_validate(line["plan"])
        evidence = ExecutorOutput.model_validate(line["executor_evidence"])
        told: list[Conversation] = []
        # What was asked on later passes, with which gap, is not on record: of those runs only the answer can be told.
        if not (line.get("metadata") or {}).get("replans"):
            # A plan with parts left out on purpose is none to learn.
            if not {*state.get("without", [])} - {"fusion", "replan"}:
                told += self._told(planner_node, state, {"PlanReply": _plan(plan)})
            # Measuring again would cost time and tell nothing.
            unmeasured = plan.model_copy(update={"plan": plan.plan.model_copy(update={"tool_execution": False})})
            told += self._told(executor_node, {**state, "plan": unmeasured}, _evidence(evidence))
        ready: AgenticIQAState = {**state, "plan": plan, "executor_evidence": evidence}
        return told + self._told(summarizer_node, ready, {"SummaryReply": _answer(line)})

    def asked_directly(self, line: Mapping[str, Any], answer: str, reasoning: str) -> list[Conversation]:
        """The bare model's conversation about a question whose right answer is known."""
        reply = {"final_answer": answer, "quality_reasoning": reasoning}
        return self._told(direct_node, _state_of(line), {"SummaryReply": reply}, "direct")

    def _told(
        self, node: Any, state: AgenticIQAState, replies: Mapping[str, Any], step: str | None = None
    ) -> list[Conversation]:
        client = _Recorded(replies)
        clients: dict[str, VLMClient] = dict.fromkeys(ROLES, client)
        context = RunContext(settings=self._settings, clients=clients, tools=self._tools, prompts=self._prompts)
        config: RunnableConfig = {"configurable": {CONTEXT_KEY: context}}
        update = node(state, config)
        failure = _failure(update)
        if failure:
            raise RetellingError(f"The run cannot be told again: {failure}", hint="Is its configuration in force?")
        return [
            Conversation(_STEPS[kind][0], step or _STEPS[kind][1], _conversation(request, text))
            for kind, (request, text) in client.asked.items()
        ]


class RetellingError(AgenticIQAError):
    """A record does not lead to the same run under this configuration."""


def _failure(update: Mapping[str, Any]) -> str | None:
    evidence, result = update.get("executor_evidence"), update.get("summarizer_result")
    errors = evidence.errors if evidence is not None else []
    return update.get("error") or (result.error if result is not None else None) or (errors[0] if errors else None)


def _conversation(request: ModelRequest, reply: str) -> list[dict[str, Any]]:
    labels = [item.label for item in request.images]
    return [
        *chat_messages(request, labels, with_schema=False),
        {"role": "assistant", "content": [{"type": "text", "text": reply}]},
    ]


# --- from a record to replies ---


def _state_of(line: Mapping[str, Any]) -> AgenticIQAState:
    about = line.get("metadata") or {}
    return initial_state(
        line["query"],
        line["image_path"],
        line.get("reference_path"),
        options=line.get("options") or about.get("options"),
        regions=line.get("regions") or about.get("regions"),
        without=about.get("without") or (),
    )


def _plan(plan: PlannerOutput) -> dict[str, Any]:
    written = plan.model_dump(mode="json", exclude={"extra_tools"})
    by_object = plan.distortions or {}
    return {
        **written,
        "distortions": [{"object": name, "types": kinds} for name, kinds in by_object.items()] or None,
        "required_tool": plan.named_tools or None,
    }


def _evidence(evidence: ExecutorOutput) -> dict[str, Any]:
    detected, analysed = evidence.distortion_set or {}, evidence.distortion_analysis or {}
    return {
        "DetectionReply": {"objects": [{"object": name, "types": kinds} for name, kinds in detected.items()]},
        "AnalysisReply": {
            "analysis": [
                {"object": name, **entry.model_dump(mode="json")}
                for name, entries in analysed.items()
                for entry in entries
            ]
        },
        "SelectionReply": {
            "selection": [
                {"object": name, "distortion": kind, "tool": tool}
                for name, by_kind in (evidence.selected_tools or {}).items()
                for kind, tool in by_kind.items()
            ]
        },
    }


def _answer(line: Mapping[str, Any]) -> dict[str, str]:
    result = line["summarizer_result"]
    words = _ADDED.sub("", result["quality_reasoning"])
    for contradiction in (result.get("used_evidence") or {}).get("contradictions", []):
        words = words.replace(f"{contradiction}.", "")
    return {"final_answer": result["final_answer"], "quality_reasoning": " ".join(words.split()) or "As seen."}
