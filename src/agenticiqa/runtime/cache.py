"""A disk cache for replies and scores, as JSON and never as pickles: who can write its folder must not run code."""

import hashlib
import json
import logging
import sqlite3
import sys
import weakref
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import diskcache

from agenticiqa.runtime.files import make_private

logger = logging.getLogger(__name__)

# A folder that cannot be written, a database that is damaged or locked.
_STORAGE_ERRORS = (OSError, sqlite3.Error, diskcache.Timeout)


def content_key(kind: str, parts: Mapping[str, Any]) -> str:
    """A key that changes when any part does."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return f"{kind}:{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()}"


class DiskCache:
    """Keeps JSON values by content key; a broken or locked cache only costs time, never a result."""

    def __init__(self, folder: Path, size_limit_mb: int = 1024) -> None:
        self.folder = folder
        make_private(folder / diskcache.core.DBNAME)
        self._cache = diskcache.Cache(
            str(folder),
            disk=diskcache.JSONDisk,
            size_limit=size_limit_mb * 1024 * 1024,
            # Everything in the one file that is private; large values would get files of their own.
            disk_min_file_size=sys.maxsize,
        )
        # In case close() is never called: SQLite leaves its log beside the file of an open connection.
        weakref.finalize(self, self._cache.close)

    def get(self, key: str) -> Any | None:
        try:
            return self._cache.get(key)
        except (*_STORAGE_ERRORS, ValueError, zlib.error) as error:
            logger.warning("The cache could not be read (%s); computing afresh", error)
            return None

    def put(self, key: str, value: Any) -> None:
        try:
            self._cache.set(key, value)
        except _STORAGE_ERRORS as error:
            logger.warning("The cache could not be written (%s)", error)

    def close(self) -> None:
        """Close the calling thread's connection, which the next use opens again; each thread has one of its own."""
        self._cache.close()


def open_cache(folder: Path, size_limit_mb: int) -> DiskCache | None:
    """The cache in ``folder``, or None with a warning where the folder cannot be used."""
    try:
        return DiskCache(folder, size_limit_mb)
    except _STORAGE_ERRORS as error:
        logger.warning("No cache: %s cannot be used (%s)", folder, error)
        return None
