"""Pictures that were sent, kept by content for a while so that a run can show them again."""

import hashlib
import logging
import os
import threading
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agenticiqa.errors import QuotaFullError
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
    """Pictures named by their SHA-256 in a folder for each owner, limited in age and size, of all and of each owner."""

    def __init__(
        self, folder: Path, *, keep_s: float, max_bytes: int, least_s: float, of_one: int | None = None
    ) -> None:
        """``of_one``: what the pictures of one owner may take; None: as much as all."""
        self.folder = folder
        self._keep_s = max(keep_s, least_s)
        self._max_bytes = max_bytes
        self._of_one = of_one or max_bytes
        self._least_s = least_s
        """Younger files may belong to a request that is still being read."""
        self._used: dict[Path, int] = {}
        """Bytes in owners' folders, as far as they were counted."""
        self._lock = threading.Lock()
        make_private_folder(folder)

    def place(self, data: bytes, name: str, size: tuple[int, int] = (0, 0), owner: str = "") -> StoredPicture:
        """Where a picture will be, once it is kept."""
        digest = hashlib.sha256(data).hexdigest()
        return StoredPicture(self.folder / (owner.replace(":", "-") or digest[:2]) / digest, name, size)

    def put(self, data: bytes, name: str, owner: str = "", in_use: Collection[Path] = ()) -> StoredPicture:
        """Keep a picture; one that is there already only gets younger."""
        picture = self.place(data, name, owner=owner)
        self.keep({picture.path: data}, in_use)
        return picture

    def keep(self, pictures: dict[Path, bytes], in_use: Collection[Path] = ()) -> None:
        """Store pictures at their places, taken out of the dictionary; their owner's oldest make room for them."""
        while pictures:
            path, data = pictures.popitem()
            with self._lock:
                if path.exists():
                    os.utime(path)
                    continue
                path.parent.mkdir(exist_ok=True, mode=0o700)
                self._make_room(path.parent, len(data), in_use)
                with atomic_file(path, private=True, durable=False) as stream:
                    stream.write(data)
                self._used[path.parent] += len(data)

    def _make_room(self, folder: Path, size: int, in_use: Collection[Path]) -> None:
        if folder in self._used and self._used[folder] + size <= self._of_one:
            return
        files = sorted(((path.stat(), path) for path in folder.iterdir()), key=lambda each: each[0].st_mtime)
        self._used[folder] = sum(facts.st_size for facts, _ in files)
        for facts, path in files:
            if self._used[folder] + size > self._of_one and path not in in_use:
                path.unlink(missing_ok=True)
                self._used[folder] -= facts.st_size
        if self._used[folder] + size > self._of_one:
            most = self._of_one // (1024 * 1024)
            message = f"The pictures of your runs that are under way take {most} MB, the most here."
            raise QuotaFullError(message)

    def remove(self, path: Path) -> None:
        with self._lock:
            path.unlink(missing_ok=True)
            self._used.pop(path.parent, None)

    def sweep(self, in_use: Collection[Path] = ()) -> int:
        """Remove what is too old, and the oldest until the rest fits; returns how many files went."""
        now, removed = time.time(), 0
        with self._lock:
            self._used.clear()
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
