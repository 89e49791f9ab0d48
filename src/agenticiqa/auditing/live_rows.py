"""What is known of an audit while it runs: rows as pictures are looked at, decisions as soon as they can be made."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

from agenticiqa.auditing.collecting import entry_of, views_in
from agenticiqa.auditing.decisions import Bounds, Decider
from agenticiqa.auditing.grouping import GroupPlace, grouped
from agenticiqa.auditing.report import AuditReport, audit_row
from agenticiqa.batch.results import StoredLine, read_results
from agenticiqa.reports.contact_sheet.page import SheetPicture

UNDECIDED = dict.fromkeys(("decision", "why", "stars", "by", "keep"))


class LiveRows:
    """Rows in the order in which they become known; a picture that is told again is known with more.

    Before groups are known a row has its findings and no decision. :meth:`decide` then tells all of them with
    decisions by that first look. After it each picture is told with what the vision model sees, and, once that is
    known of the last picture of its group, all pictures of the group with the choice among them. ``settled`` says that
    nothing but the scores of other groups can change a decision.
    """

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._read: defaultdict[Path, int] = defaultdict(int)
        self._places: dict[str, GroupPlace] = {}
        self._companions: dict[str, frozenset[str]] = {}
        """All pictures of every group that a picture is in, itself too, by its path."""
        self._waiting: dict[str, StoredLine] = {}
        """Records of pictures whose group is not complete."""
        self._scores: list[float] = []

    @property
    def has_decisions(self) -> bool:
        return bool(self._places)

    def found(self, lines: Path) -> Iterator[SheetPicture]:
        """What a file of records holds beyond what was read of it before."""
        if not lines.exists():
            return
        for line in read_results(lines, self._read[lines]):
            self._read[lines] = line.offset + line.length
            yield from self._scored(line, lines) if self._places else [self._shown(line)]

    def decide(self, report: AuditReport) -> Iterator[SheetPicture]:
        """All pictures with the decisions of a first look, which knows the groups."""
        self._places = report.places()
        joined: dict[str, set[str]] = {}
        for members in (paths for sets in report.groups().values() for paths in sets):
            together = set(members).union(*(joined.get(path, ()) for path in members))
            joined.update(dict.fromkeys(together, together))
        self._companions = {path: frozenset(together) for path, together in joined.items()}
        return (replace(each, row={**each.row, "settled": False}) for each in report.sheet_pictures())

    def _scored(self, line: StoredLine, lines: Path) -> Iterator[SheetPicture]:
        path, picture = line.record["sample_id"], line.record.get("picture") or {}
        if picture.get("score") is not None:
            self._scores.append(picture["score"])
        companions = self._companions.get(path)
        if companions is None:
            yield self._shown(line, self._places[path], settled=True)
            return
        self._waiting[path] = line
        if not companions <= self._waiting.keys():
            yield self._shown(line, self._places[path])
            return
        members = [self._waiting.pop(each) for each in sorted(companions)]
        with views_in(lines) as view:
            chosen = grouped([entry_of(each, number) for number, each in enumerate(members)], view)
        for number, each in enumerate(members):
            # Groups are numbered as in the whole folder; the choice is made anew.
            known, now = self._places[each.record["sample_id"]], chosen.place(number)
            yield self._shown(each, replace(known, keep=now.keep, too=now.too, why=now.why), settled=True)

    def _shown(self, line: StoredLine, place: GroupPlace | None = None, *, settled: bool = False) -> SheetPicture:
        decider = Decider(self._bounds, median(self._scores) if self._scores else None)
        row = audit_row(line.record, place or GroupPlace(), decider)
        thumbnail = (line.record.get("picture") or {}).get("thumbnail")
        return SheetPicture({**row, **({} if place else UNDECIDED), "settled": settled}, thumbnail)
