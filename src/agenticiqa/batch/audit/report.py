"""What an audit hands back: rows, a summary, tables, a contact sheet, and links to what is worth keeping."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Mapping
from heapq import nlargest
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from agenticiqa.batch.audit.findings import checked_names
from agenticiqa.batch.audit.grouping import Groups
from agenticiqa.batch.audit.linking import link_pictures
from agenticiqa.batch.audit.outputs import write_rows
from agenticiqa.batch.audit.rows import Row, audit_row, audit_rows, table_row
from agenticiqa.batch.audit.summary import AuditSummary
from agenticiqa.batch.results.results_file import read_results
from agenticiqa.nodes.results import dataframe
from agenticiqa.reports.contact_sheet.notebook import notebook_sheet
from agenticiqa.reports.contact_sheet.page import SheetLinks, SheetPicture, Thumbnails, write_contact_sheet
from agenticiqa.runtime.files import refuse_to_replace
from agenticiqa.runtime.scratch import ScratchFolder

SHOWN_IN_NOTEBOOKS = 24


class AuditReport:
    """The result of :func:`agenticiqa.audit`: iterate it for a row per picture, read from disk as they are needed."""

    def __init__(
        self, lines: Path, groups: Groups, summary: AuditSummary, source: Path, temporary: ScratchFolder | None = None
    ) -> None:
        self._lines = lines
        self._groups = groups
        self._summary = summary
        self._source = source
        if temporary is not None:
            weakref.finalize(self, temporary.close)

    def __iter__(self) -> Iterator[Row]:
        # Not handed on: the rows' file goes with this report, which may be held by its iteration alone.
        yield from audit_rows(self._lines, self._groups)

    def __len__(self) -> int:
        return self._summary.pictures

    def summary(self) -> AuditSummary:
        """Counts of all findings; as text a table for a terminal."""
        return self._summary

    def to_rows(self) -> list[Row]:
        """Flat rows, findings as one text."""
        return [table_row(row) for row in self]

    def to_dataframe(self) -> Any:
        """:meth:`to_rows` as a pandas table."""
        return dataframe(self.to_rows())

    def with_finding(self, *names: str) -> list[str]:
        """Paths of the pictures with any of these findings.

        Raises where a name is none of :data:`agenticiqa.batch.audit.findings.NAMES`.
        """
        wanted = set(checked_names(names))
        return [row["path"] for row in self if wanted & row["findings"].keys()]

    def groups(self) -> dict[str, list[list[str]]]:
        """Paths that belong together: ``exact``, ``near`` and ``bursts``."""
        paths = [row["path"] for row in self]
        found = {"exact": self._groups.exact, "near": self._groups.near, "bursts": self._groups.bursts}
        return {name: [[paths[place] for place in each] for each in sets] for name, sets in found.items()}

    def best_of_bursts(self) -> dict[str, str]:
        """The shot to keep of each burst, and why."""
        return {
            row["path"]: self._groups.best[position]
            for position, row in enumerate(self)
            if position in self._groups.best
        }

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """All rows as .csv, .json, .jsonl or .parquet."""
        target = Path(fspath(path))
        refuse_to_replace(target, overwrite=overwrite)
        write_rows(lambda: self, lambda: map(table_row, self), self._summary.as_dict(), target)

    def contact_sheet(
        self,
        path: str | PathLike[str],
        *,
        links: SheetLinks | None = None,
        thumbnails: Thumbnails | None = None,
        overwrite: bool = False,
    ) -> None:
        """A page with all pictures, to look through in a browser; see docs/audit.md."""
        target = Path(fspath(path))
        refuse_to_replace(target, overwrite=overwrite)
        write_contact_sheet(
            target,
            self.sheet_pictures,
            title=f"Audit of {self._source.name or self._source}",
            summary=self._summary.as_dict(),
            base=self._base_from(target),
            links=links,
            thumbnails=thumbnails,
        )

    def link_best(self, folder: str | PathLike[str]) -> int:
        """Link every picture that is worth keeping into a new folder; how many. Nothing else is touched."""
        return link_pictures((row["path"] for row in self if row["keep"]), self._source, Path(fspath(folder)))

    def _base_from(self, page: Path) -> str | None:
        """Where the pictures lie, seen from the page; None where no relative path leads there."""
        try:
            return Path(os.path.relpath(self._source, page.parent)).as_posix()
        except ValueError:
            # On another drive.
            return None

    def sheet_pictures(self) -> Iterator[SheetPicture]:
        """Rows with their small pictures, as a contact sheet takes them."""
        for position, line in enumerate(read_results(self._lines)):
            record: Mapping[str, Any] = line.record
            row = audit_row(record, self._groups.place(position))
            thumbnail = (record.get("picture") or {}).get("thumbnail")
            yield SheetPicture(row, thumbnail)

    def _repr_html_(self) -> str:
        """How a notebook shows it: the summary, and the pictures with most to say of them."""
        # The largest few of a stream: thumbnails of thousands would fill the memory.
        shown = nlargest(SHOWN_IN_NOTEBOOKS, self.sheet_pictures(), key=lambda each: len(each.row["findings"]))
        return self._summary._repr_html_() + notebook_sheet(shown)

    def __str__(self) -> str:
        return str(self._summary)

    def __repr__(self) -> str:
        return f"<AuditReport: {self._summary.pictures} pictures, {self._summary.keep} to keep>"
