"""What the stored results of a cell tell: agreement or accuracy with intervals, cost, calls and time."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from statistics import fmean
from typing import Any

from agenticiqa.research.agreement import Agreement, FigureSettings, agreement, compare, grouped
from agenticiqa.research.reproduction.methods import Cell
from agenticiqa.research.reproduction.running import CellState
from agenticiqa.research.rescoring import Rescoring, rescored_line
from agenticiqa.research.results import (
    FUSED,
    RAW_PREFIX,
    EvaluationError,
    Result,
    ResultFile,
    fusion_in,
    read_results,
    score_of,
    sum_or_none,
    tool_entries,
)
from agenticiqa.research.statistics import FEWEST_CLUSTERS, Accuracy, IntervalEstimate, accuracy

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

    @property
    def complete(self) -> bool:
        return self.file is not None and len(self.file.results) == self.asked

    @property
    def state_name(self) -> str:
        return "done" if self.complete else self.state.state

    @cached_property
    def sha256(self) -> str | None:
        """Of the stored results."""
        return None if self.file is None else hashlib.sha256(self.file.path.read_bytes()).hexdigest()

    @property
    def main_figure(self) -> IntervalEstimate | None:
        """SRCC on pictures with opinions, accuracy on questions."""
        if self.scores:
            return self.scores.srcc
        return self.choices.of_all if self.choices else None

    def as_dict(self) -> dict[str, Any]:
        method = self.cell.method
        return {
            "set": self.cell.judged.name,
            "subset": self.cell.judged.subset,
            "selection": self.cell.judged.selection.key or None,
            "method": method.label,
            "kind": method.kind,
            "roles": dict(method.roles) or None,
            "without": method.without,
            "state": self.state_name,
            "reason": self.state.reason,
            "asked": self.asked,
            "whole_set": self.whole,
            "results": str(self.cell.results) if self.file else None,
            "results_sha256": self.sha256,
            "failed": self.file.count("error") if self.file else None,
            "scores": asdict(self.scores) if self.scores else None,
            "choices": self.choices.as_dict() if self.choices else None,
            "parts": {name: part.as_dict() for name, part in self.parts.items()},
            "expense": asdict(self.expense) if self.expense else None,
        }


def outcome(
    cell: Cell, state: CellState, asked: int, *, whole: bool, resamples: int, rescoring: Rescoring | None = None
) -> Outcome:
    """The figures of what is stored, whichever run left it there; with ``rescoring`` scored anew."""
    bare = Outcome(cell, state, asked, whole)
    if not cell.results.exists() or cell.results.stat().st_size == 0:
        return bare
    whole_lines = read_cell(cell)
    if rescoring:
        whole_lines = replace(whole_lines, results=[_rescored(result, rescoring) for result in whole_lines.results])
    judged = [result for result in whole_lines.results if result.is_choice]
    file = replace(whole_lines, results=[_slim(result) for result in whole_lines.results])
    return replace(
        bare,
        file=file,
        scores=None if cell.judged.asks_questions else agreement(file.results, settings_for(file, resamples)),
        choices=accuracy(judged) if cell.judged.asks_questions else None,
        parts={
            name: accuracy(own)
            for column in PARTS.get(cell.judged.name, ())
            for name, own in sorted(grouped(judged, column).items())
        },
        expense=expense(whole_lines.results),
    )


def _rescored(result: Result, how: Rescoring) -> Result:
    """A tool's own value stays what it is."""
    if result.line.get("measurements") or result.score is None:
        return result
    line, _ = rescored_line(result.line, how)
    return replace(result, line=line, score=score_of(line, FUSED))


def _slim(result: Result) -> Result:
    """With what the tables still need of its line: all methods of all sets are held in memory at once."""
    summary = result.line.get("summarizer_result") or {}
    columns = {name: value for name, value in result.line.items() if not isinstance(value, (dict, list))}
    kept = {"final_answer": summary.get("final_answer"), "used_evidence": {"fusion": fusion_in(result.line)}}
    return replace(result, line={**columns, "summarizer_result": kept})


def read_cell(cell: Cell) -> ResultFile:
    """A cell's results; of a tool alone its own value, turned round where less is better."""
    tool = cell.method.tool
    file = read_results(cell.results, score=f"{RAW_PREFIX}{tool}" if tool else FUSED)
    return replace(file, results=[_upright(result) for result in file.results]) if tool else file


def _upright(result: Result) -> Result:
    falls = any(entry.get("higher_is_better") is False for entry in tool_entries(result))
    return replace(result, score=-result.score) if falls and result.score is not None else result


def settings_for(file: ResultFile, resamples: int) -> FigureSettings:
    """Versions of one picture are drawn together where there are enough pictures to draw from."""
    references = {result.group("reference_path") for result in file.results} - {None}
    return FigureSettings(resamples=resamples, cluster="reference_path" if len(references) >= FEWEST_CLUSTERS else None)


def expense(results: Sequence[Result]) -> Expense:
    about = [result.metadata for result in results]
    calls = [call for each in about for call in each.get("call_log") or []]
    fresh = [each for each in about if not each.get("cached_calls")]
    totals = [float(total) for each in fresh if (total := (each.get("timings") or {}).get("total")) is not None]
    return Expense(
        calls=len(calls),
        usd=sum_or_none(
            [call.get(key, 0.0) for call in calls for key in ("cost_usd", "cached_cost_usd", "spared_usd")]
        ),
        paid=sum_or_none([call.get("cost_usd", 0.0) for call in calls]),
        seconds=fmean(totals) if totals else None,
    )


# --- How two methods differ on the samples that both answered ---


SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Difference:
    """``value`` is the second method's figure minus the first's: SRCC, or accuracy."""

    value: float | None
    low: float | None = None
    high: float | None = None
    p: float | None = None

    @property
    def matters(self) -> bool:
        """Whether chance alone would hardly do it; unknown counts as not."""
        if self.p is not None:
            return self.p < SIGNIFICANT
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high

    @property
    def text(self) -> str:
        if self.value is None:
            return "–"
        if self.p is not None:
            return f"{self.value:+.1%} (p {self.p:.2g})"
        interval = (
            f" [{signed(self.low)}, {signed(self.high)}]" if self.low is not None and self.high is not None else ""
        )
        return f"{signed(self.value)}{interval}"


def signed(value: float) -> str:
    """
    >>> signed(-0.0004), signed(0.25)
    ('0.000', '+0.250')
    """
    text = f"{value:+.3f}"
    return text[1:] if float(text) == 0 else text


def difference(first: Outcome, second: Outcome, resamples: int) -> Difference:
    """Paired, so that the same pictures stand on both sides."""
    if first.file is None or second.file is None:
        return Difference(None)
    try:
        found = compare(first.file, second.file, settings_for(first.file, resamples))
    except EvaluationError:
        # Of two unfinished runs that have no sample in common.
        return Difference(None)
    if found.choices and found.choices.common:
        gained = found.choices.only_second - found.choices.only_first
        return Difference(gained / found.choices.common, p=found.choices.p)
    if not found.scores:
        return Difference(None)
    # Comparisons are first minus second: turned round, the upper end becomes the lower one.
    turned = found.scores[0].srcc_difference
    return Difference(*(None if each is None else -each for each in (turned.value, turned.high, turned.low)))
