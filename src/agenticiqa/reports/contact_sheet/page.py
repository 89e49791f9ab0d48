"""The contact sheet: one HTML file that holds everything, or has its thumbnails in a folder beside it.

The rows come first and the thumbnails last, in blocks that are text to the browser until one of their pictures comes
into view: a sheet of ten thousand pictures is on the screen before it is read to its end.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from functools import cache
from html import escape
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from agenticiqa._version import __version__
from agenticiqa.errors import OutputError
from agenticiqa.reports.look import colours
from agenticiqa.runtime.files import atomic_file, write_atomic

Thumbnails = Literal["embedded", "folder"]
EMBEDDED_AT_MOST = 20_000
"""Pictures whose thumbnails go into the page itself: about 100 MB of it."""
BLOCK = 32
"""Thumbnails in one block of the page."""
SCRIPTS = (
    "words.js", "rows.js", "decisions.js", "thumbnails.js", "grid.js", "panes.js", "viewer.js", "exporting.js",
    "framed.js", "actions.js", "main.js",
)  # fmt: skip
COLUMNS = (
    "path", "findings", "decision", "stars", "why", "score", "level", "sort", "width", "height", "format", "bytes",
    "taken", "brightness", "sharpness", "detail", "entropy", "generated", "exact_group", "near_group", "burst_group",
    "error", "sharpest",
)  # fmt: skip


@dataclass(frozen=True)
class SheetPicture:
    """A picture on the sheet: its row of the audit, and a small JPEG file of it in base64 where it could be opened."""

    row: Mapping[str, Any]
    thumbnail: str | None


@dataclass(frozen=True)
class SheetLinks:
    """Where a sheet leads when it is served. ``{place}`` is a picture's number, ``{path}`` its path, both as URL parts.

    In ``picture``, ``{side}`` is the longest side that is needed, in pixels.

    With ``messages`` the sheet stands in a frame, and asks the page around it instead of following links: it posts
    ``{source: "agenticiqa-sheet", action: "assess" | "compare" | "select", places: […], paths: […]}``.
    """

    picture: str | None = None
    """The picture in full."""
    assess: str | None = None
    compare: str | None = None
    """With ``{first}`` and ``{second}``, places of two pictures."""
    messages: bool = False


Pictures = Callable[[], Iterable[SheetPicture]]
"""Makes them anew each time: they are written twice, as rows and as thumbnails, and never all held at once."""


def write_contact_sheet(
    target: Path,
    pictures: Pictures,
    *,
    title: str,
    summary: Mapping[str, Any],
    base: str | None = None,
    links: SheetLinks | None = None,
    thumbnails: Thumbnails | None = None,
) -> None:
    """Write the page whole or not at all. ``base`` is where the pictures' paths start, seen from the page."""
    count = int(summary["pictures"])
    kept_in = thumbnails or ("embedded" if count <= EMBEDDED_AT_MOST else "folder")
    folder = _write_thumbnails(target, pictures) if kept_in == "folder" else None
    about = {
        "title": title,
        "version": __version__,
        "made": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "summary": summary,
        "base": base,
        "links": asdict(links) if links else None,
        "thumbnails": folder,
        "block": BLOCK,
    }
    with atomic_file(target) as file:
        for piece in sheet_pieces(pictures, about, embedded=folder is None):
            file.write(piece)


def sheet_pieces(pictures: Pictures, about: Mapping[str, Any], *, embedded: bool = True) -> Iterator[bytes]:
    """The page piece by piece, for a file or for a response."""
    title = escape(str(about["title"]))
    words = json.loads(_text("words.json"))
    yield (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f"<title>{title}</title>"
        f"<style>{_style()}</style></head><body>\n{_text('sheet.html').replace('{{title}}', title)}\n"
        f'<script type="application/json" id="about">{_json(about)}</script>\n'
        f'<script type="application/json" id="words">{_json(words)}</script>\n'
        f'<script type="application/json" id="rows">{{"columns":{_json(COLUMNS)},"rows":[\n'
    ).encode()
    # The sheet's id: what a person decides is kept in the browser under it.
    digest = hashlib.sha256(title.encode())
    for number, picture in enumerate(pictures()):
        digest.update(f"\n{picture.row['path']}\0{picture.row.get('sha256')}".encode("utf-8", "replace"))
        cells = [*(picture.row.get(name) for name in COLUMNS), 1 if picture.thumbnail else 0]
        yield (("," if number else "") + _json(cells) + "\n").encode("utf-8", "replace")
    yield f'],"id":"{digest.hexdigest()[:16]}"}}</script>\n<script>{_script()}</script>\n'.encode()
    if embedded:
        yield from _blocks(pictures())
    yield b"</body></html>\n"


def sheet_policy() -> str:
    """A Content-Security-Policy under which the sheet works, and nothing else does."""
    return (
        f"default-src 'none'; script-src '{_source_hash(_script())}'; style-src '{_source_hash(_style())}'; "
        "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'"
    )


def _blocks(pictures: Iterable[SheetPicture]) -> Iterator[bytes]:
    left = iter(pictures)
    number = 0
    while block := list(islice(left, BLOCK)):
        lines = "\n".join(picture.thumbnail or "" for picture in block)
        yield f'<script type="text/plain" id="thumbnails-{number}">{lines}</script>\n'.encode()
        number += 1


def _write_thumbnails(target: Path, pictures: Pictures) -> str:
    """One small file for each picture, in folders of a thousand, beside the page."""
    folder = target.with_name(f"{target.stem}_thumbnails")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OutputError(f"{str(folder)!r} is there already.", hint="Remove it, or choose another name for the sheet.")
    for place, picture in enumerate(pictures()):
        if picture.thumbnail:
            write_atomic(folder / str(place // 1000) / f"{place}.jpg", base64.b64decode(picture.thumbnail))
    return folder.name


def _json(value: Any) -> str:
    """JSON that may stand inside a script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@cache
def _text(name: str) -> str:
    return (files(__package__) / "sheet" / name).read_text(encoding="utf-8")


@cache
def _script() -> str:
    parts = "\n".join(_text(name) for name in SCRIPTS)
    return f'"use strict";\n(() => {{\n{parts}\n}})();\n'


@cache
def _style() -> str:
    return colours() + _text("sheet.css")


def _source_hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
