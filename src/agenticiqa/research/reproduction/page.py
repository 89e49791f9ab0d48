"""A study as a page with charts, as Markdown and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from agenticiqa.reports.look import page, table
from agenticiqa.research.agreement import pairs
from agenticiqa.research.report.charts import Bar, figure, interval_bars, scatter
from agenticiqa.research.reproduction.methods import Study
from agenticiqa.research.reproduction.outcomes import Outcome
from agenticiqa.research.reproduction.sets import JudgedSet
from agenticiqa.research.reproduction.tables import published_rows
from agenticiqa.research.statistics import Accuracy, IntervalEstimate, LogisticFit
from agenticiqa.research.tables import Table
from agenticiqa.runtime.config import ROLES
from agenticiqa.runtime.logs import markdown_text

# --- A study on one self-contained page ---


MOST_DOTS = 800
_MORE_STYLE = """
main { max-width: 78rem; } svg .whisker { stroke: var(--ink); stroke-width: 1.5; } td { min-width: 4rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(22rem, 1fr)); gap: 1rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; }
dd { margin: 0; overflow-wrap: anywhere; }
"""


def render_page(study: Study, shown: Table, outcomes: Sequence[Outcome], facts: Mapping[str, str]) -> str:
    """The page as text; nothing is loaded from elsewhere and no script runs."""
    notes = "".join(f'<p class="dim">{escape(note)}</p>' for note in shown.notes)
    body = [f"<section>{table(shown.columns, shown.rows)}{notes}</section>"]
    for judged in study.sets:
        own = [each for each in outcomes if each.cell.judged == judged and each.file]
        charts = "".join(_charts(judged, own, beside_paper=study.is_published))
        body.append(f"<section><h2>{escape(judged.title)}</h2>{charts}</section>")
    run = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts.items())
    body.append(f"<section><h2>How it was run</h2><dl>{run}</dl></section>")
    return page(study.title, "".join(body), more_style=_MORE_STYLE)


def _charts(judged: JudgedSet, own: Sequence[Outcome], *, beside_paper: bool) -> Iterator[str]:
    name = "Accuracy" if judged.asks_questions else "SRCC"
    printed = list(_published_bars(judged)) if beside_paper else []
    bars = [*printed, *_bars(own)]
    if bars:
        grey = "; grey: published" if printed else ""
        yield figure(interval_bars(bars, f"{name} on {judged.title}"), f"{name} with 95 % intervals{grey}.")
    scatters = [_scatter(each) for each in own if each.scores and each.scores.used > 1]
    if scatters:
        yield f'<h3>Scores against opinions</h3><div class="charts">{"".join(scatters)}</div>'


def _published_bars(judged: JudgedSet) -> Iterator[Bar]:
    for row in published_rows([judged]):
        if judged.name in row.correlations:
            yield Bar(row.method, row.correlations[judged.name][0], published=True)
        elif "overall" in row.accuracies.get(judged.name, {}):
            yield Bar(row.method, row.accuracies[judged.name]["overall"] / 100, published=True)


def _bars(own: Sequence[Outcome]) -> Iterator[Bar]:
    for each in own:
        found = each.main_figure
        if found and found.value is not None:
            yield Bar(each.cell.method.short_label, found.value, found.low, found.high)


def _scatter(each: Outcome) -> str:
    if each.file is None or each.scores is None:
        return ""
    compared = pairs(each.file.results)
    curve = LogisticFit(each.scores.fit) if each.scores.fit else None
    drawn = scatter(compared.predicted, compared.opinions, curve, MOST_DOTS)
    return figure(drawn, f"{each.cell.method.short_label}: {each.scores.used} pictures.")


# --- A table as Markdown ---


def markdown(study: Study, table: Table, facts: Mapping[str, str]) -> str:
    """The table, then how it was made."""
    lines = [f"# Reproduction: {study.table}", "", table.markdown()]
    return "\n".join([*lines, *(f"- {markdown_text(name)}: {markdown_text(text)}" for name, text in facts.items()), ""])


# --- CSV: one line for each method, set and part ---------------------------------------------------------

_COLUMNS = (
    "table", "set", "subset", "part", "method", "published", "kind", "profile", *ROLES, "without", "state",
    "asked", "used", "failed", "srcc", "srcc_low", "srcc_high", "plcc_fitted", "plcc_fitted_low", "plcc_fitted_high",
    "plcc", "krcc", "accuracy", "accuracy_low", "accuracy_high", "right", "calls", "cost_usd", "paid_usd",
    "seconds_each", "whole_set", "results_sha256",
)  # fmt: skip


def csv_text(study: Study, outcomes: Sequence[Outcome]) -> str:
    """Every figure as a number, for other programs."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, _COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    for row in (*_published(study), *(row for each in outcomes for row in _rows(study, each))):
        writer.writerow({name: _plain(value) for name, value in row.items()})
    return stream.getvalue()


def _plain(value: Any) -> Any:
    """Spreadsheets take texts that begin with one of these for formulas."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@")) else value


def _published(study: Study) -> Iterator[dict[str, Any]]:
    for row in published_rows(study.sets) if study.is_published else ():
        common = {"table": study.table, "method": row.method, "published": True}
        for name, (srcc, plcc) in row.correlations.items():
            yield {**common, "set": name, "srcc": srcc, "plcc": plcc}
        for name, parts in row.accuracies.items():
            for part, share in parts.items():
                yield {**common, "set": name, "part": part, "accuracy": round(share / 100, 6)}


def _rows(study: Study, each: Outcome) -> Iterator[dict[str, Any]]:
    method, judged = each.cell.method, each.cell.judged
    row: dict[str, Any] = {
        "table": study.table, "set": judged.name, "subset": judged.subset, "method": method.label, "published": False,
        "kind": method.kind, "profile": each.cell.profile or "", **method.roles,
        "without": method.without or "", "state": each.state_name,
        "asked": each.asked, "whole_set": each.whole, "results_sha256": each.sha256 or "",
    }  # fmt: skip
    if each.file:
        row["failed"] = each.file.count("error")
    if each.expense:
        spent = each.expense
        row |= {"calls": spent.calls, "cost_usd": spent.usd, "paid_usd": spent.paid, "seconds_each": spent.seconds}
    if each.scores:
        row |= {"used": each.scores.used, **_estimate("srcc", each.scores.srcc)}
        row |= {**_estimate("plcc_fitted", each.scores.plcc_fitted), "plcc": each.scores.plcc.value}
        row["krcc"] = each.scores.krcc.value
    yield row if each.choices is None else {**row, "part": "overall", **_accuracy(each.choices)}
    for name, part in each.parts.items():
        yield {**row, "part": name, **_accuracy(part)}


def _accuracy(figures: Accuracy) -> dict[str, Any]:
    return {
        **_estimate("accuracy", figures.of_all),
        "asked": figures.asked,
        "used": figures.answered,
        "right": figures.right,
    }


def _estimate(name: str, estimate: IntervalEstimate) -> dict[str, float | None]:
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
