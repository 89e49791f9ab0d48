"""What a result file says as a whole: the facts that the page and the Markdown text share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any, get_args

from agenticiqa.evaluation.agreement import FigureSettings, grouped
from agenticiqa.evaluation.evaluate import Evaluation, evaluate
from agenticiqa.evaluation.results import Result, ResultFile, Status

CASES = 4
AGENTS = ("planner", "executor", "summarizer")


@dataclass(frozen=True)
class AgentCost:
    """What one agent took over all samples; money is None when a price is unknown."""

    agent: str
    seconds: float
    calls: int
    tokens: int
    usd: float | None


@dataclass(frozen=True)
class Cell:
    """One kind of distortion at one level, or over all levels."""

    count: int
    score: float | None
    opinion: float | None


@dataclass(frozen=True)
class Case:
    """A sample worth looking at, and why it is shown."""

    result: Result
    why: str


@dataclass(frozen=True)
class BatchReport:
    """Everything a report shows."""

    file: ResultFile
    title: str
    evaluation: Evaluation | None
    scores: list[float]
    agents: list[AgentCost]
    usd: float | None
    heat: dict[str, dict[str, Cell]]
    """Distortion → level → cell; the level ``all`` is always there."""
    cases: dict[str, list[Case]]
    errors: list[Result]
    error_kinds: dict[str, int]

    @property
    def mean_score(self) -> float | None:
        return fmean(self.scores) if self.scores else None

    @property
    def median_score(self) -> float | None:
        return median(self.scores) if self.scores else None

    def as_dict(self) -> dict[str, Any]:
        """The report's facts for other programs; pictures and charts are in the page alone."""
        return {
            "title": self.title,
            "score": self.file.score,
            "samples": len(self.file.results),
            **{status: self.file.count(status) for status in get_args(Status)},
            "mean_score": self.mean_score,
            "median_score": self.median_score,
            "cost_usd": self.usd,
            "errors": self.error_kinds,
            "evaluation": self.evaluation.as_dict() if self.evaluation else None,
        }


def prepare(file: ResultFile, *, title: str | None = None, cases: int = CASES, resamples: int = 1000) -> BatchReport:
    """Collect what the report shows; agreement with people only where the results hold opinions or right answers."""
    judged = any(result.is_scored or result.is_choice for result in file.results)
    answered = [result for result in file.results if result.score is not None]
    errors = [result for result in file.results if result.status == "error"]
    agents = _agents(file.results)
    return BatchReport(
        file=file,
        title=title or f"Quality report: {file.path.name}",
        evaluation=evaluate(file, settings=FigureSettings(resamples=resamples)) if judged else None,
        scores=[result.score for result in answered if result.score is not None],
        agents=agents,
        usd=_sum_or_none(_metadata(result).get("cost_usd") for result in file.results if _metadata(result)),
        heat=_heat(file.results),
        cases=_cases(file.results, answered, cases),
        errors=errors,
        error_kinds=dict(Counter(error_kind(result) for result in errors).most_common()),
    )


def error_kind(result: Result) -> str:
    """The machine-readable name of a failure."""
    return str(_metadata(result).get("error_kind") or result.line.get("error_kind") or "unknown")


def _metadata(result: Result) -> Mapping[str, Any]:
    found = result.line.get("metadata")
    return found if isinstance(found, Mapping) else {}


# --- cost ---


def _agents(results: Iterable[Result]) -> list[AgentCost]:
    metadata = [_metadata(result) for result in results]
    return [cost for cost in (_agent(name, metadata) for name in AGENTS) if cost.seconds or cost.calls]


def _agent(name: str, metadata: list[Mapping[str, Any]]) -> AgentCost:
    calls = [call for each in metadata for call in each.get("call_log") or [] if call.get("role") == name]
    return AgentCost(
        agent=name,
        seconds=sum(float((each.get("timings") or {}).get(name, 0.0)) for each in metadata),
        calls=len(calls),
        tokens=sum(count or 0 for call in calls for count in (call.get("tokens") or {}).values()),
        usd=_sum_or_none(call.get("cost_usd") for call in calls),
    )


def _sum_or_none(values: Iterable[Any]) -> float | None:
    known = list(values)
    return None if not known or None in known else float(sum(known))


# --- distortions ---


def _heat(results: list[Result]) -> dict[str, dict[str, Cell]]:
    kinds = grouped(results, "distortion")
    return {kind: {"all": _cell(own), **_levels(own)} for kind, own in sorted(kinds.items())}


def _levels(results: list[Result]) -> dict[str, Cell]:
    levels = grouped(results, "level")
    return {name: _cell(own) for name, own in sorted(levels.items(), key=lambda item: (len(item[0]), item[0]))}


def _cell(results: list[Result]) -> Cell:
    scores = [result.score for result in results if result.score is not None]
    opinions = [result.truth for result in results if result.truth is not None]
    return Cell(len(results), fmean(scores) if scores else None, fmean(opinions) if opinions else None)


# --- cases ---


def _cases(results: list[Result], answered: list[Result], count: int) -> dict[str, list[Case]]:
    """The best and the worst pictures, and where opinion and score part most."""
    ranked = sorted(answered, key=lambda result: result.score or 0.0)
    found = {
        "Lowest scores": [Case(result, f"score {result.score:.2f}") for result in ranked[:count]],
        # A small batch has each picture once.
        "Highest scores": [Case(result, f"score {result.score:.2f}") for result in ranked[count:][::-1][:count]],
    }
    wrong = [result for result in results if result.is_choice and not result.correct and result.status != "error"]
    if wrong:
        found["Wrong choices"] = [Case(r, f"chose {r.choice or 'nothing'}, right is {r.right}") for r in wrong[:count]]
    apart = _furthest_apart(answered, count)
    if apart:
        found["Furthest from people"] = apart
    return {title: own for title, own in found.items() if own}


def _furthest_apart(answered: list[Result], count: int) -> list[Case]:
    """By the difference of ranks: opinions may be on any scale."""
    both = [result for result in answered if result.truth is not None]
    if len(both) < 3:
        return []
    by_score = {r.sample_id: place for place, r in enumerate(sorted(both, key=lambda r: r.score or 0.0))}
    by_truth = {r.sample_id: place for place, r in enumerate(sorted(both, key=lambda r: r.truth or 0.0))}
    apart = sorted(both, key=lambda r: -abs(by_score[r.sample_id] - by_truth[r.sample_id]))
    return [
        Case(
            r,
            f"rank {by_score[r.sample_id] + 1} of {len(both)} by score, {by_truth[r.sample_id] + 1} by people "
            f"(score {r.score:.2f}, opinion {r.truth:.4g})",
        )
        for r in apart[:count]
        if by_score[r.sample_id] != by_truth[r.sample_id]
    ]
