"""Pictures as other agents hand them over: a path on this machine, or the picture itself as base64."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agenticiqa.errors import ImageError, ImageFormatError, ImageTooLargeError
from agenticiqa.files import write_whole
from agenticiqa.images import check_allowed

MAX_INLINE_BYTES = 32 * 1024 * 1024
_DATA_URL = re.compile(r"data:image/[\w.+-]+;base64,", re.IGNORECASE)
_OTHER_URL = re.compile(r"[a-z][a-z0-9+.-]{1,20}:", re.IGNORECASE)
_SHORTEST_INLINE = 256
"""Text without a ``data:`` head counts as base64 only from this length on; no path is that long without a separator."""


@dataclass(frozen=True)
class PictureStore:
    """Turns what a caller gave into a file; inline pictures are kept by their content in ``folder``."""

    folder: Path
    allowed_roots: Sequence[Path] | None
    """Where paths may lead; None: anywhere, because the caller is the user of this machine."""

    def file(self, given: str) -> Path:
        text = given.strip()
        if not text:
            raise ImageError("No picture was given.", hint="Give a path, or the picture as a data: URL in base64.")
        head = _DATA_URL.match(text)
        if head:
            return self._kept(text[head.end() :])
        if len(text) > _SHORTEST_INLINE and "/" not in text[:64] and "." not in text:
            return self._kept(text)
        if _OTHER_URL.match(text) and not re.match(r"[a-z]:[\\/]", text, re.IGNORECASE):
            # Fetching addresses that a model read somewhere would let strangers reach this machine's network.
            raise ImageError("Addresses are not fetched.", hint="Give a path, or the picture as a data: URL in base64.")
        path = Path(text).expanduser()
        if self.allowed_roots is not None:
            check_allowed(path, self.allowed_roots)
        return path

    def _kept(self, encoded: str) -> Path:
        if len(encoded) > MAX_INLINE_BYTES * 4 / 3 + 4:
            raise ImageTooLargeError(f"The inline picture is larger than {MAX_INLINE_BYTES // 2**20} MB.")
        try:
            data = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError) as error:
            raise ImageFormatError("The inline picture is not valid base64.") from error
        path = self.folder / f"{hashlib.sha256(data).hexdigest()}.img"
        if not path.exists():
            write_whole(path, data)
        return path
