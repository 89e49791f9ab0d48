"""Agreement of predicted scores with people's opinion, over all samples and in groups; two result files compared."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from agenticiqa.research import statistics
from agenticiqa.research.results import EvaluationError, Result, ResultFile

Floats = npt.NDArray[np.float64]
# Of four samples, scores drawn at random have a rank correlation of +1 or -1 once in twelve times: no order of so few
# could be told from chance at the usual 5 %. Of five it is once in sixty.
FEWEST_FOR_CORRELATION = 5


@dataclass(frozen=True)
class FigureSettings:
    """How figures are computed."""

    resamples: int = statistics.DEFAULT_RESAMPLES
    cluster: str | None = None
    """A column whose values are drawn as wholes for intervals, such as ``reference_path``."""


DEFAULTS = FigureSettings()


@dataclass(frozen=True)
class Agreement:
    """``used`` of ``asked`` samples entered the figures; the others have no score."""

    asked: int
    used: int
    srcc: statistics.IntervalEstimate
    plcc: statistics.IntervalEstimate
    krcc: statistics.IntervalEstimate
    plcc_fitted: statistics.IntervalEstimate
    rmse_fitted: statistics.IntervalEstimate
    fit: tuple[float, ...] | None
    note: str | None = None


@dataclass(frozen=True)
class Pairs:
    """Predictions and opinions of the samples that have both; ``asked`` samples have an opinion."""

    predicted: Floats
    opinions: Floats
    asked: int
    clusters: list[str] | None = None


def pairs(results: Iterable[Result], settings: FigureSettings = DEFAULTS) -> Pairs:
    """The numbers to compare."""
    judged = [result for result in results if result.truth is not None]
    kept = [result for result in judged if result.score is not None]
    return Pairs(
        predicted=np.array([result.score for result in kept], np.float64),
        opinions=np.array([result.truth for result in kept], np.float64),
        asked=len(judged),
        clusters=cluster_names(kept, settings.cluster),
    )


def cluster_names(results: Sequence[Result], column: str | None) -> list[str] | None:
    """The group of each result; one without the column stands for itself."""
    if column is None:
        return None
    return [result.group(column) or f"only {result.sample_id}" for result in results]


def agreement(results: Iterable[Result], settings: FigureSettings = DEFAULTS) -> Agreement:
    """The figures of some results; intervals of the fitted ones cover the choice of pictures, not the fit itself."""
    compared = pairs(results, settings)
    predicted, opinions = compared.predicted, compared.opinions
    missing = why_no_correlation(predicted, opinions)
    fit = statistics.fit_logistic(predicted, opinions)
    mapped = fit(predicted) if fit else None

    def estimate(statistic: statistics.Statistic, values: Floats | None) -> statistics.IntervalEstimate:
        if missing or values is None:
            return statistics.IntervalEstimate(None)
        return statistics.bootstrap(
            statistic, values, opinions, resamples=settings.resamples, clusters=compared.clusters
        )

    srcc = estimate(statistics.spearman, predicted)
    notes = [] if fit else [f"no curve is fitted to fewer than {statistics.FEWEST_SAMPLES} samples"]
    highest = srcc.value if srcc.high is None else srcc.high
    if highest is not None and highest < 0:
        notes.append("scores fall where opinions rise: a lower value must be the better one in one of the two")
    return Agreement(
        asked=compared.asked,
        used=int(predicted.size),
        srcc=srcc,
        plcc=estimate(statistics.pearson, predicted),
        krcc=estimate(statistics.kendall, predicted),
        plcc_fitted=estimate(statistics.pearson, mapped),
        rmse_fitted=estimate(statistics.root_mean_square, mapped),
        fit=fit.coefficients if fit else None,
        note=missing or "; ".join(notes) or None,
    )


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
    return {name: part for name, part in _parts(results, column) if name is not None}


def by_dataset(results: Sequence[Result]) -> list[tuple[str | None, list[Result]]]:
    """Results of each dataset apart, because opinions of different sets are on different scales."""
    return _parts(results, "dataset")


def _parts(results: Sequence[Result], column: str) -> list[tuple[str | None, list[Result]]]:
    parts: dict[str | None, list[Result]] = {}
    for result in results:
        parts.setdefault(result.group(column), []).append(result)
    return list(parts.items())


# --- Compare two result files on the samples that both hold ---


@dataclass(frozen=True)
class ScoreComparison:
    """Correlations over what both files scored; differences: first minus second; ``note``: why one is missing."""

    dataset: str | None
    common: int
    used: int
    srcc: tuple[float | None, float | None]
    plcc: tuple[float | None, float | None]
    srcc_difference: statistics.IntervalEstimate
    plcc_difference: statistics.IntervalEstimate
    note: str | None = None


@dataclass(frozen=True)
class ChoiceComparison:
    """Right answers over the common questions; a sample without an answer is not right."""

    common: int
    both_right: int
    only_first: int
    only_second: int
    neither: int
    p: float


@dataclass(frozen=True)
class PairedComparison:
    first: str
    second: str
    only_in_first: int
    only_in_second: int
    scores: list[ScoreComparison]
    choices: ChoiceComparison | None


def compare(first: ResultFile, second: ResultFile, settings: FigureSettings = DEFAULTS) -> PairedComparison:
    """Both files sample by sample. Raises EvaluationError where they are not of the same samples."""
    others = {result.sample_id: result for result in second.results}
    common = [result for result in first.results if result.sample_id in others]
    if not common:
        raise EvaluationError(
            f"{first.path} and {second.path} have no sample in common.", hint="Compare runs over the same manifest."
        )
    for one in common:
        other = others[one.sample_id]
        if one.truth != other.truth or one.line.get("answer") != other.line.get("answer"):
            raise EvaluationError(
                f"Sample {one.sample_id!r} has another opinion or right answer in {second.path}.",
                hint="Compare runs over the same manifest.",
            )
    scored = by_dataset([result for result in common if result.is_scored])
    return PairedComparison(
        first=f"{first.path} ({first.score})",
        second=f"{second.path} ({second.score})",
        only_in_first=len(first.results) - len(common),
        only_in_second=len(second.results) - len(common),
        scores=[_compare_scores(name, results, others, settings) for name, results in scored],
        choices=_compare_choices([result for result in common if result.is_choice], others),
    )


def _compare_scores(
    dataset: str | None, results: Sequence[Result], others: Mapping[str, Result], settings: FigureSettings
) -> ScoreComparison:
    usable = [one for one in results if None not in (one.score, others[one.sample_id].score)]
    numbers = [(one.score, others[one.sample_id].score, one.truth) for one in usable]
    first, second, opinions = np.array(numbers, np.float64).reshape(-1, 3).T
    clusters = cluster_names(usable, settings.cluster)
    missing = [why_no_correlation(scores, opinions) for scores in (first, second)]

    def both(statistic: statistics.Statistic) -> tuple[float | None, float | None]:
        values = [
            None if reason else statistics.bootstrap(statistic, scores, opinions, resamples=0).value
            for scores, reason in zip((first, second), missing, strict=True)
        ]
        return values[0], values[1]

    def difference(statistic: statistics.Statistic) -> statistics.IntervalEstimate:
        if any(missing):
            return statistics.IntervalEstimate(None)
        return statistics.bootstrap(statistic, first, second, opinions, resamples=settings.resamples, clusters=clusters)

    sides = zip(("first", "second"), missing, strict=True)
    return ScoreComparison(
        dataset=dataset,
        common=len(results),
        used=len(usable),
        srcc=both(statistics.spearman),
        plcc=both(statistics.pearson),
        srcc_difference=difference(difference_of_ranks),
        plcc_difference=difference(_difference),
        note=missing[0]
        if missing[0] == missing[1]
        else "; ".join(f"{side} file: {reason}" for side, reason in sides if reason),
    )


def _difference(first: Floats, second: Floats, opinions: Floats, axis: int = -1) -> Floats:
    return np.asarray(statistics.pearson(first, opinions, axis) - statistics.pearson(second, opinions, axis))


def difference_of_ranks(first: Floats, second: Floats, opinions: Floats, axis: int = -1) -> Floats:
    """How much better the first method's rank correlation with the opinions is than the second's."""
    return np.asarray(statistics.spearman(first, opinions, axis) - statistics.spearman(second, opinions, axis))


def _compare_choices(results: Sequence[Result], others: Mapping[str, Result]) -> ChoiceComparison | None:
    if not results:
        return None
    right = [(one.correct, others[one.sample_id].correct) for one in results]
    only_first, only_second = right.count((True, False)), right.count((False, True))
    return ChoiceComparison(
        common=len(results),
        both_right=right.count((True, True)),
        only_first=only_first,
        only_second=only_second,
        neither=right.count((False, False)),
        p=statistics.mcnemar(only_first, only_second),
    )
