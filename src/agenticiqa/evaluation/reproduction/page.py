"""A study on one self-contained page: its table, scores against opinions, figures with intervals, cost against them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from agenticiqa.evaluation.agreement import pairs
from agenticiqa.evaluation.logistic_fit import LogisticFit
from agenticiqa.evaluation.report.charts import scatter
from agenticiqa.evaluation.report.comparison_charts import Bar, Point, cost_against, interval_bars, thinned
from agenticiqa.evaluation.reproduction.beside import published_rows
from agenticiqa.evaluation.reproduction.outcomes import Outcome
from agenticiqa.evaluation.reproduction.sets import JudgedSet
from agenticiqa.evaluation.reproduction.studies import Study
from agenticiqa.evaluation.tables import Table
from agenticiqa.reports.look import page, table

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
        yield _figure(interval_bars(bars, f"{name} on {judged.title}"), f"{name} with 95 % intervals{grey}.")
    points = [point for each in own if (point := _point(each))]
    if points:
        drawn = cost_against(points, f"{name} on {judged.title} against cost", name)
        yield _figure(drawn, f"{name} against what a thousand samples cost.")
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


def _point(each: Outcome) -> Point | None:
    found = each.main_figure
    if each.expense is None or each.expense.usd is None or each.file is None or found is None or found.value is None:
        return None
    return Point(each.cell.method.short_label, each.expense.usd / len(each.file.results) * 1000, found.value)


def _scatter(each: Outcome) -> str:
    if each.file is None or each.scores is None:
        return ""
    compared = pairs(each.file.results)
    curve = LogisticFit(each.scores.fit, squared_error=0.0) if each.scores.fit else None
    drawn = scatter(*thinned(compared.predicted.tolist(), compared.opinions.tolist(), MOST_DOTS), curve)
    return _figure(drawn, f"{each.cell.method.short_label}: {each.scores.used} pictures.")


def _figure(drawn: str, caption: str) -> str:
    return f"<figure>{drawn}<figcaption>{escape(caption)}</figcaption></figure>"
