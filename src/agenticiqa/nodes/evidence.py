"""Whether evidence suffices (only a clear gap in what was planned is worth a replan), and regions a plan must cover."""

import logging
import re
from collections.abc import Mapping, Sequence

from agenticiqa.pictures.regions import find_region, without_article
from agenticiqa.state import ExecutorOutput, Gap, PlannerOutput
from agenticiqa.vocabulary import CATEGORIES, GLOBAL, OVERALL, find_by_name, same_name

logger = logging.getLogger(__name__)

HIGH_SCORE = 4.0
SERIOUS = ("severe", "extreme")
KEY_SEVERITIES = ("moderate", *SERIOUS)
HARMLESS = ("none", "slight")


def should_replan(
    executor_output: ExecutorOutput, query_scope: Sequence[str] | str, plan: PlannerOutput | None = None
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


def _analysis_gaps(executor_output: ExecutorOutput, required: Sequence[str], *, absent_counts: bool) -> list[Gap]:
    analysis = executor_output.distortion_analysis
    if not analysis and not absent_counts:
        return []
    missing = sorted({name for name in required if find_by_name(analysis, name) is None})
    return [Gap("analysis", f"Missing analysis for {{{', '.join(map(repr, missing))}}}")] if missing else []


def _no_scores(executor_output: ExecutorOutput) -> list[Gap]:
    return [] if any((executor_output.quality_scores or {}).values()) else [Gap("scores", "No tool scores available")]


def _asked_kinds(plan: PlannerOutput, name: str) -> list[str]:
    """The categories that the question names for an object: the evidence must be about these."""
    kinds = find_by_name(plan.distortions, name)
    if kinds is None:
        kinds = (plan.distortions or {}).get(GLOBAL, [])
    # What lies outside the vocabulary has as many spellings as models.
    return [kind for kind in kinds if kind in CATEGORIES]


def _unanalysed(executor_output: ExecutorOutput, required: Sequence[str], plan: PlannerOutput) -> list[Gap]:
    """Objects that were analysed for anything but what was asked about them."""
    gaps = []
    for name in required:
        asked = _asked_kinds(plan, name)
        found = {entry.type for entry in find_by_name(executor_output.distortion_analysis, name) or []}
        if asked and found and not found & set(asked):
            gaps.append(Gap("analysis", f"Missing analysis of {', '.join(asked)} for {{{name!r}}}"))
    return gaps


def _unscored(executor_output: ExecutorOutput, required: Sequence[str], plan: PlannerOutput) -> list[Gap]:
    """Objects of the scope without any score, and distortions there that matter and have none."""
    gaps = []
    for name in required:
        filed = _scores_about(executor_output, name)
        missing = _unscored_kinds(executor_output, plan, name, filed)
        if missing or not filed:
            region = "the whole picture" if same_name(name, GLOBAL) else f"{name} region"
            kinds = f": {', '.join(missing)}" if missing else ""
            gaps.append(Gap("scores", f"Missing tool scores for {region}{kinds}"))
    return gaps


def _scores_about(executor_output: ExecutorOutput, name: str) -> dict[str, tuple[str, float]]:
    """Scores filed under the object, and under the whole picture, which stands for objects of unknown places."""
    filed = find_by_name(executor_output.quality_scores, name) or {}
    if any(same_name(log.object, name) for log in executor_output.tool_logs):
        return dict(filed)
    return {**(find_by_name(executor_output.quality_scores, GLOBAL) or {}), **filed}


def _unscored_kinds(
    executor_output: ExecutorOutput, plan: PlannerOutput, name: str, filed: Mapping[str, tuple[str, float]]
) -> list[str]:
    """Kinds whose chosen tool gave no score, and kinds that were asked about and that no tool measured."""
    by_tool = {(key, tool) for key, (tool, _) in filed.items()}
    chosen = find_by_name(executor_output.selected_tools, name) or {}
    failed = [k for k, tool in chosen.items() if not by_tool & {(k, tool), (f"{k} ({tool})", tool)}]
    measured = {key.partition(" (")[0] for key in filed}
    unmeasured = [kind for kind in _asked_kinds(plan, name) if not measured & {kind, OVERALL}]
    entries = find_by_name(executor_output.distortion_analysis, name) or []
    found = {entry.type: entry.severity for entry in entries}
    key = [kind for kind in failed if found.get(kind) in KEY_SEVERITIES]
    # What was asked about and is neither measured nor found to be harmless is open.
    return list(dict.fromkeys([*key, *(k for k in unmeasured if found.get(k) not in HARMLESS)]))


def find_contradictions(executor_output: ExecutorOutput) -> list[str]:
    """Severe or extreme in the analysis, above 4.0 by measurement, for the same object and distortion.

    A distortion that no tool measured is held against the overall scores; an object whose place is not known, against
    those of the whole picture.
    """
    found = []
    for name, entries in (executor_output.distortion_analysis or {}).items():
        scores = _scores_about(executor_output, name)
        elsewhere = not same_name(name, GLOBAL) and find_by_name(executor_output.quality_scores, name) is None
        for entry in (entry for entry in entries if entry.severity in SERIOUS):
            measured = _scores_of(scores, entry.type) or _scores_of(scores, OVERALL)
            high = ", ".join(f"{tool} {score:.2f}" for tool, score in measured if score > HIGH_SCORE)
            if high:
                where = f"{name}, measured on the whole picture" if elsewhere else name
                found.append(
                    f"Contradictory evidence: {entry.severity} {entry.type} but high scores ({high}) for {where}"
                )
    return found


def _scores_of(scores: Mapping[str, tuple[str, float]], kind: str) -> list[tuple[str, float]]:
    """Those of one distortion; a second tool's stand under a key with its name."""
    return [score for key, score in scores.items() if key.partition(" (")[0] == kind]


def _open_uncertainty(executor_output: ExecutorOutput, required: Sequence[str]) -> list[Gap]:
    """Objects about which the analysis says nothing certain at all."""
    gaps = []
    for name, entries in (executor_output.distortion_analysis or {}).items():
        if entries and all(entry.uncertain for entry in entries) and any(same_name(name, each) for each in required):
            kinds = ", ".join(entry.type for entry in entries)
            gaps.append(Gap("uncertainty", f"The analysis is uncertain about {kinds} for {name}"))
    return gaps


# --- regions that the user gave and the question names ---

Regions = Mapping[str, Sequence[int]]

_LEFT_OUT = (
    r"(?:ignor\w+|except(?:\s+for)?|exclud\w+|disregard\w*|without|outside(?:\s+of)?|besides|apart\s+from|"
    r"other\s+than|not)\s+(?:(?:the|a|an|this|that|my)\s+)?$"
)
_WHOLE = re.compile(r"\b(?:image|picture|photo|photograph|shot|frame|whole|overall|entire|entirely)s?\b", re.IGNORECASE)
_PREPOSITIONS = frozenset({
    "of", "on", "in", "at", "by", "near", "behind", "beside", "under", "over", "above", "below", "with", "without",
    "around", "next", "to", "from",
})  # fmt: skip


def enforce_regions(
    plan: PlannerOutput, question: str, regions: Regions | None, *, keep_switches: bool
) -> PlannerOutput:
    """The plan with every given region that the question names in its scope.

    One region alone is also meant by a question that names nothing at all ("Is it sharp?"). ``keep_switches`` is for
    replans, whose switches may differ from the rules.
    """
    wanted = named_regions(question, regions or {}) or _only_one(plan, question, regions or {})
    covered = {name for name in wanted for each in plan.scope_names if find_region(each, {name: (0, 0, 1, 1)})}
    missing = [name for name in wanted if name not in covered]
    if not missing:
        return plan
    logger.info("Plan corrected: the question is about the given region %s", ", ".join(map(repr, missing)))
    for name in missing:
        plan = _with_region(plan, name, question)
    if keep_switches or plan.query_type == "Other":
        return plan
    switches = {"tool_selection": False, "tool_execution": bool(plan.named_tools)}
    return plan.model_copy(update={"plan": plan.plan.model_copy(update=switches)})


def named_regions(question: str, regions: Regions) -> list[str]:
    """Those whose names stand in the question and are not to be left out, in its order.

    >>> named_regions("Is the spot sharper than my cat?", {"cat": [0, 0, 9, 9], "Spot": [9, 9, 9, 9], "at": []})
    ['Spot', 'cat']
    >>> named_regions("Ignoring the sky, is it sharp?", {"sky": [0, 0, 9, 9]})
    []
    """
    places = {name: _place(name, question) for name in regions}
    return sorted((name for name, at in places.items() if at is not None), key=lambda name: places[name] or 0)


def _place(name: str, question: str) -> int | None:
    words = r"\s+".join(map(re.escape, without_article(name).split()))
    if not words:
        return None
    for match in re.finditer(rf"(?<!\w){words}(?!\w)", question, re.IGNORECASE):
        if not re.search(_LEFT_OUT, question[: match.start()], re.IGNORECASE):
            return match.start()
    return None


def _only_one(plan: PlannerOutput, question: str, regions: Regions) -> list[str]:
    """The one region there is, where neither it nor anything else is named."""
    if len(regions) != 1 or plan.scope_names != [GLOBAL] or _WHOLE.search(question):
        return []
    return [name for name in regions if without_article(name) not in question.casefold()]


def _with_region(plan: PlannerOutput, name: str, question: str) -> PlannerOutput:
    scope = [each for each in plan.scope_names if each != GLOBAL]
    same = [each for each in scope if _is_more_specific(each, name)]
    replaced = same if len(same) == 1 else [] if scope else [GLOBAL]
    distortions = dict(plan.distortions or {})
    said_of_others = list(dict.fromkeys(kind for kinds in distortions.values() for kind in kinds))
    kinds = distortions.get(replaced[0], []) if replaced else said_of_others
    if kinds:
        distortions = {key: value for key, value in distortions.items() if key not in replaced} | {name: kinds}
    names = [each for each in scope if each not in replaced] + [name]
    # In the order of the question; what it does not name comes last.
    places = {each: question.casefold().find(without_article(each)) for each in names}
    names.sort(key=lambda each: places[each] if places[each] >= 0 else len(question))
    return plan.model_copy(update={"query_scope": names, "distortions": distortions or None})


def _is_more_specific(longer: str, name: str) -> bool:
    """ "purple flowers" are the region "flowers"; "the edge of the flowers" is something else."""
    before, found, after = without_article(longer).rpartition(f" {without_article(name)}")
    return bool(found) and not after and not _PREPOSITIONS & set(before.split())
