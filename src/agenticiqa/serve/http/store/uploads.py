"""Pictures that were sent, kept by content for a while so that a run can show them again."""

from __future__ import annotations

import hashlib
import logging
import os
import threading
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agenticiqa.runtime.files import atomic_file, make_private_folder

logger = logging.getLogger(__name__)

HOUR = 3600.0


@dataclass(frozen=True)
class StoredPicture:
    """A picture in the upload store and the name its sender gave it."""

    path: Path
    name: str
    size: tuple[int, int] = (0, 0)
    """(width, height) by the file's header, where it was looked at."""

    def as_recorded(self) -> dict[str, str]:
        """What the record of a request keeps of it."""
        return {"file": str(self.path), "name": self.name}


class UploadStore:
    """A folder of pictures named by their SHA-256, limited in age and in size together."""

    def __init__(self, folder: Path, *, keep_s: float, max_bytes: int, least_s: float) -> None:
        self.folder = folder
        self._keep_s = max(keep_s, least_s)
        self._max_bytes = max_bytes
        self._least_s = least_s
        """Younger files may belong to a request that is still being read."""
        self._lock = threading.Lock()
        make_private_folder(folder)

    def put(self, data: bytes, name: str, size: tuple[int, int] = (0, 0)) -> StoredPicture:
        """Keep a picture; one that is there already only gets younger."""
        digest = hashlib.sha256(data).hexdigest()
        path = self.folder / digest[:2] / digest
        with self._lock:
            if path.exists():
                os.utime(path)
            else:
                path.parent.mkdir(exist_ok=True, mode=0o700)
                with atomic_file(path, private=True, durable=False) as stream:
                    stream.write(data)
        return StoredPicture(path, name, size)

    def remove(self, path: Path) -> None:
        with self._lock:
            path.unlink(missing_ok=True)

    def sweep(self, in_use: Collection[Path] = ()) -> int:
        """Remove what is too old, and the oldest until the rest fits; returns how many files went."""
        now, removed = time.time(), 0
        with self._lock:
            files = []
            for path in self.folder.glob("*/*"):
                with suppress(FileNotFoundError):
                    files.append((path.stat(), path))
            files.sort(key=lambda each: each[0].st_mtime)
            total = sum(facts.st_size for facts, _ in files)
            for facts, path in files:
                age = now - facts.st_mtime
                too_old = age > self._keep_s or (total > self._max_bytes and age > self._least_s)
                if too_old and path not in in_use:
                    path.unlink(missing_ok=True)
                    total -= facts.st_size
                    removed += 1
        if removed:
            logger.info("Removed %d stored pictures", removed)
        return removed
