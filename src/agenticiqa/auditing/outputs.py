"""Links to the pictures worth keeping, in a folder of their own. Nothing is moved, copied or changed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from agenticiqa.batch.outputs import Rows, format_of, write_table
from agenticiqa.errors import OutputError
from agenticiqa.runtime.files import atomic_file


def check_link_folder(folder: Path, source: Path) -> None:
    """Refuse a folder that holds something, or that lies within what is audited: the next audit would find it."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OutputError(f"{str(folder)!r} is there already and not empty.", hint="Name a new folder for the links.")
    if source.is_dir() and folder.resolve().is_relative_to(source.resolve()):
        raise OutputError(
            f"{str(folder)!r} lies within {str(source)!r}, which is audited.", hint="Name a folder beside it."
        )


def link_pictures(paths: Iterable[str], source: Path, folder: Path) -> int:
    """A link for each of these paths (from ``source``), under the same name below ``folder``; how many were made."""
    check_link_folder(folder, source)
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for path in paths:
        target = (source / path).resolve()
        link = folder / _inside(path)
        link.parent.mkdir(parents=True, exist_ok=True)
        _link(target, link)
        count += 1
    return count


def _inside(path: str) -> PurePosixPath:
    """A name below the folder, wherever the picture lies."""
    parts = [part for part in PurePosixPath(Path(path).as_posix()).parts if part not in ("/", "..")]
    return PurePosixPath(*(part.replace(":", "") for part in parts))


def _link(target: Path, link: Path) -> None:
    try:
        link.symlink_to(target)
    except FileExistsError:
        raise OutputError(f"{str(link)!r} is there already.", hint="Name a new folder for the links.") from None
    except OSError:
        # Windows lets only some users make symbolic links; a hard one is the same file too.
        try:
            os.link(target, link)
        except OSError as error:
            raise OutputError(f"{str(link)!r} cannot be linked: {error.strerror or error}.") from error


# --- An audit as a file: CSV, JSON or JSON Lines by its name ---


ENDINGS = (".csv", ".json", ".jsonl")


def check_name(target: Path) -> None:
    """Refuse what cannot be written, before anything is spent."""
    if target.suffix.lower() not in ENDINGS:
        raise OutputError(f"{str(target)!r}: an audit is not written so.", hint=f"Name it {', '.join(ENDINGS)}.")


def write_rows(rows: Rows, tabular: Rows, summary: Mapping[str, Any], target: Path) -> None:
    """Whole or not at all. JSON keeps findings with their reasons; tables have flat rows."""
    check_name(target)
    ending = target.suffix.lower()
    if ending == ".json":
        _write_json(rows, summary, target)
    else:
        write_table(rows if ending == ".jsonl" else tabular, target, format_of(target))


def _write_json(rows: Rows, summary: Mapping[str, Any], target: Path) -> None:
    """One object, written row by row."""
    with atomic_file(target) as file:
        head = json.dumps(summary, ensure_ascii=False).encode("utf-8", "replace")
        file.write(b'{"summary": ' + head + b',\n"pictures": [\n')
        for number, row in enumerate(rows()):
            file.write((b",\n" if number else b"") + json.dumps(row, ensure_ascii=False).encode("utf-8", "replace"))
        file.write(b"\n]}\n")
