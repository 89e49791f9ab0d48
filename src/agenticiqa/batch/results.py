"""Results as lines of JSON: the sample's own columns beside the result's keys; and the file that keeps them."""

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from agenticiqa.batch.sample import Sample
from agenticiqa.errors import OutputError

RECORDED_FIELDS = ("mos", "answer", "task_type")
FREE_SPACE = "Free some space, then run the same command with --resume: nothing that was written is lost."
FLUSH_EVERY_S = 5.0
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
    """JSON by pydantic's fast encoder, or by Python's own where that one refuses."""
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


@dataclass(frozen=True)
class StoredLine:
    """Where a result is in the file, and what it says."""

    offset: int
    length: int
    record: dict[str, Any]


def read_results(path: Path, start: int = 0) -> Iterator[StoredLine]:
    """Every whole result in a file, one after the other, or those from ``start`` on; a torn last line is left out."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        offset = file.seek(start)
        for number, raw in enumerate(file, 1):
            try:
                record = json.loads(raw) if raw.endswith(b"\n") else None
            except ValueError:
                record = None
            if isinstance(record, dict) and "sample_id" in record and "status" in record:
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
        # After a power cut at most some seconds are missing; waiting for the disk at every line would be slow.
        if time.monotonic() - self._flushed_at > FLUSH_EVERY_S:
            os.fsync(self._file)
            self._flushed_at = time.monotonic()
        return start

    def read(self, start: int, length: int) -> bytes:
        """A line that was appended."""
        os.lseek(self._file, start, os.SEEK_SET)
        return os.read(self._file, length)

    def put_in_order(self, spans: Callable[[], Iterable[tuple[int, int]]]) -> None:
        """Keep exactly these (start, length) pieces, in this order; ``spans`` names them as often as it is asked."""
        end = 0
        for start, length in spans():
            if start != end:
                break
            end += length
        else:
            if end == self._size:
                os.fsync(self._file)
                return
        try:
            with self._ordering.open("wb") as target:
                for start, length in spans():
                    target.write(self.read(start, length))
                target.flush()
                os.fsync(target.fileno())
            self._ordering.replace(self.path)
        except OSError as error:
            self._ordering.unlink(missing_ok=True)
            raise OutputError(
                f"{str(self.path)!r} is complete but could not be put in order: {error.strerror}.", hint=FREE_SPACE
            ) from error
        os.close(self._file)
        self._file = self._open()
        self._size = os.fstat(self._file).st_size

    def close(self) -> None:
        os.close(self._file)
