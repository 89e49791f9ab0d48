"""Pictures that live elsewhere (s3://, gs://, …): read into memory, known by their address."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from agenticiqa import errors
from agenticiqa.pictures.images import decode_image
from agenticiqa.pictures.inputs import GivenPicture, given_picture

EXTRA = "remote"
CHUNK = 1024 * 1024
_URL = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+://")


def is_url(path: str) -> bool:
    """Whether a path names something that is not simply a file here.

    >>> is_url("s3://bucket/a.png"), is_url("C:/a.png"), is_url("a.png")
    (True, False, False)
    """
    return "://" in path and bool(_URL.match(path))


def check_protocol(url: str) -> None:
    """Refuse a kind of address that cannot be read here, before anything starts."""
    fsspec, protocol = _fsspec(), url.partition("://")[0]
    try:
        fsspec.get_filesystem_class(protocol)
    except (ImportError, ValueError) as error:
        raise errors.MissingExtraError(
            f"Addresses of the kind {protocol}:// cannot be read here: {error}.",
            hint="s3:// needs the package s3fs, gs:// needs gcsfs, http:// needs aiohttp.",
        ) from None


def picture_at(path: str) -> GivenPicture:
    """A picture in a file or behind an address; messages name it as ``path`` does, wherever its bytes are."""
    if not is_url(path):
        return given_picture(path)
    # Results, records and logs name it; they must not show the credentials that open it.
    name = errors.without_credentials(path)
    return GivenPicture(
        name, lambda limits: decode_image(_fetched(path, limits.max_bytes), path=name, limits=limits), in_memory=True
    )


def _fetched(url: str, max_bytes: int) -> bytes:
    found = bytearray()
    with open_remote(url) as source:
        while chunk := source.read(CHUNK):
            found += chunk
            if len(found) > max_bytes:
                raise errors.ImageTooLargeError(f"{url!r} has more bytes than the limit of {max_bytes:,}.")
    return bytes(found)


@contextmanager
def open_remote(url: str) -> Iterator[IO[bytes]]:
    """The bytes behind an address; whatever goes wrong with opening or reading them becomes one of our errors."""
    try:
        # Kept by name: once it is forgotten, an archive around the file is closed.
        opened = _fsspec().open(url, "rb")
        with opened.open() as stream:
            yield stream
    except errors.AgenticIQAError:
        raise
    except FileNotFoundError:
        raise errors.ImageNotFoundError(f"There is no file {url!r}.") from None
    except ImportError as error:
        raise errors.MissingExtraError(
            f"{url!r} cannot be opened: {error}.", hint=f"pip install 'agenticiqa[{EXTRA}]'"
        ) from None
    except Exception as error:
        # Every storage has its own exceptions; all of them mean that the file cannot be had.
        raise errors.ImageError(
            f"{url!r} cannot be read: {type(error).__name__}: {error}.",
            hint="Check the address and this machine's credentials for it.",
        ) from error


def _fsspec() -> Any:
    try:
        import fsspec
    except ImportError:
        raise errors.MissingExtraError(
            "Remote addresses need the package fsspec.", hint=f"pip install 'agenticiqa[{EXTRA}]'"
        ) from None
    return fsspec
