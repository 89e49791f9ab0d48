"""One flat row for each picture: what was found in it, and where it stands among the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agenticiqa.batch.audit.findings import Findings, failure_finding, in_order
from agenticiqa.batch.audit.grouping import Groups, Place
from agenticiqa.batch.results.results_file import read_results

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


def audit_row(record: Mapping[str, Any], place: Place) -> Row:
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


def _among_others(place: Place) -> Findings:
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
