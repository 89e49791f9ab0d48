"""Cells of the tables: figures, expenses, remarks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from agenticiqa.research.published import source
from agenticiqa.research.reproduction.outcomes import Outcome
from agenticiqa.research.statistics import IntervalEstimate
from agenticiqa.research.tables import UNDEFINED, Table

_INTERVAL = re.compile(r" \[[^]]*\]")
TRAINED_ON = ("biq2021",)
EXPENSE = ("US$ per 1,000", "Seconds each")


def figure(estimate: IntervalEstimate | None, digits: int = 3) -> str:
    """A correlation with its interval."""
    if estimate is None or estimate.value is None:
        return UNDEFINED
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.{digits}f}"
    return f"{estimate.value:.{digits}f} [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"


def percent(estimate: IntervalEstimate | None) -> str:
    """A share with its interval, in percent."""
    if estimate is None or estimate.value is None:
        return UNDEFINED
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.1%}"
    return f"{estimate.value:.1%} [{estimate.low:.1%}, {estimate.high:.1%}]"


def expenses(outcomes: Sequence[Outcome]) -> list[str]:
    """What a thousand samples cost and how long one takes, over all sets of a row."""
    known = [(each.expense, len(each.file.results)) for each in outcomes if each.expense and each.file]
    if not known:
        return [UNDEFINED, UNDEFINED]
    samples = sum(count for _, count in known)
    costs = [spent.usd for spent, _ in known]
    usd = None if None in costs else sum(cost for cost in costs if cost is not None) / samples * 1000
    times = [(spent.seconds, count) for spent, count in known if spent.seconds is not None]
    seconds = sum(time * count for time, count in times) / sum(count for _, count in times) if times else None
    return [
        "unknown" if usd is None else f"{usd:.2f}" if usd else "0",
        UNDEFINED if seconds is None else f"{seconds:.3g}",
    ]


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


def about_intervals(resamples: int) -> list[str]:
    """How the intervals of correlations came about."""
    if resamples == 0:
        return ["No intervals: --resamples is 0, or the run was stopped."]
    return [
        "SRCC: Spearman; PLCC: Pearson after the five-parameter logistic fit; in brackets 95 % intervals from "
        f"{resamples} bootstrap resamples of the pictures (versions of one reference drawn together where there are "
        "five or more)."
    ]


def about_training(outcomes: Sequence[Outcome]) -> list[str]:
    """Our own model has learnt from a part of one set: whoever counts all of it is told."""
    own = [each for each in outcomes if each.cell.judged.name in TRAINED_ON and each.file and _is_ours(each)]
    if not own or all(each.cell.judged.selection.only for each in own):
        return []
    names = ", ".join(dict.fromkeys(each.cell.judged.title for each in own))
    return [
        f"embedded and AIQA_NR were trained on a part of {names} (docs/model-card.md): only pictures held out count as "
        "a test. --only takes a list of them; training/embedded/splits.json has the split."
    ]


def _is_ours(each: Outcome) -> bool:
    return each.cell.method.tool == "AIQA_NR" or "embedded" in each.cell.method.models


def about_published() -> str:
    return f"Published: {source()}."


def brief(table: Table) -> Table:
    """For a terminal: figures without their intervals, which are in the files."""
    return replace(table, rows=[[_INTERVAL.sub("", cell) for cell in row] for row in table.rows])
