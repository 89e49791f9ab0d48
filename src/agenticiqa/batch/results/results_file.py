"""The results on disk: one JSON object per line, appended whole; put into the manifest's order at the end.

Results arrive in whatever order the workers finish. Each is appended at once, so that a killed run loses only what
was being worked on. When a run ends, the file is written anew in order, beside the old one, and takes its place.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agenticiqa.errors import OutputError

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
