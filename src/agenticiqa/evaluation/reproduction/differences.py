"""How two methods differ on the samples that both answered."""

from __future__ import annotations

from dataclasses import dataclass

from agenticiqa.evaluation.paired import compare
from agenticiqa.evaluation.reproduction.outcomes import Outcome, settings_for
from agenticiqa.evaluation.results import EvaluationError
from agenticiqa.evaluation.statistics import IntervalEstimate

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
    return _turned(found.scores[0].srcc_difference) if found.scores else Difference(None)


def _turned(estimate: IntervalEstimate) -> Difference:
    """Comparisons are first minus second."""
    value, low, high = (None if each is None else -each for each in (estimate.value, estimate.high, estimate.low))
    return Difference(value, low, high)
