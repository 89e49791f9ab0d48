"""Files: one writer each (locks end with their process), room, whole or not at all, private, and temporary ones."""

import errno
import os
import re
import secrets
import shutil
import sqlite3
import stat
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock, Timeout

from agenticiqa.errors import OutputError

POLL_INTERVAL_S = 0.02


@contextmanager
def locked(output: Path, *, wait_s: float = 0.0) -> Iterator[None]:
    """Hold ``output`` alone; OutputError when another process still does after ``wait_s``."""
    # Asked first: the lock would make the folder, and a typing error in a path would go unnoticed.
    if not output.parent.is_dir():
        raise OutputError(f"There is no folder {str(output.parent)!r}.", hint="Make it first.")
    file = output.with_name(output.name + ".lock")
    lock = FileLock(file)
    try:
        lock.acquire(timeout=wait_s, poll_interval=POLL_INTERVAL_S)
    except Timeout:
        raise OutputError(
            f"Another process is writing {str(output)!r}.", hint="Wait for it, stop it, or choose another --output."
        ) from None
    except OSError as error:
        raise OutputError(f"{str(output.parent)!r} cannot be written: {error.strerror}.") from None
    try:
        yield
    finally:
        # Nothing is left beside a user's file. Removed while still held: a process that opened it meanwhile finds, once
        # it has the lock, that the file has no name any more, and takes the next. filelock 3.21 got this wrong: it also
        # removed the file of the next holder. On Windows an open file cannot be removed, and filelock does it itself.
        if sys.platform != "win32":
            file.unlink(missing_ok=True)
        lock.release()


# --- Whether there is room on a disk ---


LEAST_BYTES = 1024 * 1024
"""Less than this is no room: a picture or a page of a database would not fit."""


def is_out_of_space(error: BaseException | None) -> bool:
    """Whether an error, or what it came from, says that a disk or a quota is full."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return True
    # SQLite's words; a write that a quota or a limit on file sizes cuts short is an "I/O error" to it.
    if isinstance(error, sqlite3.OperationalError) and re.search("disk is full|disk I/O error", str(error)):
        return True
    return error is not None and is_out_of_space(error.__cause__)


class DiskSpace:
    """The room below a folder, as far as it is known: something did not fit, or the disk says that little is left."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._something_did_not_fit = False

    def note_full(self) -> None:
        self._something_did_not_fit = True

    def is_short(self) -> bool:
        """Asks the disk; after something did not fit, also whether a file fits: quotas are not in what a disk says."""
        if shutil.disk_usage(self._folder).free < LEAST_BYTES:
            return True
        if self._something_did_not_fit:
            with suppress(OSError):
                with tempfile.NamedTemporaryFile(dir=self._folder, prefix=".", suffix=".part") as probe:
                    probe.write(bytes(LEAST_BYTES))
                    probe.flush()
                self._something_did_not_fit = False
        return self._something_did_not_fit


# --- Files that are written whole or not at all ---


STANDARD_OUTPUT = 1


def make_private_folder(folder: Path) -> None:
    """Make a folder and those above it, where they are not there, for their owner alone."""
    for each in (*reversed(folder.parents), folder):
        each.mkdir(exist_ok=True, mode=0o700)


def close_to_others(home: Path) -> Path:
    """The same folder, readable by its owner only where it is there, empty or this program's, and this user's."""
    there = stat_or_none(home)
    if there is not None and stat.S_ISDIR(there.st_mode) and there.st_mode & 0o077 and sys.platform != "win32":
        shared = there.st_mode & stat.S_ISVTX or there.st_uid != os.getuid()
        held = set() if shared else set(os.listdir(home))
        if not shared and (not held or held & {"runs.sqlite", "log.jsonl", "service"}):
            home.chmod(0o700)
    return home


def make_private(file: Path) -> None:
    """Make a file, and its folder if that is new, readable by its owner only, before anything is written to it."""
    make_private_folder(file.parent)
    os.close(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600))
    if file.stat().st_mode & 0o077:
        # Made by an earlier version, or under another umask.
        file.chmod(0o600)


def refuse_to_replace(output: Path, *, inputs: Iterable[str | Path] = (), overwrite: bool = False) -> None:
    """Refuse a file that the work reads, by any name, and, without ``overwrite``, one that is there; streams pass."""
    there = stat_or_none(output)
    if there is None or is_stream(output):
        return
    if stat.S_ISDIR(there.st_mode):
        raise OutputError(f"{str(output)!r} is a folder.", hint="Name a file.")
    for given in inputs:
        found = stat_or_none(given)
        if found is not None and os.path.samestat(there, found):
            raise OutputError(
                f"{str(output)!r} is also an input ({str(given)!r}): writing it would destroy what is read.",
                hint="Choose another name for the output.",
            )
    if not overwrite:
        raise OutputError(
            f"{str(output)!r} is there already.", hint="Choose another name, or replace it with --overwrite."
        )


def is_stream(path: Path) -> bool:
    """Whether the path is a pipe, a device, or the standard output of this process."""
    there = stat_or_none(path)
    if there is None or stat.S_ISDIR(there.st_mode):
        return False
    return not stat.S_ISREG(there.st_mode) or is_standard_output(path)


def is_standard_output(path: Path) -> bool:
    """Whether the path is another name of this process's standard output, such as /dev/stdout."""
    there = stat_or_none(path)
    try:
        return there is not None and os.path.samestat(there, os.fstat(STANDARD_OUTPUT))
    except OSError:
        # Closed: nothing is its name.
        return False


def stat_or_none(path: str | Path) -> os.stat_result | None:
    """None where nothing is there, or the file system allows no such name: too long, or with a null byte."""
    try:
        return os.stat(path)
    except (OSError, ValueError):
        return None


def write_atomic(path: Path, content: str | bytes, *, private: bool = False) -> None:
    """A reader sees the old file or the new one, never half of it. Only its owner can read a private one."""
    # Half a character (from a file name, for example) is shown as a question mark: a page must not fail because of one.
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    with atomic_file(path, private=private) as stream:
        stream.write(data)


@contextmanager
def atomic_file(path: Path, *, private: bool = False, durable: bool = True) -> Iterator[BinaryIO]:
    """A stream for what is written piece by piece; the file appears, synced if ``durable``, if the block ends well."""
    if is_stream(path):
        # There is nothing to keep whole, and a file moved there would take the device's place.
        try:
            with open_stream(path) as stream:
                yield stream
        except OSError as error:
            raise _cannot_write(path, error) from error
        return
    # A name of our own rather than tempfile's: the file keeps the permissions that the user's umask gives.
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        stream = os.fdopen(os.open(part, flags, 0o600 if private else 0o666), "wb")
    except OSError as error:
        raise _cannot_write(path, error) from error
    try:
        with stream:
            yield stream
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
        part.replace(path)
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        # Where all went well it has its own name by now.
        part.unlink(missing_ok=True)


def open_stream(path: Path) -> BinaryIO:
    """A pipe, a device or standard output, by its name, for writing."""
    try:
        # Appending: standard output may be a file that already holds something.
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND), "wb")
    except OSError as error:
        raise _cannot_write(path, error) from error


def _cannot_write(path: Path, error: OSError) -> OutputError:
    return OutputError(f"{str(path)!r} cannot be written: {error.strerror or error}.", hint="Choose another place.")


# --- Folders for temporary files. Each is locked by the process that made it ---


PREFIX = "agenticiqa-"
UNFINISHED_PREFIX = ".agenticiqa-new-"
OWNER = ".owner"
UNFINISHED_S = 3600.0
"""A folder that was never given its name belongs to a process that died while making it, once it is this old."""


class ScratchFolder:
    """A folder that goes when it is closed, when the block ends, or when the next one is made after its owner died."""

    def __init__(self, kind: str) -> None:
        clear_abandoned()
        # Locked before it is renamed: clear_abandoned() finds folders by name.
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
        with suppress(OSError, Timeout):
            _remove_abandoned(folder)


def _remove_abandoned(folder: Path) -> None:
    """Raises Timeout where its owner is there, and OSError where that cannot be told."""
    about = folder.lstat()
    # Only a real folder of this user: others may put anything into a shared place, under any name.
    if not stat.S_ISDIR(about.st_mode) or (hasattr(os, "getuid") and about.st_uid != os.getuid()):
        return
    if folder.name.startswith(UNFINISHED_PREFIX):
        if time.time() - about.st_mtime > UNFINISHED_S:
            shutil.rmtree(folder, ignore_errors=True)
        return
    if not (folder / OWNER).is_file():
        # Of an earlier version, or of another program that uses the same prefix.
        return
    lock = FileLock(folder / OWNER)
    lock.acquire(timeout=0)
    # Under the other name it goes later, should this process be killed before all of it is gone. Windows moves no
    # folder with an open file in it.
    with suppress(OSError):
        folder = folder.rename(folder.with_name(UNFINISHED_PREFIX + folder.name.removeprefix(PREFIX)))
    lock.release(force=True)
    shutil.rmtree(folder, ignore_errors=True)
