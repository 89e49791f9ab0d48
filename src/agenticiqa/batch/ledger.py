"""What is known of each sample: its place, and where its result is. On disk, so that memory does not grow with it.

The ledger is made anew from the manifest and the results at every start; nothing depends on it afterwards.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass

FAILED = "error"
"""The status of a result that is no answer."""


@dataclass(frozen=True)
class LedgerEntry:
    """One sample. ``status`` is None while it has no result."""

    position: int
    sample_id: str
    run_id: str
    status: str | None


class Ledger:
    """All samples of a manifest by position and by id."""

    def __init__(self) -> None:
        # An empty name makes a database on disk that is gone once it is closed.
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("PRAGMA journal_mode=OFF")
        self._database.execute("PRAGMA synchronous=OFF")
        self._database.execute(
            "CREATE TABLE samples (position INTEGER PRIMARY KEY, sample_id TEXT UNIQUE, line INTEGER, run_id TEXT,"
            " start INTEGER, length INTEGER, status TEXT, kind TEXT)"
        )
        self._database.execute("CREATE TABLE unnamed (path TEXT PRIMARY KEY, questions INTEGER)")
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
        query = "SELECT position, sample_id, run_id, status FROM samples WHERE sample_id=?"
        row = self._database.execute(query, (sample_id,)).fetchone()
        return LedgerEntry(*row) if row else None

    def entries(self, first: int, last: int) -> Iterator[LedgerEntry]:
        """Positions first ≤ p < last in order. Results may be noted meanwhile for those that were handed out."""
        query = (
            "SELECT position, sample_id, run_id, status FROM samples WHERE position >= ? AND position < ?"
            " ORDER BY position"
        )
        with closing(self._database.execute(query, (first, last))) as rows:
            for row in rows:
                yield LedgerEntry(*row)

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
