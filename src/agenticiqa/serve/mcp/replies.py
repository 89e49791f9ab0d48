"""What the tools reply: the fields another program reads, beside the text that a model reads."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from agenticiqa.api.comparison import Comparison
from agenticiqa.api.measure import Record
from agenticiqa.nodes.results import Assessment, Status
from agenticiqa.state import ScoreConflict
from agenticiqa.tools.registry import ToolRegistry

RUN_URI = "agenticiqa://runs/{run_id}"


class FindingReply(BaseModel):
    """One distortion in one part of the picture."""

    object: str
    distortion: str
    severity: str
    explanation: str


class Score(BaseModel):
    """One tool's score: as the tool gives it, and on the common scale."""

    tool: str
    raw: float | None = None
    calibrated: float | None = Field(None, description="1 (bad) to 5 (excellent)")
    higher_is_better: bool | None = Field(None, description="of the raw score")
    error: str | None = None


class AssessReply(BaseModel):
    """The answer about one picture and what it rests on."""

    status: Status
    answer: str
    quality_score: float | None = Field(None, description="1 (bad) to 5 (excellent); rating questions only")
    conflict: ScoreConflict | None = Field(None, description="tools and model contradict each other")
    reasoning: str
    advice: list[str] = Field(default_factory=list, description="what to do about it, what matters most first")
    findings: list[FindingReply]
    scores: list[Score]
    run_id: str
    notes: list[str] = Field(default_factory=list)


class MeasureReply(BaseModel):
    """Scores of one picture."""

    scores: list[Score]


class CompareReply(BaseModel):
    """Which of two pictures is better."""

    status: Status
    winner: str = Field(description="A, B or tie")
    confidence: float | None = Field(None, description="chance that people agree")
    verdict: str
    reasons: list[str]
    score_a: float | None = None
    score_b: float | None = None


class ToolFacts(BaseModel):
    """A measuring tool and whether it runs here."""

    name: str
    type: str
    available: bool
    about: str


class ToolsReply(BaseModel):
    """Every measuring tool known here."""

    tools: list[ToolFacts]


def assess_reply(result: Assessment) -> AssessReply:
    """Of a result that has an answer."""
    evidence = result.executor_evidence
    findings = [
        FindingReply(object=name, distortion=entry.type, severity=entry.severity, explanation=entry.explanation)
        for name, entries in ((evidence and evidence.distortion_analysis) or {}).items()
        for entry in entries
    ]
    scores = [
        Score(tool=log.tool, raw=log.raw_score, calibrated=log.calibrated_score, error=log.error)
        for log in (evidence.tool_logs if evidence else [])
    ]
    return AssessReply(
        status=result.status,
        answer=result.answer,
        quality_score=result.score,
        conflict=result.conflict,
        reasoning=result.reasoning,
        advice=[each.do for each in result.advice],
        findings=findings,
        scores=scores,
        run_id=str(result.metadata.get("run_id", "")),
        notes=list(evidence.errors) if evidence else [],
    )


def measure_reply(records: list[Record]) -> MeasureReply:
    return MeasureReply(
        scores=[
            Score(
                tool=record.tool,
                raw=record.raw,
                calibrated=record.calibrated,
                higher_is_better=record.higher_is_better,
                error=record.error,
            )
            for record in records
        ]
    )


def compare_reply(found: Comparison) -> CompareReply:
    """Of a comparison that has a verdict."""
    return CompareReply(
        status=found.status,
        winner=str(found.winner),
        confidence=found.confidence,
        verdict=found.verdict,
        reasons=[*found.reasons, *found.notes],
        score_a=found.score_a,
        score_b=found.score_b,
    )


def tools_reply(registry: ToolRegistry) -> ToolsReply:
    here = [ToolFacts(name=tool.name, type=tool.type, available=True, about=tool.describe()) for tool in registry.all()]
    missing = [
        ToolFacts(name=name, type="unknown", available=False, about=reason)
        for name, reason in sorted(registry.unavailable.items())
    ]
    return ToolsReply(tools=[*here, *missing])


def answer_text(reply: AssessReply) -> str:
    """The scores as text, for the model that asked."""
    score = "" if reply.quality_score is None else f" (score {reply.quality_score:.2f} of 5)"
    if reply.conflict:
        score = f" (conflict: {reply.conflict}, of 5)"
    notes = "".join(f"\nNote: {note}" for note in reply.notes)
    return f"Answer: {reply.answer}{score}. Status: {reply.status}.\n{reply.reasoning}{notes}"


def scores_text(reply: MeasureReply) -> str:
    return "\n".join(map(_score_line, reply.scores))


def _score_line(score: Score) -> str:
    if score.error or score.raw is None:
        return f"{score.tool}: failed, {score.error}"
    common = "" if score.calibrated is None else f", {score.calibrated:.2f} of 5"
    direction = (
        "" if score.higher_is_better is None else f" ({'higher' if score.higher_is_better else 'lower'} is better)"
    )
    return f"{score.tool}: {score.raw:.5g}{direction}{common}"


def verdict_text(reply: CompareReply) -> str:
    return "\n".join([reply.verdict, *(f"- {reason}" for reason in reply.reasons)])


def dumped(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json")
