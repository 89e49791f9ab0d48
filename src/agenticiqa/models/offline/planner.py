"""The planner's rule table: from what a question says to the plan that answers it."""

from __future__ import annotations

from agenticiqa.models.offline.language.question import Question
from agenticiqa.state import PlanControlFlags, PlannerOutput
from agenticiqa.vocabulary import GLOBAL


def plan_for(question: Question, *, has_reference: bool) -> PlannerOutput:
    """Apply the rules; no judgement is left here.

    >>> from agenticiqa.models.offline.language.question import understand
    >>> plan = plan_for(understand("Is the vehicle blurry?"), has_reference=False)
    >>> plan.query_scope, plan.distortions, plan.plan.tool_execution
    (['vehicle'], {'vehicle': ['Blurs']}, False)
    """
    distortions = _distortions(question)
    return PlannerOutput.model_validate(
        {
            "query_type": question.type,
            "query_scope": [item.name for item in question.scope] or GLOBAL,
            "distortion_source": "Explicit" if distortions else "Inferred",
            "distortions": distortions,
            "reference_mode": "Full-Reference" if has_reference else "No-Reference",
            "required_tool": list(question.tools) or None,
            "plan": switches(question, names_distortion=bool(distortions)),
        }
    )


def widened(plan: PlannerOutput) -> PlannerOutput:
    """For a plan that left a gap and that the rules would give again: everything on that could close it."""
    if plan.query_type == "Other":
        return plan
    flags = plan.plan.model_copy(update={"distortion_analysis": True, "tool_selection": True, "tool_execution": True})
    return plan.model_copy(update={"plan": flags})


def switches(question: Question, *, names_distortion: bool) -> PlanControlFlags:
    """Which steps run: nothing for other tasks; tools where one is named, or where no region is."""
    technical = question.type == "IQA"
    region, tool = bool(question.scope), bool(question.tools)
    return PlanControlFlags(
        distortion_detection=technical and not names_distortion,
        distortion_analysis=technical,
        tool_selection=technical and not region and not tool,
        tool_execution=technical and (tool or not region),
    )


def _distortions(question: Question) -> dict[str, list[str]] | None:
    """One entry per object (or for the whole picture) with the categories that the question names for it."""
    by_object: dict[str, list[str]] = {}
    for name in [item.name for item in question.scope] or [GLOBAL]:
        categories = [item.category for item in question.distortions if not item.objects or name in item.objects]
        if categories:
            by_object[name] = list(dict.fromkeys(categories))
    return by_object or None
