"""Agreement of predicted scores with people's opinion, over all samples and in groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from agenticiqa.evaluation.logistic_fit import FEWEST_SAMPLES, Parameters, fit_logistic
from agenticiqa.evaluation.results import Result
from agenticiqa.evaluation.statistics import (
    DEFAULT_RESAMPLES,
    IntervalEstimate,
    Statistic,
    bootstrap,
    kendall,
    pearson,
    root_mean_square,
    spearman,
)

Floats = npt.NDArray[np.float64]
WORST_SCORE = 1.0

# Of four samples, scores drawn at random have a rank correlation of +1 or -1 once in twelve times: no order of so few
# could be told from chance at the usual 5 %. Of five it is once in sixty.
FEWEST_FOR_CORRELATION = 5


@dataclass(frozen=True)
class FigureSettings:
    """How figures are computed."""

    parameters: Parameters = 5
    resamples: int = DEFAULT_RESAMPLES
    failed_as_worst: bool = False
    """Give samples without a score the worst one instead of leaving them out of the figures."""
    cluster: str | None = None
    """A column whose values are drawn as wholes for intervals, such as ``reference_path``."""


@dataclass(frozen=True)
class Agreement:
    """``used`` of ``asked`` samples entered the figures; the others have no score."""

    asked: int
    used: int
    srcc: IntervalEstimate
    plcc: IntervalEstimate
    krcc: IntervalEstimate
    plcc_fitted: IntervalEstimate
    rmse_fitted: IntervalEstimate
    fit: tuple[float, ...] | None
    note: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "asked": self.asked,
            "used": self.used,
            "srcc": self.srcc.as_dict(),
            "plcc": self.plcc.as_dict(),
            "krcc": self.krcc.as_dict(),
            "plcc_fitted": self.plcc_fitted.as_dict(),
            "rmse_fitted": self.rmse_fitted.as_dict(),
            "fit": list(self.fit) if self.fit else None,
            "note": self.note,
        }


@dataclass(frozen=True)
class Pairs:
    """Predictions and opinions of the samples that have both; ``asked`` samples have an opinion."""

    predicted: Floats
    opinions: Floats
    asked: int
    clusters: list[str] | None = None


def pairs(results: Iterable[Result], settings: FigureSettings | None = None) -> Pairs:
    """The numbers to compare.

    ``failed_as_worst`` fills in what is missing with the worst score of the file or 1, whichever is lower.
    """
    settings = settings or FigureSettings()
    judged = [result for result in results if result.truth is not None]
    known = [result.score for result in judged if result.score is not None]
    worst = min([WORST_SCORE, *known])
    kept = [result for result in judged if result.score is not None or settings.failed_as_worst]
    return Pairs(
        predicted=np.array([worst if result.score is None else result.score for result in kept], np.float64),
        opinions=np.array([result.truth for result in kept], np.float64),
        asked=len(judged),
        clusters=cluster_names(kept, settings.cluster),
    )


def cluster_names(results: Sequence[Result], column: str | None) -> list[str] | None:
    """The group of each result; one without the column stands for itself."""
    if column is None:
        return None
    return [result.group(column) or f"only {result.sample_id}" for result in results]


def agreement(results: Iterable[Result], settings: FigureSettings | None = None) -> Agreement:
    """The figures of some results."""
    settings = settings or FigureSettings()
    return agreement_of(pairs(results, settings), settings)


def agreement_of(compared: Pairs, settings: FigureSettings) -> Agreement:
    """The figures of paired numbers.

    Intervals of the fitted figures hold the curve fixed: they cover the choice of pictures, not the fit itself.
    """
    predicted, opinions = compared.predicted, compared.opinions

    missing = why_no_correlation(predicted, opinions)

    def estimate(statistic: Statistic, values: Floats) -> IntervalEstimate:
        if missing:
            return IntervalEstimate(None)
        return bootstrap(statistic, values, opinions, resamples=settings.resamples, clusters=compared.clusters)

    fit = fit_logistic(predicted, opinions, settings.parameters)
    mapped = fit(predicted) if fit else None
    nothing = IntervalEstimate(None)
    srcc = estimate(spearman, predicted)
    return Agreement(
        asked=compared.asked,
        used=int(predicted.size),
        srcc=srcc,
        plcc=estimate(pearson, predicted),
        krcc=estimate(kendall, predicted),
        plcc_fitted=nothing if mapped is None else estimate(pearson, mapped),
        rmse_fitted=nothing if mapped is None else estimate(root_mean_square, mapped),
        fit=fit.coefficients if fit else None,
        note=missing or _notes(srcc, fit is not None),
    )


def _notes(srcc: IntervalEstimate, fitted: bool) -> str | None:
    notes = [] if fitted else [f"no curve is fitted to fewer than {FEWEST_SAMPLES} samples"]
    highest = srcc.value if srcc.high is None else srcc.high
    if highest is not None and highest < 0:
        notes.append("scores fall where opinions rise: a lower value must be the better one in one of the two")
    return "; ".join(notes) or None


def why_no_correlation(predicted: Floats, opinions: Floats) -> str | None:
    """Why these numbers have no correlation worth printing; None when they have one."""
    if predicted.size < FEWEST_FOR_CORRELATION:
        return f"{predicted.size} scored samples are too few for a correlation (at least {FEWEST_FOR_CORRELATION})"
    if np.ptp(predicted) == 0:
        return "every prediction is the same: there is no correlation"
    if np.ptp(opinions) == 0:
        return "every opinion is the same: there is no correlation"
    return None


def grouped(results: Sequence[Result], column: str) -> dict[str, list[Result]]:
    """Results by a carried column, in the order of first appearance; lines without the column stay out."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        name = result.group(column)
        if name is not None:
            groups.setdefault(name, []).append(result)
    return groups
