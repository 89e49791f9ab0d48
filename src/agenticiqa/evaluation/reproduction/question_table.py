"""The tables of questions: accuracy of every method in every part of a set."""

from __future__ import annotations

from collections.abc import Sequence

from agenticiqa.evaluation.reproduction import beside, shown
from agenticiqa.evaluation.reproduction.beside import PublishedRow
from agenticiqa.evaluation.reproduction.outcomes import Outcome
from agenticiqa.evaluation.reproduction.rating_table import BESIDE
from agenticiqa.evaluation.reproduction.studies import Study
from agenticiqa.evaluation.tables import UNDEFINED, Table

OVERALL = "overall"


def question_table(study: Study, outcomes: Sequence[Outcome], *, paper_profile: bool) -> Table:
    """Of one set: the paper has one table for each."""
    judged = study.sets[0]
    published = beside.published_rows([judged])
    printed = [part for row in published for part in row.accuracies[judged.name]]
    measured = [part for each in outcomes for part in each.parts]
    parts = [part for part in dict.fromkeys([*printed, *measured]) if part != OVERALL] + [OVERALL]
    rows = [_published(row, judged.name, parts, study) for row in published]
    for each in outcomes:
        rows.append(_own(each, parts, beside.mark(each.cell.method, [each], published, paper_profile=paper_profile)))
    notes = [
        f"{judged.title}, {judged.subset}. 95 % Wilson intervals; a question without an answer is not right.",
        beside.LEGEND,
        *([shown.about_published()] if published else []),
    ]
    return Table(study.title, ["Method", *parts, "Samples", *shown.EXPENSE, BESIDE], rows, notes)


def _published(row: PublishedRow, name: str, parts: Sequence[str], study: Study) -> list[str]:
    figures = row.accuracies[name]
    cells = [f"{figures[part]:.1f}%" if part in figures else UNDEFINED for part in parts]
    gap = [UNDEFINED] * (1 + len(shown.EXPENSE))
    return [f"{row.method} (published)", *cells, *gap, beside.how_to_fill(row, study.methods)]


def _own(each: Outcome, parts: Sequence[str], mark: str) -> list[str]:
    found = {**each.parts, **({OVERALL: each.choices} if each.choices else {})}
    cells = [shown.percent(found[part].of_all) if part in found else UNDEFINED for part in parts]
    last = "; ".join(text for text in (mark, shown.remark([each])) if text)
    return [each.cell.method.label, *cells, shown.sample_counts([each]), *shown.expenses([each]), last]
