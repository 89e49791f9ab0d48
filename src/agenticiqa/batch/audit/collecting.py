"""What grouping needs of every picture: small numbers, read once from the records; thumbnails are left on disk."""

from __future__ import annotations

import base64
import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from math import sqrt
from pathlib import Path
from typing import Any

from agenticiqa.batch.results.results_file import read_results
from agenticiqa.pictures.likeness.fingerprints import Fingerprints, from_text
from agenticiqa.pictures.likeness.same_scene import SmallView

KEPT_VIEWS = 400


@dataclass(frozen=True)
class Entry:
    """One picture that was opened, as its group and the best of it are found."""

    position: int
    path: str
    pixels: str
    """Digest of the pixels."""
    prints: Fingerprints
    taken: datetime | None
    width: int
    height: int
    bytes: int
    detail: float
    brightness: float
    score: float | None
    blank: bool
    offset: int
    """Where its record is in the file."""
    length: int

    @property
    def area(self) -> int:
        return self.width * self.height

    @property
    def side(self) -> float:
        return sqrt(self.area)


def entries_in(lines: Path) -> Iterator[Entry]:
    """Every picture of a records file that was opened, by its position among all records."""
    for position, line in enumerate(read_results(lines)):
        picture = line.record.get("picture")
        if picture:
            yield _entry(position, line.record["sample_id"], picture, line.offset, line.length)


def _entry(position: int, path: str, picture: Mapping[str, Any], offset: int, length: int) -> Entry:
    return Entry(
        position=position,
        path=path,
        pixels=picture["pixels"],
        prints=from_text(picture["fingerprint"]),
        taken=datetime.fromisoformat(picture["taken"]) if picture["taken"] else None,
        width=picture["width"],
        height=picture["height"],
        bytes=picture["bytes"],
        detail=picture["detail"],
        brightness=picture["brightness"],
        score=picture.get("score"),
        blank="blank" in picture["findings"],
        offset=offset,
        length=length,
    )


class Views:
    """Small views of pictures, read when they are compared; those used last are kept."""

    def __init__(self, lines: Path) -> None:
        self._file = lines.open("rb")
        self._kept: OrderedDict[int, SmallView] = OrderedDict()

    def of(self, entry: Entry) -> SmallView:
        found = self._kept.pop(entry.position, None)
        if found is None:
            self._file.seek(entry.offset)
            record = json.loads(self._file.read(entry.length))
            found = SmallView(base64.b64decode(record["picture"]["thumbnail"]), entry.prints)
        self._kept[entry.position] = found
        if len(self._kept) > KEPT_VIEWS:
            self._kept.popitem(last=False)
        return found

    def close(self) -> None:
        self._file.close()
