"""Whether there is room on a disk: how its lack shows in errors, and how to find out that there is some again."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import sqlite3
from pathlib import Path

LEAST_BYTES = 1024 * 1024
"""Less than this is no room: a picture or a page of a database would not fit."""


def is_out_of_space(error: BaseException | None) -> bool:
    """Whether an error, or what it came from, says that a disk or a quota is full.

    >>> is_out_of_space(OSError(errno.ENOSPC, "No space left on device")), is_out_of_space(ValueError())
    (True, False)
    """
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            return True
        # SQLite's words; a write that a quota or a limit on file sizes cuts short is an "I/O error" to it.
        if isinstance(error, sqlite3.OperationalError) and any(
            words in str(error) for words in ("disk is full", "disk I/O error")
        ):
            return True
        error = error.__cause__
    return False


class Room:
    """The room below a folder, as far as it is known: something did not fit, or the disk says that little is left."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._something_did_not_fit = False

    def note_full(self) -> None:
        self._something_did_not_fit = True

    def is_short(self) -> bool:
        """Asks the disk; after something did not fit, only a file that does fit tells that there is room again.

        A quota, for one, is not in what the disk says of itself.
        """
        if shutil.disk_usage(self._folder).free < LEAST_BYTES:
            return True
        if self._something_did_not_fit:
            self._something_did_not_fit = not self._a_file_fits()
        return self._something_did_not_fit

    def _a_file_fits(self) -> bool:
        probe = self._folder / f".{secrets.token_hex(8)}.part"
        try:
            with os.fdopen(os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(bytes(LEAST_BYTES))
        except OSError:
            return False
        finally:
            probe.unlink(missing_ok=True)
        return True
