"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from agenticiqa.errors import OutputError


def make_private(file: Path) -> None:
    """Let nobody but its owner read a file of ours, before anything is in it; the same for the folder if it is new."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600))
    if file.stat().st_mode & 0o077:
        # Made by an earlier version, or by somebody's umask.
        file.chmod(0o600)


def write_whole(path: Path, content: str | bytes, *, private: bool = False) -> None:
    """A reader sees the old file or the new one, never half of it. Only its owner can read a private one."""
    # Half a character (from a file name, for example) is shown as a question mark: a page must not fail because of one.
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    with whole_file(path, private=private) as stream:
        stream.write(data)


@contextmanager
def whole_file(path: Path, *, private: bool = False) -> Iterator[BinaryIO]:
    """A stream for what is written piece by piece; the file appears when the block ends well."""
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
            os.fsync(stream.fileno())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise _cannot_write(path, error) from error
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _cannot_write(path: Path, error: OSError) -> OutputError:
    return OutputError(f"{str(path)!r} cannot be written: {error.strerror or error}.", hint="Choose another place.")
