"""Pictures as other agents hand them over: a path on this machine, or the picture itself as base64."""

from __future__ import annotations

import base64
import binascii
import math
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from agenticiqa.errors import ImageError, ImageFormatError, ImageNotFoundError, ImageTooLargeError
from agenticiqa.pictures.images import check_allowed
from agenticiqa.serve.http.store.upload_store import UploadStore

MAX_INLINE_BYTES = 32 * 1024 * 1024
MAX_REQUEST_BYTES = 96 * 1024 * 1024
"""Over HTTP: a comparison of two pictures of that size, in base64."""
MAX_STORE_BYTES = 512 * 1024 * 1024
"""Of inline pictures kept for the maps and reports of earlier calls; beyond it the oldest go."""
_DATA_URL = re.compile(r"data:image/[\w.+-]+;base64,", re.IGNORECASE)
_OTHER_URL = re.compile(r"[a-z][a-z0-9+.-]{1,20}:", re.IGNORECASE)
_SHORTEST_INLINE = 256
"""Text without a ``data:`` head counts as base64 only from this length on; no path is that long without a separator."""


class PictureStore:
    """Turns what a caller gave into files; inline pictures are kept by their content in ``folder``, up to a size."""

    def __init__(self, folder: Path, allowed_roots: Sequence[Path] | None, *, max_bytes: int = MAX_STORE_BYTES) -> None:
        self._allowed_roots = allowed_roots
        """Where paths may lead; None: into the client's own folders, or the working folder where it names none."""
        self._shelf = UploadStore(folder, keep_s=math.inf, max_bytes=max_bytes, least_s=0)
        self._held: Counter[Path] = Counter()
        self._lock = threading.Lock()

    def allowed_folders(self) -> str:
        """In words, for whoever uses the server."""
        if self._allowed_roots is None:
            return f"Paths must lie in the client's roots, or in {Path.cwd()} where it names none."
        if not self._allowed_roots:
            return "No path is opened: send pictures as data: URLs."
        return f"Paths must lie in {_listed(self._allowed_roots)}."

    @contextmanager
    def in_use(self, client_roots: Sequence[Path] = ()) -> Iterator[Callable[[str], Path]]:
        """A function from what was given to a file; inline pictures stay at least until the block ends."""
        roots = (client_roots or [Path.cwd()]) if self._allowed_roots is None else self._allowed_roots
        held: list[Path] = []
        try:
            yield lambda given: self._file(given, held, roots)
        finally:
            with self._lock:
                self._held.subtract(held)
                self._held += Counter()  # drops what nobody holds any more

    def _file(self, given: str, held: list[Path], roots: Sequence[Path]) -> Path:
        text = given.strip()
        if not text:
            raise ImageError("No picture was given.", hint="Give a path, or the picture as a data: URL in base64.")
        head = _DATA_URL.match(text)
        if head:
            return self._kept(text[head.end() :], held)
        if len(text) > _SHORTEST_INLINE and "/" not in text[:64] and "." not in text:
            return self._kept(text, held)
        if _OTHER_URL.match(text) and not re.match(r"[a-z]:[\\/]", text, re.IGNORECASE):
            # Fetching addresses that a model read somewhere would let strangers reach this machine's network.
            raise ImageError("Addresses are not fetched.", hint="Give a path, or the picture as a data: URL in base64.")
        path = Path(text).expanduser()
        try:
            check_allowed(path, roots)
        except ImageNotFoundError:
            where = f"This server opens pictures in {_listed(roots)}." if roots else "This server opens no paths."
            raise ImageNotFoundError(
                f"{str(path)!r} is not inside an allowed folder. {where}",
                hint="Give a picture there, or the picture itself as a data: URL in base64.",
            ) from None
        return path

    def _kept(self, encoded: str, held: list[Path]) -> Path:
        if len(encoded) > MAX_INLINE_BYTES * 4 / 3 + 4:
            raise ImageTooLargeError(f"The inline picture is larger than {MAX_INLINE_BYTES // 2**20} MB.")
        try:
            data = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError) as error:
            raise ImageFormatError("The inline picture is not valid base64.") from error
        with self._lock:
            path = self._shelf.put(data, "").path
            held.append(path)
            self._held[path] += 1
            self._shelf.sweep(self._held.keys())
        return path


def _listed(folders: Sequence[Path]) -> str:
    return " or ".join(str(folder) for folder in folders)
