"""Runs a batch: hands out samples, keeps their results, counts what was done and what it cost.

Resuming is all here. ``Batch.run`` refuses an output that holds results unless it is told to resume or to overwrite;
``_Run.note_earlier_results`` reads what is there into the ledger; ``_Run._tasks`` leaves out what has an answer, so
failed samples are tried again; at the end the file is put into the manifest's order, which drops replaced lines.
"""

import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import accumulate, islice, pairwise
from pathlib import Path
from typing import Any, BinaryIO, Literal

from agenticiqa.batch.engines.base import Engine
from agenticiqa.batch.manifest import Manifest
from agenticiqa.batch.manifest_checks import FAILED, Ledger, SampleRange, check_manifest
from agenticiqa.batch.results import ResultsFile
from agenticiqa.batch.work import BatchJob, SampleOutcome, Task
from agenticiqa.errors import OutputError
from agenticiqa.pictures.formats import Skipped
from agenticiqa.runtime.files import locked

StopReason = Literal["interrupted", "budget"]


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

    def add(self, outcome: SampleOutcome) -> None:
        self.done[outcome.status] += 1
        if outcome.error_kind:
            self.errors[outcome.error_kind] += 1
        self.calls += outcome.calls
        if outcome.cost_usd is None:
            self.cost_known = False
        else:
            self.cost_usd += outcome.cost_usd

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
        """Samples per second."""
        return self.worked / self.seconds if self.seconds else 0.0

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


# How long the runner waits for a result before it looks at the clock, the stop switch and the progress display.
POLL_INTERVAL_S = 0.25
SHOWN_IDS = 10
RERUN_HINT = "--resume --rerun-changed asks them again and keeps the rest. "
"""For the command that has the option."""

ProgressListener = Callable[[Tally], None]


@dataclass
class StopSwitch:
    """Asked once, a batch finishes what it has begun; asked twice, it drops that too."""

    asked: int = 0

    def ask(self) -> None:
        self.asked += 1


@dataclass(frozen=True)
class Batch:
    """What to run and where its results go."""

    manifest: Manifest
    job: BatchJob
    output: Path
    """The lines. Beside them a caller may make a ``table`` of them."""
    make_engine: Callable[[], Engine]
    selection: SampleRange = field(default_factory=SampleRange)
    resume: bool = False
    rerun_changed: bool = False
    """When resuming: results of another question or of other conditions are asked for again, not refused."""
    overwrite: bool = False
    table: Path | None = None
    others: tuple[Path, ...] = ()
    """What else is written at the end; none of it may be a picture of the manifest."""
    budget_usd: float | None = None
    expected_cost_usd: float = 0.0
    """What one sample probably costs, until some have shown it."""
    on_progress: ProgressListener = field(default=lambda _: None)
    stop: StopSwitch = field(default_factory=StopSwitch)
    stream: BinaryIO | None = None
    """Gets every line as well, in the manifest's order, as soon as those before it are there."""

    def run(self) -> BatchSummary:
        """Work through the selected samples. Raises before anything is spent when manifest or output are unfit."""
        with locked(self.output):
            refuse_existing_results(self.output, allowed=self.resume or self.overwrite)
            written = [path for path in (self.output, self.table, *self.others) if path is not None]
            try:
                checked = check_manifest(self.manifest, self.job, outputs=written)
                with closing(checked.ledger) as ledger:
                    checked.refuse_problems(self.manifest.name, self.manifest.skipped)
                    bounds = self.selection.bounds(ledger.count)
                    with closing(ResultsFile(self.output, fresh=self.overwrite and not self.resume)) as results:
                        return _Run(self, ledger, results, bounds, Tally(total=bounds[1] - bounds[0])).run()
            except sqlite3.Error as error:
                raise OutputError(
                    f"The folder for temporary files cannot be used: {error}.", hint="Make room there, or set TMPDIR."
                ) from error


def refuse_existing_results(output: Path, *, allowed: bool) -> None:
    """Results that are there are continued or replaced only when that was ``told``."""
    if output.is_dir():
        raise OutputError(f"{str(output)!r} is a folder.", hint="Name a file with --output.")
    there = output.exists() and output.stat().st_size > 0
    if there and not allowed:
        raise OutputError(
            f"{str(output)!r} holds results already.", hint="--resume continues it, --overwrite starts afresh."
        )


@dataclass
class _Run:
    """The part of a batch that works."""

    batch: Batch
    ledger: Ledger
    results: ResultsFile
    bounds: tuple[int, int]
    tally: Tally
    spent_before: float = 0.0
    in_flight: int = 0
    streamed: int = 0

    def run(self) -> BatchSummary:
        self.note_earlier_results()
        stopped = self._work_through() if self.tally.earlier < self.tally.total else None
        if self.batch.stream is None:
            self.results.put_in_order(self.ledger.spans)
        self.batch.on_progress(self.tally)
        tally, counts = self.tally, self.ledger.counts(*self.bounds)
        failed = list(self.ledger.failed(*self.bounds))
        return BatchSummary(
            output=str(self.batch.output),
            total=tally.total,
            ok=counts.get("ok", 0),
            partial=counts.get("partial", 0),
            failed=counts.get(FAILED, 0),
            not_done=counts.get(None, 0),
            done_earlier=tally.earlier,
            errors=dict(Counter(kind for _, kind in failed).most_common()),
            failed_ids=[sample_id for sample_id, _ in failed],
            calls=tally.calls,
            cost_usd=round(tally.cost_usd, 6) if tally.cost_known else None,
            seconds=round(tally.seconds, 3),
            samples_per_second=round(tally.rate, 3),
            stopped=stopped,
            skipped=self.batch.manifest.skipped,
        )

    def note_earlier_results(self) -> None:
        """What earlier runs left, and what it cost; results that answer something else are refused."""
        output, others = str(self.batch.output), []
        for line in self.results.stored():
            record = line.record
            entry = self.ledger.find(str(record["sample_id"]))
            if entry is None:
                raise OutputError(
                    f"{output!r} holds the sample {record['sample_id']!r}, which {self.batch.manifest.name} has not.",
                    hint="Choose another --output for this manifest.",
                )
            about: dict[str, Any] = record.get("metadata") or {}
            self.spent_before += about.get("cost_usd") or 0.0
            if about.get("run_id") != entry.run_id:
                if not self.batch.rerun_changed or not self.bounds[0] <= entry.position < self.bounds[1]:
                    others.append((entry.sample_id, about.get("backend") or {}))
                continue
            found = (line.offset, line.length, str(record["status"]), about.get("error_kind"), entry.position)
            self.ledger.note_results([found])
        if others:
            raise self._refusal(others)
        counts = self.ledger.counts(*self.bounds)
        self.tally.earlier = counts.get("ok", 0) + counts.get("partial", 0)

    def _refusal(self, others: Sequence[tuple[str, Mapping[str, str]]]) -> OutputError:
        """Which results were made under other conditions, and how to go on."""
        ids = ", ".join(sample_id for sample_id, _ in others[:SHOWN_IDS])
        more = f" and {len(others) - SHOWN_IDS} more" if len(others) > SHOWN_IDS else ""
        before = sorted({name for _, backends in others for name in backends.values() if name})
        now = sorted(set(self.batch.job.backends.values()))
        what = "They answer another question, or were made with another replan limit, prompts or set of tools."
        if before and before != now:
            what = f"They were made with {', '.join(before)}, and this is {', '.join(now) or 'a measurement'}."
        if self.batch.job.rate:
            what = "They were rated by another version of the model, or from other paths."
        return OutputError(
            f"{len(others)} results in {str(self.batch.output)!r} are of other conditions: {ids}{more}. {what}",
            hint=("" if self.batch.job.audit or self.batch.job.rate else RERUN_HINT)
            + "Use the settings of before, another --output, or --overwrite.",
        )

    def _work_through(self) -> StopReason | None:
        with closing(self.batch.make_engine()) as engine, closing(self._tasks()) as tasks:
            while True:
                while self.in_flight < engine.slots and self._may_start() and (task := next(tasks, None)):
                    engine.submit(task)
                    self.in_flight += 1
                if not self.in_flight or self.batch.stop.asked > 1:
                    break
                if outcomes := engine.finished(POLL_INTERVAL_S):
                    self._keep(outcomes)
                self.batch.on_progress(self.tally)
            if not self.in_flight and next(tasks, None) is None:
                return None
        return "interrupted" if self.batch.stop.asked else "budget"

    def _tasks(self) -> Generator[Task, None, None]:
        """Selected samples without an answer: never tried, or failed before."""
        first, last = self.bounds
        rows = islice(self.batch.manifest.rows(), first, last)
        for row, entry in zip(rows, self.ledger.entries(first, last), strict=True):
            if entry.status in (None, FAILED):
                yield Task(entry.position, row, entry.run_id, entry.sample_id)

    def _keep(self, outcomes: Sequence[SampleOutcome]) -> None:
        start = self.results.append(b"".join(outcome.line for outcome in outcomes))
        ends = list(accumulate((len(outcome.line) for outcome in outcomes), initial=start))
        self.ledger.note_results(
            (begin, end - begin, outcome.status, outcome.error_kind, outcome.position)
            for outcome, (begin, end) in zip(outcomes, pairwise(ends), strict=True)
        )
        self.in_flight -= len(outcomes)
        for outcome in outcomes:
            self.tally.add(outcome)
        if self.batch.stream is not None:
            for begin, length in self.ledger.spans_from(self.bounds[0] + self.streamed):
                self.batch.stream.write(self.results.read(begin, length))
                self.streamed += 1
            self.batch.stream.flush()

    def _may_start(self) -> bool:
        if self.batch.stop.asked:
            return False
        budget = self.batch.budget_usd
        if budget is None:
            return True
        # What is being worked on costs too; once a price turns out to be unknown nothing more is started.
        worked = self.tally.worked
        each = self.tally.cost_usd / worked if worked else self.batch.expected_cost_usd
        expected = self.spent_before + self.tally.cost_usd + each * (self.in_flight + 1)
        return self.tally.cost_known and expected <= budget
