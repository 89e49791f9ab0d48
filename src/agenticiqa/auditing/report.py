"""What an audit hands back: a flat row for each picture, counts over all of them, and the report with its files."""

from __future__ import annotations

import os
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import nlargest
from html import escape
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from agenticiqa.api.measure import dataframe
from agenticiqa.auditing.findings import BY_NAME, ORDER, Findings, checked_names, failure_finding, in_order
from agenticiqa.auditing.grouping import GroupPlace, Groups
from agenticiqa.auditing.outputs import link_pictures, write_rows
from agenticiqa.batch.results import read_results
from agenticiqa.pictures.formats import Skipped
from agenticiqa.reports.contact_sheet.page import (
    SheetLinks,
    SheetPicture,
    Thumbnails,
    notebook_sheet,
    write_contact_sheet,
)
from agenticiqa.runtime.files import ScratchFolder, refuse_to_replace

COLUMNS = (
    "path", "findings", "keep", "why", "score", "level", "sort", "generated", "width", "height", "format", "bytes",
    "taken", "brightness", "sharpness", "detail", "entropy", "exact_group", "near_group", "burst_group", "notes",
    "sha256", "error",
)  # fmt: skip
_COPIED = (
    "score", "level", "sort", "generated", "width", "height", "format", "bytes", "taken", "brightness", "sharpness",
    "detail", "entropy", "notes", "sha256",
)  # fmt: skip
_NOTHING_SHOWS = ("corrupt", "unreadable", "blank")

Row = dict[str, Any]


def audit_rows(lines: Path, groups: Groups) -> Iterator[Row]:
    """In the order of the records. ``findings`` holds names and why each holds; tables have the names alone."""
    for position, line in enumerate(read_results(lines)):
        yield audit_row(line.record, groups.place(position))


def audit_row(record: Mapping[str, Any], place: GroupPlace) -> Row:
    picture: Mapping[str, Any] = record.get("picture") or {}
    findings = in_order({**(picture["findings"] if picture else _failure(record)), **_among_others(place)})
    empty = next((name for name in _NOTHING_SHOWS if name in findings), None)
    row: Row = dict.fromkeys(COLUMNS)
    row |= {name: picture.get(name) for name in _COPIED}
    row |= {
        "path": record["sample_id"],
        "findings": findings,
        "keep": place.keep and empty is None,
        "why": place.why or (findings[empty] if empty else None),
        "exact_group": place.exact_group,
        "near_group": place.near_group,
        "burst_group": place.burst_group,
        "notes": "; ".join(picture.get("notes") or ()) or None,
        "error": record.get("error"),
    }
    return row


def _failure(record: Mapping[str, Any]) -> Findings:
    kind = (record.get("metadata") or {}).get("error_kind")
    return {failure_finding(kind): str(record.get("error") or kind)}


def _among_others(place: GroupPlace) -> Findings:
    found: Findings = {}
    if place.exact_group is not None:
        found["exact_duplicate"] = f"group {place.exact_group + 1}"
    if place.near_group is not None:
        found["near_duplicate"] = f"group {place.near_group + 1}"
    if place.burst_group is not None:
        found["burst"] = f"group {place.burst_group + 1}"
    if place.odd_size:
        found["odd_size"] = "far from the size of most pictures here"
    return found


def table_row(row: Mapping[str, Any]) -> Row:
    """The same with texts and numbers only."""
    return {**row, "findings": ", ".join(row["findings"])}


# --- An audit in a few lines: how many pictures have which finding, and what could go ---


EXAMPLES = 2
BAR = 12


@dataclass(frozen=True)
class AuditSummary:
    """Counts over all pictures of an audit. As text it is a small table that fits 80 columns."""

    source: str
    quick: bool
    pictures: int
    not_done: int
    without_finding: int
    findings: dict[str, int]
    """Pictures with each finding, in the order of the findings."""
    examples: dict[str, list[str]]
    exact_groups: int
    near_groups: int
    bursts: int
    keep: int
    mean_score: float | None
    sorts: dict[str, int]
    seconds: float = 0.0
    skipped: Skipped = field(default_factory=Skipped)

    @classmethod
    def of(
        cls, rows: Iterable[Row], groups: Groups, *, source: str, quick: bool, not_done: int, skipped: Skipped
    ) -> AuditSummary:
        """Rows are read one by one, and none is kept."""
        pictures = clean = keep = 0
        points = 0.0
        findings: Counter[str] = Counter()
        sorts: Counter[str] = Counter()
        examples: dict[str, list[str]] = {}
        for row in rows:
            pictures += 1
            clean += not row["findings"]
            keep += bool(row["keep"])
            if row["score"] is not None:
                points += row["score"]
                sorts[row["sort"]] += 1
            for name in row["findings"]:
                findings[name] += 1
                if findings[name] <= EXAMPLES:
                    examples.setdefault(name, []).append(row["path"])
        return cls(
            source=source,
            quick=quick,
            pictures=pictures,
            not_done=not_done,
            without_finding=clean,
            findings=dict(sorted(findings.items(), key=lambda item: ORDER[item[0]])),
            examples=examples,
            exact_groups=len(groups.exact),
            near_groups=len(groups.near),
            bursts=len(groups.bursts),
            keep=keep,
            mean_score=round(points / sorts.total(), 3) if sorts else None,
            sorts=dict(sorts.most_common()),
            skipped=skipped,
        )

    def as_dict(self) -> dict[str, Any]:
        return {**self.__dict__, "skipped": self.skipped.as_dict()}

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _lines(self) -> Iterable[str]:
        yield f"{_count(self.pictures, 'picture')} in {_shortened(self.source, 50)}"
        yield f"{self.without_finding} without a finding, {self.keep} to keep ({self.pictures - self.keep} could go)"
        if self.mean_score is not None:
            kinds = ", ".join(f"{name} {count}" for name, count in list(self.sorts.items())[:6])
            yield f"Mean score {self.mean_score:.2f} of 5; {kinds}"
        if self.findings:
            yield ""
            yield f"{'FINDING':<18}{'PICTURES':>9}{'':>15}EXAMPLES"
        most = max(self.findings.values(), default=1)
        for name, count in self.findings.items():
            bar = "█" * max(1, round(BAR * count / most))
            shown = _shortened(", ".join(self.examples[name]), 36)
            yield f"{name:<18}{count:>9}  {bar:<{BAR}} {shown}".rstrip()
        yield from self._groups()
        if self.not_done:
            yield f"{self.not_done} not done: --resume continues."
        for line in self.skipped.lines():
            yield _shortened(line, 80)

    def _groups(self) -> Iterable[str]:
        counted = (
            (self.exact_groups, "set of equal pictures", "sets of equal pictures"),
            (self.near_groups, "set of versions of one shot", "sets of versions of one shot"),
            (self.bursts, "burst", "bursts"),
        )
        told = [f"{count} {one if count == 1 else many}" for count, one, many in counted if count]
        if told:
            yield ""
            yield ", ".join(told)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(BY_NAME[name].title)}</td><td style='text-align:right'>{count}</td>"
            f"<td>{escape(BY_NAME[name].meaning)}</td></tr>"
            for name, count in self.findings.items()
        )
        score = f", mean score {self.mean_score:.2f} of 5" if self.mean_score is not None else ""
        return (
            f"<p><strong>{self.pictures} pictures</strong>: {self.without_finding} without a finding, "
            f"{self.keep} to keep{score}.</p><table><thead><tr><th>Finding</th><th>Pictures</th><th></th></tr></thead>"
            f"<tbody>{rows}</tbody></table>"
        )


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number:,} {thing}s"


def _shortened(text: str, length: int) -> str:
    """
    >>> _shortened("photographs/holidays/beach.jpg", 16)
    'photographs/hol…'
    """
    return text if len(text) <= length else text[: length - 1] + "…"


# --- What an audit hands back ---


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

        Raises where a name is none of :data:`agenticiqa.auditing.findings.NAMES`.
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
        """All rows as .csv, .json or .jsonl."""
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
        """A page with all pictures, to look through in a browser; see docs/many-pictures/audit.md."""
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
            row = audit_row(line.record, self._groups.place(position))
            yield SheetPicture(row, (line.record.get("picture") or {}).get("thumbnail"))

    def _repr_html_(self) -> str:
        """How a notebook shows it: the summary, and the pictures with most to say of them."""
        # The largest few of a stream: thumbnails of thousands would fill the memory.
        shown = nlargest(SHOWN_IN_NOTEBOOKS, self.sheet_pictures(), key=lambda each: len(each.row["findings"]))
        return self._summary._repr_html_() + notebook_sheet(shown)

    def __str__(self) -> str:
        return str(self._summary)

    def __repr__(self) -> str:
        return f"<AuditReport: {self._summary.pictures} pictures, {self._summary.keep} to keep>"
