"""The tables of all studies: published rows beside ours; figures by set, samples, expenses, remarks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from benchmarks.paper.methods import Study, TableName
from benchmarks.paper.outcomes import Outcome, difference_text
from benchmarks.paper.published import (
    LEGEND,
    PLCC,
    SRCC,
    PublishedRow,
    how_to_fill,
    mark,
    published_rows,
    source,
)
from benchmarks.paper.sets import JudgedSet

from agenticiqa.research.tables import UNDEFINED, Table, estimate_text, percent_text

ABOUT_INTERVALS = (
    "SRCC: Spearman; PLCC: Pearson after the five-parameter logistic fit; in brackets 95 % intervals from {} bootstrap "
    "resamples of the pictures (versions of one reference drawn together where there are five or more)."
)
NO_INTERVALS = "No intervals: --resamples is 0, or the run was stopped."
ABOUT_CHANGES = (
    "Change: against the whole pipeline on the same samples, with a 95 % paired bootstrap interval, or the p of an "
    "exact McNemar test. Every row is a run of its own."
)
ACCURACY, CHANGE, OVERALL = "accuracy", "change", "overall"
_FIGURES: dict[TableName, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "ratings": ((SRCC, PLCC), ()),
    "ablations": ((SRCC, PLCC, f"{CHANGE} of SRCC"), (ACCURACY, CHANGE)),
}
"""Of sets with opinions, and of sets with questions; the other tables have a column for each part of their set."""
TRAINED_ON = ("biq2021",)
COUNTED: dict[Literal["error", "partial"], str] = {"error": "failed", "partial": "partial"}
_INTERVAL = re.compile(r" \[[^]]*\]")


@dataclass(frozen=True)
class StudyTable:
    """A study laid out: what the paper prints, then a row for each method that judged a set."""

    study: Study
    outcomes: Sequence[Outcome]
    resamples: int

    def table(self) -> Table:
        study = self.study
        titles = [f"{judged.title} {name}" if study.table in _FIGURES else name for judged, name in self.columns]
        ablates = study.table == "ablations"
        expenses = ["Samples", *(["Calls each"] if ablates else []), "US$ per 1,000", "Seconds each"]
        rows = []
        for row in self.published:
            printed = [(judged.name, OVERALL if name == ACCURACY else name) for judged, name in self.columns]
            cells = [row.cells.get(place, UNDEFINED) for place in printed]
            nothing = [UNDEFINED] * len(expenses)
            rows.append([f"{row.name} (published)", *cells, *nothing, how_to_fill(row, study.methods)])
        # Ablations stand beside the whole pipeline on the same model.
        names = list(dict.fromkeys(method.name for method in study.methods))
        for method in sorted(study.methods, key=lambda each: names.index(each.name)) if ablates else study.methods:
            own = [each for each in self.outcomes if each.cell.method == method]
            if own:
                cells = [self._cell(own, judged, name) for judged, name in self.columns]
                marking = mark(method, own, self.published)
                last = "; ".join(text for text in (marking, remark(own)) if text)
                rows.append([method.label, *cells, *_expenses(own, calls=ablates), last])
        last_column = "Remarks" if ablates else "Beside the paper"
        return Table(study.title, ["Method", *titles, *expenses, last_column], rows, list(self._notes()))

    @cached_property
    def published(self) -> list[PublishedRow]:
        rows = published_rows(self.study.sets)
        # Beside ablations stand the whole pipeline and the bare models.
        return [row for row in rows if row.kind in ("agents", "direct")] if self.study.table == "ablations" else rows

    @cached_property
    def columns(self) -> list[tuple[JudgedSet, str]]:
        study = self.study
        if study.table in _FIGURES:
            return [(judged, name) for judged in study.sets for name in _FIGURES[study.table][judged.asks_questions]]
        judged = study.sets[0]
        printed = [part for row in self.published for _, part in row.cells]
        measured = [part for each in self.outcomes for part in each.parts]
        parts = [part for part in dict.fromkeys([*printed, *measured]) if part != OVERALL]
        return [(judged, part) for part in (*parts, OVERALL)]

    def _cell(self, own: Sequence[Outcome], judged: JudgedSet, name: str) -> str:
        """A method's figure on a set; changes are against the whole pipeline on the same model."""
        each = next((outcome for outcome in own if outcome.cell.judged.name == judged.name), None)
        if each is None or each.file is None:
            return UNDEFINED
        if name.startswith(CHANGE):
            whole = [
                other
                for other in self.outcomes
                if other.cell.judged.name == judged.name
                and other.cell.method.is_whole
                and other.cell.method.name == each.cell.method.name
            ]
            return difference_text(whole[0], each, self.resamples) if whole and whole[0] is not each else UNDEFINED
        if each.scores:
            return estimate_text(each.scores.srcc if name == SRCC else each.scores.plcc_fitted)
        found = {**each.parts, OVERALL: each.choices, ACCURACY: each.choices}.get(name)
        return percent_text(found.accuracy) if found else UNDEFINED

    def _notes(self) -> Iterator[str]:
        study = self.study
        if study.table in _FIGURES:
            yield ABOUT_INTERVALS.format(self.resamples) if self.resamples else NO_INTERVALS
            yield from _about_training(self.outcomes)
        else:
            judged = study.sets[0]
            yield f"{judged.title}, {judged.subset}. 95 % Wilson intervals; a question without an answer is not right."
        if study.table == "ablations":
            yield ABOUT_CHANGES
            yield "No published figures of single ablations are at hand: whole pipeline and bare models stand above."
        yield LEGEND
        if self.published:
            fitted = " Whether its PLCC is fitted is not stated there." if study.table == "ratings" else ""
            yield f"Published: {source()}.{fitted}"


def _expenses(outcomes: Sequence[Outcome], *, calls: bool) -> list[str]:
    """How many samples the figures are of, set by set; then what a sample takes, over all sets of a row."""
    counts = []
    for each in outcomes:
        used = each.scores.used if each.scores else each.choices.asked if each.choices else 0
        counts.append(str(used) if used == each.asked else f"{used} of {each.asked}")
    known = [(each.expense, len(each.file.results)) for each in outcomes if each.expense and each.file]
    samples = sum(count for _, count in known)
    shown = [" / ".join(counts)]
    if not samples:
        return shown + [UNDEFINED] * (3 if calls else 2)
    if calls:
        shown.append(f"{sum(expense.calls for expense, _ in known) / samples:.2f}")
    costs = [expense.usd for expense, _ in known if expense.usd is not None]
    usd = 1000 * sum(costs) / samples
    timed = [(expense.seconds, count) for expense, count in known if expense.seconds is not None]
    seconds = sum(time * count for time, count in timed) / sum(count for _, count in timed) if timed else None
    return [
        *shown,
        "unknown" if len(costs) < len(known) else f"{usd:.2f}" if usd else "0",
        UNDEFINED if seconds is None else f"{seconds:.3g}",
    ]


def remark(outcomes: Sequence[Outcome]) -> str:
    """Why a row is empty or not finished, how many samples failed, how many are partial; nothing where all is well."""
    reasons = [each.state.reason for each in outcomes if not each.complete and each.state.reason]
    states = ["not run" for each in outcomes if each.file is None and not each.state.reason]
    files = [each.file for each in outcomes if each.file]
    counts = [(sum(file.count(status) for file in files), word) for status, word in COUNTED.items()]
    return "; ".join(dict.fromkeys([*reasons, *states, *(f"{count:,} {word}" for count, word in counts if count)]))


def _about_training(outcomes: Sequence[Outcome]) -> list[str]:
    """A note where results include pictures that the embedded model was trained on."""
    trained_on = [each.cell for each in outcomes if each.cell.judged.name in TRAINED_ON and each.file]
    own = [cell.judged for cell in trained_on if cell.method.name in ("AIQA_NR", "embedded")]
    if all(judged.selection.only for judged in own):
        return []
    names = ", ".join(dict.fromkeys(judged.title for judged in own))
    return [
        f"embedded and AIQA_NR were trained on a part of {names} (docs/one-picture/model-card.md): "
        "only pictures held out count as a test. --only takes a list of them; training/embedded/splits.json has it."
    ]


def brief(table: Table) -> Table:
    """For a terminal: figures without their intervals, which are in the files."""
    return replace(table, rows=[[_INTERVAL.sub("", cell) for cell in row] for row in table.rows])
