"""Every row is looked at before anything is spent, and which rows are worked on.

What is known of each sample (its place, and where its result is) stands in the ledger: on disk, so that memory does not
grow with it, and made anew from the manifest and the results at every start; nothing depends on it afterwards.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from agenticiqa.batch import containers
from agenticiqa.batch.manifest import Manifest
from agenticiqa.batch.remote_pictures import check_protocol, is_url
from agenticiqa.batch.work import BatchJob
from agenticiqa.errors import ManifestError
from agenticiqa.pictures.formats import Skipped
from agenticiqa.runtime.files import refuse_to_replace

FAILED = "error"
"""The status of a result that is no answer."""
SHOWN_PROBLEMS = 10
ProblemListener = Callable[[int, str], None]


@dataclass(frozen=True)
class LedgerEntry:
    """One sample. ``status`` is None while it has no result."""

    position: int
    sample_id: str
    run_id: str
    status: str | None


_ENTRY = "SELECT position, sample_id, run_id, status FROM samples"


class Ledger:
    """All samples of a manifest by position and by id."""

    def __init__(self) -> None:
        # An empty name makes a database on disk that is gone once it is closed.
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.executescript("""
            PRAGMA journal_mode=OFF;
            PRAGMA synchronous=OFF;
            CREATE TABLE samples (position INTEGER PRIMARY KEY, sample_id TEXT UNIQUE, line INTEGER, run_id TEXT,
                start INTEGER, length INTEGER, status TEXT, kind TEXT);
            CREATE TABLE unnamed (path TEXT PRIMARY KEY, questions INTEGER);
        """)
        self.count = 0

    def add(self, sample_id: str, line: int, run_id: str) -> int | None:
        """Note the next sample. When its id is taken, nothing is noted and the line that has it is returned."""
        added = self._database.execute(
            "INSERT OR IGNORE INTO samples (position, sample_id, line, run_id) VALUES (?, ?, ?, ?)",
            (self.count, sample_id, line, run_id),
        )
        if added.rowcount:
            self.count += 1
            return None
        taken: int = self._database.execute("SELECT line FROM samples WHERE sample_id=?", (sample_id,)).fetchone()[0]
        return taken

    def free_id(self, path: str) -> str:
        """An id for a question that has none: the picture's path, then ``path#2`` and so on, row by row."""
        asked = self._database.execute("SELECT questions FROM unnamed WHERE path=?", (path,)).fetchone()
        number = asked[0] + 1 if asked else 1
        while self.find(found := path if number == 1 else f"{path}#{number}"):
            number += 1
        self._database.execute("INSERT OR REPLACE INTO unnamed VALUES (?, ?)", (path, number))
        return found

    def find(self, sample_id: str) -> LedgerEntry | None:
        row = self._database.execute(f"{_ENTRY} WHERE sample_id=?", (sample_id,)).fetchone()
        return LedgerEntry(*row) if row else None

    def entries(self, first: int, last: int) -> Iterator[LedgerEntry]:
        """Positions first ≤ p < last in order. Results may be noted meanwhile for those that were handed out."""
        query = f"{_ENTRY} WHERE position >= ? AND position < ? ORDER BY position"
        with closing(self._database.execute(query, (first, last))) as rows:
            yield from (LedgerEntry(*row) for row in rows)

    def note_results(self, found: Iterable[tuple[int, int, str, str | None, int]]) -> None:
        """(start, length, status, kind of error, position) of each; a later result replaces an earlier one."""
        self._database.executemany("UPDATE samples SET start=?, length=?, status=?, kind=? WHERE position=?", found)

    def spans(self) -> Iterator[tuple[int, int]]:
        """Where the results are in the file, in the manifest's order."""
        query = "SELECT start, length FROM samples WHERE status IS NOT NULL ORDER BY position"
        with closing(self._database.execute(query)) as rows:
            yield from rows

    def spans_from(self, first: int) -> Iterator[tuple[int, int]]:
        """Where the results are of this sample and those right after it, up to the first that has none yet."""
        query = "SELECT start, length, status FROM samples WHERE position >= ? ORDER BY position"
        with closing(self._database.execute(query, (first,))) as rows:
            for start, length, status in rows:
                if status is None:
                    return
                yield start, length

    def counts(self, first: int, last: int) -> dict[str | None, int]:
        """How many samples of positions first ≤ p < last have which status."""
        query = "SELECT status, COUNT(*) FROM samples WHERE position >= ? AND position < ? GROUP BY status"
        return dict(self._database.execute(query, (first, last)))

    def failed(self, first: int, last: int) -> Iterator[tuple[str, str]]:
        """(sample_id, kind of error) of what failed, in order."""
        query = (
            "SELECT sample_id, kind FROM samples WHERE status=? AND position >= ? AND position < ? ORDER BY position"
        )
        with closing(self._database.execute(query, (FAILED, first, last))) as rows:
            yield from rows

    def close(self) -> None:
        self._database.close()


@dataclass
class Checked:
    """A manifest's samples and what was found while reading them."""

    ledger: Ledger
    problems: int = 0
    remote: int = 0
    missing: int = 0
    """Pictures on this machine that are not there; only counted where that was asked for."""
    without_picture: int = 0
    """Samples that need one of these."""
    first_problems: list[str] = field(default_factory=list)

    def refuse_problems(self, name: str, skipped: Skipped | None = None) -> None:
        if self.problems:
            more = self.problems - len(self.first_problems)
            listed = "\n".join([*self.first_problems, *([f"… and {more} more"] if more else [])])
            raise ManifestError(f"{name} has {self.problems} rows that cannot be used:\n{listed}")
        if not self.ledger.count:
            hint = " ".join((skipped or Skipped()).lines()) or "Check that it is the right file or folder."
            raise ManifestError(f"{name} holds no samples.", hint=hint)


def check_manifest(
    manifest: Manifest,
    job: BatchJob,
    *,
    outputs: Iterable[Path] = (),
    on_problem: ProblemListener = lambda _line, _problem: None,
    look_for_files: bool = False,
) -> Checked:
    """Read all rows once; ``on_problem`` hears of every fault, of outputs that are inputs and of missing files."""
    there = [output for output in outputs if output.exists()]
    for output in there:
        refuse_to_replace(output, inputs=[manifest.file] if manifest.file else [], overwrite=True)
    checked = Checked(Ledger())
    protocols: set[str] = set()

    def report(line: int, problem: str) -> None:
        checked.problems += 1
        if len(checked.first_problems) < SHOWN_PROBLEMS:
            checked.first_problems.append(f"line {line}: {problem}")
        on_problem(line, problem)

    for row in manifest.rows():
        if row.sample is None:
            report(row.line, row.problem or "no sample.")
            continue
        sample = row.sample
        if not row.has_id:
            sample = sample.renamed(checked.ledger.free_id(sample.sample_id))
        taken = checked.ledger.add(sample.sample_id, row.line, job.run_id(sample))
        if taken is not None:
            report(row.line, f"sample_id {sample.sample_id!r} is already used on line {taken}.")
        missing_before = checked.missing
        for path in filter(None, (sample.image_path, sample.reference_path)):
            if job.rate and path.startswith(containers.SCHEME):
                continue
            if is_url(path):
                checked.remote += 1
                protocol = path.partition("://")[0]
                if protocol not in protocols:
                    check_protocol(path)
                    protocols.add(protocol)
                continue
            if there and os.path.exists(path) and any(os.path.samefile(path, output) for output in there):
                report(row.line, f"{path!r} is also the output: writing it would destroy the picture.")
            if look_for_files and not os.path.isfile(path):
                checked.missing += 1
                on_problem(row.line, f"there is no file {path!r} (the sample will fail).")
        checked.without_picture += checked.missing > missing_before
    return checked


@dataclass(frozen=True)
class SampleRange:
    """Which part of the manifest is worked on: positions first ≤ p < last."""

    first: int = 0
    last: int | None = None

    @classmethod
    def parse(cls, text: str | None) -> SampleRange:
        """``100:200`` is the 101st to the 200th sample; either side may be left out.

        >>> SampleRange.parse("100:")
        SampleRange(first=100, last=None)
        """
        found = re.fullmatch(r"\s*(\d*)\s*:\s*(\d*)\s*", text or ":")
        first, last = (int(found[1] or 0), int(found[2]) if found[2] else None) if found else (0, 0)
        if last is not None and last <= first:
            raise ManifestError(
                f"{text!r} is not a range of samples.", hint="Write FIRST:LAST, counted from 0, LAST left out."
            )
        return cls(first, last)

    def bounds(self, count: int) -> tuple[int, int]:
        """The positions this means in a manifest of ``count`` samples."""
        last = count if self.last is None else min(self.last, count)
        if last <= self.first:
            raise ManifestError(f"The range holds none of the {count} samples.", hint="Check --sample-range.")
        return self.first, last
