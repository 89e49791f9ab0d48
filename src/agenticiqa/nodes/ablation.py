"""What a run does without one of its parts (an ablation): the plan, and how often each model is asked."""

from collections.abc import Collection

from agenticiqa.runtime.config import SUMMARIZER
from agenticiqa.state import Part, PlanControlFlags, PlannerOutput, RunMode
from agenticiqa.vocabulary import GLOBAL

_SWITCHES: dict[Part, tuple[str, ...]] = {
    "tools": ("tool_selection", "tool_execution"),
    "detection": ("distortion_detection",),
    "analysis": ("distortion_analysis",),
    "executor": ("distortion_detection", "distortion_analysis", "tool_selection", "tool_execution"),
}
"""What of a plan is off without each part."""


def planner_is_asked(without: Collection[str]) -> bool:
    """Whether a model plans: not without an executor, which would carry out the plan."""
    return not {"planner", "executor"} & {*without}


def may_replan(without: Collection[str]) -> bool:
    """Whether the planner may be asked again."""
    return planner_is_asked(without) and "replan" not in without


def fixed_plan(*, has_reference: bool) -> PlannerOutput:
    """What is done where no planner reads the question: look for everything, in the whole picture."""
    return PlannerOutput(
        query_type="IQA",
        query_scope=GLOBAL,
        distortion_source="Inferred",
        reference_mode="Full-Reference" if has_reference else "No-Reference",
        plan=PlanControlFlags(
            distortion_detection=True, distortion_analysis=True, tool_selection=True, tool_execution=True
        ),
    )


def apply_ablation(plan: PlannerOutput, without: Collection[str]) -> PlannerOutput:
    """The plan with everything off that is left out.

    >>> apply_ablation(fixed_plan(has_reference=False), ["tools"]).plan.tool_execution
    False
    """
    off = {switch: False for part, switches in _SWITCHES.items() if part in without for switch in switches}
    return plan.model_copy(update={"plan": plan.plan.model_copy(update=off)}) if off else plan


def calls_per_pass(
    mode: RunMode, without: Collection[str], answering: Collection[str] = (SUMMARIZER,)
) -> dict[str, int]:
    """How often each role's model is asked in one pass in which every step runs; without roles that are not asked."""
    answers = dict.fromkeys(answering, 1)
    if mode == "direct":
        return answers
    steps = 0 if "executor" in without else sum(part not in without for part in ("detection", "analysis", "tools"))
    calls = {"planner": int(planner_is_asked(without)), "executor": steps, **answers}
    return {role: count for role, count in calls.items() if count}
