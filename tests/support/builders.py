"""Plans, evidence, states, settings and contexts in one line each."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from langchain_core.runnables import RunnableConfig

from agenticiqa.nodes.run_context import CONTEXT_KEY, RunContext
from agenticiqa.runtime.config import ROLES, Settings, load_settings
from agenticiqa.state import AgenticIQAState, ExecutorOutput, PlannerOutput
from agenticiqa.vlm_client import VLMClient
from support.scripted import plan_reply

RATE = "Rate the perceptual quality of the image."


def make_plan(**changes: Any) -> PlannerOutput:
    return PlannerOutput.model_validate(plan_reply(**changes))


def make_evidence(
    severity: str = "moderate",
    score: float | None = 2.6,
    *,
    name: str = "Global",
    kind: str = "Blurs",
    tool: str = "TOPIQ_FR",
    **more: Any,
) -> ExecutorOutput:
    """One distortion of one object, analysed and scored."""
    entry = {"type": kind, "severity": severity, "explanation": "Edges appear soft."}
    return ExecutorOutput.model_validate(
        {
            "distortion_analysis": {name: [entry]},
            "quality_scores": None if score is None else {name: {kind: (tool, score)}},
            **more,
        }
    )


def make_state(image_path: str, query: str = RATE, **more: Any) -> AgenticIQAState:
    """What the summarizer finds: a plan, evidence, no replans yet."""
    state: dict[str, Any] = {
        "query": query,
        "image_path": str(image_path),
        "plan": make_plan(),
        "executor_evidence": make_evidence(),
        "iteration_count": 0,
        "max_replan_iterations": 2,
        "replan_history": [],
        **more,
    }
    return state  # type: ignore[return-value]


@lru_cache(maxsize=1)
def packaged_settings() -> Settings:
    """Reading YAML takes longer than most tests."""
    return load_settings(environment={})


def make_settings(**overrides: Any) -> Settings:
    """The packaged settings; write dots as two underscores (``pipeline__cache__enabled=False``)."""
    return load_settings(overrides={key.replace("__", "."): value for key, value in overrides.items()}, environment={})


def make_context(client: VLMClient, *, fallback: VLMClient | None = None, **more: Any) -> RunContext:
    """A run's context in which one client plays all three agents."""
    clients: dict[str, VLMClient] = dict.fromkeys(ROLES, client)
    if fallback is not None:
        clients.update({f"{role}.fallback": fallback for role in ROLES})
    return RunContext(settings=more.pop("settings", None) or packaged_settings(), clients=clients, **more)


def with_context(context: RunContext) -> RunnableConfig:
    """Configuration that hands a context to nodes called directly."""
    return {"configurable": {CONTEXT_KEY: context}}
