"""Run a batch: hand out samples, keep each result the moment it is there, leave the file in order."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import accumulate, islice, pairwise
from pathlib import Path
from typing import Any, BinaryIO

from agenticiqa.batch.engines.base import Engine
from agenticiqa.batch.ledger import FAILED, Ledger
from agenticiqa.batch.manifest.checking import Checked, SampleRange, check_manifest
from agenticiqa.batch.manifest.rows import Manifest
from agenticiqa.batch.results.results_file import ResultsFile
from agenticiqa.batch.tally import BatchSummary, StopReason, Tally, summarize
from agenticiqa.batch.work import BatchJob, SampleOutcome, Task
from agenticiqa.errors import OutputError
from agenticiqa.runtime.locks import locked

# How long the runner waits for a result before it looks at the clock, the stop switch and the progress display.
LOOK_AROUND_S = 0.25

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
    overwrite: bool = False
    table: Path | None = None
    budget_usd: float | None = None
    expected_cost_usd: float = 0.0
    """What one sample probably costs, until some have shown it."""
    on_progress: ProgressListener = field(default=lambda _: None)
    stop: StopSwitch = field(default_factory=StopSwitch)
    stream: BinaryIO | None = None
    """Gets every line as well, in the manifest's order, as soon as those before it are there."""

    def run(self) -> BatchSummary:
        """Work through the selected samples. Raises before anything is spent when manifest or output are unfit."""
        with locked(self.output), _temporary_files_that_fit():
            refuse_unasked_overwriting(self.output, told=self.resume or self.overwrite)
            written = [path for path in (self.output, self.table) if path is not None]
            checked = check_manifest(self.manifest, self.job, outputs=written)
            try:
                checked.refuse_problems(self.manifest.name, self.manifest.skipped)
                return self._run(checked)
            finally:
                checked.ledger.close()

    def _run(self, checked: Checked) -> BatchSummary:
        ledger = checked.ledger
        bounds = self.selection.bounds(ledger.count)
        results = ResultsFile(self.output, fresh=self.overwrite and not self.resume)
        try:
            tally = Tally(total=bounds[1] - bounds[0])
            spent = self._note_earlier_results(results, ledger)
            counts = ledger.counts(*bounds)
            tally.earlier = counts.get("ok", 0) + counts.get("partial", 0)
            run = _Run(self, ledger, results, tally, bounds, spent)
            stopped = run.work_through() if tally.earlier < tally.total else None
            if self.stream is None:
                results.put_in_order(ledger.spans())
            self.on_progress(tally)
            return summarize(tally, ledger, bounds, str(self.output), stopped, self.manifest.skipped)
        finally:
            results.close()

    def _note_earlier_results(self, results: ResultsFile, ledger: Ledger) -> float:
        """Note what earlier runs left, and return what it cost."""
        spent = 0.0
        for line in results.stored():
            record = line.record
            entry = ledger.find(str(record["sample_id"]))
            if entry is None:
                raise OutputError(
                    f"{str(self.output)!r} holds the sample {record['sample_id']!r}, "
                    f"which {self.manifest.name} has not.",
                    hint="Choose another --output for this manifest.",
                )
            about: dict[str, Any] = record.get("metadata") or {}
            if about.get("run_id") != entry.run_id:
                raise OutputError(
                    f"The result of {entry.sample_id!r} in {str(self.output)!r} answers another question, "
                    "or was made with another backend, replan limit or set of tools.",
                    hint="Use the same settings as before, choose another --output, or --overwrite.",
                )
            ledger.note_result(entry.position, line.offset, line.length, str(record["status"]), about.get("error_kind"))
            spent += about.get("cost_usd") or 0.0
        return spent


def refuse_unasked_overwriting(output: Path, *, told: bool) -> None:
    """Results that are there are continued or replaced only when that was ``told``."""
    if output.is_dir():
        raise OutputError(f"{str(output)!r} is a folder.", hint="Name a file with --output.")
    there = output.exists() and output.stat().st_size > 0
    if there and not told:
        raise OutputError(
            f"{str(output)!r} holds results already.", hint="--resume continues it, --overwrite starts afresh."
        )


@contextmanager
def _temporary_files_that_fit() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise OutputError(
            f"The folder for temporary files cannot be used: {error}.", hint="Make room there, or set TMPDIR."
        ) from error


@dataclass
class _Run:
    """The part of a batch that works."""

    batch: Batch
    ledger: Ledger
    results: ResultsFile
    tally: Tally
    bounds: tuple[int, int]
    spent_before: float
    in_flight: int = 0
    streamed: int = 0

    def work_through(self) -> StopReason | None:
        with closing(self.batch.make_engine()) as engine, closing(self._tasks()) as tasks:
            return self._work_through(engine, tasks)

    def _work_through(self, engine: Engine, tasks: Iterator[Task]) -> StopReason | None:
        more = True
        while True:
            while more and self.in_flight < engine.slots and self._may_start():
                task = next(tasks, None)
                if task is None:
                    more = False
                    break
                engine.submit(task)
                self.in_flight += 1
            if not self.in_flight or self.batch.stop.asked > 1:
                break
            if outcomes := engine.finished(LOOK_AROUND_S):
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
            self._stream_new_lines(self.batch.stream)

    def _stream_new_lines(self, stream: BinaryIO) -> None:
        for start, length in self.ledger.spans_from(self.bounds[0] + self.streamed):
            stream.write(self.results.read(start, length))
            self.streamed += 1
        stream.flush()

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
