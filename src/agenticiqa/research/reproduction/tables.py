"""Which published row is like which of ours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from agenticiqa.research.ablation import ablate
from agenticiqa.research.evaluate import same_conditions
from agenticiqa.research.published import method_of, published_accuracies, published_correlations
from agenticiqa.research.reproduction import figures
from agenticiqa.research.reproduction.methods import Method, Study
from agenticiqa.research.reproduction.outcomes import Outcome, difference, settings_for
from agenticiqa.research.reproduction.sets import JudgedSet
from agenticiqa.research.tables import UNDEFINED, Table
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


# --- The table of ablations: what the figures are without a part, and by how much they change ---


STORED = ("fusion",)


def ablation_table(study: Study, outcomes: Sequence[Outcome], *, resamples: int) -> Table:
    columns = ["Method"]
    for judged in study.sets:
        columns += [f"{judged.title} {name}" for name in _figures_of(judged)]
    rows: list[list[str]] = []
    for model in dict.fromkeys(method.models[0] for method in study.methods):
        rows += _model_rows(study, [each for each in outcomes if each.cell.method.models == [model]], resamples)
    notes = [
        *figures.about_intervals(resamples),
        *figures.about_training(outcomes),
        "Change: against the whole pipeline on the same samples, with a 95 % paired bootstrap interval, or the p of an "
        "exact McNemar test. Rows marked re-scored are computed from the stored results of the whole pipeline; every "
        "other row is a run of its own.",
    ]
    return Table(study.title, [*columns, "Samples", "Calls each", *figures.EXPENSE, "Remarks"], rows, notes)


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
            cells += [figures.percent(each.choices.of_all), change]
        elif each.scores:
            cells += [figures.figure(each.scores.srcc), figures.figure(each.scores.plcc_fitted), change]
    return [
        own[0].cell.method.label,
        *cells,
        figures.sample_counts(own),
        _calls_each(own),
        *figures.expenses(own),
        figures.remark(own),
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
            by_name.setdefault(variant.name, {})[name] = [*map(figures.figure, found), UNDEFINED]
    for name, figures_by_set in by_name.items():
        cells: list[str] = []
        for judged in study.sets:
            cells += figures_by_set.get(judged.name, [UNDEFINED] * len(_figures_of(judged)))
        yield [f"re-scored: {name}", *cells, *[UNDEFINED] * (2 + len(figures.EXPENSE)), "from stored results"]


# --- The tables of questions: accuracy of every method in every part of a set ---


OVERALL = "overall"


def question_table(study: Study, outcomes: Sequence[Outcome], *, paper_profile: bool) -> Table:
    """Of one set: the paper has one table for each."""
    judged = study.sets[0]
    published = published_rows([judged])
    printed = [part for row in published for part in row.accuracies[judged.name]]
    measured = [part for each in outcomes for part in each.parts]
    parts = [part for part in dict.fromkeys([*printed, *measured]) if part != OVERALL] + [OVERALL]
    rows = [_published(row, judged.name, parts, study) for row in published]
    for each in outcomes:
        rows.append(_own(each, parts, mark(each.cell.method, [each], published, paper_profile=paper_profile)))
    notes = [
        f"{judged.title}, {judged.subset}. 95 % Wilson intervals; a question without an answer is not right.",
        LEGEND,
        *([figures.about_published()] if published else []),
    ]
    return Table(study.title, ["Method", *parts, "Samples", *figures.EXPENSE, BESIDE], rows, notes)


def _published(row: PublishedRow, name: str, parts: Sequence[str], study: Study) -> list[str]:
    values = row.accuracies[name]
    cells = [f"{values[part]:.1f}%" if part in values else UNDEFINED for part in parts]
    gap = [UNDEFINED] * (1 + len(figures.EXPENSE))
    return [f"{row.method} (published)", *cells, *gap, how_to_fill(row, study.methods)]


def _own(each: Outcome, parts: Sequence[str], mark: str) -> list[str]:
    found = {**each.parts, **({OVERALL: each.choices} if each.choices else {})}
    cells = [figures.percent(found[part].of_all) if part in found else UNDEFINED for part in parts]
    last = "; ".join(text for text in (mark, figures.remark([each])) if text)
    return [each.cell.method.label, *cells, figures.sample_counts([each]), *figures.expenses([each]), last]


# --- The table of ratings: SRCC and PLCC of every method on every set of pictures with opinions ---


BESIDE = "Beside the paper"


def rating_table(study: Study, outcomes: Sequence[Outcome], *, resamples: int, paper_profile: bool) -> Table:
    published = published_rows(study.sets)
    columns = ["Method", *(f"{judged.title} {name}" for judged in study.sets for name in ("SRCC", "PLCC"))]
    rows = [_published_rating(study, row) for row in published]
    for method in study.methods:
        own = [each for each in outcomes if each.cell.method == method]
        if own:
            rows.append(_own_rating(study, own, mark(method, own, published, paper_profile=paper_profile)))
    notes = [*figures.about_intervals(resamples), *figures.about_training(outcomes), LEGEND, *_about(published)]
    return Table(study.title, [*columns, "Samples", *figures.EXPENSE, BESIDE], rows, notes)


def _about(published: Sequence[PublishedRow]) -> list[str]:
    return [f"{figures.about_published()} Whether its PLCC is fitted is not stated there."] if published else []


def _published_rating(study: Study, row: PublishedRow) -> list[str]:
    pairs = [row.correlations.get(judged.name) for judged in study.sets]
    cells = [f"{value:.4f}" if value else UNDEFINED for pair in pairs for value in pair or (None, None)]
    gap = [UNDEFINED] * (1 + len(figures.EXPENSE))
    return [f"{row.method} (published)", *cells, *gap, how_to_fill(row, study.methods)]


def _own_rating(study: Study, own: Sequence[Outcome], mark: str) -> list[str]:
    by_set = {each.cell.judged.name: each for each in own}
    cells: list[str] = []
    for judged in study.sets:
        found = by_set[judged.name].scores if judged.name in by_set else None
        cells += [figures.figure(found.srcc), figures.figure(found.plcc_fitted)] if found else [UNDEFINED] * 2
    why = figures.remark(own)
    last = "; ".join(part for part in (mark, why) if part)
    return [own[0].cell.method.label, *cells, figures.sample_counts(own), *figures.expenses(own), last]


# --- The table of mixes: a backend for each agent, what it reaches, and what it costs ---


BEST, CHEAPEST = "best", "cheapest that is not clearly worse"


@dataclass(frozen=True)
class Mix:
    """One choice of backends and what came of it on every set."""

    method: Method
    outcomes: list[Outcome]

    @property
    def mean_figure(self) -> float | None:
        """Mean of SRCC and accuracy over the sets; None unless every one has it."""
        values = [each.main_figure.value if each.main_figure else None for each in self.outcomes]
        known = [value for value in values if value is not None]
        return fmean(known) if known and len(known) == len(values) else None

    @property
    def usd_each(self) -> float | None:
        """What one sample costs; None where a price is unknown or nothing has run."""
        known = [(each.expense.usd, len(each.file.results)) for each in self.outcomes if each.expense and each.file]
        if not known or len(known) < len(self.outcomes) or any(usd is None for usd, _ in known):
            return None
        return sum(usd or 0.0 for usd, _ in known) / sum(count for _, count in known)


def roles_table(study: Study, outcomes: Sequence[Outcome], *, resamples: int) -> Table:
    mixes = [Mix(method, [each for each in outcomes if each.cell.method == method]) for method in study.methods]
    verdicts = judge(mixes, resamples)
    columns = [*(role.capitalize() for role in ROLES)]
    columns += [f"{judged.title} {'accuracy' if judged.asks_questions else 'SRCC'}" for judged in study.sets]
    rows = [_role_row(mix, study, verdicts.get(mix.method.key, "")) for mix in mixes]
    notes = [
        *figures.about_intervals(resamples),
        *figures.about_training(outcomes),
        f"“{BEST}”: the highest mean of all figures. “{CHEAPEST}”: the lowest price among the mixes that fall short of "
        "the best one on no set by more than chance (paired 95 % interval, McNemar p < 0.05). Costs are those of a mix "
        "by itself, although mixes that share an agent share its replies and were paid once.",
    ]
    return Table(study.title, [*columns, "Samples", *figures.EXPENSE, "Verdict"], rows, notes)


def judge(mixes: Sequence[Mix], resamples: int) -> dict[str, str]:
    """Which mix is best, and which is the cheapest good one, by the method's key."""
    complete = [mix for mix in mixes if mix.mean_figure is not None]
    if len(complete) < 2:
        return {}
    best = max(complete, key=lambda mix: (mix.mean_figure or 0.0, -(mix.usd_each or 0.0)))
    as_good = [mix for mix in complete if mix is best or not _worse(mix, best, resamples)]
    priced = [mix for mix in as_good if mix.usd_each is not None]
    verdicts = {best.method.key: BEST}
    if priced:
        cheapest = min(priced, key=lambda mix: (mix.usd_each or 0.0, -(mix.mean_figure or 0.0)))
        said = verdicts.get(cheapest.method.key)
        verdicts[cheapest.method.key] = f"{said}, and {CHEAPEST}" if said else CHEAPEST
    return verdicts


def _worse(mix: Mix, best: Mix, resamples: int) -> bool:
    by_set = {each.cell.judged.key: each for each in mix.outcomes}
    found = [difference(each, by_set[each.cell.judged.key], resamples) for each in best.outcomes]
    return any(each.matters and (each.value or 0.0) < 0 for each in found)


def _role_row(mix: Mix, study: Study, verdict: str) -> list[str]:
    by_set = {each.cell.judged.name: each for each in mix.outcomes}
    cells = []
    for judged in study.sets:
        each = by_set.get(judged.name)
        if each is None or each.main_figure is None:
            cells.append(UNDEFINED)
        else:
            cells.append(
                figures.percent(each.main_figure) if judged.asks_questions else figures.figure(each.main_figure)
            )
    remarks = "; ".join(text for text in (verdict, figures.remark(mix.outcomes)) if text)
    backends = [mix.method.roles[role] for role in ROLES]
    return [*backends, *cells, figures.sample_counts(mix.outcomes), *figures.expenses(mix.outcomes), remarks]
