"""What counts as enough evidence: coverage, gaps, contradictions, and the decision to plan again.

The decision is conservative. Only a clear gap in something the plan asked for sends the run back to the planner.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from agenticiqa.state import DistortionAnalysis, ExecutorOutput, PlannerOutput
from agenticiqa.vocabulary import CATEGORIES, GLOBAL, OVERALL, same_name

HIGH_SCORE = 4.0
SERIOUS = ("severe", "extreme")
KEY_SEVERITIES = ("moderate", *SERIOUS)
HARMLESS = ("none", "slight")


@dataclass(frozen=True)
class Gap:
    """One thing that is missing or does not fit, in words for the planner and the user."""

    kind: Literal["analysis", "scores", "contradiction", "uncertainty", "conflict"]
    reason: str


def should_replan(
    executor_output: ExecutorOutput,
    query_scope: Sequence[str] | str,
    plan: PlannerOutput | None = None,
) -> tuple[bool, str]:
    """Whether the evidence has a critical gap, and which.

    Without ``plan`` the documents' rule applies as printed: analysis that leaves out an object of the scope, or no
    tool scores at all. With ``plan`` only what the plan switched on can be missing, analysis that is wholly absent
    counts too, and contradictions and open uncertainty are looked for.

    >>> should_replan(ExecutorOutput(), "Global")
    (True, 'No tool scores available')
    """
    gaps = find_gaps(executor_output, query_scope, plan)
    return (True, gaps[0].reason) if gaps else (False, "")


def find_gaps(
    executor_output: ExecutorOutput, query_scope: Sequence[str] | str, plan: PlannerOutput | None = None
) -> list[Gap]:
    """All gaps, the most critical first."""
    required = scope_names(query_scope)
    if plan is None:
        return [*_analysis_gaps(executor_output, required, absent_counts=False), *_no_scores(executor_output)]
    gaps: list[Gap] = []
    if plan.plan.distortion_analysis:
        gaps += _analysis_gaps(executor_output, required, absent_counts=True) or _unanalysed(
            executor_output, required, plan
        )
    if plan.plan.tool_execution:
        gaps += _no_scores(executor_output) or _unscored(executor_output, required, plan)
    gaps += [Gap("contradiction", reason) for reason in find_contradictions(executor_output)]
    return gaps + _open_uncertainty(executor_output, required)


def scope_names(query_scope: Sequence[str] | str) -> list[str]:
    """A bare string is one name; an empty scope is the whole picture."""
    names = [query_scope] if isinstance(query_scope, str) else list(query_scope)
    return [name.strip() for name in names if name.strip()] or [GLOBAL]


def _covered(name: str, covered: Iterable[str]) -> bool:
    return any(same_name(name, other) for other in covered)


def _analysis_gaps(executor_output: ExecutorOutput, required: Sequence[str], *, absent_counts: bool) -> list[Gap]:
    analysis = executor_output.distortion_analysis
    if not analysis and not absent_counts:
        return []
    missing = sorted({name for name in required if not _covered(name, analysis or {})})
    if not missing:
        return []
    return [Gap("analysis", f"Missing analysis for {{{', '.join(map(repr, missing))}}}")]


def _no_scores(executor_output: ExecutorOutput) -> list[Gap]:
    if any(scores for scores in (executor_output.quality_scores or {}).values()):
        return []
    return [Gap("scores", "No tool scores available")]


def _asked_kinds(plan: PlannerOutput, name: str) -> list[str]:
    """The categories that the question names for an object: the evidence must be about these."""
    named = plan.distortions or {}
    kinds = next((kinds for other, kinds in named.items() if same_name(name, other)), named.get(GLOBAL, []))
    # What lies outside the vocabulary has as many spellings as models.
    return [kind for kind in kinds if kind in CATEGORIES]


def _unanalysed(executor_output: ExecutorOutput, required: Sequence[str], plan: PlannerOutput) -> list[Gap]:
    """Objects that were analysed for anything but what was asked about them."""
    gaps = []
    for name in required:
        asked, found = _asked_kinds(plan, name), [entry.type for entry in _analysis_of(executor_output, name)]
        if asked and found and not set(asked) & set(found):
            gaps.append(Gap("analysis", f"Missing analysis of {', '.join(asked)} for {{{name!r}}}"))
    return gaps


def _unscored(executor_output: ExecutorOutput, required: Sequence[str], plan: PlannerOutput) -> list[Gap]:
    """Objects of the scope without any score, and distortions there that matter and have none."""
    gaps = []
    for name in required:
        missing = _unscored_kinds(executor_output, plan, name)
        if missing or not _filed_for(executor_output, name):
            region = "the whole picture" if same_name(name, GLOBAL) else f"{name} region"
            kinds = f": {', '.join(missing)}" if missing else ""
            gaps.append(Gap("scores", f"Missing tool scores for {region}{kinds}"))
    return gaps


def _unscored_kinds(executor_output: ExecutorOutput, plan: PlannerOutput, name: str) -> list[str]:
    """Kinds whose chosen tool gave no score, and kinds that were asked about and that no tool measured."""
    filed = _filed_for(executor_output, name)
    selected = executor_output.selected_tools or {}
    chosen = next((by_kind for other, by_kind in selected.items() if same_name(name, other)), {})
    failed = [kind for kind, tool in chosen.items() if not _has_score(filed, kind, tool)]
    measured = {key.partition(" (")[0] for key in filed}
    unmeasured = [kind for kind in _asked_kinds(plan, name) if not measured & {kind, OVERALL}]
    found = {entry.type: entry.severity for entry in _analysis_of(executor_output, name)}
    key = [kind for kind in failed if found.get(kind) in KEY_SEVERITIES]
    # What was asked about and is neither measured nor found to be harmless is open.
    return list(dict.fromkeys([*key, *(k for k in unmeasured if found.get(k) not in HARMLESS)]))


def _analysis_of(executor_output: ExecutorOutput, name: str) -> list[DistortionAnalysis]:
    analysis = executor_output.distortion_analysis or {}
    return next((entries for other, entries in analysis.items() if same_name(name, other)), [])


def _filed_for(executor_output: ExecutorOutput, name: str) -> dict[str, tuple[str, float]]:
    """Under the object, or under the whole picture, which stands for an object whose place is not known."""
    own = _scores_of(executor_output, name)
    place_is_known = any(same_name(log.object, name) for log in executor_output.tool_logs)
    return own if place_is_known else {**_scores_of(executor_output, GLOBAL), **own}


def _has_score(filed: Mapping[str, tuple[str, float]], kind: str, tool: str) -> bool:
    return any(by == tool and key in (kind, f"{kind} ({tool})") for key, (by, _) in filed.items())


def find_contradictions(executor_output: ExecutorOutput) -> list[str]:
    """Severe or extreme in the analysis, above 4.0 by measurement, for the same object and distortion."""
    found = []
    for name, entries in (executor_output.distortion_analysis or {}).items():
        scores = _scores_of(executor_output, name)
        for entry in entries:
            tool_and_score = scores.get(entry.type)
            if entry.severity in SERIOUS and tool_and_score and tool_and_score[1] > HIGH_SCORE:
                tool, score = tool_and_score
                claim = f"{entry.severity} {entry.type} but high scores ({tool} {score:.2f}) for {name}"
                found.append(f"Contradictory evidence: {claim}")
    return found


def _scores_of(executor_output: ExecutorOutput, name: str) -> dict[str, tuple[str, float]]:
    scores = executor_output.quality_scores or {}
    return next((by_kind for other, by_kind in scores.items() if same_name(name, other)), {})


def _open_uncertainty(executor_output: ExecutorOutput, required: Sequence[str]) -> list[Gap]:
    """An object about which the analysis says nothing certain at all."""
    gaps = []
    for name, entries in (executor_output.distortion_analysis or {}).items():
        if entries and all(entry.uncertain for entry in entries) and _covered(name, required):
            kinds = ", ".join(entry.type for entry in entries)
            gaps.append(Gap("uncertainty", f"The analysis is uncertain about {kinds} for {name}"))
    return gaps
