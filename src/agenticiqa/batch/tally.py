"""The accounts of a running batch, and what is left of them at the end."""

from __future__ import annotations

import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any, Literal

from agenticiqa.batch.ledger import FAILED, Ledger
from agenticiqa.batch.work import SampleOutcome
from agenticiqa.pictures.finding import Skipped

StopReason = Literal["interrupted", "budget"]
RATE_WINDOW_S = 60.0


@dataclass
class Tally:
    """What has been done so far. ``total`` counts the selected samples, ``earlier`` those that had a result before."""

    total: int = 0
    earlier: int = 0
    done: Counter[str] = field(default_factory=Counter)
    """Results of this run by status."""
    errors: Counter[str] = field(default_factory=Counter)
    """Failures of this run by kind."""
    calls: int = 0
    cost_usd: float = 0.0
    cost_known: bool = True
    started: float = field(default_factory=time.monotonic)
    _recent: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=512), repr=False)

    def add(self, outcome: SampleOutcome) -> None:
        self.done[outcome.status] += 1
        if outcome.error_kind:
            self.errors[outcome.error_kind] += 1
        self.calls += outcome.calls
        if outcome.cost_usd is None:
            self.cost_known = False
        else:
            self.cost_usd += outcome.cost_usd
        self._recent.append((time.monotonic(), self.worked))

    @property
    def worked(self) -> int:
        return sum(self.done.values())

    @property
    def finished(self) -> int:
        return self.earlier + self.worked

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    @property
    def rate(self) -> float:
        """Samples per second over the last minute or the last few hundred samples, whichever is shorter."""
        now = time.monotonic()
        while len(self._recent) > 2 and now - self._recent[0][0] > RATE_WINDOW_S:
            self._recent.popleft()
        if len(self._recent) < 2:
            return self.worked / self.seconds if self.seconds else 0.0
        since, before = self._recent[0]
        return (self.worked - before) / (now - since) if now > since else 0.0

    @property
    def seconds_left(self) -> float | None:
        return (self.total - self.finished) / self.rate if self.rate else None


@dataclass(frozen=True)
class BatchSummary:
    """How a batch ended. Counts are of all selected samples, whichever run did them."""

    output: str
    total: int
    ok: int
    partial: int
    failed: int
    not_done: int
    done_earlier: int
    errors: dict[str, int]
    failed_ids: list[str]
    calls: int
    cost_usd: float | None
    seconds: float
    samples_per_second: float
    stopped: StopReason | None
    skipped: Skipped = field(default_factory=Skipped)
    """Files of the folder or pattern that are no samples."""

    @property
    def exit_code(self) -> int:
        """0: all have an answer; 2: some have; 1: none has; 130: the user stopped it."""
        if self.stopped == "interrupted":
            return 130
        if not self.ok + self.partial:
            return 1
        return 2 if self.failed or self.not_done else 0

    def as_dict(self) -> dict[str, Any]:
        return {**self.__dict__, "skipped": self.skipped.as_dict(), "exit_code": self.exit_code}


def summarize(
    tally: Tally, ledger: Ledger, bounds: tuple[int, int], output: str, stopped: StopReason | None, skipped: Skipped
) -> BatchSummary:
    counts = ledger.counts(*bounds)
    failed_ids = []
    errors: Counter[str] = Counter()
    for sample_id, kind in ledger.failed(*bounds):
        failed_ids.append(sample_id)
        errors[kind] += 1
    return BatchSummary(
        output=output,
        total=tally.total,
        ok=counts.get("ok", 0),
        partial=counts.get("partial", 0),
        failed=counts.get(FAILED, 0),
        not_done=counts.get(None, 0),
        done_earlier=tally.earlier,
        errors=dict(errors.most_common()),
        failed_ids=failed_ids,
        calls=tally.calls,
        cost_usd=round(tally.cost_usd, 6) if tally.cost_known else None,
        seconds=round(tally.seconds, 3),
        samples_per_second=round(tally.worked / tally.seconds, 3) if tally.seconds else 0.0,
        stopped=stopped,
        skipped=skipped,
    )
