"""Everything one or two result files tell, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agenticiqa.evaluation.ablation import Variant, ablate
from agenticiqa.evaluation.accuracy import Accuracy, Confusion, accuracy, confusion
from agenticiqa.evaluation.agreement import Agreement, FigureSettings, agreement, grouped
from agenticiqa.evaluation.like_for_like import Conditions, conditions_of, like_for_like
from agenticiqa.evaluation.paired import PairedComparison, compare
from agenticiqa.evaluation.paper import published_accuracies, published_correlations, source
from agenticiqa.evaluation.results import FUSED, EvaluationError, Result, ResultFile, refuse_unknown_score

SCORE_GROUPS = ("distortion",)
CHOICE_GROUPS = ("task", "question_type", "concern")
# The intervals of many small groups cost more time than they tell.
GROUP_RESAMPLES = 200


@dataclass(frozen=True)
class Counts:
    """What became of every sample of the file."""

    samples: int
    ok: int
    partial: int
    error: int
    superseded: int
    torn: bool
    unjudged: int
    """Samples without an opinion or a right answer to compare with."""

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class ScoreReport:
    dataset: str | None
    figures: Agreement
    conditions: Conditions = field(default_factory=lambda: Conditions("mixed"))
    groups: dict[str, dict[str, Agreement]] = field(default_factory=dict)
    ablations: list[Variant] = field(default_factory=list)


@dataclass(frozen=True)
class ChoiceReport:
    dataset: str | None
    figures: Accuracy
    groups: dict[str, dict[str, Accuracy]]
    confusion: Confusion | None
    conditions: Conditions = field(default_factory=lambda: Conditions("mixed"))


@dataclass(frozen=True)
class Evaluation:
    """The figures of a result file, each dataset for itself: opinions of two sets are on two scales."""

    file: str
    score: str
    truth: str
    settings: FigureSettings
    counts: Counts
    scores: list[ScoreReport]
    choices: list[ChoiceReport]
    comparison: PairedComparison | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "file": self.file,
            "score": self.score,
            "truth": self.truth,
            "settings": dict(vars(self.settings)),
            "counts": self.counts.as_dict(),
            "scores": [_score_dict(report) for report in self.scores],
            "choices": [_choice_dict(report) for report in self.choices],
            "comparison": self.comparison.as_dict() if self.comparison else None,
        }


def evaluate(
    file: ResultFile,
    other: ResultFile | None = None,
    *,
    settings: FigureSettings | None = None,
    by: Sequence[str] = (),
    ablations: Sequence[str] = (),
    dataset: str | None = None,
) -> Evaluation:
    """Evaluate a file, and compare it with another where one is given.

    ``by`` names columns to group by, instead of those that are usual; ``dataset`` names the set where the lines do
    not carry it.
    """
    settings = settings or FigureSettings()
    judged = [result for result in file.results if result.is_scored or result.is_choice]
    if not judged:
        raise EvaluationError(
            f"No sample of {file.path} has an opinion ({file.truth}) or a right answer (answer).",
            hint="Put them into the manifest; they travel into the results. --truth names another column.",
        )
    refuse_unknown_score(file, judged)
    if other is not None:
        refuse_unknown_score(other, [result for result in other.results if result.is_scored or result.is_choice])
    _check_columns(file, [*by, *([settings.cluster] if settings.cluster else [])])
    return Evaluation(
        file=str(file.path),
        score=file.score,
        truth=file.truth,
        settings=settings,
        counts=_counts(file, len(judged)),
        scores=[
            replace(
                _score_report(name, results, settings, by or SCORE_GROUPS, ablations),
                conditions=conditions_of(results, file.score),
            )
            for name, results in _by_dataset([result for result in judged if result.is_scored], dataset)
        ],
        choices=[
            replace(_choice_report(name, results, by or CHOICE_GROUPS), conditions=conditions_of(results, FUSED))
            for name, results in _by_dataset([result for result in judged if result.is_choice], dataset)
        ],
        comparison=compare(file, other, settings) if other else None,
    )


def _check_columns(file: ResultFile, by: Sequence[str]) -> None:
    for column in by:
        if all(result.group(column) is None for result in file.results):
            raise EvaluationError(
                f"No line of {file.path} has a column {column!r}.",
                hint="--by and --cluster name a column of the manifest.",
            )


def _counts(file: ResultFile, judged: int) -> Counts:
    return Counts(
        samples=len(file.results),
        ok=file.count("ok"),
        partial=file.count("partial"),
        error=file.count("error"),
        superseded=file.superseded,
        torn=file.torn,
        unjudged=len(file.results) - judged,
    )


def _by_dataset(results: Sequence[Result], dataset: str | None) -> list[tuple[str | None, list[Result]]]:
    parts: dict[str | None, list[Result]] = {}
    for result in results:
        parts.setdefault(result.group("dataset") or dataset, []).append(result)
    return list(parts.items())


def _score_report(
    dataset: str | None, results: list[Result], settings: FigureSettings, by: Sequence[str], ablations: Sequence[str]
) -> ScoreReport:
    coarse = replace(settings, resamples=min(settings.resamples, GROUP_RESAMPLES))
    return ScoreReport(
        dataset=dataset,
        figures=agreement(results, settings),
        groups={
            column: {name: agreement(part, coarse) for name, part in groups.items()}
            for column in by
            if len(groups := grouped(results, column)) > 1
        },
        ablations=ablate(results, ablations, settings) if ablations else [],
    )


def _choice_report(dataset: str | None, results: list[Result], by: Sequence[str]) -> ChoiceReport:
    return ChoiceReport(
        dataset=dataset,
        figures=accuracy(results),
        groups={
            column: {name: accuracy(part) for name, part in groups.items()}
            for column in by
            if (groups := grouped(results, column))
        },
        confusion=confusion(results),
    )


def _score_dict(report: ScoreReport) -> dict[str, Any]:
    return {
        "dataset": report.dataset,
        "conditions": str(report.conditions),
        **report.figures.as_dict(),
        "by": {
            column: {name: figures.as_dict() for name, figures in groups.items()}
            for column, groups in report.groups.items()
        },
        "ablations": [variant.as_dict() for variant in report.ablations],
        "published": {
            "source": source(),
            "rows": [
                {**vars(row), "like_for_like": like_for_like(row.method, report.conditions)[0]}
                for row in published_correlations(report.dataset)
            ],
        },
    }


def _choice_dict(report: ChoiceReport) -> dict[str, Any]:
    return {
        "dataset": report.dataset,
        "conditions": str(report.conditions),
        **report.figures.as_dict(),
        "by": {
            column: {name: figures.as_dict() for name, figures in groups.items()}
            for column, groups in report.groups.items()
        },
        "confusion": report.confusion.as_dict() if report.confusion else None,
        "published": {
            "source": source(),
            "rows": published_accuracies(report.dataset),
            "like_for_like": [
                method for method in published_accuracies(report.dataset) if like_for_like(method, report.conditions)[0]
            ],
        },
    }
