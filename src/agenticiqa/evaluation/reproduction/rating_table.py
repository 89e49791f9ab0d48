"""The table of ratings: SRCC and PLCC of every method on every set of pictures with opinions."""

from __future__ import annotations

from collections.abc import Sequence

from agenticiqa.evaluation.reproduction import beside, shown
from agenticiqa.evaluation.reproduction.beside import PublishedRow
from agenticiqa.evaluation.reproduction.outcomes import Outcome
from agenticiqa.evaluation.reproduction.studies import Study
from agenticiqa.evaluation.tables import UNDEFINED, Table

BESIDE = "Beside the paper"


def rating_table(study: Study, outcomes: Sequence[Outcome], *, resamples: int, paper_profile: bool) -> Table:
    published = beside.published_rows(study.sets)
    columns = ["Method", *(f"{judged.title} {name}" for judged in study.sets for name in ("SRCC", "PLCC"))]
    rows = [_published(study, row) for row in published]
    for method in study.methods:
        own = [each for each in outcomes if each.cell.method == method]
        if own:
            rows.append(_own(study, own, beside.mark(method, own, published, paper_profile=paper_profile)))
    notes = [*shown.about_intervals(resamples), *shown.about_training(outcomes), beside.LEGEND, *_about(published)]
    return Table(study.title, [*columns, "Samples", *shown.EXPENSE, BESIDE], rows, notes)


def _about(published: Sequence[PublishedRow]) -> list[str]:
    return [f"{shown.about_published()} Whether its PLCC is fitted is not stated there."] if published else []


def _published(study: Study, row: PublishedRow) -> list[str]:
    figures = [row.correlations.get(judged.name) for judged in study.sets]
    cells = [f"{value:.4f}" if value else UNDEFINED for pair in figures for value in pair or (None, None)]
    gap = [UNDEFINED] * (1 + len(shown.EXPENSE))
    return [f"{row.method} (published)", *cells, *gap, beside.how_to_fill(row, study.methods)]


def _own(study: Study, own: Sequence[Outcome], mark: str) -> list[str]:
    by_set = {each.cell.judged.name: each for each in own}
    cells: list[str] = []
    for judged in study.sets:
        found = by_set[judged.name].scores if judged.name in by_set else None
        cells += [shown.figure(found.srcc), shown.figure(found.plcc_fitted)] if found else [UNDEFINED] * 2
    why = shown.remark(own)
    last = "; ".join(part for part in (mark, why) if part)
    return [own[0].cell.method.label, *cells, shown.sample_counts(own), *shown.expenses(own), last]
