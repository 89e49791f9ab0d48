"""The planner: reads the question and writes a typed plan for the executor."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Any, Literal, Optional

from langchain_core.runnables import RunnableConfig
from pydantic import BaseModel, Field, model_validator

from agenticiqa.errors import AgenticIQAError
from agenticiqa.nodes.ablation import apply_ablation, fixed_plan, planner_is_asked
from agenticiqa.nodes.evidence import enforce_regions
from agenticiqa.nodes.model_calls import Few, Name, Step, parse_as
from agenticiqa.nodes.prompts import PLANNER
from agenticiqa.nodes.run_context import RunContext, context_of, step_reporter
from agenticiqa.state import (
    AgenticIQAState,
    DistortionSource,
    PlanControlFlags,
    PlannerOutput,
    QueryType,
    ReferenceMode,
)
from agenticiqa.tools.catalogue import tool_key
from agenticiqa.vocabulary import CATEGORIES

logger = logging.getLogger(__name__)

STRICTER = "Your last reply could not be used. Please return valid JSON only, with every field of the schema."

# A planner that fails on a replan must not run up costs: these are its calls over all its backends.
REPLAN_CALL_BUDGET = 3


class ObjectDistortions(BaseModel):
    """An object and the distortion categories named for it."""

    object: Name
    types: Few[Name]


class PlanReply(BaseModel):
    """The plan as models write it: lists instead of free-form keys, so that providers can enforce the shape."""

    query_type: QueryType
    query_scope: Few[Name] | Literal["Global"]
    distortion_source: DistortionSource
    distortions: Few[ObjectDistortions] | None
    reference_mode: ReferenceMode
    required_tool: Few[Name] | None
    plan: PlanControlFlags = Field(description="Which steps run")

    @model_validator(mode="before")
    @classmethod
    def _accept_other_spellings(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        scope, distortions, tool = (data.get(key) for key in ("query_scope", "distortions", "required_tool"))
        if isinstance(distortions, dict):
            distortions = [{"object": name, "types": types} for name, types in distortions.items()]
        if isinstance(scope, str):
            scope = "Global" if scope.strip().casefold() == "global" else [scope]
        if isinstance(tool, str):
            tool = [tool] if tool.strip().lower() not in ("", "none", "null") else None
        return {**data, "query_scope": scope, "distortions": distortions or None, "required_tool": tool}

    def to_plan(self) -> PlannerOutput:
        by_object: dict[str, list[str]] = {}
        for item in self.distortions or []:
            by_object.setdefault(item.object, []).extend(item.types)
        return PlannerOutput.model_validate({**self.model_dump(), "distortions": by_object or None})


def planner_node(state: AgenticIQAState, config: Optional[RunnableConfig] = None) -> dict[str, Any]:
    """Read the question, write the plan. On a replan the reason and the previous plan are part of the question."""
    context = context_of(config)
    with context.timed("planner"):
        try:
            plan = _make_plan(state, context)
        except AgenticIQAError as error:
            logger.error("Planning failed: %s", error)  # noqa: TRY400 - the message says it all
            context.error_kind = error.kind
            return {"error": f"Planning failed: {error}"}
    step_reporter()("plan", {"plan": plan.model_dump(mode="json")})
    unchanged = state.get("unchanged_plans", 0) + 1 if _is_replan(state) and plan == state.get("plan") else 0
    return {"plan": plan, "unchanged_plans": unchanged, "error": None}


def _is_replan(state: AgenticIQAState) -> bool:
    result = state.get("summarizer_result")
    return result is not None and result.need_replan


def _make_plan(state: AgenticIQAState, context: RunContext) -> PlannerOutput:
    asked, without = context.asked(state), state.get("without", [])
    if not planner_is_asked(without):
        return apply_ablation(fixed_plan(has_reference=asked.has_reference), without)
    again = _is_replan(state)
    step = Step(
        "plan",
        request=lambda: context.request("planner", state, PLANNER, _fields(state), PlanReply),
        parse=lambda reply: parse_as(PlanReply)(reply).to_plan(),
        typed_call=lambda backend: backend.plan(state.get("plan") if again else None),
        stricter=STRICTER,
    )
    answered = context.model_caller("planner", asked).ask(step, call_budget=REPLAN_CALL_BUDGET if again else None)
    plan = _apply_constraints(
        answered.value,
        has_reference=asked.has_reference,
        named_tools=context.tools.named_in(asked.question),
        measure_more=again and state["summarizer_result"].conflict is not None,
    )
    return apply_ablation(enforce_regions(plan, asked.question, state.get("regions"), keep_switches=again), without)


def _fields(state: AgenticIQAState) -> dict[str, str]:
    fields = {
        "categories": ", ".join(CATEGORIES),
        "options": "\n".join(state.get("options") or []),
        "reference": "attached" if state.get("reference_path") else "none",
        "regions": ", ".join(state.get("regions") or {}),
    }
    if _is_replan(state):
        previous = state.get("plan")
        fields["gap"] = state["summarizer_result"].replan_reason or ""
        fields["previous_plan"] = json.dumps(previous.model_dump(mode="json") if previous else None)
    return fields


def _apply_constraints(
    plan: PlannerOutput, *, has_reference: bool, named_tools: Sequence[str], measure_more: bool
) -> PlannerOutput:
    """Facts, not judgements: whether a reference is there, that a named tool runs, and tools after a conflict."""
    updates: dict[str, Any] = {}
    named = plan.named_tools
    known = {tool_key(name) for name in named}
    forgotten = [name for name in named_tools if tool_key(name) not in known] if plan.query_type == "IQA" else []
    if forgotten:
        logger.info("Plan corrected: the question names %s", ", ".join(forgotten))
        named += forgotten
        updates |= {"required_tool": named[0], "extra_tools": named[1:]}
    mode = "Full-Reference" if has_reference else "No-Reference"
    if plan.reference_mode != mode:
        logger.info("Plan corrected: reference_mode is %s", mode)
        updates["reference_mode"] = mode
    if (named or measure_more) and not plan.plan.tool_execution:
        logger.info("Plan corrected: %s was asked for, so tools run", ", ".join(named) or "a second measurement")
        updates["plan"] = plan.plan.model_copy(update={"tool_execution": True})
    return plan.model_copy(update=updates)
