"""Everything that one or two result files tell, as data; and which published row was got the way they were."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from agenticiqa.research.ablation import Variant, ablate
from agenticiqa.research.agreement import Agreement, FigureSettings, PairedComparison, agreement, compare, grouped
from agenticiqa.research.published import method_of, published_accuracies, published_correlations, source
from agenticiqa.research.results import (
    FUSED,
    RAW_PREFIX,
    TOOL_PREFIX,
    EvaluationError,
    Result,
    ResultFile,
    refuse_unknown_score,
)
from agenticiqa.research.statistics import Accuracy, Confusion, accuracy, confusion
from agenticiqa.tools.catalogue import tool_key

Kind = Literal["agents", "ablation", "direct", "metric", "people", "mixed"]

_SAID: dict[str, str] = {
    "agents": "no: all agents",
    "direct": "no: the model alone",
    "metric": "no: one metric",
    "people": "no: people",
}


@dataclass(frozen=True)
class Conditions:
    """How the answers of a result file came about. ``name`` is the tool of a metric; ``models`` those that answered."""

    kind: Kind
    models: frozenset[str] = frozenset()
    name: str = ""
    without: tuple[str, ...] = ()

    def __str__(self) -> str:
        """In words.

        >>> str(Conditions("direct", frozenset({"openai.gpt-4o"})))
        'the model alone (openai.gpt-4o)'
        """
        models = f" ({', '.join(sorted(self.models))})" if self.models else ""
        return {
            "agents": f"agents{models}",
            "ablation": f"agents without {', '.join(self.without)}{models}",
            "direct": f"the model alone{models}",
            "metric": f"{self.name} alone",
            "people": "people",
            "mixed": "lines that came about in different ways",
        }[self.kind]


def conditions_of(results: Iterable[Result], score: str) -> Conditions:
    """Of the answered lines; a tool's own score is that metric, whatever else a line holds."""
    for prefix in (TOOL_PREFIX, RAW_PREFIX):
        if score.startswith(prefix):
            return Conditions("metric", name=score.removeprefix(prefix))
    answered = [result.line for result in results if result.status != "error"]
    found = {(kind, without) for kind, without, _ in map(_way, answered)}
    if len(found) != 1:
        return Conditions("mixed")
    kind, without = found.pop()
    return Conditions(kind, frozenset().union(*(models for _, _, models in map(_way, answered))), without=without)


def _way(line: Mapping[str, Any]) -> tuple[Kind, tuple[str, ...], frozenset[str]]:
    about = line.get("metadata") or {}
    backends = about.get("backend")
    models = (
        frozenset(str(name) for name in backends.values() if name) if isinstance(backends, Mapping) else frozenset()
    )
    # Results of earlier versions do not say, and had only agents.
    if about.get("mode") == "direct":
        return "direct", (), models
    without = about.get("without")
    parts = tuple(map(str, without)) if isinstance(without, list) else ()
    return ("ablation" if parts else "agents"), parts, models


def same_conditions(method: str, ours: Conditions) -> tuple[bool, str]:
    """Whether a published row was got as ours was, and in a few words why not.

    >>> same_conditions("GPT-4o", Conditions("direct", frozenset({"openai.gpt-4o"})))
    (True, 'yes')
    >>> same_conditions("GPT-4o", Conditions("agents", frozenset({"openai.gpt-4o"})))
    (False, 'no: the model alone')
    >>> same_conditions("AgenticIQA (GPT-4o)", Conditions("agents", frozenset({"embedded"})))
    (False, 'no: another model')
    """
    row = method_of(method)
    if row.kind != ours.kind:
        return False, _SAID[row.kind]
    if row.kind == "metric":
        same = tool_key(row.tool or method) == tool_key(ours.name)
        return same, "yes" if same else "no: another metric"
    if not ours.models or not all(_is_model(name, row.model) for name in ours.models):
        return False, "no: another model"
    # Whose weights a local model has is not known here.
    return (False, "the same model, there fine-tuned") if row.tuned else (True, "yes")


def _is_model(backend: str, model: str) -> bool:
    """A dated or sized version (gpt-4o-2024-08-06, Qwen2.5-VL-7B) is the model; gpt-4o-mini is not.

    >>> _is_model("openai.gpt-4o-2024-08-06", "gpt-4o"), _is_model("openai.gpt-4o-mini", "gpt-4o")
    (True, False)
    """
    name = backend.casefold().rpartition("/")[2].removeprefix("openai.").removeprefix("compatible.")
    rest = name.removeprefix(model)
    return rest != name and (not rest or (rest[0] == "-" and (rest[1:2].isdigit() or rest == "-local")))


# --- Everything one or two result files tell, as data ---


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


@dataclass(frozen=True)
class ScoreReport:
    dataset: str | None
    conditions: Conditions
    figures: Agreement
    groups: dict[str, dict[str, Agreement]]
    ablations: list[Variant]


@dataclass(frozen=True)
class ChoiceReport:
    dataset: str | None
    conditions: Conditions
    figures: Accuracy
    groups: dict[str, dict[str, Accuracy]]
    confusion: Confusion | None


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
            "scores": [_score_dict(report) for report in self.scores],
            "choices": [_choice_dict(report) for report in self.choices],
            "comparison": asdict(self.comparison) if self.comparison else None,
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
        counts=Counts(
            samples=len(file.results),
            ok=file.count("ok"),
            partial=file.count("partial"),
            error=file.count("error"),
            superseded=file.superseded,
            torn=file.torn,
            unjudged=len(file.results) - len(judged),
        ),
        scores=[
            ScoreReport(
                dataset=name,
                conditions=conditions_of(results, file.score),
                figures=agreement(results, settings),
                groups=_score_groups(results, settings, by or SCORE_GROUPS),
                ablations=ablate(results, ablations, settings) if ablations else [],
            )
            for name, results in _by_dataset([result for result in judged if result.is_scored], dataset)
        ],
        choices=[
            ChoiceReport(
                dataset=name,
                conditions=conditions_of(results, FUSED),
                figures=accuracy(results),
                groups={
                    column: {group: accuracy(part) for group, part in groups.items()}
                    for column in by or CHOICE_GROUPS
                    if (groups := grouped(results, column))
                },
                confusion=confusion(results),
            )
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


def _by_dataset(results: Sequence[Result], dataset: str | None) -> list[tuple[str | None, list[Result]]]:
    parts: dict[str | None, list[Result]] = {}
    for result in results:
        parts.setdefault(result.group("dataset") or dataset, []).append(result)
    return list(parts.items())


def _score_groups(
    results: list[Result], settings: FigureSettings, by: Sequence[str]
) -> dict[str, dict[str, Agreement]]:
    coarse = replace(settings, resamples=min(settings.resamples, GROUP_RESAMPLES))
    return {
        column: {name: agreement(part, coarse) for name, part in groups.items()}
        for column in by
        if len(groups := grouped(results, column)) > 1
    }


def _score_dict(report: ScoreReport) -> dict[str, Any]:
    rows = published_correlations(report.dataset)
    return {
        "dataset": report.dataset,
        "conditions": str(report.conditions),
        **asdict(report.figures),
        "by": {
            column: {name: asdict(figures) for name, figures in groups.items()}
            for column, groups in report.groups.items()
        },
        "ablations": [asdict(variant) for variant in report.ablations],
        "published": {
            "source": source(),
            "rows": [
                {**vars(row), "same_conditions": same_conditions(row.method, report.conditions)[0]} for row in rows
            ],
        },
    }


def _choice_dict(report: ChoiceReport) -> dict[str, Any]:
    rows = published_accuracies(report.dataset)
    return {
        "dataset": report.dataset,
        "conditions": str(report.conditions),
        **report.figures.as_dict(),
        "by": {
            column: {name: figures.as_dict() for name, figures in groups.items()}
            for column, groups in report.groups.items()
        },
        "confusion": asdict(report.confusion) if report.confusion else None,
        "published": {
            "source": source(),
            "rows": rows,
            "same_conditions": [method for method in rows if same_conditions(method, report.conditions)[0]],
        },
    }
