"""Rows from a file: JSON Lines, CSV, or a list of paths."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Literal

from agenticiqa.batch.manifest.fields import resolved_path
from agenticiqa.batch.manifest.rows import Record, Row
from agenticiqa.errors import ManifestError
from agenticiqa.pictures.finding import Skipped, as_text, listed_paths
from agenticiqa.runtime.scratch import ScratchFolder

LONGEST_CELL = 16 * 1024 * 1024
SNIFFED = 4096
Format = Literal["jsonl", "csv", "paths"]
MANIFEST_SUFFIXES: dict[str, Format] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv"}


class FileManifest:
    """A JSONL or CSV file, or a list of paths."""

    def __init__(self, path: Path, name: str, base: str, *, scratch: ScratchFolder | None = None) -> None:
        self.name = name
        self._path = path
        self.file: Path | None = None if scratch else path
        self.skipped = Skipped()
        self._base = base
        self._scratch = scratch
        self._format = _format_of(path, name, base)
        self._seen: tuple[int, int] | None = None

    def rows(self) -> Iterator[Row]:
        with self._path.open("rb") as file:
            self._refuse_change(file)
            records = _READERS[self._format](file, self.name)
            for line, record in records:
                yield Row(line, record, self._base)

    def _refuse_change(self, file: IO[bytes]) -> None:
        """Rows are counted once and worked on later: they must stay what they were."""
        found = os.fstat(file.fileno())
        seen = (found.st_size, found.st_mtime_ns)
        if self._seen not in (None, seen):
            raise ManifestError(f"{self.name} was changed while it was being worked on.", hint="Start again.")
        self._seen = seen

    def close(self) -> None:
        if self._scratch is not None:
            self._scratch.close()


def _format_of(path: Path, name: str, base: str) -> Format:
    ending = Path(name).suffix.lower()
    if ending in MANIFEST_SUFFIXES:
        return MANIFEST_SUFFIXES[ending]
    with path.open("rb") as file:
        start = file.read(SNIFFED).removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"{"):
        return "jsonl"
    # A header has the column we need; one that was meant to be a header has columns. Anything else is a path.
    first = os.fsdecode(start.split(b"\n")[0].strip())
    has_columns = any(mark in first for mark in ",;\t") and not os.path.exists(resolved_path(first, base))
    return "csv" if "image_path" in first or has_columns else "paths"


def _json_records(file: IO[bytes], _: str) -> Iterator[tuple[int, Record]]:
    for number, raw in enumerate(file, 1):
        text = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
        if text.strip():
            yield number, text


def _csv_records(file: IO[bytes], name: str) -> Iterator[tuple[int, Record]]:
    csv.field_size_limit(LONGEST_CELL)
    with io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
        reader = csv.reader(text, strict=True)
        columns = _columns(reader, name)
        while True:
            line = reader.line_num + 1
            try:
                cells = next(reader)
            except StopIteration:
                return
            except (csv.Error, UnicodeDecodeError) as error:
                # Where one cell ends is unknown from here on: whatever follows would be guesswork.
                yield line, f"not valid CSV from here on ({error})."
                return
            if cells and len(cells) <= len(columns):
                yield line, dict(zip(columns, cells, strict=False))
            elif cells:
                yield line, f"{len(cells)} cells, but the header names {len(columns)} columns."


def _path_records(file: IO[bytes], _: str) -> Iterator[tuple[int, Record]]:
    for number, path in enumerate(listed_paths(file), 1):
        yield number, {"image_path": as_text(path)}


_READERS = {"jsonl": _json_records, "csv": _csv_records, "paths": _path_records}


def _columns(reader: Iterator[list[str]], name: str) -> list[str]:
    try:
        columns = [cell.strip() for cell in next(reader, [])]
    except (csv.Error, UnicodeDecodeError) as error:
        raise ManifestError(f"The header of {name} is not valid CSV ({error}).") from None
    twice = sorted({column for column in columns if columns.count(column) > 1})
    if twice:
        raise ManifestError(f"{name} has more than one column {twice[0]!r}.", hint="Rename or remove one.")
    if columns and "image_path" not in columns:
        divided = len(columns) == 1 and any(mark in columns[0] for mark in ";\t")
        hint = "Divide columns by commas." if divided else "Rename the right one."
        raise ManifestError(f"{name} has no column image_path; its columns are {', '.join(columns)}.", hint=hint)
    return columns
