"""One writer per file. The lock belongs to the process: it is gone when the process is, however it ends."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from agenticiqa.errors import OutputError

LOOK_AGAIN_S = 0.02


@contextmanager
def locked(output: Path, *, wait_s: float = 0.0) -> Iterator[None]:
    """Hold ``output`` alone; OutputError when another process still does after ``wait_s``."""
    # Asked first: the lock would make the folder, and a typing error in a path would go unnoticed.
    if not output.parent.is_dir():
        raise OutputError(f"There is no folder {str(output.parent)!r}.", hint="Make it first.")
    file = output.with_name(output.name + ".lock")
    lock = FileLock(file)
    try:
        lock.acquire(timeout=wait_s, poll_interval=LOOK_AGAIN_S)
    except Timeout:
        raise OutputError(
            f"Another process is writing {str(output)!r}.", hint="Wait for it, stop it, or choose another --output."
        ) from None
    except OSError as error:
        raise OutputError(f"{str(output.parent)!r} cannot be written: {error.strerror}.") from None
    try:
        yield
    finally:
        # Nothing is left beside a user's file. Removed while still held: whoever opened it meanwhile finds, once the
        # lock is theirs, that the file has no name any more, and takes the next. filelock 3.21 got this wrong: it also
        # removed the file of the next holder. On Windows an open file cannot be removed, and filelock does it itself.
        if sys.platform != "win32":
            file.unlink(missing_ok=True)
        lock.release()
