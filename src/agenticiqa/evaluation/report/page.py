"""The page of a batch: figures, charts, cases and every sample, in one file that loads nothing.

Text from outside is escaped or stands in the page as data that only the table's script reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape
from importlib import resources

from pydantic import ValidationError

from agenticiqa.evaluation.agreement import pairs
from agenticiqa.evaluation.evaluate import ScoreReport
from agenticiqa.evaluation.logistic_fit import LogisticFit
from agenticiqa.evaluation.report.charts import heat_colour, histogram, ink_on, scatter
from agenticiqa.evaluation.report.samples import samples_data, samples_table, shown_ids
from agenticiqa.evaluation.report.summary import BatchReport, Case, Cell, error_kind
from agenticiqa.evaluation.results import Result
from agenticiqa.evaluation.tables import tables
from agenticiqa.nodes.results import Assessment
from agenticiqa.reports.assessment import picture_article, report_item
from agenticiqa.reports.look import models_of, page, quiet, shown_name, table, without_folders
from agenticiqa.runtime.config import ImageLimits

DEFAULT_LIMITS = ImageLimits()
MOST_ERRORS = 200

Progress = Callable[[str], None]


def render_page(
    report: BatchReport,
    progress: Progress | None = None,
    limits: ImageLimits = DEFAULT_LIMITS,
    *,
    thumbnails: bool = True,
) -> str:
    """The page as text; ``progress`` is told which case or thumbnail is drawn, because that takes time."""
    results = report.file.results
    sections = [
        _section("summary", "Summary", _facts(report) + _outcomes(report)),
        _section(
            "distribution", "Scores", histogram(report.scores) if report.scores else quiet("No sample has a score.")
        ),
        _section("agreement", "Agreement with people", _agreement(report)),
        _section("distortions", "By distortion", _heat(report)),
        _section("cost", "Time and cost", _cost(report)),
        _section("cases", "Cases", "".join(_cases(report, progress, limits))),
        _section("errors", "Errors", _errors(report)),
        _section("all", "All samples", samples_table(results, report.file.path.name)),
    ]
    contents = "".join(f'<a href="#{name}">{title}</a>' for name, title, body in sections if body)
    body = "".join(_framed(*section) for section in sections)
    return page(
        report.title,
        f"<nav>{contents}</nav>{body}",
        _models(results),
        script=resources.files(__package__).joinpath("samples.js").read_text(encoding="utf-8"),
        data=samples_data(results, limits, progress, thumbnails=thumbnails),
    )


def _models(results: Sequence[Result]) -> Iterator[str]:
    for result in results:
        yield from models_of(result.line.get("metadata") or {})


def _section(name: str, title: str, body: str) -> tuple[str, str, str]:
    return name, title, body


def _framed(name: str, title: str, body: str) -> str:
    return f'<section id="{name}"><h2>{title}</h2>{body}</section>\n' if body else ""


# --- summary ---


def _facts(report: BatchReport) -> str:
    results = report.file.results
    facts = [
        (f"{len(results):,}", "samples"),
        (f"{len(report.errors):,}", "failed"),
        (_shown(report.mean_score), "mean score"),
        (_shown(report.median_score), "median score"),
        ("unknown" if report.usd is None else f"${report.usd:,.2f}", "cost"),
    ]
    cells = "".join(f'<div class="fact"><strong>{value}</strong><span>{name}</span></div>' for value, name in facts)
    return f'<div class="facts">{cells}</div>'


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _outcomes(report: BatchReport) -> str:
    file = report.file
    rows = [(name, str(file.count(name))) for name in ("ok", "partial", "error")]
    notes = []
    if file.superseded:
        notes.append(f"{file.superseded} earlier lines were replaced by a later attempt.")
    if file.torn:
        notes.append("The last line is cut off: the run was killed or still goes on.")
    remarks = "".join(quiet(note) for note in [f"{file.path.name}; judged: {file.score}", *notes])
    return table(("Status", "Samples"), rows) + remarks


# --- agreement ---


def _agreement(report: BatchReport) -> str:
    evaluation = report.evaluation
    if evaluation is None:
        return ""
    found = [_scatter(report, scores) for scores in evaluation.scores]
    for each in tables(evaluation):
        if each.title != "Samples":
            notes = "".join(quiet(note) for note in each.notes)
            found.append(f"<h3>{escape(each.title)}</h3>{table(each.columns, each.rows)}{notes}")
    return "".join(found)


def _scatter(report: BatchReport, scores: ScoreReport) -> str:
    own = [r for r in report.file.results if scores.dataset is None or r.group("dataset") in (scores.dataset, None)]
    compared = pairs(own)
    if compared.predicted.size < 2:
        return ""
    curve = LogisticFit(scores.figures.fit, squared_error=0.0) if scores.figures.fit else None
    name = f" on {scores.dataset}" if scores.dataset else ""
    caption = f"Score against opinion{name}; red: the fitted curve." if curve else f"Score against opinion{name}."
    drawn = scatter(compared.predicted.tolist(), compared.opinions.tolist(), curve)
    return f"<figure>{drawn}<figcaption>{escape(caption)}</figcaption></figure>"


# --- distortions ---


def _heat(report: BatchReport) -> str:
    if not report.heat:
        return ""
    levels = list(dict.fromkeys(level for cells in report.heat.values() for level in cells if level != "all"))
    columns = [*levels, "all"]
    head = "".join(f"<th>{escape(column)}</th>" for column in ["Distortion", *columns])
    rows = "".join(
        f'<tr><td class="name">{escape(kind)}</td>{"".join(_heat_cell(cells.get(column)) for column in columns)}</tr>'
        for kind, cells in report.heat.items()
    )
    return (
        f'<div class="scroll" tabindex="0"><table class="heat"><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
        '<p class="dim">Mean score by kind and level; people\'s mean opinion, on its own scale, below it.</p>'
    )


def _heat_cell(cell: Cell | None) -> str:
    if cell is None or cell.score is None:
        return '<td class="none">–</td>'
    opinion = "" if cell.opinion is None else f"<br><small>{cell.opinion:.3g}</small>"
    title = f"{cell.count} samples"
    colour = heat_colour(cell.score)
    style = f"background:{colour};color:{ink_on(colour)}"
    return f'<td style="{style}" title="{title}">{cell.score:.2f}{opinion}</td>'


# --- cost ---


def _cost(report: BatchReport) -> str:
    samples = max(len(report.file.results), 1)
    rows = [
        (
            cost.agent,
            f"{cost.seconds:.1f}",
            f"{cost.seconds / samples:.3f}",
            f"{cost.calls:,}",
            f"{cost.tokens:,}" if cost.tokens else "–",
            "unknown" if cost.usd is None else f"{cost.usd:.4f}",
        )
        for cost in report.agents
    ]
    return table(("Agent", "Seconds", "Seconds per sample", "Calls", "Tokens", "US$"), rows)


# --- cases ---


def _cases(report: BatchReport, progress: Progress | None, limits: ImageLimits) -> Iterator[str]:
    name_of = shown_ids(report.file.results)
    for title, cases in report.cases.items():
        yield f"<h3>{escape(title)}</h3>"
        for case in cases:
            name = name_of(case.result)
            if progress:
                progress(f"{title}: {name}")
            yield f'<div class="case">{quiet(f"{name}: {case.why}")}{_article(case, limits)}</div>'


def _article(case: Case, limits: ImageLimits) -> str:
    line = case.result.line
    if line.get("summarizer_result") is None and line.get("plan") is None:
        return _measured(case.result)
    try:
        found = Assessment.model_validate(line)
    except ValidationError as error:
        lacks = f"{error.error_count()} fields are missing or malformed"
        return f"<article>{quiet(f'The line is no complete result ({lacks}): no details are shown.')}</article>"
    return picture_article(report_item(found, limits))


def _measured(result: Result) -> str:
    """A sample that was measured without agents."""
    rows = [
        (
            str(entry.get("tool")),
            _shown(entry.get("raw")),
            _shown(entry.get("calibrated")),
            str(entry.get("error") or ""),
        )
        for entry in result.line.get("measurements") or []
    ]
    name = shown_name(str(result.line.get("image_path") or ""))
    return f"<article>{quiet(name)}{table(('Tool', 'Raw', '1..5', ''), rows)}</article>"


# --- errors ---


def _errors(report: BatchReport) -> str:
    if not report.errors:
        return ""
    kinds = table(("Kind", "Samples"), [(kind, str(count)) for kind, count in report.error_kinds.items()])
    name_of = shown_ids(report.file.results)
    rows = [(name_of(each), error_kind(each), _what_happened(each)) for each in report.errors[:MOST_ERRORS]]
    more = len(report.errors) - len(rows)
    note = quiet(f"{more} more are in {report.file.path.name}.") if more else ""
    return kinds + table(("Sample", "Kind", "What happened"), rows) + note


def _what_happened(result: Result) -> str:
    line = result.line
    return without_folders(str(line.get("error") or ""), line.get("image_path"), line.get("reference_path"))
