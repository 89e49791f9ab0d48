"""Pictures that live elsewhere (s3://, gs://, …): fetched for one sample at a time, removed right after."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import IO, Any

from agenticiqa.batch.manifest.fields import is_url
from agenticiqa.errors import ImageError, ImageNotFoundError, ImageTooLargeError, MissingExtraError

EXTRA = "remote"
CHUNK = 1024 * 1024


def check_protocol(url: str) -> None:
    """Refuse a kind of address that cannot be read here, before anything starts."""
    fsspec = _fsspec()
    protocol = url.partition("://")[0]
    try:
        fsspec.get_filesystem_class(protocol)
    except (ImportError, ValueError) as error:
        raise MissingExtraError(
            f"Addresses of the kind {protocol}:// cannot be read here: {error}.",
            hint="s3:// needs the package s3fs, gs:// needs gcsfs, http:// needs aiohttp.",
        ) from None


@contextmanager
def fetched(paths: dict[str, str | None], *, max_bytes: int) -> Iterator[dict[str, str | None]]:
    """The same names with local paths; copies of remote files are gone afterwards."""
    if not any(path and is_url(path) for path in paths.values()):
        yield paths
        return
    with tempfile.TemporaryDirectory(prefix="agenticiqa-pictures-") as folder:
        local: dict[str, str | None] = {}
        for name, path in paths.items():
            local[name] = path
            if path and is_url(path):
                # The ending stays: it is part of how people recognise a file in a message.
                target = Path(folder) / f"{name}{Path(path.partition('::')[0]).suffix}"
                _fetch(path, target, max_bytes)
                local[name] = str(target)
        yield local


def _fetch(url: str, target: Path, max_bytes: int) -> None:
    left = max_bytes
    with open_remote(url) as source, target.open("wb") as copy:
        while chunk := _read(url, source):
            left -= len(chunk)
            if left < 0:
                raise ImageTooLargeError(f"{url!r} has more bytes than the limit of {max_bytes:,}.")
            copy.write(chunk)


def _read(url: str, source: IO[bytes]) -> bytes:
    try:
        return source.read(CHUNK)
    except Exception as error:
        # As with opening: whatever a storage raises means that the file cannot be had.
        raise ImageError(f"{url!r} cannot be read: {type(error).__name__}: {error}.") from error


@contextmanager
def open_remote(url: str) -> Iterator[IO[bytes]]:
    """The bytes behind an address; whatever goes wrong there becomes one of our errors."""
    stream: Any
    try:
        # Kept by name: once it is forgotten, an archive around the file is closed.
        opened = _fsspec().open(url, "rb")
        stream = opened.open()
    except FileNotFoundError:
        raise ImageNotFoundError(f"There is no file {url!r}.") from None
    except MissingExtraError:
        raise
    except Exception as error:
        # Every storage has its own exceptions; all of them mean that the file cannot be had.
        raise ImageError(
            f"{url!r} cannot be opened: {type(error).__name__}: {error}.",
            hint="Check the address and this machine's credentials for it.",
        ) from error
    with stream:
        yield stream


def _fsspec() -> ModuleType:
    try:
        import fsspec
    except ImportError:
        raise MissingExtraError(
            "Remote addresses need the package fsspec.", hint=f"pip install 'agenticiqa[{EXTRA}]'"
        ) from None
    module: ModuleType = fsspec
    return module
