"""Files that are written whole or not at all, and never over something that somebody still needs."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from agenticiqa.errors import OutputError

STANDARD_OUTPUT = 1


def make_private_folder(folder: Path) -> None:
    """Make a folder and those above it, where they are not there, for their owner alone."""
    for each in (*reversed(folder.parents), folder):
        each.mkdir(exist_ok=True, mode=0o700)


def make_private(file: Path) -> None:
    """Let nobody but its owner read a file of ours, before anything is in it; the same for the folder if it is new."""
    make_private_folder(file.parent)
    os.close(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600))
    if file.stat().st_mode & 0o077:
        # Made by an earlier version, or by somebody's umask.
        file.chmod(0o600)


def refuse_to_replace(output: Path, *, inputs: Iterable[str | Path] = (), overwrite: bool = False) -> None:
    """Refuse a file that the work reads, however it is called, and one that is there and may not be replaced.

    Asked before anything is spent. Whatever is no plain file (a device, a pipe) cannot be lost by writing to it.
    """
    there = _look_at(output)
    if there is None or is_stream(output):
        return
    if stat.S_ISDIR(there.st_mode):
        raise OutputError(f"{str(output)!r} is a folder.", hint="Name a file.")
    for given in inputs:
        found = _look_at(given)
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
    """Whether writing goes to whoever reads: a pipe, a device, or the standard output of this process."""
    there = _look_at(path)
    if there is None or stat.S_ISDIR(there.st_mode):
        return False
    return not stat.S_ISREG(there.st_mode) or is_standard_output(path)


def is_standard_output(path: Path) -> bool:
    """Whether the path is another name of this process's standard output, such as /dev/stdout."""
    there = _look_at(path)
    try:
        return there is not None and os.path.samestat(there, os.fstat(STANDARD_OUTPUT))
    except OSError:
        # Closed: nothing is its name.
        return False


def _look_at(path: str | Path) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (OSError, ValueError):
        return None


def write_whole(path: Path, content: str | bytes, *, private: bool = False) -> None:
    """A reader sees the old file or the new one, never half of it. Only its owner can read a private one."""
    # Half a character (from a file name, for example) is shown as a question mark: a page must not fail because of one.
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    with whole_file(path, private=private) as stream:
        stream.write(data)


@contextmanager
def whole_file(path: Path, *, private: bool = False, durable: bool = True) -> Iterator[BinaryIO]:
    """A stream for what is written piece by piece; the file appears when the block ends well.

    A durable one is on the disk by then; what may be lost in a power cut need not wait for that.
    """
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
        part.unlink(missing_ok=True)
        raise _cannot_write(path, error) from error
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def open_stream(path: Path) -> BinaryIO:
    """A pipe, a device or standard output, by its name, for writing."""
    try:
        # Appending: standard output may be a file that already holds something.
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND), "wb")
    except OSError as error:
        raise _cannot_write(path, error) from error


def _cannot_write(path: Path, error: OSError) -> OutputError:
    return OutputError(f"{str(path)!r} cannot be written: {error.strerror or error}.", hint="Choose another place.")
