"""The table of mixes: a backend for each agent, what it reaches, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from agenticiqa.evaluation.reproduction import shown
from agenticiqa.evaluation.reproduction.differences import difference
from agenticiqa.evaluation.reproduction.methods import Method
from agenticiqa.evaluation.reproduction.outcomes import Outcome
from agenticiqa.evaluation.reproduction.studies import Study
from agenticiqa.evaluation.tables import UNDEFINED, Table
from agenticiqa.runtime.config import ROLES

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
    rows = [_row(mix, study, verdicts.get(mix.method.key, "")) for mix in mixes]
    notes = [
        *shown.about_intervals(resamples),
        *shown.about_training(outcomes),
        f"“{BEST}”: the highest mean of all figures. “{CHEAPEST}”: the lowest price among the mixes that fall short of "
        "the best one on no set by more than chance (paired 95 % interval, McNemar p < 0.05). Costs are those of a mix "
        "by itself, although mixes that share an agent share its replies and were paid once.",
    ]
    return Table(study.title, [*columns, "Samples", *shown.EXPENSE, "Verdict"], rows, notes)


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


def _row(mix: Mix, study: Study, verdict: str) -> list[str]:
    by_set = {each.cell.judged.name: each for each in mix.outcomes}
    cells = []
    for judged in study.sets:
        each = by_set.get(judged.name)
        if each is None or each.main_figure is None:
            cells.append(UNDEFINED)
        else:
            cells.append(shown.percent(each.main_figure) if judged.asks_questions else shown.figure(each.main_figure))
    remarks = "; ".join(text for text in (verdict, shown.remark(mix.outcomes)) if text)
    backends = [mix.method.roles[role] for role in ROLES]
    return [*backends, *cells, shown.sample_counts(mix.outcomes), *shown.expenses(mix.outcomes), remarks]
