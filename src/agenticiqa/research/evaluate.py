"""Everything that one or two result files tell, as data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Generic, TypeVar, get_args

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
from agenticiqa.research.results import EvaluationError, Result, ResultFile, Status, refuse_unknown_score
from agenticiqa.research.statistics import Accuracy, accuracy

Figures = TypeVar("Figures", Agreement, Accuracy)
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
class DatasetReport(Generic[Figures]):
    """Agreement with opinions, or right answers, of one dataset: over all samples and by the values of columns."""

    dataset: str | None
    figures: Figures
    groups: dict[str, dict[str, Figures]]


@dataclass(frozen=True)
class Evaluation:
    """The figures of a result file, each dataset for itself: opinions of two sets are on two scales."""

    file: str
    score: str
    truth: str
    settings: FigureSettings
    counts: Counts
    scores: list[DatasetReport[Agreement]]
    choices: list[DatasetReport[Accuracy]]
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


def _report_dict(report: DatasetReport[Any]) -> dict[str, Any]:
    by = {column: {name: asdict(each) for name, each in groups.items()} for column, groups in report.groups.items()}
    return {"dataset": report.dataset, **asdict(report.figures), "by": by}


def evaluate(
    file: ResultFile, other: ResultFile | None = None, *, settings: FigureSettings = DEFAULTS, by: Sequence[str] = ()
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
            DatasetReport(
                name,
                agreement(results, settings),
                _by_column(results, by or SCORE_GROUPS, lambda part: agreement(part, coarse), least=2),
            )
            for name, results in by_dataset([result for result in judged if result.is_scored])
        ],
        choices=[
            DatasetReport(name, accuracy(results), _by_column(results, by or CHOICE_GROUPS, accuracy, least=1))
            for name, results in by_dataset([result for result in judged if result.is_choice])
        ],
        comparison=compare(file, other, settings) if other else None,
    )


def _by_column(
    results: Sequence[Result], columns: Sequence[str], measure: Callable[[list[Result]], Figures], *, least: int
) -> dict[str, dict[str, Figures]]:
    """The figures of each group, for the columns that divide the results into at least so many."""
    groups = {column: grouped(results, column) for column in columns}
    return {
        column: {name: measure(part) for name, part in parts.items()}
        for column, parts in groups.items()
        if len(parts) >= least
    }
