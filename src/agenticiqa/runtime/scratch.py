"""Folders for temporary files. Each is locked by the process that made it: what a killed one left, the next clears.

The lock is the system's and dies with its owner, however that ends; numbers of processes and dates would only guess.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from pathlib import Path

from filelock import FileLock, Timeout

PREFIX = "agenticiqa-"
UNFINISHED_PREFIX = ".agenticiqa-new-"
OWNER = ".owner"
UNFINISHED_S = 3600.0
"""A folder that was never given its name belongs to a process that died while making it, once it is this old."""


class ScratchFolder:
    """A folder that goes when it is closed, when the block ends, or when the next one is made after its owner died."""

    def __init__(self, kind: str) -> None:
        clear_abandoned()
        # Locked before it has its name: whoever clears looks at names.
        unfinished = Path(tempfile.mkdtemp(prefix=UNFINISHED_PREFIX))
        self._lock = FileLock(unfinished / OWNER)
        self._lock.acquire()
        self.path = unfinished.with_name(f"{PREFIX}{kind}-{unfinished.name.removeprefix(UNFINISHED_PREFIX)}")
        unfinished.rename(self.path)

    def close(self) -> None:
        """Remove the folder with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.release(force=True)
        # Where an open file cannot be removed (Windows), the second time succeeds.
        shutil.rmtree(self.path, ignore_errors=True)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.close()


def clear_abandoned() -> None:
    """Remove the folders of processes that are gone."""
    with os.scandir(tempfile.gettempdir()) as entries:
        found = [Path(entry.path) for entry in entries if entry.name.startswith((PREFIX, UNFINISHED_PREFIX))]
    for folder in found:
        if _is_ours(folder) and _is_abandoned(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _is_ours(folder: Path) -> bool:
    """A real folder of this user: others may put anything into a shared place, under any name."""
    try:
        about = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(about.st_mode) and (not hasattr(os, "getuid") or about.st_uid == os.getuid())


def _is_abandoned(folder: Path) -> bool:
    if folder.name.startswith(UNFINISHED_PREFIX):
        try:
            return time.time() - folder.stat().st_mtime > UNFINISHED_S
        except OSError:
            return False
    owner = folder / OWNER
    if not owner.is_file():
        # Of an earlier version, or of somebody who uses the same name.
        return False
    lock = FileLock(owner)
    try:
        lock.acquire(timeout=0)
    except (Timeout, OSError):
        return False
    lock.release(force=True)
    return True
