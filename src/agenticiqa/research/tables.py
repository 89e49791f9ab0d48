"""An evaluation as tables of text, for a terminal or a Markdown page alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from agenticiqa.research.agreement import (
    FEWEST_FOR_CORRELATION,
    Agreement,
    FigureSettings,
    PairedComparison,
    ScoreComparison,
)
from agenticiqa.research.evaluate import ChoiceReport, Counts, Evaluation, ScoreReport, same_conditions
from agenticiqa.research.published import published_accuracies, published_correlations, source
from agenticiqa.research.statistics import NO_ANSWER, Accuracy, IntervalEstimate
from agenticiqa.runtime.logs import markdown_text

UNDEFINED = "–"
OURS = "this file"
LIKE = "Like for like"
FIGURES = ("Samples", "SRCC", "PLCC", "PLCC fitted", "KRCC", "RMSE fitted")
SHARES = ("Right / asked", "Accuracy", "Answered", "Of answered")


@dataclass(frozen=True)
class Table:
    title: str
    columns: list[str]
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)

    def markdown(self) -> str:
        """The table as Markdown, notes below it."""
        lines = [f"**{markdown_text(self.title)}**", "", _row(self.columns), _row(["---"] * len(self.columns))]
        lines += [_row(row) for row in self.rows]
        lines += [f"\n{markdown_text(note)}" for note in self.notes]
        return "\n".join(lines) + "\n"


def _row(cells: list[str]) -> str:
    """Text that a user or a model wrote neither ends its cell nor becomes a tag.

    >>> _row(["a|b <img src=x>"])
    '| a\\\\|b &lt;img src=x> |'
    """
    return "| " + " | ".join(markdown_text(cell).replace("|", "\\|") for cell in cells) + " |"


def markdown(evaluation: Evaluation, *, paper: bool = True) -> str:
    """The whole evaluation as a Markdown text."""
    return "\n".join(table.markdown() for table in tables(evaluation, paper=paper))


def side_by_side(evaluations: Sequence[Evaluation]) -> Iterator[Table]:
    """Several scores of the same samples, one row per score; then the rank correlation of each in every group."""
    yield _outcomes(evaluations[0].counts)
    for reports in zip(*(evaluation.scores for evaluation in evaluations), strict=True):
        suffix = f", {reports[0].dataset}" if reports[0].dataset else ""
        names = [evaluation.score for evaluation in evaluations]
        settings = evaluations[0].settings
        notes = [
            f"Against {evaluations[0].truth}; fitted: {settings.parameters}-parameter logistic. "
            + _about_intervals(settings)
        ]
        notes += [
            f"{name}: {report.figures.note}."
            for name, report in zip(names, reports, strict=True)
            if report.figures.note
        ]
        rows = [[name, *_figures(report.figures)] for name, report in zip(names, reports, strict=True)]
        yield Table(f"Agreement with people{suffix}", ["Score", *FIGURES], rows, notes)
        for column, groups in reports[0].groups.items():
            rows = [[group, *(_short(report.groups[column][group].srcc) for report in reports)] for group in groups]
            small = _about_small(report.groups[column][group] for report in reports for group in groups)
            yield Table(f"SRCC by {column}{suffix}", [column.capitalize(), *names], rows, small)


def tables(evaluation: Evaluation, *, paper: bool = True) -> Iterator[Table]:
    """Every table of an evaluation, what became of all samples first."""
    yield _outcomes(evaluation.counts)
    yield from _score_tables(evaluation, paper)
    for choices in evaluation.choices:
        yield from _choice_tables(choices, paper)
    if evaluation.comparison:
        yield from _comparison_tables(evaluation.comparison)


def _outcomes(counts: Counts) -> Table:
    def share(count: int) -> str:
        return f"{count} ({count / counts.samples:.1%})"

    notes = []
    if counts.superseded:
        notes.append(f"{counts.superseded} earlier lines were replaced by a later attempt at the same sample.")
    if counts.torn:
        notes.append("The last line is cut off and not counted: the run was killed or still goes on.")
    if counts.unjudged:
        notes.append(f"{counts.unjudged} samples have neither an opinion nor a right answer and are not judged.")
    return Table(
        "Samples",
        ["All", "Complete", "Partial", "Failed"],
        [[str(counts.samples), share(counts.ok), share(counts.partial), share(counts.error)]],
        notes,
    )


# --- scores ----------------------------------------------------------------------------------------------


def _score_tables(evaluation: Evaluation, paper: bool) -> Iterator[Table]:
    if not evaluation.scores:
        return
    settings = evaluation.settings
    how = f"{evaluation.score} against {evaluation.truth}; fitted: {settings.parameters}-parameter logistic"
    notes = [_about_intervals(settings)]
    if settings.failed_as_worst:
        notes.append("Samples without a score count with the worst one (--failed-as-worst).")
    for report in evaluation.scores:
        left_out = report.figures.asked - report.figures.used
        name = report.dataset or "all samples"
        if left_out:
            notes.append(f"{name}: {left_out} samples have no score and are not in these figures.")
        if report.figures.note:
            notes.append(f"{name}: {report.figures.note}.")
    rows = [[report.dataset or "all", *_figures(report.figures)] for report in evaluation.scores]
    yield Table(f"Agreement with people ({how})", ["Dataset", *FIGURES], rows, notes)
    for report in evaluation.scores:
        yield from _score_details(report, paper)


def _about_intervals(settings: FigureSettings) -> str:
    if settings.resamples == 0:
        return "No intervals: --resamples is 0."
    drawn = f"groups of the same {settings.cluster}" if settings.cluster else "samples"
    return f"95 % intervals from {settings.resamples} bootstrap resamples of the {drawn}."


def _score_details(report: ScoreReport, paper: bool) -> Iterator[Table]:
    suffix = f", {report.dataset}" if report.dataset else ""
    for column, groups in report.groups.items():
        rows = [[name, *_figures(figures, short=True)] for name, figures in groups.items()]
        yield Table(f"By {column}{suffix}", [column.capitalize(), *FIGURES], rows, _about_small(groups.values()))
    if report.ablations:
        gap = [UNDEFINED] * len(FIGURES)
        rows = [
            [each.ablation, each.name, *(_figures(each.figures, short=True) if each.figures else gap)]
            for each in report.ablations
        ]
        notes = [f"{each.name}: {each.note}." for each in report.ablations if each.note]
        notes += [
            f"{each.name}: {each.lacking} answered samples hold too little for it."
            for each in report.ablations
            if each.lacking and not each.note
        ]
        yield Table(f"Ablations of the stored results{suffix}", ["Ablation", "Score", *FIGURES], rows, notes)
    published = published_correlations(report.dataset) if paper else []
    if published:
        ours = [OURS, _number(report.figures.srcc.value), _number(report.figures.plcc.value)]
        ours += [_number(report.figures.plcc_fitted.value), str(report.conditions)]
        rows = []
        for row in published:
            like = same_conditions(row.method, report.conditions)[1]
            rows.append([row.method, _number(row.srcc), _number(row.plcc), UNDEFINED, like])
        yield Table(
            f"Beside the published figures{suffix}",
            ["Method", "SRCC", "PLCC", "PLCC fitted", LIKE],
            [*rows, ours],
            [f"Published: {source()}; whether its PLCC is fitted is not stated there."],
        )


def _about_small(groups: Iterable[Agreement]) -> list[str]:
    small = any(figures.used < FEWEST_FOR_CORRELATION for figures in groups)
    return [f"Groups of fewer than {FEWEST_FOR_CORRELATION} scored samples have no correlation."] if small else []


def _figures(figures: Agreement, *, short: bool = False) -> list[str]:
    show = _short if short else estimate_text
    used = str(figures.used) if figures.used == figures.asked else f"{figures.used} of {figures.asked}"
    return [
        used,
        *(show(value) for value in (figures.srcc, figures.plcc, figures.plcc_fitted, figures.krcc)),
        show(figures.rmse_fitted, digits=3),
    ]


def _number(value: float | None, digits: int = 4) -> str:
    return UNDEFINED if value is None else f"{value:.{digits}f}"


def _short(estimate: IntervalEstimate, digits: int = 3) -> str:
    return _number(estimate.value, digits)


def estimate_text(estimate: IntervalEstimate, digits: int = 3) -> str:
    """A figure with its interval."""
    if estimate.low is None or estimate.high is None:
        return _number(estimate.value, digits)
    return f"{_number(estimate.value, digits)} [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"


# --- choices ---------------------------------------------------------------------------------------------


def _choice_tables(report: ChoiceReport, paper: bool) -> Iterator[Table]:
    suffix = f", {report.dataset}" if report.dataset else ""
    rows = [["all", *_shares(report.figures)]]
    for column, groups in report.groups.items():
        rows += [[f"{column}: {name}", *_shares(figures)] for name, figures in groups.items()]
    unanswered = report.figures.asked - report.figures.answered
    notes = ["95 % Wilson intervals. Accuracy counts a sample without an answer as not right."]
    if unanswered:
        notes.append(f"{unanswered} samples have no answer.")
    yield Table(f"Right answers{suffix}", ["Questions", *SHARES], rows, notes)
    if report.confusion:
        chosen = [*report.confusion.classes, NO_ANSWER]
        counts = report.confusion.counts
        yield Table(
            f"Which answer for which right one{suffix}",
            ["Right", *chosen],
            [[right, *(str(counts[right][each]) for each in chosen)] for right in report.confusion.classes],
        )
    published = published_accuracies(report.dataset) if paper else {}
    if published:
        yield _published_accuracies(report, published, suffix)


def _shares(figures: Accuracy) -> list[str]:
    return [
        f"{figures.right} / {figures.asked}",
        percent_text(figures.of_all),
        str(figures.answered),
        percent_text(figures.of_answered),
    ]


def percent_text(estimate: IntervalEstimate) -> str:
    """A share with its interval, in percent."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return UNDEFINED
    return f"{estimate.value:.1%} [{estimate.low:.1%}, {estimate.high:.1%}]"


def _published_accuracies(report: ChoiceReport, published: dict[str, dict[str, float]], suffix: str) -> Table:
    parts = list(dict.fromkeys(part for row in published.values() for part in row))
    ours = {name.casefold().replace("_", "-"): figures for name, figures in report.groups.get("task", {}).items()}
    ours["overall"] = report.figures

    def own(part: str) -> str:
        value = ours[part].of_all.value if part in ours else None
        return UNDEFINED if value is None else f"{value:.1%}"

    rows = [
        [method, *(f"{row[part]:.1f}%" for part in parts), same_conditions(method, report.conditions)[1]]
        for method, row in published.items()
    ]
    return Table(
        f"Beside the published accuracies{suffix}",
        ["Method", *parts, LIKE],
        [*rows, [OURS, *(own(part) for part in parts), str(report.conditions)]],
        [f"Published: {source()}."],
    )


# --- two files -------------------------------------------------------------------------------------------


def _comparison_tables(comparison: PairedComparison) -> Iterator[Table]:
    notes = [f"First: {comparison.first}. Second: {comparison.second}."]
    if comparison.only_in_first or comparison.only_in_second:
        notes.append(
            f"Only in the first: {comparison.only_in_first} samples; only in the second: {comparison.only_in_second}."
        )
    if comparison.scores:
        columns = ["Dataset", "Samples", "Figure", "First", "Second", "Difference", "p (Steiger)"]
        rows = [row for scores in comparison.scores for row in _score_comparison(scores)]
        explained = "Only samples that both files scored; difference with a 95 % paired bootstrap interval."
        missing = [f"{each.dataset or 'all samples'}: {each.note}." for each in comparison.scores if each.note]
        yield Table("Two files, scores", columns, rows, [explained, *missing, *notes])
    if comparison.choices:
        found = comparison.choices
        columns = ["Questions", "Both right", "Only first", "Only second", "Neither", "p (exact McNemar)"]
        counts = (found.common, found.both_right, found.only_first, found.only_second, found.neither)
        yield Table("Two files, answers", columns, [[*map(str, counts), f"{found.p:.2g}"]], notes)


def _score_comparison(scores: ScoreComparison) -> Iterator[list[str]]:
    used = str(scores.used) if scores.used == scores.common else f"{scores.used} of {scores.common}"
    p = UNDEFINED if scores.steiger is None else f"{scores.steiger.p:.2g}"
    figures = (("SRCC", scores.srcc, scores.srcc_difference, ""), ("PLCC", scores.plcc, scores.plcc_difference, p))
    for name, (first, second), difference, test in figures:
        yield [scores.dataset or "all", used, name, _number(first), _number(second), estimate_text(difference, 4), test]
