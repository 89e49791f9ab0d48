"""Read samples from a JSONL or CSV file, a folder of pictures, or standard input: row by row, never all at once."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Literal, Protocol

from agenticiqa.api.measure import PICTURE_SUFFIXES
from agenticiqa.batch.manifest.fields import is_url, sample_from_row
from agenticiqa.batch.manifest.remote_pictures import open_remote
from agenticiqa.batch.sample import Sample
from agenticiqa.errors import ManifestError

STANDARD_INPUT = "-"
LONGEST_CELL = 16 * 1024 * 1024
Format = Literal["jsonl", "csv"]


Record = bytes | Mapping[str, Any] | str
"""A line of JSON, the cells of a row by column, or what is wrong with the row."""


@dataclass(frozen=True)
class Row:
    """One sample, or what is wrong with the line that should hold one; read when somebody asks."""

    line: int
    record: Record
    base: str

    @property
    def sample(self) -> Sample | None:
        return self._read if isinstance(self._read, Sample) else None

    @property
    def problem(self) -> str | None:
        return self._read if isinstance(self._read, str) else None

    @cached_property
    def _read(self) -> Sample | str:
        try:
            fields = _json_fields(self.record) if isinstance(self.record, bytes) else self.record
            return fields if isinstance(fields, str) else sample_from_row(fields, self.base)
        except ManifestError as error:
            return error.message

    def __getstate__(self) -> dict[str, Any]:
        """Another process reads the line for itself: the runner then need not."""
        return {"line": self.line, "record": self.record, "base": self.base}


class Manifest(Protocol):
    """Samples in a fixed order; may be read any number of times."""

    name: str

    def rows(self) -> Iterator[Row]: ...

    def close(self) -> None: ...


def open_manifest(source: str) -> Manifest:
    """What ``source`` names: ``-`` for standard input, a folder, a file, or the URL of a file."""
    if source == STANDARD_INPUT:
        return _spooled(sys.stdin.buffer, "standard input", os.getcwd())
    if is_url(source):
        with open_remote(source) as stream:
            return _spooled(stream, source, source.rpartition("/")[0])
    path = Path(source)
    if path.is_dir():
        return FolderManifest(path)
    if path.is_fifo():
        # What a shell writes for <(command).
        with path.open("rb") as stream:
            return _spooled(stream, source, os.getcwd())
    if not path.is_file():
        raise ManifestError(f"There is no file or folder {source!r}.", hint="Check the path.")
    return FileManifest(path, source, str(path.parent))


def _spooled(stream: IO[bytes], name: str, base: str) -> FileManifest:
    """A copy on disk: the rows are read twice, once to check them and once to work on them."""
    handle, copy = tempfile.mkstemp(prefix="agenticiqa-manifest-")
    with os.fdopen(handle, "wb") as file:
        shutil.copyfileobj(stream, file)
    return FileManifest(Path(copy), name, base, temporary=True)


class FileManifest:
    """A JSONL or CSV file."""

    def __init__(self, path: Path, name: str, base: str, *, temporary: bool = False) -> None:
        self.name = name
        self._path = path
        self._base = base
        self._temporary = temporary
        self._format = _format_of(path, name)
        self._seen: tuple[int, int] | None = None

    def rows(self) -> Iterator[Row]:
        with self._path.open("rb") as file:
            self._refuse_change(file)
            records = _json_records(file) if self._format == "jsonl" else _csv_records(file, self.name)
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
        if self._temporary:
            self._path.unlink(missing_ok=True)


def _format_of(path: Path, name: str) -> Format:
    ending = Path(name).suffix.lower()
    if ending in (".jsonl", ".ndjson"):
        return "jsonl"
    if ending == ".csv":
        return "csv"
    with path.open("rb") as file:
        start = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
    return "jsonl" if start.startswith(b"{") else "csv"


def _json_records(file: IO[bytes]) -> Iterator[tuple[int, Record]]:
    for number, raw in enumerate(file, 1):
        text = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
        if text.strip():
            yield number, text


def _json_fields(text: bytes) -> dict[str, Any] | str:
    try:
        fields = _JSON.decode(text.decode())
        readable = b"\\u" not in text or _is_text(fields)
    except (ValueError, RecursionError) as error:
        return f"not valid JSON ({error})."
    if not readable:
        return "holds halves of characters, which are not valid text."
    return fields if isinstance(fields, dict) else "not a JSON object."


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _is_text(fields: Any) -> bool:
    """Whether it can be written again: a lone half of a character can be an escape in JSON, and nothing else."""
    try:
        json.dumps(fields, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


_JSON = json.JSONDecoder(parse_constant=_refuse_constant)


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


class FolderManifest:
    """Every picture below a folder, sorted by its path there, which is also its id."""

    def __init__(self, folder: Path) -> None:
        self.name = str(folder)
        self._folder = folder
        # An empty name makes a database on disk that is gone once it is closed.
        self._names = sqlite3.connect("", check_same_thread=False)
        self._names.execute("CREATE TABLE names (path TEXT)")
        self._names.executemany("INSERT INTO names VALUES (?)", ((path,) for path in self._found()))

    def _found(self) -> Iterator[str]:
        for parent, _, files in os.walk(self._folder):
            for name in files:
                if Path(name).suffix.lower() in PICTURE_SUFFIXES:
                    path = (Path(parent) / name).relative_to(self._folder).as_posix()
                    # A name that is no valid text is listed with question marks and reported as missing.
                    yield path.encode("utf-8", "replace").decode()

    def rows(self) -> Iterator[Row]:
        with closing(self._names.execute("SELECT path FROM names ORDER BY path")) as cursor:
            for number, (path,) in enumerate(cursor, 1):
                yield Row(number, {"sample_id": path, "image_path": path}, str(self._folder))

    def close(self) -> None:
        self._names.close()
