"""What an audit hands back: a flat row for each picture, counts over all of them, and the report with its files."""

from __future__ import annotations

import os
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from heapq import nlargest
from html import escape
from os import PathLike, fspath
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

from agenticiqa.api.measure import dataframe
from agenticiqa.auditing.decisions import Bounds, Decided, Decider
from agenticiqa.auditing.findings import MEANINGS, NAMES, Findings, checked_names, in_order, sharpest_place
from agenticiqa.auditing.grouping import GroupPlace, Groups
from agenticiqa.batch.outputs import format_of, write_table
from agenticiqa.batch.remote_pictures import is_url
from agenticiqa.batch.results import read_results
from agenticiqa.errors import OutputError
from agenticiqa.pictures.formats import Skipped
from agenticiqa.reports.contact_sheet.page import SheetLinks, SheetPicture, Thumbnails, write_contact_sheet
from agenticiqa.reports.look import framed, in_notebook, table
from agenticiqa.reports.sidecars import write_sidecar
from agenticiqa.runtime.files import ScratchFolder, refuse_to_replace

COLUMNS = (
    "path", "decision", "why", "stars", "by", "findings", "keep", "score", "level", "sort", "generated", "width",
    "height", "format", "bytes", "taken", "brightness", "sharpness", "detail", "entropy", "exact_group", "near_group",
    "burst_group", "notes", "sha256", "error", "border", "white_margin", "plain_margin", "text",
)  # fmt: skip
EXAMPLES = 2
BAR = 12
SHOWN_IN_NOTEBOOKS = 24

Row = dict[str, Any]


def audit_row(record: Mapping[str, Any], place: GroupPlace, decider: Decider, own: Decided | None = None) -> Row:
    """``own``: what a person decided, which wins."""
    picture: Mapping[str, Any] = record.get("picture") or {}
    found: Findings = dict(picture.get("findings") or {})
    if not picture:
        kind = (record.get("metadata") or {}).get("error_kind")
        found["corrupt" if kind == "image_format" else "unreadable"] = str(record.get("error") or kind)
    groups = {"exact_duplicate": place.exact_group, "near_duplicate": place.near_group, "burst": place.burst_group}
    found |= {name: f"group {number + 1}" for name, number in groups.items() if number is not None}
    if place.odd_size:
        found["odd_size"] = "far from the size of most pictures here"
    decided = own or decider.decide(picture, found, place)
    return {
        **{name: picture.get(name) for name in COLUMNS},
        "path": record["sample_id"],
        "findings": in_order(found),
        **asdict(decided),
        "keep": decided.decision == "keep",
        "exact_group": place.exact_group,
        "near_group": place.near_group,
        "burst_group": place.burst_group,
        "notes": "; ".join(picture.get("notes") or ()) or None,
        "error": record.get("error"),
        "sharpest": sharpest_place(picture["details"]) if picture else None,
    }


def table_row(row: Mapping[str, Any]) -> Row:
    flat = {name: value for name, value in row.items() if name != "sharpest"}
    return {**flat, "findings": ", ".join(row["findings"])}


@dataclass
class AuditSummary:
    """Counts over all pictures of an audit. As text it is a small table that fits 80 columns."""

    source: str
    quick: bool = False
    pictures: int = 0
    not_done: int = 0
    without_finding: int = 0
    findings: dict[str, int] = field(default_factory=dict)
    """Pictures with each finding, in the order of the findings."""
    examples: dict[str, list[str]] = field(default_factory=dict)
    exact_groups: int = 0
    near_groups: int = 0
    bursts: int = 0
    keep: int = 0
    maybe: int = 0
    reject: int = 0
    mean_score: float | None = None
    sorts: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    skipped: Skipped = field(default_factory=Skipped)

    def count(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Fill in what rows tell; they are read one by one, and none is kept."""
        points = 0.0
        groups: dict[str, set[int | None]] = {"exact_group": {None}, "near_group": {None}, "burst_group": {None}}
        findings: Counter[str] = Counter()
        sorts: Counter[str] = Counter()
        for row in rows:
            self.pictures += 1
            self.without_finding += not row["findings"]
            setattr(self, row["decision"], getattr(self, row["decision"]) + 1)
            if row["score"] is not None:
                points += row["score"]
                sorts[row["sort"]] += 1
            for name, known in groups.items():
                known.add(row[name])
            for name in row["findings"]:
                findings[name] += 1
                if findings[name] <= EXAMPLES:
                    self.examples.setdefault(name, []).append(row["path"])
        self.findings = {name: findings[name] for name in NAMES if name in findings}
        self.sorts = dict(sorts.most_common())
        self.mean_score = round(points / sorts.total(), 3) if sorts else None
        # None is no group.
        self.exact_groups, self.near_groups, self.bursts = (len(known) - 1 for known in groups.values())

    def as_dict(self) -> dict[str, Any]:
        return {**self.__dict__, "skipped": self.skipped.as_dict()}

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _lines(self) -> Iterable[str]:
        yield f"{_count(self.pictures, 'picture')} in {_shortened(self.source, 50)}"
        yield f"{self.without_finding} without a finding; keep {self.keep}, maybe {self.maybe}, reject {self.reject}"
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
        sets = [
            _count(self.exact_groups, "set", " of equal pictures"),
            _count(self.near_groups, "set", " of versions of one shot"),
            _count(self.bursts, "burst"),
        ]
        if self.exact_groups or self.near_groups or self.bursts:
            yield ""
            yield ", ".join(each for each in sets if not each.startswith("0 "))
        if self.not_done:
            yield f"{self.not_done} not done: --resume continues."
        for line in self.skipped.lines():
            yield _shortened(line, 80)

    def as_html(self) -> str:
        """A line and a table, for a page of ours."""
        score = f", mean score {self.mean_score:.2f} of 5" if self.mean_score is not None else ""
        rows = [
            (name.replace("_", " ").capitalize(), str(count), MEANINGS[name]) for name, count in self.findings.items()
        ]
        return (
            f"<p><strong>{self.pictures} pictures</strong>: {self.without_finding} without a finding; "
            f"keep {self.keep}, maybe {self.maybe}, reject {self.reject}{score}.</p>"
            f"{table(('Finding', 'Pictures', ''), rows)}"
        )

    def _repr_html_(self) -> str:
        return in_notebook(self.as_html())


def _count(number: int, thing: str, more: str = "") -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}{more}"


def _shortened(text: str, length: int) -> str:
    """
    >>> _shortened("photographs/holidays/beach.jpg", 16)
    'photographs/hol…'
    """
    return text if len(text) <= length else text[: length - 1] + "…"


class AuditReport:
    """The result of :func:`agenticiqa.audit`: iterate it for a row per picture, read from disk as they are needed."""

    def __init__(
        self,
        lines: Path,
        groups: Groups,
        summary: AuditSummary,
        source: Path,
        bounds: Bounds,
        decisions: Mapping[str, Decided] = MappingProxyType({}),
        temporary: ScratchFolder | None = None,
    ) -> None:
        self._lines = lines
        self._groups = groups
        self._summary = summary
        self._source = source
        self._decider = Decider(bounds, groups.middle_score)
        self._decisions = decisions
        if temporary is not None:
            weakref.finalize(self, temporary.close)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        """``findings`` holds names and why each holds; tables have the names alone."""
        for picture in self.sheet_pictures():
            yield picture.row

    def __len__(self) -> int:
        return self._summary.pictures

    def summary(self) -> AuditSummary:
        """Counts of all findings; ``str()`` of it is a table for a terminal."""
        return self._summary

    def to_rows(self) -> list[Row]:
        """One flat dictionary per picture; ``findings`` is one text."""
        return [table_row(row) for row in self]

    def to_dataframe(self) -> Any:
        """:meth:`to_rows` as a pandas DataFrame.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        return dataframe(self.to_rows())

    def with_finding(self, *names: str) -> list[str]:
        """Paths of the pictures with any of these findings.

        Raises:
            ConfigError: A name is none of :data:`agenticiqa.auditing.findings.NAMES`.
        """
        wanted = set(checked_names(names))
        return [row["path"] for row in self if wanted & row["findings"].keys()]

    def groups(self) -> dict[str, list[list[str]]]:
        """Lists of paths that belong together, under ``exact``, ``near`` and ``bursts``."""
        paths = [row["path"] for row in self]
        found = {"exact": self._groups.exact, "near": self._groups.near, "bursts": self._groups.bursts}
        return {name: [[paths[place] for place in each] for each in sets] for name, sets in found.items()}

    def places(self) -> dict[str, GroupPlace]:
        """Where each picture stands among the others, by its path."""
        return {row["path"]: self._groups.place(position) for position, row in enumerate(self)}

    def best_of_bursts(self) -> dict[str, str]:
        """The path of the shot to keep of each burst, with the reason."""
        best = self._groups.best
        return {row["path"]: best[position] for position, row in enumerate(self) if position in best}

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write all rows.

        Args:
            path: A file ending in .csv or .jsonl; JSON Lines keep findings with their reasons.
            overwrite: Replace a file that exists.
        Raises:
            OutputError: The file exists or cannot be written, or has another ending.
        """
        target = Path(fspath(path))
        form = format_of(target)
        refuse_to_replace(target, overwrite=overwrite)
        write_table(lambda: self if form == "jsonl" else map(table_row, self), target, form)

    def contact_sheet(
        self,
        path: str | PathLike[str],
        *,
        links: SheetLinks | None = None,
        thumbnails: Thumbnails | None = None,
        overwrite: bool = False,
    ) -> None:
        """Write an HTML page with all pictures (docs/many-pictures/audit.md).

        Args:
            path: The page.
            links: Where its buttons lead, when a server shows it.
            thumbnails: How the small pictures are stored.
            overwrite: Replace a page that exists.
        Raises:
            OutputError: The page exists or cannot be written.
        """
        target = Path(fspath(path))
        refuse_to_replace(target, overwrite=overwrite)
        try:
            base = Path(os.path.relpath(self._source, target.parent)).as_posix()
        except ValueError:
            # On another drive: no relative path leads there.
            base = None
        write_contact_sheet(
            target,
            self.sheet_pictures,
            title=f"Audit of {self._source.name or self._source}",
            summary=self._summary.as_dict(),
            base=base,
            links=links,
            thumbnails=thumbnails,
        )

    def link_best(self, folder: str | PathLike[str]) -> int:
        """Link every picture worth keeping into a new folder.

        Returns:
            How many links were made.
        Raises:
            OutputError: The folder is not empty, lies within the audited one, or cannot be written.
        """
        return link_pictures((row["path"] for row in self if row["keep"]), self._source, Path(fspath(folder)))

    def write_sidecars(self) -> tuple[int, list[str]]:
        """Write stars, label and reason of every picture into an XMP file beside it (docs/many-pictures/audit.md).

        Returns:
            How many were written, and the paths of pictures whose file another program wrote: those stay as they are.
        Raises:
            OutputError: A file cannot be written.
        """
        left = [row["path"] for row in self if not is_url(row["path"]) and not write_sidecar(self._source, row)]
        return self._summary.pictures - len(left), left

    def sheet_pictures(self) -> Iterator[SheetPicture]:
        """Rows with their small pictures, as a contact sheet takes them."""
        for position, line in enumerate(read_results(self._lines)):
            own = self._decisions.get(line.record["sample_id"])
            row = audit_row(line.record, self._groups.place(position), self._decider, own)
            yield SheetPicture(row, (line.record.get("picture") or {}).get("thumbnail"))

    def _repr_html_(self) -> str:
        """How a notebook shows it: the summary, and the pictures with most to say of them."""
        # The largest few of a stream: thumbnails of thousands would fill the memory.
        shown = nlargest(SHOWN_IN_NOTEBOOKS, self.sheet_pictures(), key=lambda each: len(each.row["findings"]))
        figures = "".join(_figure(each) for each in shown)
        return in_notebook(f'{self._summary.as_html()}<div class="pictures small">{figures}</div>')

    def __str__(self) -> str:
        return str(self._summary)

    def __repr__(self) -> str:
        return f"<AuditReport: {self._summary.pictures} pictures, {self._summary.keep} to keep>"


def _figure(picture: SheetPicture) -> str:
    row = picture.row
    score = f" · {row['score']:.2f}" if row["score"] is not None else ""
    caption = f"{row['path']}{score}: {', '.join(row['findings']) or 'no finding'}"
    if picture.thumbnail is None:
        return f"<figure><figcaption>{escape(caption)} (does not open)</figcaption></figure>"
    return framed(picture.thumbnail, caption)


def check_link_folder(folder: Path, source: Path) -> None:
    """Refuse a folder that holds something, or that lies within what is audited: the next audit would find it."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OutputError(f"{str(folder)!r} is there already and not empty.", hint="Name a new folder for the links.")
    if source.is_dir() and folder.resolve().is_relative_to(source.resolve()):
        raise OutputError(
            f"{str(folder)!r} lies within {str(source)!r}, which is audited.", hint="Name a folder beside it."
        )


def link_pictures(paths: Iterable[str], source: Path, folder: Path) -> int:
    """A link for each of these paths (from ``source``), under the same name below ``folder``; how many were made."""
    check_link_folder(folder, source)
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for path in paths:
        # A name below the folder, wherever the picture lies.
        parts = [part for part in PurePosixPath(Path(path).as_posix()).parts if part not in ("/", "..")]
        link = folder.joinpath(*(part.replace(":", "") for part in parts))
        link.parent.mkdir(parents=True, exist_ok=True)
        target = (source / path).resolve()
        try:
            link.symlink_to(target)
        except FileExistsError:
            raise OutputError(f"{str(link)!r} is there already.", hint="Name a new folder for the links.") from None
        except OSError:
            # Windows lets only some users make symbolic links; a hard one is the same file too.
            try:
                os.link(target, link)
            except OSError as error:
                raise OutputError(f"{str(link)!r} cannot be linked: {error.strerror or error}.") from error
        count += 1
    return count
