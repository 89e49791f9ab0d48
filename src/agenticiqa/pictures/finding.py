"""Which pictures a path, a folder or a pattern names."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from agenticiqa.errors import ImageNotFoundError

PICTURE_SUFFIXES = frozenset(
    {".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".bmp", ".gif", ".ppm", ".pgm", ".jp2", ".avif"}
)
STANDARD_INPUT = "-"


def has_picture_name(path: str | Path) -> bool:
    """
    >>> has_picture_name("a/photo.JPG"), has_picture_name("notes.txt")
    (True, False)
    """
    return Path(path).suffix.lower() in PICTURE_SUFFIXES


def is_pattern(source: str) -> bool:
    """Whether it is a pattern that no shell has expanded; a file may have such characters in its name.

    >>> is_pattern("photos/*.png"), is_pattern("photos/a.png")
    (True, False)
    """
    return any(mark in source for mark in "*?[") and not os.path.exists(source)


def pictures_matching(pattern: str) -> list[str]:
    """By name, in order; ``**`` reaches into folders."""
    found = sorted(path for path in glob.iglob(pattern, recursive=True) if has_picture_name(path))
    found = [path for path in found if os.path.isfile(path)]
    if not found:
        raise ImageNotFoundError(f"No picture matches {pattern!r}.", hint="`**/*.png` also looks into folders.")
    return found


def pictures_in(folder: Path) -> list[Path]:
    """Those directly in the folder, in order."""
    return sorted(path for path in folder.iterdir() if has_picture_name(path) and path.is_file())


def pictures_below(folder: str | Path) -> Iterator[str]:
    """Those in the folder and its folders, as paths from there, in no order."""
    for parent, _, files in os.walk(folder):
        for name in files:
            if has_picture_name(name):
                yield (Path(parent) / name).relative_to(folder).as_posix()


def listed_paths(lines: Iterable[bytes]) -> Iterator[str]:
    """One path per line, as other programs print them."""
    for line in lines:
        path = os.fsdecode(line.rstrip(b"\r\n"))
        if path.strip():
            yield path


def as_text(path: str) -> str:
    """A name that is no valid text gets question marks, and is reported as missing."""
    return path.encode("utf-8", "replace").decode()
