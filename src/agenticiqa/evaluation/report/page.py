"""The page: everything inside one file, nothing loaded from elsewhere.

All text that came from outside (file names, questions, model replies) is escaped; beyond that a content security policy
lets the browser run the one script this module wrote, known by its hash, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator
from html import escape
from importlib import resources
from pathlib import Path

from pydantic import ValidationError

from agenticiqa.evaluation.agreement import pairs
from agenticiqa.evaluation.evaluate import ScoreReport
from agenticiqa.evaluation.logistic_fit import LogisticFit
from agenticiqa.evaluation.report.charts import heat_colour, histogram, ink_on, scatter
from agenticiqa.evaluation.report.summary import BatchReport, Case, Cell, error_kind
from agenticiqa.evaluation.results import Result
from agenticiqa.evaluation.tables import tables
from agenticiqa.nodes.results import Assessment
from agenticiqa.reports.assessment import STYLE, picture_article, report_item, table
from agenticiqa.runtime.config import ImageLimits

DEFAULT_LIMITS = ImageLimits()
MOST_ROWS = 2000
MOST_ERRORS = 200

Progress = Callable[[str], None]

_MORE_STYLE = """
nav { display: flex; flex-wrap: wrap; gap: .3rem 1rem; margin: .5rem 0 1.5rem; }
a { color: inherit; }
section { margin: 2.2rem 0; } h2 { border-bottom: 1px solid var(--line); padding-bottom: .3rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 .4rem; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: .8rem; margin: 1rem 0; }
.fact { background: var(--soft); border-radius: 10px; padding: .7rem .9rem; }
.fact strong { display: block; font-size: 1.35rem; } .fact span { color: var(--dim); font-size: .85rem; }
svg { width: 100%; height: auto; max-width: 46rem; } svg .grid { stroke: var(--line); stroke-width: 1; }
.heat td { text-align: center; } .heat td.none { background: var(--soft); color: var(--dim); }
.heat td.name, .heat th { text-align: left; color: var(--ink); background: none; }
th button { all: unset; cursor: pointer; font-weight: 600; } th button:focus-visible { outline: 2px solid #3b6fd4; }
th[aria-sort="ascending"] button::after { content: " ▲"; } th[aria-sort="descending"] button::after { content: " ▼"; }
.tools { display: flex; flex-wrap: wrap; gap: .6rem; align-items: center; margin: .6rem 0; }
.tools input, .tools select { font: inherit; padding: .35rem .6rem; border: 1px solid var(--line); border-radius: 6px;
  background: var(--paper); color: var(--ink); max-width: 100%; }
.s-error td { background: color-mix(in srgb, #b3261e 12%, transparent); }
#samples td, #errors td { overflow-wrap: anywhere; min-width: 4rem; }
@media print { nav, .tools { display: none; } section { break-before: auto; } .case { break-inside: avoid; }
  body { font-size: 11pt; } tr[hidden] { display: none; } }
"""


def render_page(report: BatchReport, progress: Progress | None = None, limits: ImageLimits = DEFAULT_LIMITS) -> str:
    """The page as text; ``progress`` is told which case is drawn, because maps take time."""
    script = resources.files(__package__).joinpath("sorting.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    sections = [
        _section("summary", "Summary", _facts(report) + _outcomes(report)),
        _section(
            "distribution", "Scores", histogram(report.scores) if report.scores else _nothing("No sample has a score.")
        ),
        _section("agreement", "Agreement with people", _agreement(report)),
        _section("distortions", "By distortion", _heat(report)),
        _section("cost", "Time and cost", _cost(report)),
        _section("cases", "Cases", "".join(_cases(report, progress, limits))),
        _section("errors", "Errors", _errors(report)),
        _section("all", "All samples", _samples(report)),
    ]
    contents = "".join(f'<a href="#{name}">{title}</a>' for name, title, body in sections if body)
    body = "".join(_framed(*section) for section in sections)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(report.title)}</title><style>{STYLE}{_MORE_STYLE}</style></head>"
        f"<body><main><h1>{escape(report.title)}</h1><nav>{contents}</nav>{body}</main>"
        f"<script>{script}</script></body></html>\n"
    )


def _section(name: str, title: str, body: str) -> tuple[str, str, str]:
    return name, title, body


def _framed(name: str, title: str, body: str) -> str:
    return f'<section id="{name}"><h2>{title}</h2>{body}</section>\n' if body else ""


def _nothing(words: str) -> str:
    return f'<p class="dim">{escape(words)}</p>'


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
    remarks = "".join(_nothing(note) for note in [f"{file.path.name}; judged: {file.score}", *notes])
    return table(("Status", "Samples"), rows) + remarks


# --- agreement ---


def _agreement(report: BatchReport) -> str:
    evaluation = report.evaluation
    if evaluation is None:
        return ""
    found = [_scatter(report, scores) for scores in evaluation.scores]
    for each in tables(evaluation):
        if each.title != "Samples":
            notes = "".join(_nothing(note) for note in each.notes)
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
    for title, cases in report.cases.items():
        yield f"<h3>{escape(title)}</h3>"
        for case in cases:
            if progress:
                progress(f"{title}: {case.result.sample_id}")
            yield f'<div class="case">{_nothing(f"{case.result.sample_id}: {case.why}")}{_article(case, limits)}</div>'


def _article(case: Case, limits: ImageLimits) -> str:
    line = case.result.line
    if line.get("summarizer_result") is None and line.get("plan") is None:
        return _measured(case.result)
    try:
        found = Assessment.model_validate(line)
    except ValidationError as error:
        lacks = f"{error.error_count()} fields are missing or malformed"
        return f"<article>{_nothing(f'The line is no complete result ({lacks}): no details are shown.')}</article>"
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
    path = escape(str(result.line.get("image_path", "")))
    return f'<article><p class="dim">{path}</p>{table(("Tool", "Raw", "1..5", ""), rows)}</article>'


# --- errors and all samples ---


def _errors(report: BatchReport) -> str:
    if not report.errors:
        return ""
    kinds = table(("Kind", "Samples"), [(kind, str(count)) for kind, count in report.error_kinds.items()])
    rows = [(r.sample_id, error_kind(r), str(r.line.get("error") or "")) for r in report.errors[:MOST_ERRORS]]
    more = len(report.errors) - len(rows)
    note = _nothing(f"{more} more are in {report.file.path.name}.") if more else ""
    return kinds + table(("Sample", "Kind", "What happened"), rows) + note


def _samples(report: BatchReport) -> str:
    results = report.file.results[:MOST_ROWS]
    columns = ("Sample", "Picture", "Status", "Score", "Opinion", "Answer", "Distortion", "Question")
    head = "".join(f'<th scope="col"><button type="button">{name}</button></th>' for name in columns)
    body = "".join(_row(result) for result in results)
    more = len(report.file.results) - len(results)
    note = (
        _nothing(f"The first {MOST_ROWS} of {len(report.file.results)} samples; all are in the file.") if more else ""
    )
    tools = (
        '<div class="tools"><label>Filter <input id="filter" type="search" placeholder="words"></label>'
        '<label>Status <select id="status"><option value="">all</option><option>ok</option><option>partial</option>'
        '<option>error</option></select></label><span id="shown" class="dim" role="status"></span></div>'
    )
    return (
        f'{tools}<div class="scroll" tabindex="0"><table id="samples"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>{note}"
    )


def _row(result: Result) -> str:
    line = result.line
    answer = (line.get("summarizer_result") or {}).get("final_answer") if result.status != "error" else None
    cells = [
        _cell(result.sample_id),
        _cell(Path(str(line.get("image_path") or "")).name),
        _cell(result.status),
        _number_cell(result.score),
        _number_cell(result.truth),
        _cell(answer),
        _cell(result.group("distortion")),
        _cell(line.get("query")),
    ]
    return f'<tr data-status="{result.status}" class="s-{result.status}">{"".join(cells)}</tr>'


def _cell(value: object) -> str:
    return f"<td>{'' if value is None else escape(str(value))}</td>"


def _number_cell(value: float | None) -> str:
    return '<td data-value=""></td>' if value is None else f'<td data-value="{value!r}">{value:.3g}</td>'
