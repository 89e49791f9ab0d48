"""What the stored results of a cell tell: agreement or accuracy with intervals, cost, calls and time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from statistics import fmean
from typing import Any

from benchmarks.paper.methods import Cell
from benchmarks.paper.running import CellState

from agenticiqa.research.agreement import Agreement, FigureSettings, agreement, compare, grouped
from agenticiqa.research.results import (
    FUSED,
    RAW_PREFIX,
    EvaluationError,
    Result,
    ResultFile,
    read_results,
    sum_or_none,
    tool_entries,
)
from agenticiqa.research.statistics import FEWEST_CLUSTERS, Accuracy, accuracy

PARTS = {"agenticiqa-eval": ("task",), "llvisionqa": ("question_type", "concern")}
"""The columns by which the paper splits its questions."""


@dataclass(frozen=True)
class Expense:
    """What a method takes. ``usd`` is what it costs by itself; what was ``paid`` is less where replies were cached."""

    calls: int
    usd: float | None
    """None where a price is unknown."""
    paid: float | None
    seconds: float | None
    """Of work on one sample, over samples that used no cached reply."""


@dataclass(frozen=True)
class Outcome:
    """A cell with its figures; without results, why there are none."""

    cell: Cell
    state: CellState
    asked: int
    """Samples of the set's selected part."""
    whole: bool
    """Whether that part is the official set."""
    file: ResultFile | None = None
    scores: Agreement | None = None
    choices: Accuracy | None = None
    parts: Mapping[str, Accuracy] = field(default_factory=dict)
    expense: Expense | None = None
    conditions: Sequence[Mapping[str, Any]] = ()
    """What the results say of how they were got, each way once: profile, tools, prompts."""

    @property
    def complete(self) -> bool:
        return self.file is not None and len(self.file.results) == self.asked

    @cached_property
    def sha256(self) -> str | None:
        return None if self.file is None else hashlib.sha256(self.file.path.read_bytes()).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        method = self.cell.method
        return {
            "set": self.cell.judged.name,
            "subset": self.cell.judged.subset,
            "selection": self.cell.judged.selection.key or None,
            "method": method.label,
            "kind": method.kind,
            "model": method.name if method.kind != "metric" else None,
            "without": method.without,
            "profile": self.cell.profile,
            "state": "done" if self.complete else self.state.state,
            "reason": self.state.reason,
            "asked": self.asked,
            "whole_set": self.whole,
            "results": str(self.cell.results) if self.file else None,
            "results_sha256": self.sha256,
            "failed": self.file.count("error") if self.file else None,
            "partial": self.file.count("partial") if self.file else None,
            "conditions": list(self.conditions),
            "scores": asdict(self.scores) if self.scores else None,
            "choices": asdict(self.choices) if self.choices else None,
            "parts": {name: asdict(part) for name, part in self.parts.items()},
            "expense": asdict(self.expense) if self.expense else None,
        }


def outcome(cell: Cell, state: CellState, asked: int, *, whole: bool, resamples: int) -> Outcome:
    """The figures of what is stored, whichever run left it there."""
    bare = Outcome(cell, state, asked, whole)
    if not cell.results.exists() or cell.results.stat().st_size == 0:
        return bare
    tool = cell.method.name if cell.method.kind == "metric" else None
    read = read_results(cell.results, score=f"{RAW_PREFIX}{tool}" if tool else FUSED)
    results = [_upright(result) for result in read.results] if tool else read.results
    file = replace(read, results=[_slim(result) for result in results])
    if not cell.judged.asks_questions:
        figures: dict[str, Any] = {"scores": agreement(file.results, settings_for(file, resamples))}
    else:
        parts = [
            part for column in PARTS.get(cell.judged.name, ()) for part in sorted(grouped(results, column).items())
        ]
        figures = {"choices": accuracy(results), "parts": {name: accuracy(own) for name, own in parts}}
    return replace(bare, file=file, expense=expense(results), conditions=_conditions(results), **figures)


def _conditions(results: Sequence[Result]) -> list[dict[str, Any]]:
    keys = ("profile", "profile_changes", "tools", "own_prompts")
    answered = [result.metadata for result in results if result.status != "error"]
    found = [{key: about.get(key) for key in keys} for about in answered]
    return list({json.dumps(each, sort_keys=True): each for each in found}.values())


def _upright(result: Result) -> Result:
    """A tool's own value, turned round where less is better."""
    falls = any(entry.get("higher_is_better") is False for entry in tool_entries(result.line))
    return replace(result, score=-result.score) if falls and result.score is not None else result


def _slim(result: Result) -> Result:
    """Without the long parts of its line: all methods of all sets are held in memory at once."""
    return replace(result, line={name: v for name, v in result.line.items() if not isinstance(v, (dict, list))})


def settings_for(file: ResultFile, resamples: int) -> FigureSettings:
    """Versions of one picture are drawn together where there are enough pictures to draw from."""
    references = {result.group("reference_path") for result in file.results} - {None}
    return FigureSettings(resamples=resamples, cluster="reference_path" if len(references) >= FEWEST_CLUSTERS else None)


def expense(results: Sequence[Result]) -> Expense:
    about = [result.metadata for result in results]
    calls = [call for each in about for call in each.get("call_log") or []]
    fresh = [each for each in about if not each.get("cached_calls")]
    totals = [float(total) for each in fresh if (total := (each.get("timings") or {}).get("total")) is not None]
    keys = ("cost_usd", "cached_cost_usd", "spared_usd")
    return Expense(
        calls=len(calls),
        usd=sum_or_none([call.get(key, 0.0) for call in calls for key in keys]),
        paid=sum_or_none([call.get("cost_usd", 0.0) for call in calls]),
        seconds=fmean(totals) if totals else None,
    )


def difference_text(first: Outcome, second: Outcome, resamples: int) -> str:
    """How much better the second method is on the samples that both answered: in SRCC with its paired interval, or in
    accuracy with McNemar's p; a dash where nothing can be said.
    """
    if first.file is None or second.file is None:
        return "–"
    try:
        found = compare(first.file, second.file, settings_for(first.file, resamples))
    except EvaluationError:
        # Of two unfinished runs that have no sample in common.
        return "–"
    if found.choices:
        gained = found.choices.only_second - found.choices.only_first
        return f"{gained / found.choices.common:+.1%} (p {found.choices.p:.2g})"
    # Comparisons are first minus second: turned round, the upper end becomes the lower one.
    turned = found.scores[0].srcc_difference if found.scores else None
    if turned is None or turned.value is None:
        return "–"
    interval = "" if turned.low is None or turned.high is None else f" [{signed(-turned.high)}, {signed(-turned.low)}]"
    return f"{signed(-turned.value)}{interval}"


def signed(value: float) -> str:
    """
    >>> signed(-0.0004), signed(0.25)
    ('0.000', '+0.250')
    """
    text = f"{value:+.3f}"
    return text[1:] if float(text) == 0 else text
