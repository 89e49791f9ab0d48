"""What is done with one picture of an audit: opened once, measured, looked at, and made small."""

import base64
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import cv2
import numpy as np

from agenticiqa._version import __version__
from agenticiqa.auditing.findings import Findings, in_order, measured, measured_findings, pixel_digest, seen, sharpness
from agenticiqa.auditing.traces import saved_quality, spectrum_of
from agenticiqa.batch.remote_pictures import is_url, picture_at
from agenticiqa.batch.results import StoredLine, read_results
from agenticiqa.batch.sample import Sample
from agenticiqa.pictures.file_facts import camera_settings
from agenticiqa.pictures.formats import FORMATS, format_named
from agenticiqa.pictures.images import LoadedImage
from agenticiqa.pictures.likeness import Fingerprints, SmallView, as_text, from_text
from agenticiqa.runtime.config import ImageLimits
from agenticiqa.runtime.memory import MemoryBudget, process_budget
from agenticiqa.tools.needs import LOOKING_BYTES, OPENING_BYTES, PICTURE_BYTES
from agenticiqa.vision.appearance.margins import margins_of

AUDIT_VERSION = 2
"""Of what a record holds: records of another version are made anew."""
KEPT_VIEWS = 400


@dataclass(frozen=True)
class Auditor:
    """Looks at pictures, one after the other; the model is loaded with the first that needs it."""

    depth: Literal["quick", "full"]
    limits: ImageLimits
    memory: MemoryBudget = field(default_factory=lambda: process_budget(None))

    def audit(self, sample: Sample, run_id: str) -> dict[str, Any]:
        """The picture's record; raises when it cannot be opened."""
        started = time.perf_counter()
        given = picture_at(sample.image_path)
        size = given.peek(self.limits) if given.peek else None
        need = (PICTURE_BYTES + max(OPENING_BYTES, LOOKING_BYTES)) * (size[0] * size[1] if size else 0)
        with self.memory.hold(need, "Looking at a picture of this size"):
            record = self._record(sample.image_path, given.open(self.limits))
        return {
            "status": "ok",
            "image_path": sample.image_path,
            "error": None,
            "picture": record | file_state(sample.image_path),
            "metadata": {
                "run_id": run_id,
                "error_kind": None,
                "timings": {"total": round(time.perf_counter() - started, 4)},
                "versions": {"agenticiqa": __version__},
            },
        }

    def _record(self, path: str, image: LoadedImage) -> dict[str, Any]:
        numbers, small = measured(image)
        grey = cv2.cvtColor(np.ascontiguousarray(image.rgb), cv2.COLOR_RGB2GRAY).astype(np.float32)
        known, seen_findings = seen(image) if self.depth == "full" else ({}, {})
        taken = camera_settings(image.data).time
        return {
            "width": image.size[0],
            "height": image.size[1],
            "format": image.format,
            "bytes": len(image.data),
            "taken": taken.isoformat() if taken else None,
            "notes": list(image.notes),
            "sha256": image.sha256,
            "pixels": pixel_digest(image),
            "sharpness": round(sharpness(numbers), 4),
            **{
                name: value if isinstance(value, list) else round(float(value), 4)
                for name, value in asdict(numbers).items()
            },
            "spectrum": spectrum_of(grey),
            "saved_at": saved_quality(grey),
            **asdict(margins_of(image.rgb)),
            **known,
            "findings": in_order(seen_findings | measured_findings(numbers, image.size) | _ending(path, image)),
            "fingerprint": as_text(small.fingerprints),
            "thumbnail": base64.b64encode(small.thumbnail).decode("ascii"),
        }


def file_state(path: str) -> dict[str, Any]:
    """What tells whether a file is still the one that was looked at."""
    if is_url(path):
        return {}
    found = os.stat(path)
    return {"file": [found.st_size, found.st_mtime_ns]}


def _ending(path: str, image: LoadedImage) -> Findings:
    named = format_named(path)
    if named is None or image.format in (named.code, "MPO"):
        return {}
    is_really = next((each.name for each in FORMATS if each.code == image.format), image.format)
    return {"wrong_ending": f"it is {is_really}, its name says {named.name}"}


@dataclass(frozen=True, eq=False)
class Entry:
    """One picture that was opened, as its group and the best of it are found."""

    position: int
    path: str
    pixels: str
    """Digest of the pixels."""
    fingerprints: Fingerprints
    taken: datetime | None
    width: int
    height: int
    bytes: int
    details: list[int]
    """Detail at eight by eight places."""
    brightness: float
    score: float | None
    findings: frozenset[str]
    spectrum: list[float]
    saved_at: int
    """The JPEG quality that it was once saved at, 100 where nothing tells."""
    offset: int
    """Where its record is in the file."""
    length: int

    @property
    def area(self) -> int:
        return self.width * self.height

    @property
    def blank(self) -> bool:
        return "blank" in self.findings


Views = Callable[[Entry], SmallView]


def entries_in(lines: Path) -> Iterator[Entry]:
    """Every picture of a records file that was opened, by its position among all records."""
    return (entry_of(line, position) for position, line in enumerate(read_results(lines)) if line.record.get("picture"))


def entry_of(line: StoredLine, position: int) -> Entry:
    """Of the record of a picture that was opened."""
    picture = line.record["picture"]
    copied = ("pixels", "width", "height", "bytes", "details", "brightness", "spectrum")
    return Entry(
        **{name: picture[name] for name in copied},
        position=position,
        path=line.record["sample_id"],
        fingerprints=from_text(picture["fingerprint"]),
        taken=datetime.fromisoformat(picture["taken"]) if picture["taken"] else None,
        score=picture.get("score"),
        findings=frozenset(picture["findings"]),
        saved_at=picture["saved_at"] or 100,
        offset=line.offset,
        length=line.length,
    )


@contextmanager
def views_in(lines: Path) -> Iterator[Views]:
    """Small views of the entries of a records file, read when they are compared; those used last are kept."""
    with lines.open("rb") as file:

        @lru_cache(KEPT_VIEWS)
        def view(entry: Entry) -> SmallView:
            file.seek(entry.offset)
            record = json.loads(file.read(entry.length))
            return SmallView(base64.b64decode(record["picture"]["thumbnail"]), entry.fingerprints)

        yield view
