"""The tables of all studies: published rows beside ours; figures by set, samples, expenses, remarks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean

from agenticiqa.research.ablation import ablate
from agenticiqa.research.evaluate import same_conditions
from agenticiqa.research.published import method_of, published_accuracies, published_correlations, source
from agenticiqa.research.reproduction.methods import Method, Study, TableName
from agenticiqa.research.reproduction.outcomes import Outcome, difference, settings_for
from agenticiqa.research.reproduction.sets import JudgedSet
from agenticiqa.research.tables import UNDEFINED, Table, estimate_text, percent_text
from agenticiqa.runtime.config import ROLES
from agenticiqa.tools.registry import default_registry

SAME, SIMILAR = "=", "≈"
_BACKENDS = {"gpt-4o": "openai.gpt-4o", "qwen2.5-vl": "qwen2.5-vl-local"}
"""What the paper's models are called here."""
LEGEND = (
    f"{SAME}: the same method on the whole set. {SIMILAR}: the same method, but on a part of the set, on other "
    "weights, or without the paper's tools and calibrations (--profile paper). No mark: nothing published is like it."
)


@dataclass(frozen=True)
class PublishedRow:
    """One published method with its figures by set: (SRCC, PLCC), or percent by part."""

    method: str
    correlations: dict[str, tuple[float, float]]
    accuracies: dict[str, dict[str, float]]


def published_rows(sets: Iterable[JudgedSet]) -> list[PublishedRow]:
    """Everything that the paper prints of these sets."""
    rows: dict[str, PublishedRow] = {}

    def row(method: str) -> PublishedRow:
        return rows.setdefault(method, PublishedRow(method, {}, {}))

    for judged in sets:
        for found in published_correlations(judged.name):
            row(found.method).correlations[judged.name] = found.srcc, found.plcc
        for method, parts in published_accuracies(judged.name).items():
            row(method).accuracies[judged.name] = parts
    return list(rows.values())


def is_like(method: Method, row: PublishedRow) -> bool:
    """Whether one of our methods is the one that a row was published of, on whatever weights."""
    same, said = same_conditions(row.method, method.conditions)
    return same or (method_of(row.method).tuned and not said.startswith("no"))


def mark(method: Method, outcomes: Sequence[Outcome], published: Sequence[PublishedRow], *, paper_profile: bool) -> str:
    """``= NAME`` or ``≈ NAME`` of the published row that a row of ours can be read beside; empty where none is."""
    for row in published:
        if is_like(method, row):
            whole = all(each.whole and each.complete for each in outcomes)
            same = whole and not method_of(row.method).tuned and (paper_profile or method.kind != "agents")
            return f"{SAME if same else SIMILAR} {row.method}"
    return ""


def how_to_fill(row: PublishedRow, methods: Iterable[Method]) -> str:
    """For a published row: ours that is like it, or what would give one."""
    known = method_of(row.method)
    if known.kind == "people":
        return "people"
    ours = next((method for method in methods if is_like(method, row)), None)
    if ours is not None:
        return f"ours: {ours.label}"
    if known.kind != "metric":
        return f"ours: --models {_BACKENDS.get(known.model, known.model)} --methods {known.kind}"
    tool = default_registry().get(known.tool or row.method)
    return f"ours: --tools {tool.name}" if tool else f"not here: `agenticiqa tools show {known.tool or row.method}`"


# --- one table for every study -----------------------------------------------------------------------------

SRCC, PLCC, ACCURACY, CHANGE, OVERALL = "SRCC", "PLCC", "accuracy", "change", "overall"
_FIGURES: dict[TableName, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "ratings": ((SRCC, PLCC), ()),
    "ablations": ((SRCC, PLCC, f"{CHANGE} of SRCC"), (ACCURACY, CHANGE)),
    "roles": ((SRCC,), (ACCURACY,)),
}
"""Of sets with opinions, and of sets with questions; the other tables have a column for each part of their set."""
_LAST: dict[TableName, str] = {"ablations": "Remarks", "roles": "Verdict"}
EXPENSE = ("US$ per 1,000", "Seconds each")
BEST, CHEAPEST = "best", "cheapest that is not clearly worse"
ABOUT_CHANGES = (
    "Change: against the whole pipeline on the same samples, with a 95 % paired bootstrap interval, or the p of an "
    "exact McNemar test. Rows marked re-scored are computed from the stored results of the whole pipeline; every other "
    "row is a run of its own."
)
ABOUT_VERDICTS = (
    f"“{BEST}”: the highest mean of all figures. “{CHEAPEST}”: the lowest price among the mixes that fall short of the "
    "best one on no set by more than chance (paired 95 % interval, McNemar p < 0.05). Costs are those of a mix by "
    "itself, although mixes that share an agent share its replies and were paid once."
)
TRAINED_ON = ("biq2021",)
STORED = ("fusion",)
_INTERVAL = re.compile(r" \[[^]]*\]")

Column = tuple[JudgedSet, str]
"""A set and one of its figures."""


@dataclass(frozen=True)
class StudyTable:
    """A study laid out: what the paper prints, then a row for each method that judged a set."""

    study: Study
    outcomes: Sequence[Outcome]
    resamples: int
    paper_profile: bool

    def table(self) -> Table:
        study = self.study
        titles = [f"{judged.title} {name}" if study.table in _FIGURES else name for judged, name in self.columns]
        heads = [role.capitalize() for role in ROLES] if study.table == "roles" else ["Method"]
        last = _LAST.get(study.table, "Beside the paper")
        rows = []
        for row in self.published:
            cells = [_printed(row, *column) for column in self.columns]
            rows.append(self._row([f"{row.method} (published)"], cells, [], how_to_fill(row, study.methods)))
        for own in self.by_method:
            rows += self._rows_of(own)
        counts = ["Samples", "Calls each"] if study.table == "ablations" else ["Samples"]
        return Table(study.title, [*heads, *titles, *counts, *EXPENSE, last], rows, list(self._notes()))

    @cached_property
    def published(self) -> list[PublishedRow]:
        return published_rows(self.study.sets) if self.study.is_published else []

    @cached_property
    def columns(self) -> list[Column]:
        study = self.study
        if study.table in _FIGURES:
            return [(judged, name) for judged in study.sets for name in _FIGURES[study.table][judged.asks_questions]]
        judged = study.sets[0]
        printed = [part for row in self.published for part in row.accuracies[judged.name]]
        measured = [part for each in self.outcomes for part in each.parts]
        parts = [part for part in dict.fromkeys([*printed, *measured]) if part != OVERALL]
        return [(judged, part) for part in (*parts, OVERALL)]

    @cached_property
    def by_method(self) -> list[list[Outcome]]:
        methods = self.study.methods
        if self.study.table == "ablations":
            models = list(dict.fromkeys(method.models[0] for method in methods))
            methods = sorted(methods, key=lambda method: models.index(method.models[0]))
        rows = ([each for each in self.outcomes if each.cell.method == method] for method in methods)
        return [own for own in rows if own]

    @cached_property
    def verdicts(self) -> dict[str, str]:
        return _verdicts(self.by_method, self.resamples) if self.study.table == "roles" else {}

    def _rows_of(self, own: Sequence[Outcome]) -> Iterator[list[str]]:
        method = own[0].cell.method
        by_set = {each.cell.judged.name: each for each in own}
        whole = {
            each.cell.judged.name: each
            for each in self.outcomes
            if _is_whole(each.cell.method) and each.cell.method.models == method.models
        }
        cells = [self._cell(by_set.get(judged.name), name, whole.get(judged.name)) for judged, name in self.columns]
        heads = [method.roles[role] for role in ROLES] if self.study.table == "roles" else [method.label]
        said = mark(method, own, self.published, paper_profile=self.paper_profile) or self.verdicts.get(method.key, "")
        yield self._row(heads, cells, own, "; ".join(text for text in (said, remark(own)) if text))
        if self.study.table == "ablations" and _is_whole(method):
            yield from self._rescored(whole)

    def _row(self, heads: list[str], cells: list[str], own: Sequence[Outcome], last: str) -> list[str]:
        calls = [_calls_each(own)] if self.study.table == "ablations" else []
        return [*heads, *cells, sample_counts(own), *calls, *expenses(own), last]

    def _cell(self, each: Outcome | None, name: str, whole: Outcome | None) -> str:
        """A method's figure on a set; changes are against the whole pipeline on the same model."""
        if each is None or each.file is None:
            return UNDEFINED
        if name.startswith(CHANGE):
            return UNDEFINED if whole is None or whole is each else difference(whole, each, self.resamples).text
        if each.scores:
            return estimate_text(each.scores.srcc if name == SRCC else each.scores.plcc_fitted)
        found = {**each.parts, OVERALL: each.choices, ACCURACY: each.choices}.get(name)
        return percent_text(found.of_all) if found else UNDEFINED

    def _rescored(self, whole: Mapping[str, Outcome]) -> Iterator[list[str]]:
        """Other ways to make a score of the same tool scores and probabilities."""
        found: dict[str, dict[tuple[str, str], str]] = {}
        for judged in self.study.sets:
            each = whole.get(judged.name)
            if each is None or each.scores is None or each.file is None:
                continue
            for variant in ablate(each.file.results, STORED, settings_for(each.file, self.resamples))[1:]:
                cells = found.setdefault(variant.name, {})
                if variant.figures:
                    cells[judged.name, SRCC] = estimate_text(variant.figures.srcc)
                    cells[judged.name, PLCC] = estimate_text(variant.figures.plcc_fitted)
        for name, cells in found.items():
            figures = [cells.get((judged.name, figure), UNDEFINED) for judged, figure in self.columns]
            yield self._row([f"re-scored: {name}"], figures, [], "from stored results")

    def _notes(self) -> Iterator[str]:
        study = self.study
        if study.table in _FIGURES:
            yield about_intervals(self.resamples)
            yield from about_training(self.outcomes)
        else:
            judged = study.sets[0]
            yield f"{judged.title}, {judged.subset}. 95 % Wilson intervals; a question without an answer is not right."
        if study.is_published:
            yield LEGEND
        if self.published:
            fitted = " Whether its PLCC is fitted is not stated there." if study.table == "ratings" else ""
            yield f"Published: {source()}.{fitted}"
        if study.table == "ablations":
            yield ABOUT_CHANGES
        if study.table == "roles":
            yield ABOUT_VERDICTS


def _printed(row: PublishedRow, judged: JudgedSet, name: str) -> str:
    if judged.name in row.correlations:
        return f"{row.correlations[judged.name][(SRCC, PLCC).index(name)]:.4f}"
    share = row.accuracies.get(judged.name, {}).get(name)
    return UNDEFINED if share is None else f"{share:.1f}%"


def _is_whole(method: Method) -> bool:
    return method.kind == "agents" and method.without is None


# --- cells ------------------------------------------------------------------------------------------------


def usd_each(outcomes: Sequence[Outcome]) -> float | None:
    """What one sample costs; None where a price is unknown or nothing has run."""
    known = [(each.expense.usd, len(each.file.results)) for each in outcomes if each.expense and each.file]
    costs = [usd for usd, _ in known if usd is not None]
    return sum(costs) / sum(count for _, count in known) if known and len(costs) == len(known) else None


def expenses(outcomes: Sequence[Outcome]) -> list[str]:
    """What a thousand samples cost and how long one takes, over all sets of a row."""
    if not any(each.expense for each in outcomes):
        return [UNDEFINED, UNDEFINED]
    usd = usd_each(outcomes)
    timed = [
        (each.expense.seconds, len(each.file.results))
        for each in outcomes
        if each.file and each.expense and each.expense.seconds is not None
    ]
    seconds = sum(time * count for time, count in timed) / sum(count for _, count in timed) if timed else None
    return [
        "unknown" if usd is None else f"{1000 * usd:.2f}" if usd else "0",
        UNDEFINED if seconds is None else f"{seconds:.3g}",
    ]


def _calls_each(outcomes: Sequence[Outcome]) -> str:
    known = [(each.expense.calls, len(each.file.results)) for each in outcomes if each.expense and each.file]
    samples = sum(count for _, count in known)
    return f"{sum(calls for calls, _ in known) / samples:.2f}" if samples else UNDEFINED


def sample_counts(outcomes: Sequence[Outcome]) -> str:
    """How many samples the figures are of, set by set."""
    return " / ".join(_count(each) for each in outcomes) or UNDEFINED


def _count(each: Outcome) -> str:
    used = each.scores.used if each.scores else each.choices.asked if each.choices else 0
    return str(used) if used == each.asked else f"{used} of {each.asked}"


def remark(outcomes: Sequence[Outcome]) -> str:
    """Why a row is empty or not finished, and how many samples failed; nothing where all is well."""
    reasons = [each.state.reason for each in outcomes if not each.complete and each.state.reason]
    states = ["not run" for each in outcomes if each.file is None and not each.state.reason]
    failed = sum(each.file.count("error") for each in outcomes if each.file)
    return "; ".join(dict.fromkeys([*reasons, *states, *([f"{failed} failed"] if failed else [])]))


def about_intervals(resamples: int) -> str:
    """How the intervals of correlations came about."""
    if resamples == 0:
        return "No intervals: --resamples is 0, or the run was stopped."
    return (
        "SRCC: Spearman; PLCC: Pearson after the five-parameter logistic fit; in brackets 95 % intervals from "
        f"{resamples} bootstrap resamples of the pictures (versions of one reference drawn together where there are "
        "five or more)."
    )


def about_training(outcomes: Sequence[Outcome]) -> list[str]:
    """Our own model has learnt from a part of one set: whoever counts all of it is told."""
    own = [each for each in outcomes if each.cell.judged.name in TRAINED_ON and each.file and _is_ours(each)]
    if not own or all(each.cell.judged.selection.only for each in own):
        return []
    names = ", ".join(dict.fromkeys(each.cell.judged.title for each in own))
    return [
        f"embedded and AIQA_NR were trained on a part of {names} (docs/one-picture/model-card.md): "
        "only pictures held out count as a test. --only takes a list of them; training/embedded/splits.json has it."
    ]


def _is_ours(each: Outcome) -> bool:
    return each.cell.method.tool == "AIQA_NR" or "embedded" in each.cell.method.models


def brief(table: Table) -> Table:
    """For a terminal: figures without their intervals, which are in the files."""
    return replace(table, rows=[[_INTERVAL.sub("", cell) for cell in row] for row in table.rows])


# --- which mix of models is best --------------------------------------------------------------------------


def _verdicts(mixes: Sequence[Sequence[Outcome]], resamples: int) -> dict[str, str]:
    """Which mix is best, and which is the cheapest good one, by the method's key."""
    complete = [mix for mix in mixes if _mean_figure(mix) is not None]
    if len(complete) < 2:
        return {}
    best = max(complete, key=lambda mix: (_mean_figure(mix) or 0.0, -(usd_each(mix) or 0.0)))
    as_good = [mix for mix in complete if mix is best or not _worse(mix, best, resamples)]
    priced = [mix for mix in as_good if usd_each(mix) is not None]
    best_key = best[0].cell.method.key
    verdicts = {best_key: BEST}
    if priced:
        cheapest = min(priced, key=lambda mix: (usd_each(mix) or 0.0, -(_mean_figure(mix) or 0.0)))
        key = cheapest[0].cell.method.key
        verdicts[key] = f"{BEST}, and {CHEAPEST}" if key == best_key else CHEAPEST
    return verdicts


def _mean_figure(mix: Sequence[Outcome]) -> float | None:
    """Mean of SRCC and accuracy over the sets; None unless every one has it."""
    values = [each.main_figure.value if each.main_figure else None for each in mix]
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None


def _worse(mix: Sequence[Outcome], best: Sequence[Outcome], resamples: int) -> bool:
    by_set = {each.cell.judged.key: each for each in mix}
    found = [difference(each, by_set[each.cell.judged.key], resamples) for each in best]
    return any(each.matters and (each.value or 0.0) < 0 for each in found)
