"""One writer for one results file. The lock belongs to the process: it is gone when the process is, however it ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agenticiqa.errors import OutputError


@contextmanager
def locked(output: Path) -> Iterator[None]:
    """Hold ``output`` alone; OutputError when another process does."""
    lock = output.with_name(output.name + ".lock")
    try:
        handle = _take(lock)
    except FileNotFoundError:
        raise OutputError(f"There is no folder {str(output.parent)!r}.", hint="Make it first.") from None
    except PermissionError as error:
        raise OutputError(f"{str(output.parent)!r} cannot be written: {error.strerror}.") from None
    if handle is None:
        raise OutputError(
            f"Another process is writing {str(output)!r}.", hint="Wait for it, stop it, or choose another --output."
        )
    try:
        yield
    finally:
        # Removed while still held, so that nobody can take a file that is about to go.
        lock.unlink(missing_ok=True)
        os.close(handle)


def _take(lock: Path) -> int | None:
    while True:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
        if not _try_lock(handle):
            os.close(handle)
            return None
        if _is_still(lock, handle):
            return handle
        # The last holder removed it between our opening and locking: take the next one.
        os.close(handle)


def _is_still(lock: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), lock.stat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def _try_lock(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
