"""Compare two result files on the samples that both hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from agenticiqa.evaluation.agreement import FigureSettings, cluster_names, why_no_correlation
from agenticiqa.evaluation.results import EvaluationError, Result, ResultFile
from agenticiqa.evaluation.statistics import (
    IntervalEstimate,
    Statistic,
    ZTest,
    bootstrap,
    mcnemar,
    pearson,
    spearman,
    steiger,
)

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ScoreComparison:
    """Correlations of both files over the samples that both scored; ``difference`` is the first minus the second.

    ``note`` says why a correlation is missing.
    """

    dataset: str | None
    common: int
    used: int
    srcc: tuple[float | None, float | None]
    plcc: tuple[float | None, float | None]
    srcc_difference: IntervalEstimate
    plcc_difference: IntervalEstimate
    steiger: ZTest | None
    note: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "common": self.common,
            "used": self.used,
            "srcc": list(self.srcc),
            "plcc": list(self.plcc),
            "srcc_difference": self.srcc_difference.as_dict(),
            "plcc_difference": self.plcc_difference.as_dict(),
            "steiger": {"z": self.steiger.z, "p": self.steiger.p} if self.steiger else None,
            "note": self.note,
        }


@dataclass(frozen=True)
class ChoiceComparison:
    """Right answers over the common questions; a sample without an answer is not right."""

    common: int
    both_right: int
    only_first: int
    only_second: int
    neither: int
    p: float

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class PairedComparison:
    first: str
    second: str
    only_in_first: int
    only_in_second: int
    scores: list[ScoreComparison]
    choices: ChoiceComparison | None

    def as_dict(self) -> dict[str, Any]:
        return {
            "first": self.first,
            "second": self.second,
            "only_in_first": self.only_in_first,
            "only_in_second": self.only_in_second,
            "scores": [score.as_dict() for score in self.scores],
            "choices": self.choices.as_dict() if self.choices else None,
        }


Pair = tuple[Result, Result]


def compare(first: ResultFile, second: ResultFile, settings: FigureSettings | None = None) -> PairedComparison:
    """Both files sample by sample."""
    settings = settings or FigureSettings()
    others = {result.sample_id: result for result in second.results}
    common = [(result, others[result.sample_id]) for result in first.results if result.sample_id in others]
    if not common:
        raise EvaluationError(
            f"{first.path} and {second.path} have no sample in common.", hint="Compare runs over the same manifest."
        )
    for one, other in common:
        if one.truth != other.truth or one.line.get("answer") != other.line.get("answer"):
            raise EvaluationError(
                f"Sample {one.sample_id!r} has another opinion or right answer in {second.path}.",
                hint="Compare runs over the same manifest.",
            )
    return PairedComparison(
        first=f"{first.path} ({first.score})",
        second=f"{second.path} ({second.score})",
        only_in_first=len(first.results) - len(common),
        only_in_second=len(second.results) - len(common),
        scores=_scores(common, settings),
        choices=_choices([pair for pair in common if pair[0].is_choice]),
    )


def _scores(common: Sequence[Pair], settings: FigureSettings) -> list[ScoreComparison]:
    """One comparison a dataset: opinions of different sets are on different scales."""
    by_dataset: dict[str | None, list[Pair]] = {}
    for pair in common:
        if pair[0].is_scored:
            by_dataset.setdefault(pair[0].group("dataset"), []).append(pair)
    return [_compare_scores(name, pairs, settings) for name, pairs in by_dataset.items()]


def _compare_scores(dataset: str | None, pairs: Sequence[Pair], settings: FigureSettings) -> ScoreComparison:
    usable = [(one, other) for one, other in pairs if None not in (one.score, other.score)]
    numbers = [(one.score, other.score, one.truth) for one, other in usable]
    first, second, opinions = np.array(numbers, np.float64).reshape(-1, 3).T
    clusters = cluster_names([one for one, _ in usable], settings.cluster)
    missing = [why_no_correlation(scores, opinions) for scores in (first, second)]

    def difference(statistic: Statistic) -> IntervalEstimate:
        if any(missing):
            return IntervalEstimate(None)
        return bootstrap(statistic, first, second, opinions, resamples=settings.resamples, clusters=clusters)

    plcc = _correlation(pearson, first, opinions), _correlation(pearson, second, opinions)
    between = _correlation(pearson, first, second)
    known = plcc[0] is not None and plcc[1] is not None and between is not None
    return ScoreComparison(
        dataset=dataset,
        common=len(pairs),
        used=len(usable),
        srcc=(_correlation(spearman, first, opinions), _correlation(spearman, second, opinions)),
        plcc=plcc,
        srcc_difference=difference(_difference_of_ranks),
        plcc_difference=difference(_difference),
        steiger=steiger(plcc[0] or 0.0, plcc[1] or 0.0, between or 0.0, len(usable)) if known else None,
        note=_note(*missing),
    )


def _correlation(statistic: Statistic, x: Floats, y: Floats) -> float | None:
    return None if why_no_correlation(x, y) else bootstrap(statistic, x, y, resamples=0).value


def _note(first: str | None, second: str | None) -> str | None:
    if first == second:
        return first
    sides = (("first", first), ("second", second))
    return "; ".join(f"{side} file: {missing}" for side, missing in sides if missing)


def _difference(first: Floats, second: Floats, opinions: Floats, axis: int = -1) -> Floats:
    return np.asarray(pearson(first, opinions, axis) - pearson(second, opinions, axis))


def _difference_of_ranks(first: Floats, second: Floats, opinions: Floats, axis: int = -1) -> Floats:
    return np.asarray(spearman(first, opinions, axis) - spearman(second, opinions, axis))


def _choices(pairs: Sequence[Pair]) -> ChoiceComparison | None:
    if not pairs:
        return None
    right = [(one.correct, other.correct) for one, other in pairs]
    only_first, only_second = right.count((True, False)), right.count((False, True))
    return ChoiceComparison(
        common=len(pairs),
        both_right=right.count((True, True)),
        only_first=only_first,
        only_second=only_second,
        neither=right.count((False, False)),
        p=mcnemar(only_first, only_second),
    )
