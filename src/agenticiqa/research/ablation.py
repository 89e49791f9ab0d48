"""What the parts of the pipeline contribute, as far as stored results can tell.

A stored line keeps the tool scores, the weights α made of them, the model's level probabilities p, and the fused
score. From these the score without one side is computed exactly. What a model would have said without ever seeing the
tool scores, or what the first pass of a replanned run had answered, is not in the file: such an ablation says so and
how to run it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agenticiqa.answers import parse_level
from agenticiqa.research.agreement import Agreement, FigureSettings, agreement
from agenticiqa.research.results import EvaluationError, Result, fusion_in

ABLATIONS = ("fusion", "tools", "replan")
Rescore = Callable[[Mapping[str, Any]], float | None]


@dataclass(frozen=True)
class Variant:
    """One re-scored version of the results. ``lacking`` answered samples hold too little to re-score."""

    ablation: str
    name: str
    figures: Agreement | None
    lacking: int
    note: str | None = None


def ablate(results: Sequence[Result], wanted: Sequence[str], settings: FigureSettings | None = None) -> list[Variant]:
    """The variants of the wanted ablations, beside the results as they are."""
    unknown = [name for name in wanted if name not in ABLATIONS]
    if unknown:
        raise EvaluationError(
            f"There is no ablation {', '.join(map(repr, unknown))}.", hint=f"Choose from {', '.join(ABLATIONS)}."
        )
    scored = [result for result in results if result.is_scored]
    settings = settings or FigureSettings()
    variants = [Variant("as stored", "fused score", agreement(scored, settings), 0)]
    for name in dict.fromkeys(wanted):
        variants += _VARIANTS[name](scored, settings)
    return variants


# --- the stored pieces -----------------------------------------------------------------------------------


def tools_only(line: Mapping[str, Any]) -> float | None:
    """The mean of the calibrated tool scores.

    >>> tools_only({"summarizer_result": {"used_evidence": {"fusion": {"tool_mean": 2.5}}}})
    2.5
    """
    mean = fusion_in(line).get("tool_mean")
    return float(mean) if isinstance(mean, (int, float)) else None


def model_only(line: Mapping[str, Any]) -> float | None:
    """The expected level of the model's probabilities."""
    p = fusion_in(line).get("p")
    return sum(int(level) * float(share) for level, share in p.items()) if p else None


def printed_formula(line: Mapping[str, Any]) -> float | None:
    """The fusion as the paper prints it, not normalised, over the stored α and p."""
    alpha, p = fusion_in(line).get("alpha"), fusion_in(line).get("p")
    if not alpha or not p:
        return None
    return sum(int(level) * float(alpha[level]) * float(p[level]) for level in alpha if level in p)


def model_letter(line: Mapping[str, Any]) -> float | None:
    """The level of the model's own letter, without probabilities."""
    answer = (line.get("summarizer_result") or {}).get("final_answer")
    level = parse_level(answer) if isinstance(answer, str) else None
    return None if level is None else float(level)


# --- variants --------------------------------------------------------------------------------------------


def _rescored(
    ablation: str,
    name: str,
    results: Sequence[Result],
    rescore: Rescore,
    settings: FigureSettings,
    note: str | None = None,
) -> Variant:
    """Only answered samples are re-scored: a failed run keeps having no score."""
    new = [replace(result, score=None if result.score is None else rescore(result.line)) for result in results]
    lacking = sum(old.score is not None and fresh.score is None for old, fresh in zip(results, new, strict=True))
    if all(result.score is None for result in new):
        return Variant(ablation, name, None, lacking, "the file does not hold what this needs")
    return Variant(ablation, name, agreement(new, settings), lacking, note)


def _without_fusion(results: Sequence[Result], settings: FigureSettings) -> list[Variant]:
    bare = sum(fusion_in(result.line).get("p_source") == "classification" for result in results)
    spread = f"{bare} samples have no real probabilities: p was spread around the model's letter" if bare else None
    return [
        _rescored("fusion", "tool mean only", results, tools_only, settings),
        _rescored("fusion", "model probabilities only", results, model_only, settings, spread),
        _rescored("fusion", "model's letter only", results, model_letter, settings),
        _rescored("fusion", "printed formula, not normalised", results, printed_formula, settings),
    ]


def _without_tools(results: Sequence[Result], settings: FigureSettings) -> list[Variant]:
    saw_tools = sum(bool(fusion_in(result.line).get("tool_scores")) for result in results)
    note = None
    if saw_tools:
        note = (
            f"in {saw_tools} samples the model had read the tool scores before it answered; what it says without them "
            "only a new run with --without tools tells"
        )
    return [_rescored("tools", "without tool scores", results, model_only, settings, note)]


def _first_pass(results: Sequence[Result], settings: FigureSettings) -> list[Variant]:
    replanned = sum(_replans(result.line) > 0 for result in results)
    if not replanned:
        return [Variant("replan", "first pass only", agreement(results, settings), 0, "no sample was planned again")]
    kept = [replace(result, score=None if _replans(result.line) > 0 else result.score) for result in results]
    note = (
        f"{replanned} samples were planned again and their first answer is not stored, so they are left out; run "
        "`agenticiqa batch` anew with --without replan and compare the two files"
    )
    return [Variant("replan", "first pass only", agreement(kept, settings), replanned, note)]


def _replans(line: Mapping[str, Any]) -> int:
    count = (line.get("metadata") or {}).get("replans")
    return count if isinstance(count, int) else len(line.get("replan_history") or [])


_VARIANTS: dict[str, Callable[[Sequence[Result], FigureSettings], list[Variant]]] = {
    "fusion": _without_fusion,
    "tools": _without_tools,
    "replan": _first_pass,
}
