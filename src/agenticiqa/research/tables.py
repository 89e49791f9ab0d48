"""An evaluation as tables of text, for a terminal or a Markdown page alike."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from agenticiqa.research.agreement import FEWEST_FOR_CORRELATION, Agreement, PairedComparison
from agenticiqa.research.evaluate import Counts, DatasetReport, Evaluation
from agenticiqa.research.statistics import Accuracy, IntervalEstimate
from agenticiqa.runtime.logs import markdown_text

UNDEFINED = "–"
FIGURES = ("Samples", "SRCC", "PLCC", "PLCC fitted", "KRCC", "RMSE fitted")
SHARES = ("Right / asked", "Accuracy", "Answered", "Of answered")


@dataclass(frozen=True)
class Table:
    """Rows of text under a title, with notes below."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)

    def markdown(self) -> str:
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


def markdown(evaluation: Evaluation) -> str:
    return "\n".join(table.markdown() for table in tables(evaluation))


def tables(evaluation: Evaluation) -> Iterator[Table]:
    """Every table of an evaluation, what became of all samples first."""
    yield outcomes(evaluation.counts)
    if evaluation.scores:
        yield from _score_tables(evaluation)
    yield from map(_choice_table, evaluation.choices)
    if evaluation.comparison:
        yield from _comparison_tables(evaluation.comparison)


def outcomes(counts: Counts) -> Table:
    shares = [f"{count} ({count / counts.samples:.1%})" for count in (counts.ok, counts.partial, counts.error)]
    notes = []
    if counts.superseded:
        notes.append(f"{counts.superseded} earlier lines were replaced by a later attempt at the same sample.")
    if counts.torn:
        notes.append("The last line is cut off and not counted: the run was killed or still goes on.")
    if counts.unjudged:
        notes.append(f"{counts.unjudged} samples have neither an opinion nor a right answer and are not judged.")
    return Table("Samples", ["All", "Complete", "Partial", "Failed"], [[str(counts.samples), *shares]], notes)


# --- scores ----------------------------------------------------------------------------------------------


def _score_tables(evaluation: Evaluation) -> Iterator[Table]:
    settings = evaluation.settings
    drawn = f"groups of the same {settings.cluster}" if settings.cluster else "samples"
    notes = ["No intervals: --resamples is 0."]
    if settings.resamples:
        notes = [f"95 % intervals from {settings.resamples} bootstrap resamples of the {drawn}."]
    for report in evaluation.scores:
        left_out = report.figures.asked - report.figures.used
        name = report.dataset or "all samples"
        if left_out:
            notes.append(f"{name}: {left_out} samples have no score and are not in these figures.")
        if report.figures.note:
            notes.append(f"{name}: {report.figures.note}.")
    how = f"{evaluation.score} against {evaluation.truth}; fitted: five-parameter logistic"
    rows = [[report.dataset or "all", *_figures(report.figures)] for report in evaluation.scores]
    yield Table(f"Agreement with people ({how})", ["Dataset", *FIGURES], rows, notes)
    for report in evaluation.scores:
        for column, groups in report.groups.items():
            rows = [[name, *_figures(figures, intervals=False)] for name, figures in groups.items()]
            small = any(figures.used < FEWEST_FOR_CORRELATION for figures in groups.values())
            about = f"Groups of fewer than {FEWEST_FOR_CORRELATION} scored samples have no correlation."
            title = f"By {column}" + (f", {report.dataset}" if report.dataset else "")
            yield Table(title, [column.capitalize(), *FIGURES], rows, [about] if small else [])


def _figures(figures: Agreement, *, intervals: bool = True) -> list[str]:
    estimates = (figures.srcc, figures.plcc, figures.plcc_fitted, figures.krcc, figures.rmse_fitted)
    return [
        _used(figures.used, figures.asked),
        *(estimate_text(each) if intervals else _number(each.value, 3) for each in estimates),
    ]


def _used(used: int, asked: int) -> str:
    return str(used) if used == asked else f"{used} of {asked}"


def _number(value: float | None, digits: int) -> str:
    return UNDEFINED if value is None else f"{value:.{digits}f}"


def estimate_text(estimate: IntervalEstimate, digits: int = 3) -> str:
    if estimate.low is None or estimate.high is None:
        return _number(estimate.value, digits)
    return f"{_number(estimate.value, digits)} [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"


# --- choices ---------------------------------------------------------------------------------------------


def _choice_table(report: DatasetReport[Accuracy]) -> Table:
    title = "Right answers" + (f", {report.dataset}" if report.dataset else "")
    rows = [["all", *_shares(report.figures)]]
    for column, groups in report.groups.items():
        rows += [[f"{column}: {name}", *_shares(figures)] for name, figures in groups.items()]
    unanswered = report.figures.asked - report.figures.answered
    notes = ["95 % Wilson intervals. Accuracy counts a sample without an answer as not right."]
    if unanswered:
        notes.append(f"{unanswered} samples have no answer.")
    return Table(title, ["Questions", *SHARES], rows, notes)


def _shares(figures: Accuracy) -> list[str]:
    shares = percent_text(figures.accuracy), str(figures.answered), percent_text(figures.accuracy_of_answered)
    return [f"{figures.right} / {figures.asked}", *shares]


def percent_text(estimate: IntervalEstimate) -> str:
    """A share with its interval, in percent."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return UNDEFINED
    return f"{estimate.value:.1%} [{estimate.low:.1%}, {estimate.high:.1%}]"


# --- two files -------------------------------------------------------------------------------------------


def _comparison_tables(comparison: PairedComparison) -> Iterator[Table]:
    notes = [f"First: {comparison.first}. Second: {comparison.second}."]
    if comparison.only_in_first or comparison.only_in_second:
        notes.append(
            f"Only in the first: {comparison.only_in_first} samples; only in the second: {comparison.only_in_second}."
        )
    if comparison.scores:
        columns = ["Dataset", "Samples", "Figure", "First", "Second", "Difference"]
        rows = []
        for scores in comparison.scores:
            for name, both, difference in (
                ("SRCC", scores.srcc, scores.srcc_difference),
                ("PLCC", scores.plcc, scores.plcc_difference),
            ):
                cells = [*(_number(each, 4) for each in both), estimate_text(difference, 4)]
                rows.append([scores.dataset or "all", _used(scores.used, scores.common), name, *cells])
        explained = "Only samples that both files scored; difference with a 95 % paired bootstrap interval."
        missing = [f"{each.dataset or 'all samples'}: {each.note}." for each in comparison.scores if each.note]
        yield Table("Two files, scores", columns, rows, [explained, *missing, *notes])
    if comparison.choices:
        found = comparison.choices
        columns = ["Questions", "Both right", "Only first", "Only second", "Neither", "p (exact McNemar)"]
        counts = (found.common, found.both_right, found.only_first, found.only_second, found.neither)
        yield Table("Two files, answers", columns, [[*map(str, counts), f"{found.p:.2g}"]], notes)
