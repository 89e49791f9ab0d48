"""The table of ablations: what the figures are without a part, and by how much they change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agenticiqa.evaluation.ablation import ablate
from agenticiqa.evaluation.reproduction import shown
from agenticiqa.evaluation.reproduction.differences import difference
from agenticiqa.evaluation.reproduction.methods import Method
from agenticiqa.evaluation.reproduction.outcomes import Outcome, settings_for
from agenticiqa.evaluation.reproduction.sets import JudgedSet
from agenticiqa.evaluation.reproduction.studies import Study
from agenticiqa.evaluation.tables import UNDEFINED, Table

STORED = ("fusion",)


def ablation_table(study: Study, outcomes: Sequence[Outcome], *, resamples: int) -> Table:
    columns = ["Method"]
    for judged in study.sets:
        columns += [f"{judged.title} {name}" for name in _figures_of(judged)]
    rows: list[list[str]] = []
    for model in dict.fromkeys(method.models[0] for method in study.methods):
        rows += _model_rows(study, [each for each in outcomes if each.cell.method.models == [model]], resamples)
    notes = [
        *shown.about_intervals(resamples),
        *shown.about_training(outcomes),
        "Change: against the whole pipeline on the same samples, with a 95 % paired bootstrap interval, or the p of an "
        "exact McNemar test. Rows marked re-scored are computed from the stored results of the whole pipeline; every "
        "other row is a run of its own.",
    ]
    return Table(study.title, [*columns, "Samples", "Calls each", *shown.EXPENSE, "Remarks"], rows, notes)


def _figures_of(judged: JudgedSet) -> tuple[str, ...]:
    return ("accuracy", "change") if judged.asks_questions else ("SRCC", "PLCC", "change of SRCC")


def _model_rows(study: Study, outcomes: Sequence[Outcome], resamples: int) -> Iterator[list[str]]:
    whole = {each.cell.judged.name: each for each in outcomes if _is_whole(each.cell.method)}
    for key in dict.fromkeys(each.cell.method.key for each in outcomes):
        own = [each for each in outcomes if each.cell.method.key == key]
        yield _row(study, own, whole, resamples)
        if _is_whole(own[0].cell.method):
            yield from _rescored(study, whole, resamples)


def _is_whole(method: Method) -> bool:
    return method.kind == "agents" and method.without is None


def _row(study: Study, own: Sequence[Outcome], whole: dict[str, Outcome], resamples: int) -> list[str]:
    by_set = {each.cell.judged.name: each for each in own}
    cells: list[str] = []
    for judged in study.sets:
        each, base = by_set.get(judged.name), whole.get(judged.name)
        if each is None or each.file is None:
            cells += [UNDEFINED] * len(_figures_of(judged))
            continue
        change = UNDEFINED if base is None or base is each else difference(base, each, resamples).text
        if each.choices:
            cells += [shown.percent(each.choices.of_all), change]
        elif each.scores:
            cells += [shown.figure(each.scores.srcc), shown.figure(each.scores.plcc_fitted), change]
    return [
        own[0].cell.method.label,
        *cells,
        shown.sample_counts(own),
        _calls_each(own),
        *shown.expenses(own),
        shown.remark(own),
    ]


def _calls_each(own: Sequence[Outcome]) -> str:
    known = [(each.expense.calls, len(each.file.results)) for each in own if each.expense and each.file]
    samples = sum(count for _, count in known)
    return f"{sum(calls for calls, _ in known) / samples:.2f}" if samples else UNDEFINED


def _rescored(study: Study, whole: dict[str, Outcome], resamples: int) -> Iterator[list[str]]:
    """Other ways to make a score of the same tool scores and probabilities."""
    by_name: dict[str, dict[str, list[str]]] = {}
    for name, each in whole.items():
        if each.scores is None or each.file is None:
            continue
        for variant in ablate(each.file.results, STORED, settings_for(each.file, resamples))[1:]:
            found = (variant.figures.srcc, variant.figures.plcc_fitted) if variant.figures else (None, None)
            by_name.setdefault(variant.name, {})[name] = [*map(shown.figure, found), UNDEFINED]
    for name, figures_by_set in by_name.items():
        cells: list[str] = []
        for judged in study.sets:
            cells += figures_by_set.get(judged.name, [UNDEFINED] * len(_figures_of(judged)))
        yield [f"re-scored: {name}", *cells, *[UNDEFINED] * (2 + len(shown.EXPENSE)), "from stored results"]
