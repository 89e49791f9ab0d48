"""Manifests: files, folders, patterns and lists of pictures, read row by row into samples."""

import csv
import io
import json
import math
import os
import re
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import IO, Any, Literal
from urllib.parse import urlsplit
from urllib.request import url2pathname

from pydantic import ValidationError

from agenticiqa.answers import lettered, parse_choice, parse_options
from agenticiqa.batch.remote_pictures import is_url, open_remote
from agenticiqa.batch.sample import Sample
from agenticiqa.errors import ManifestError, QueryError, RegionError, without_credentials
from agenticiqa.pictures import formats
from agenticiqa.pictures.regions import parse_region
from agenticiqa.runtime.files import ScratchFolder

# Halves of characters, and the end of a C string: no file name or question holds them.
_NO_TEXT = re.compile("[\ud800-\udfff\0]")


def resolved_path(path: str, base: str) -> str:
    """Where a manifest's path leads: relative ones start at the manifest's folder, which may be a URL itself.

    >>> resolved_path("a.png", "/data"), resolved_path("/b.png", "/data"), resolved_path("s3://x/c.png", "/data")
    ('/data/a.png', '/b.png', 's3://x/c.png')
    >>> resolved_path("file:///tmp/a%20b.png", "/data"), resolved_path("a.png", "s3://bucket/set")
    ('/tmp/a b.png', 's3://bucket/set/a.png')
    """
    if path.startswith("file://"):
        return url2pathname(urlsplit(path).path)
    if is_url(path):
        return path
    if is_url(base):
        return path if path.startswith("/") else f"{base.rstrip('/')}/{PurePosixPath(path)}"
    return path if base in ("", ".") else os.path.join(base, path)


def sample_from_row(row: Mapping[str, Any], base: str) -> Sample:
    """The sample a row describes; ManifestError says what is wrong with it."""
    known = {key: read(row[key], key) for key, read in _FIELDS.items() if row.get(key) not in (None, "")}
    if "image_path" not in known:
        there = f" The row has {', '.join(row)}. {KNOWN_COLUMNS}" if row else ""
        raise ManifestError(f"image_path is missing.{there}")
    # Of several questions about one picture without ids, all but the first get numbers: see manifest_checks.py.
    known.setdefault("sample_id", without_credentials(known["image_path"]))
    for key in known.keys() & {"image_path", "reference_path"}:
        known[key] = resolved_path(known[key], base)
    _check_answer(known.get("answer"), known.get("options"), known.get("query"))
    carried = {key: value for key, value in row.items() if key not in _FIELDS}
    try:
        return Sample(**known, carried=carried)
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
        raise ManifestError(f"{problems}.") from None


def _text(value: Any, key: str) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ManifestError(f"{key} is {json.dumps(value)}, which is not text.")
    text = str(value)
    if _NO_TEXT.search(text):
        raise ManifestError(f"{key} holds characters that are not valid text.")
    return text


def _number(value: Any, key: str) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except OverflowError:
        raise ManifestError(f"{key} is too large a number.") from None
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ManifestError(f"{key} is {value!r}, which is not a number.")
    return number


def _options(value: Any, key: str) -> list[str]:
    """A list, a JSON list as text, or texts divided by bars: ``A. blur|B. noise``."""
    if isinstance(value, str):
        value = _decoded(value, key) if value.lstrip().startswith("[") else value.split("|")
    if not isinstance(value, list) or not all(isinstance(each, (str, int, float)) for each in value):
        raise ManifestError("options are neither a list of texts nor texts divided by '|'.")
    options = [str(each).strip() for each in value]
    if len(options) < 2 or not all(options):
        raise ManifestError("options need at least two texts, none of them empty.")
    return options


def _check_answer(answer: str | None, given: list[str] | None, query: str | None) -> None:
    """Refuse a right answer that is not among the options, before anything is paid for."""
    try:
        options = lettered(given) if given else parse_options(query or "")
    except QueryError as error:
        raise ManifestError(f"options: {error.message}") from None
    if options and answer and answer.strip() and parse_choice(answer, options) is None:
        raise ManifestError(f"answer is {answer!r}, which is none of the options {list(options.values())}.")


def _regions(value: Any, key: str) -> dict[str, list[int]] | None:
    """An object of boxes, the same as JSON text, or ``NAME=x,y,width,height`` divided by semicolons."""
    try:
        if isinstance(value, str) and not value.lstrip().startswith("{"):
            return {name: box.as_list() for name, box in map(parse_region, value.split(";"))}
        boxes = _decoded(value, key) if isinstance(value, str) else value
        if not isinstance(boxes, dict) or not all(isinstance(box, list) for box in boxes.values()):
            raise ManifestError('regions are not an object of the form {"NAME": [x, y, width, height]}.')
        pairs = [parse_region(f"{name}={','.join(map(str, box))}") for name, box in boxes.items()]
    except RegionError as error:
        raise ManifestError(f"regions: {error}") from None
    return {name: box.as_list() for name, box in pairs} or None


_FIELDS: Mapping[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(("sample_id", "image_path", "query", "reference_path", "answer", "task_type"), _text),
    "mos": _number,
    "options": _options,
    "regions": _regions,
}
"""How each known column is read; any other is carried along."""
_OTHER_NAMES = {
    "image_path": "image img image_file image_name img_path file file_name filename file_path filepath path picture "
    "photo distorted distorted_path distorted_image dist_img dist_path",
    "reference_path": "reference ref ref_path ref_img ref_image ref_name reference_image original original_path",
    "query": "question",
    "options": "choices",
    "answer": "correct_answer correct_ans",
}
"""What else people call the columns; case, blanks and hyphens do not matter."""
_BY_NAME = {name: name for name in _FIELDS} | {
    other: name for name, others in _OTHER_NAMES.items() for other in others.split()
}
_OTHERS = [name for name in _BY_NAME if name not in _FIELDS]
KNOWN_COLUMNS = f"Columns that are understood: {', '.join(_FIELDS)}; also {', '.join(_OTHERS)}."


def _with_known_names(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The row with its columns under the names that are used here; a column that has such a name counts more."""
    meant: dict[str, list[str]] = {}
    for key in row:
        name = _BY_NAME.get(re.sub(r"[\s-]+", "_", str(key).strip().casefold()))
        if name is not None and name != key and row.get(name) in (None, ""):
            meant.setdefault(name, []).append(key)
    for name, keys in meant.items():
        if len(keys) > 1:
            raise ManifestError(f"{' and '.join(map(repr, keys))} may both be the {name}: name the right one so.")
    renamed = {keys[0]: name for name, keys in meant.items()}
    return {renamed.get(key, key): value for key, value in row.items() if key not in meant} if meant else row


def _decoded(text: str | bytes, key: str = "") -> Any:
    """The value of a text of JSON, which is a whole row or stands in the column ``key``."""
    try:
        text = text.decode() if isinstance(text, bytes) else text
        value = _JSON.decode(text)
        if "\\u" in text:
            # A lone half of a character can be an escape in JSON, and nothing else: it could not be written again.
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ManifestError(f"{key or 'the row'} holds halves of characters, which are not valid text.") from None
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"{key} is not valid JSON ({error}).".removeprefix(" is ")) from None
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


_JSON = json.JSONDecoder(parse_constant=_refuse_constant)


Record = bytes | Mapping[str, Any] | str
"""A line of JSON, the cells of a row by column, or what is wrong with the row."""


@dataclass(frozen=True)
class Row:
    """One sample, or what is wrong with the line that should hold one; read on demand."""

    line: int
    record: Record
    base: str

    @property
    def sample(self) -> Sample | None:
        return self._read if isinstance(self._read, Sample) else None

    @property
    def problem(self) -> str | None:
        return self._read if isinstance(self._read, str) else None

    @property
    def has_id(self) -> bool:
        """Whether the sample brings an id; without one, a path serves."""
        return self.sample is not None and self._fields.get("sample_id") not in (None, "")

    @cached_property
    def _fields(self) -> Mapping[str, Any]:
        if isinstance(self.record, str):
            raise ManifestError(self.record)
        fields = _decoded(self.record) if isinstance(self.record, bytes) else self.record
        if not isinstance(fields, Mapping):
            raise ManifestError("not a JSON object.")
        return _with_known_names(fields)

    @cached_property
    def _read(self) -> Sample | str:
        try:
            return sample_from_row(self._fields, self.base)
        except ManifestError as error:
            return error.message

    def __getstate__(self) -> dict[str, Any]:
        """Another process reads the line for itself: the runner then need not."""
        return {"line": self.line, "record": self.record, "base": self.base}


Records = Iterator[tuple[int, Record]]
"""Rows with the numbers of their lines."""


@dataclass(eq=False)
class Manifest:
    """Samples in a fixed order; may be read any number of times."""

    name: str
    base: str
    records: Callable[[], Records]
    file: Path | None = None
    """The file that the rows are read from, where it is the user's own."""
    skipped: formats.Skipped = field(default_factory=formats.Skipped)
    """Files that stand beside the samples' pictures and are none of them."""
    close: Callable[[], None] = field(default=lambda: None)

    def rows(self) -> Iterator[Row]:
        for line, record in self.records():
            yield Row(line, record, self.base)


class RowsManifest(Manifest):
    """Rows that are in memory already."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        found = list(rows)
        super().__init__("the list", "", lambda: enumerate(found, 1))
        self._count = len(found)

    def __len__(self) -> int:
        return self._count


def open_manifest(*sources: str) -> Manifest:
    """One manifest (a file, its address, ``-`` for standard input), or any number of pictures, folders and patterns."""
    if len(sources) == 1 and (stream := _stream(sources[0])) is not None:
        return stream
    path, skipped = Path(sources[0]), formats.Skipped()
    if len(sources) == 1 and path.is_dir():
        return _of_pictures(formats.pictures_below(path, skipped), sources[0], str(path), skipped, order="path")
    if len(sources) == 1 and path.is_file() and not _is_picture(path):
        return _of_file(path, sources[0], str(path.parent))
    name = sources[0] if len(sources) == 1 else f"the {len(sources)} inputs"
    return _of_pictures(_pictures_of(sources, skipped), name, "", skipped, order="rowid")


def _stream(source: str) -> Manifest | None:
    """A manifest that can be read only once, and so is copied."""
    if source == formats.STANDARD_INPUT:
        return _spooled(sys.stdin.buffer, "standard input", os.getcwd())
    if is_url(source) and formats.format_named(source) is None:
        with open_remote(source) as stream:
            return _spooled(stream, source, source.rpartition("/")[0])
    if Path(source).is_fifo():
        # What a shell writes for <(command).
        with open(source, "rb") as stream:
            return _spooled(stream, source, os.getcwd())
    return None


def _pictures_of(sources: Sequence[str], skipped: formats.Skipped) -> Iterator[str]:
    for source in sources:
        path = Path(source)
        if formats.is_pattern(source):
            yield from formats.pictures_matching(source, skipped)
        elif path.is_dir():
            yield from sorted(str(path / below) for below in formats.pictures_below(path, skipped))
        elif is_url(source) or (path.is_file() and _is_picture(path)):
            yield source
        elif source == formats.STANDARD_INPUT or path.is_file():
            raise ManifestError(f"{source!r} stands beside other inputs.", hint="A manifest or a list is read alone.")
        else:
            raise ManifestError(f"There is no file or folder {source!r}.", hint="Check the path.")


def _is_picture(path: Path) -> bool:
    """By its name, or because no manifest holds such bytes."""
    if formats.format_named(path) is not None:
        return True
    with path.open("rb") as file:
        return path.suffix.lower() not in MANIFEST_SUFFIXES and b"\0" in file.read(SNIFFED)


def _spooled(stream: IO[bytes], name: str, base: str) -> Manifest:
    """A copy on disk: the rows are read twice, once to check them and once to work on them."""
    folder = ScratchFolder("manifest")
    copy = folder.path / "rows"
    with copy.open("wb") as file:
        shutil.copyfileobj(stream, file)
    return _of_file(copy, name, base, scratch=folder)


def _of_pictures(
    paths: Iterable[str], name: str, base: str, skipped: formats.Skipped, *, order: Literal["rowid", "path"]
) -> Manifest:
    """Pictures by their paths. Each stands once, and its path is also its id."""
    # An empty name makes a database on disk that is gone once it is closed.
    database = sqlite3.connect("", check_same_thread=False)
    database.execute("CREATE TABLE paths (path TEXT UNIQUE)")
    database.executemany("INSERT OR IGNORE INTO paths VALUES (?)", ((formats.as_text(path),) for path in paths))

    def records() -> Records:
        with closing(database.execute(f"SELECT path FROM paths ORDER BY {order}")) as cursor:  # noqa: S608 - a word of ours
            for number, (path,) in enumerate(cursor, 1):
                yield number, {"sample_id": without_credentials(path), "image_path": path}

    return Manifest(name, base, records, skipped=skipped, close=database.close)


# --- Manifest files ---

LONGEST_CELL = 16 * 1024 * 1024
SNIFFED = 4096
Format = Literal["jsonl", "csv", "paths"]
MANIFEST_SUFFIXES: dict[str, Format] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv"}


def _of_file(path: Path, name: str, base: str, *, scratch: ScratchFolder | None = None) -> Manifest:
    """A JSONL or CSV file, or a list of paths; in ``scratch`` where it is a copy."""
    read = _READERS[_format_of(path, name, base)]
    seen: list[tuple[int, int]] = []

    def records() -> Records:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            seen.append((found.st_size, found.st_mtime_ns))
            # Rows are counted once and worked on later: they must stay what they were.
            if seen[-1] != seen[0]:
                raise ManifestError(f"{name} was changed while it was being worked on.", hint="Start again.")
            yield from read(file, name)

    if scratch is not None:
        return Manifest(name, base, records, close=scratch.close)
    return Manifest(name, base, records, file=path)


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


def _json_records(file: IO[bytes], _: str) -> Records:
    for number, raw in enumerate(file, 1):
        text = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
        if text.strip():
            yield number, text


def _csv_records(file: IO[bytes], name: str) -> Records:
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


def _path_records(file: IO[bytes], _: str) -> Records:
    for number, path in enumerate(formats.listed_paths(file), 1):
        yield number, {"image_path": formats.as_text(path)}


_READERS = {"jsonl": _json_records, "csv": _csv_records, "paths": _path_records}


def _columns(reader: Iterator[list[str]], name: str) -> list[str]:
    try:
        columns = [cell.strip() for cell in next(reader, [])]
    except (csv.Error, UnicodeDecodeError) as error:
        raise ManifestError(f"The header of {name} is not valid CSV ({error}).") from None
    twice = sorted({column for column in columns if columns.count(column) > 1})
    if twice:
        raise ManifestError(f"{name} has more than one column {twice[0]!r}.", hint="Rename or remove one.")
    if columns and "image_path" not in _with_known_names(dict.fromkeys(columns)):
        divided = len(columns) == 1 and any(mark in columns[0] for mark in ";\t")
        hint = "Divide columns by commas." if divided else f"Rename the right one. {KNOWN_COLUMNS}"
        raise ManifestError(f"{name} has no column image_path; its columns are {', '.join(columns)}.", hint=hint)
    return columns
