"""A dataset's folder: finds files whatever the case of their names, and says what is missing and where to get it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from agenticiqa.errors import AgenticIQAError


class DatasetError(AgenticIQAError):
    """A dataset's folder is not what its authors publish."""


class DatasetFolder:
    """Looks names up in folders that are listed once. All names are relative, with forward slashes."""

    def __init__(self, root: str | Path, title: str, obtain: str) -> None:
        self.root = Path(root)
        self.title = title
        self.obtain = obtain
        if not self.root.is_dir():
            raise DatasetError(f"{self.root} is no folder.", hint=f"Give the folder of {title}. {obtain}")
        self._listings: dict[str, dict[str, list[str]]] = {}

    def lookup(self, name: str) -> list[str]:
        """The entries that a name means: as written if it is there, else those that differ in case only."""
        found = [""]
        for part in PurePosixPath(name).parts:
            found = [f"{parent}/{entry}".lstrip("/") for parent in found for entry in self._entries(parent, part)]
        return found

    def _entries(self, parent: str, part: str) -> list[str]:
        if parent not in self._listings:
            listing: dict[str, list[str]] = {}
            folder = self.root / parent
            for entry in sorted(folder.iterdir()) if folder.is_dir() else []:
                listing.setdefault(entry.name.casefold(), []).append(entry.name)
            self._listings[parent] = listing
        same = self._listings[parent].get(part.casefold(), [])
        return [part] if part in same else same

    def differing_in_case(self, name: str) -> list[str]:
        """Files that differ from a found one in case only: nobody can tell which is meant."""
        parent, _, part = name.rpartition("/")
        self._entries(parent, part)
        same = self._listings[parent].get(part.casefold(), [])
        return [f"{parent}/{entry}".lstrip("/") for entry in same] if len(same) > 1 else []

    # --- what a reader needs ---

    def file(self, *names: str) -> Path:
        """The first of these label files that is there."""
        found = self.optional_file(*names)
        if found is None:
            deeper = [hit.parent for name in names for hit in self.root.glob(f"*/{name}")]
            elsewhere = f" It lies in {deeper[0]}: give that folder." if deeper else ""
            raise DatasetError(
                f"{self.root} has no {' or '.join(names)}, which {self.title} comes with.{elsewhere}", hint=self.obtain
            )
        return found

    def optional_file(self, *names: str) -> Path | None:
        hits = [self.root / hit for name in names for hit in self.lookup(name)]
        return next((hit for hit in hits if hit.is_file()), None)

    def folder(self, *names: str) -> str:
        """The first of these subfolders that is there; ``.`` is the folder itself."""
        for name in names:
            if name == ".":
                return ""
            hits = [hit for hit in self.lookup(name) if (self.root / hit).is_dir()]
            if hits:
                return hits[0]
        raise DatasetError(
            f"{self.root} has no folder {' or '.join(names)}, where {self.title} keeps pictures.", hint=self.obtain
        )

    def listing(self, name: str) -> list[str]:
        """Names in a subfolder, sorted."""
        self._entries(name, "")
        return sorted(entry for same in self._listings[name].values() for entry in same)

    def malformed(self, file: Path, problem: str) -> DatasetError:
        """The error for a label file that cannot be read as what it should be."""
        return DatasetError(f"{file} is not the label file of {self.title}: {problem}.", hint=self.obtain)


def joined(*parts: str) -> str:
    """Path parts with single slashes; empty ones vanish.

    >>> joined("", "images", "a.png")
    'images/a.png'
    """
    return "/".join(part for part in parts if part)


def number(value: Any, where: str) -> float:
    """A finite number out of a label file."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = float("nan")
    if not abs(found) < float("inf"):
        raise DatasetError(f"{where}: {value!r} is not a score.", hint="Download the label file again.")
    return found


def first_key(row: dict[str, Any], names: Sequence[str]) -> Any:
    """The first of several column names that a row has; column names compare without case and spaces."""
    by_key = {column_key(name): value for name, value in row.items()}
    return next((by_key[key] for name in names if (key := column_key(name)) in by_key), None)


def column_key(name: str) -> str:
    """
    >>> column_key("DMOS Realigned") == column_key("dmosRealigned ")
    True
    """
    return "".join(name.casefold().split())
