"""Read samples from a manifest, from pictures, folders and patterns, or from a list: row by row, never all at once."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import IO, Any

from agenticiqa.batch.manifest.fields import is_url
from agenticiqa.batch.manifest.manifest_file import MANIFEST_SUFFIXES, SNIFFED, FileManifest
from agenticiqa.batch.manifest.remote_pictures import open_remote
from agenticiqa.batch.manifest.rows import Manifest, Row
from agenticiqa.errors import ManifestError, without_credentials
from agenticiqa.pictures.finding import (
    STANDARD_INPUT,
    Skipped,
    as_text,
    has_picture_name,
    is_pattern,
    pictures_below,
    pictures_matching,
)
from agenticiqa.runtime.scratch import ScratchFolder


def open_manifest(*sources: str) -> Manifest:
    """One manifest (a file, its address, ``-`` for standard input), or any number of pictures, folders and patterns."""
    if len(sources) == 1 and (stream := _stream(sources[0])) is not None:
        return stream
    path, skipped = Path(sources[0]), Skipped()
    if len(sources) == 1 and path.is_dir():
        return PicturesManifest(pictures_below(path, skipped), sources[0], str(path), skipped=skipped, in_order=False)
    if len(sources) == 1 and path.is_file() and not _is_picture(path):
        return FileManifest(path, sources[0], str(path.parent))
    name = sources[0] if len(sources) == 1 else f"the {len(sources)} inputs"
    return PicturesManifest(_pictures_of(sources, skipped), name, skipped=skipped)


def _stream(source: str) -> Manifest | None:
    """A manifest that can be read only once, and so is copied."""
    if source == STANDARD_INPUT:
        return _spooled(sys.stdin.buffer, "standard input", os.getcwd())
    if is_url(source) and not has_picture_name(source):
        with open_remote(source) as stream:
            return _spooled(stream, source, source.rpartition("/")[0])
    if Path(source).is_fifo():
        # What a shell writes for <(command).
        with open(source, "rb") as stream:
            return _spooled(stream, source, os.getcwd())
    return None


def _pictures_of(sources: Sequence[str], skipped: Skipped) -> Iterator[str]:
    for source in sources:
        path = Path(source)
        if is_pattern(source):
            yield from pictures_matching(source, skipped)
        elif path.is_dir():
            yield from sorted(str(path / below) for below in pictures_below(path, skipped))
        elif is_url(source) or (path.is_file() and _is_picture(path)):
            yield source
        elif source == STANDARD_INPUT or path.is_file():
            raise ManifestError(f"{source!r} stands beside other inputs.", hint="A manifest or a list is read alone.")
        else:
            raise ManifestError(f"There is no file or folder {source!r}.", hint="Check the path.")


def _is_picture(path: Path) -> bool:
    """By its name, or because no manifest holds such bytes."""
    if has_picture_name(path):
        return True
    with path.open("rb") as file:
        return path.suffix.lower() not in MANIFEST_SUFFIXES and b"\0" in file.read(SNIFFED)


def _spooled(stream: IO[bytes], name: str, base: str) -> FileManifest:
    """A copy on disk: the rows are read twice, once to check them and once to work on them."""
    folder = ScratchFolder("manifest")
    copy = folder.path / "rows"
    with copy.open("wb") as file:
        shutil.copyfileobj(stream, file)
    return FileManifest(copy, name, base, scratch=folder)


class PicturesManifest:
    """Pictures by their paths. Each stands once, and its path is also its id; sorted where they come in no order."""

    file: Path | None = None

    def __init__(
        self,
        paths: Iterable[str],
        name: str,
        base: str = "",
        *,
        skipped: Skipped | None = None,
        in_order: bool = True,
    ) -> None:
        self.name = name
        self.skipped = skipped or Skipped()
        self._base = base
        self._order = "rowid" if in_order else "path"
        # An empty name makes a database on disk that is gone once it is closed.
        self._paths = sqlite3.connect("", check_same_thread=False)
        self._paths.execute("CREATE TABLE paths (path TEXT UNIQUE)")
        self._paths.executemany("INSERT OR IGNORE INTO paths VALUES (?)", ((as_text(path),) for path in paths))

    def rows(self) -> Iterator[Row]:
        with closing(self._paths.execute(f"SELECT path FROM paths ORDER BY {self._order}")) as cursor:  # noqa: S608 - a word of ours
            for number, (path,) in enumerate(cursor, 1):
                yield Row(number, {"sample_id": without_credentials(path), "image_path": path}, self._base)

    def close(self) -> None:
        self._paths.close()


class RowsManifest:
    """Rows that are in memory already."""

    file: Path | None = None

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self.name = "the list"
        self.skipped = Skipped()
        self._rows = list(rows)

    def rows(self) -> Iterator[Row]:
        for number, row in enumerate(self._rows, 1):
            yield Row(number, row, "")

    def __len__(self) -> int:
        return len(self._rows)

    def close(self) -> None:
        self._rows = []
