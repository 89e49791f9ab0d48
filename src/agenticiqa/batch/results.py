"""Results as lines of JSON: the sample's own columns beside the result's keys; and the file that keeps them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from agenticiqa.batch.sample import Sample
from agenticiqa.errors import OutputError

VOLATILE = (
    "metadata.timings",
    "metadata.call_log[].seconds",
    "executor_evidence.tool_logs[].seconds",
    "measurements[].seconds",
)
"""All that differs between two runs of the same batch, apart from what a cache or a model's mood changes."""
RECORDED_FIELDS = ("mos", "answer", "task_type")
_STRICT = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


def result_line(sample: Sample, result: Mapping[str, Any]) -> bytes:
    """One line of JSON, ending included."""
    record: dict[str, Any] = {"sample_id": sample.sample_id, **_in_fixed_order(result)}
    given = {name: value for name in RECORDED_FIELDS if (value := getattr(sample, name)) is not None}
    for name, value in (given | sample.carried).items():
        free = name
        while free in record:
            free = f"input_{free}"
        record[free] = value
    return _json(record) + b"\n"


def _json(record: Mapping[str, Any]) -> bytes:
    """Pydantic's encoder takes a quarter of the time of Python's own, which is asked about what only it refuses or can
    write: values that are no numbers, and halves of characters.
    """
    try:
        line = to_json(record)
    except ValueError:
        return _STRICT.encode(record).encode()
    return _STRICT.encode(record).encode() if b"NaN" in line or b"Infinity" in line else line


def _in_fixed_order(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Steps that ran side by side are listed in one fixed order, whichever ended first."""
    ordered_parts: dict[str, Any] = {}
    calls = (result.get("metadata") or {}).get("call_log")
    if calls:
        by_role = groupby(calls, key=lambda call: call["role"])
        ordered = [call for _, group in by_role for call in sorted(group, key=lambda call: call["step"])]
        ordered_parts["metadata"] = {**result["metadata"], "call_log": ordered}
    evidence = result.get("executor_evidence")
    if evidence and evidence.get("errors"):
        ordered_parts["executor_evidence"] = {**evidence, "errors": sorted(evidence["errors"])}
    return {**result, **ordered_parts} if ordered_parts else result


def without_volatile(record: Mapping[str, Any]) -> dict[str, Any]:
    """A result without what :data:`VOLATILE` names, for comparing two runs.

    >>> without_volatile({"metadata": {"timings": {"total": 1.5}, "calls": 5}})
    {'metadata': {'calls': 5}}
    """
    copy: dict[str, Any] = json.loads(json.dumps(record))
    for path in VOLATILE:
        _remove(copy, path.split("."))
    return copy


def _remove(value: Any, path: list[str]) -> None:
    if not isinstance(value, dict):
        return
    name, *rest = path
    if not rest:
        value.pop(name, None)
        return
    inner = value.get(name.removesuffix("[]"))
    for each in (inner or []) if name.endswith("[]") else [inner]:
        _remove(each, rest)


# --- The results on disk ---


FREE_SPACE = "Free some space, then run the same command with --resume: nothing that was written is lost."
FLUSH_EVERY_S = 5.0
COPY_CHUNK = 1024 * 1024


@dataclass(frozen=True)
class StoredLine:
    """Where a result is in the file, and what it says."""

    offset: int
    length: int
    record: dict[str, Any]


def read_results(path: Path) -> Iterator[StoredLine]:
    """Every whole result in a file, one after the other; a torn last line is left out."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        offset = 0
        for number, raw in enumerate(file, 1):
            record = _parsed(raw)
            if record is not None:
                yield StoredLine(offset, len(raw), record)
            elif offset + len(raw) < size:
                raise OutputError(
                    f"Line {number} of {str(path)!r} is not a result of a batch.",
                    hint="Choose another --output, or --overwrite this one.",
                )
            offset += len(raw)


class ResultsFile:
    """Append-only while a run goes on. Must be opened under the output's lock."""

    def __init__(self, path: Path, *, fresh: bool) -> None:
        self.path = path
        self._ordering = path.with_name(path.name + ".ordering")
        try:
            self._ordering.unlink(missing_ok=True)
            self._file = self._open(truncate=fresh)
        except OSError as error:
            raise OutputError(f"{str(path)!r} cannot be written: {error.strerror}.") from error
        self._size = os.fstat(self._file).st_size
        self._flushed_at = time.monotonic()

    def _open(self, *, truncate: bool = False) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        return os.open(self.path, flags | (os.O_TRUNC if truncate else 0), 0o644)

    def stored(self) -> Iterator[StoredLine]:
        """Every result in the file. A torn last line, left by a process that was killed, is cut off."""
        end = 0
        for line in read_results(self.path):
            end = line.offset + line.length
            yield line
        if end < self._size:
            os.ftruncate(self._file, end)
            self._size = end

    def append(self, line: bytes) -> int:
        """Add one whole line, or several, and return where they begin; what does not fit leaves nothing behind."""
        start = self._size
        try:
            written = 0
            while written < len(line):
                written += os.write(self._file, line[written:])
        except OSError as error:
            os.ftruncate(self._file, start)
            raise OutputError(f"{str(self.path)!r} cannot be written: {error.strerror}.", hint=FREE_SPACE) from error
        self._size += len(line)
        self._flush_now_and_then()
        return start

    def read(self, start: int, length: int) -> bytes:
        """A line that was appended."""
        os.lseek(self._file, start, os.SEEK_SET)
        return os.read(self._file, length)

    def _flush_now_and_then(self) -> None:
        """After a power cut at most some seconds are missing; waiting for the disk at every line would be slow."""
        if time.monotonic() - self._flushed_at > FLUSH_EVERY_S:
            os.fsync(self._file)
            self._flushed_at = time.monotonic()

    def put_in_order(self, spans: Iterable[tuple[int, int]]) -> None:
        """Keep exactly these (offset, length) pieces, in this order."""
        pieces = _joined(spans)
        first = next(pieces, None)
        second = next(pieces, None)
        if second is None and first in (None, (0, self._size)):
            if first is None and self._size:
                os.ftruncate(self._file, 0)
                self._size = 0
            os.fsync(self._file)
            return
        try:
            self._write_ordering(piece for group in ([first, second], pieces) for piece in group if piece)
            self._ordering.replace(self.path)
        except OSError as error:
            self._ordering.unlink(missing_ok=True)
            raise OutputError(
                f"{str(self.path)!r} is complete but could not be put in order: {error.strerror}.", hint=FREE_SPACE
            ) from error
        os.close(self._file)
        self._file = self._open()
        self._size = os.fstat(self._file).st_size

    def _write_ordering(self, pieces: Iterable[tuple[int, int]]) -> None:
        with self.path.open("rb") as source, self._ordering.open("wb") as target:
            for offset, length in pieces:
                source.seek(offset)
                left = length
                while left:
                    chunk = source.read(min(left, COPY_CHUNK))
                    target.write(chunk)
                    left -= len(chunk)
            target.flush()
            os.fsync(target.fileno())

    def close(self) -> None:
        os.close(self._file)


def _joined(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Neighbours as one piece: a file that is in order already is a single one.

    >>> list(_joined([(0, 5), (5, 2), (9, 1)]))
    [(0, 7), (9, 1)]
    """
    current: tuple[int, int] | None = None
    for offset, length in spans:
        if current and current[0] + current[1] == offset:
            current = (current[0], current[1] + length)
            continue
        if current:
            yield current
        current = (offset, length)
    if current:
        yield current


def _parsed(raw: bytes) -> dict[str, Any] | None:
    if not raw.endswith(b"\n"):
        return None
    try:
        record = json.loads(raw)
    except ValueError:
        return None
    return record if isinstance(record, dict) and "sample_id" in record and "status" in record else None
