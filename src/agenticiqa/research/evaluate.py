"""Everything that one or two result files tell, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, get_args

from agenticiqa.research.agreement import (
    DEFAULTS,
    Agreement,
    FigureSettings,
    PairedComparison,
    agreement,
    by_dataset,
    compare,
    grouped,
)
from agenticiqa.research.results import EvaluationError, ResultFile, Status, refuse_unknown_score
from agenticiqa.research.statistics import Accuracy, accuracy

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

    @classmethod
    def of(cls, file: ResultFile) -> Counts:
        unjudged = sum(not (result.is_scored or result.is_choice) for result in file.results)
        by_status = {status: file.count(status) for status in get_args(Status)}
        return cls(len(file.results), **by_status, superseded=file.superseded, torn=file.torn, unjudged=unjudged)


@dataclass(frozen=True)
class ScoreReport:
    """Agreement with the opinions of one dataset, over all samples and by the values of columns."""

    dataset: str | None
    figures: Agreement
    groups: dict[str, dict[str, Agreement]]


@dataclass(frozen=True)
class ChoiceReport:
    """Right answers to the questions of one dataset, over all and by the values of columns."""

    dataset: str | None
    figures: Accuracy
    groups: dict[str, dict[str, Accuracy]]


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
            "settings": asdict(self.settings),
            "counts": asdict(self.counts),
            "scores": [_report_dict(report) for report in self.scores],
            "choices": [_report_dict(report) for report in self.choices],
            "comparison": asdict(self.comparison) if self.comparison else None,
        }


def _report_dict(report: ScoreReport | ChoiceReport) -> dict[str, Any]:
    by = {column: {name: asdict(each) for name, each in groups.items()} for column, groups in report.groups.items()}
    return {"dataset": report.dataset, **asdict(report.figures), "by": by}


def evaluate(
    file: ResultFile,
    other: ResultFile | None = None,
    *,
    settings: FigureSettings = DEFAULTS,
    by: Sequence[str] = (),
) -> Evaluation:
    """Evaluate a file, and compare it with another where one is given.

    ``by`` names columns to group by, instead of those that are usual. Raises EvaluationError where the file has
    nothing to judge by, or not the score or the columns that were asked for.
    """
    judged = [result for result in file.results if result.is_scored or result.is_choice]
    if not judged:
        raise EvaluationError(
            f"No sample of {file.path} has an opinion ({file.truth}) or a right answer (answer).",
            hint="Put them into the manifest; they travel into the results. --truth names another column.",
        )
    refuse_unknown_score(file, judged)
    if other is not None:
        refuse_unknown_score(other, [result for result in other.results if result.is_scored or result.is_choice])
    for column in [*by, *([settings.cluster] if settings.cluster else [])]:
        if all(result.group(column) is None for result in file.results):
            raise EvaluationError(
                f"No line of {file.path} has a column {column!r}.",
                hint="--by and --cluster name a column of the manifest.",
            )
    coarse = replace(settings, resamples=min(settings.resamples, GROUP_RESAMPLES))
    return Evaluation(
        file=str(file.path),
        score=file.score,
        truth=file.truth,
        settings=settings,
        counts=Counts.of(file),
        scores=[
            ScoreReport(
                dataset=name,
                figures=agreement(results, settings),
                groups={
                    column: {group: agreement(part, coarse) for group, part in groups.items()}
                    for column in by or SCORE_GROUPS
                    if len(groups := grouped(results, column)) > 1
                },
            )
            for name, results in by_dataset([result for result in judged if result.is_scored])
        ],
        choices=[
            ChoiceReport(
                dataset=name,
                figures=accuracy(results),
                groups={
                    column: {group: accuracy(part) for group, part in groups.items()}
                    for column in by or CHOICE_GROUPS
                    if (groups := grouped(results, column))
                },
            )
            for name, results in by_dataset([result for result in judged if result.is_choice])
        ],
        comparison=compare(file, other, settings) if other else None,
    )
