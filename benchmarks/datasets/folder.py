"""What a dataset is, how names are looked up in its folder, and how its label files are read."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import numpy as np

from agenticiqa.batch.sample import Sample
from agenticiqa.errors import AgenticIQAError

Kind = Literal["full-reference", "no-reference", "questions"]
Reader = Callable[["DatasetFolder", str], Iterator[Sample]]
"""Yields samples with paths relative to the folder, for a subset's name."""


@dataclass(frozen=True)
class Dataset:
    """``counts`` has the official number of samples of each subset; the first subset is the default."""

    name: str
    title: str
    kind: Kind
    counts: Mapping[str, int]
    scale: str
    layout: str
    citation: str
    obtain: str
    caution: str
    """How sure we are of the layout."""
    read: Reader
    other_names: Sequence[str] = ()
    """What else the set is called, in small letters and digits."""

    @property
    def default_subset(self) -> str:
        return next(iter(self.counts))

    def as_dict(self) -> dict[str, Any]:
        fields = {key: value for key, value in vars(self).items() if key not in ("read", "other_names")}
        return {**fields, "default_subset": self.default_subset}


def scored_sample(
    dataset: str,
    image: str,
    mos: float,
    original: float | None = None,
    reference: str | None = None,
    **carried: Any,
) -> Sample:
    """A picture with an opinion. ``mos`` is higher for better; ``original`` is the number its authors print."""
    return Sample(
        sample_id=f"{dataset}/{PurePosixPath(image).stem}",
        image_path=image,
        reference_path=reference,
        mos=mos,
        task_type="scoring",
        carried={
            "dataset": dataset,
            **{key: value for key, value in carried.items() if value is not None},
            "mos_original": mos if original is None else original,
        },
    )


# --- Read label files: text tables, spreadsheets, MATLAB files, JSON ---


def text_lines(file: Path) -> Iterator[str]:
    try:
        with file.open(encoding="utf-8-sig") as stream:
            yield from (line.strip() for line in stream if line.strip())
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{file} cannot be read: {error}.", hint="Download it again.") from error


def table_rows(
    folder: DatasetFolder, file: Path, columns: Sequence[str], sheet: str | None = None
) -> Iterator[dict[str, Any]]:
    """Rows of a CSV file or spreadsheet as dictionaries; the header is the first row that has all ``columns``."""
    rows = _sheet_rows(file, sheet) if file.suffix.casefold() == ".xlsx" else csv.reader(text_lines(file))
    wanted = {column_key(column) for column in columns}
    header: list[str] | None = None
    for row in rows:
        if header is None:
            names = ["" if cell is None else str(cell).strip() for cell in row]
            header = names if wanted <= {column_key(name) for name in names} else None
        elif any(cell not in (None, "") for cell in row):
            yield {name: cell for name, cell in zip(header, row, strict=False) if name}
    if header is None:
        raise folder.malformed(file, f"no row has the columns {', '.join(columns)}")


def _sheet_rows(file: Path, sheet: str | None) -> Iterator[Sequence[Any]]:
    try:
        import openpyxl
    except ImportError as error:
        raise DatasetError(
            f"Reading {file.name} needs openpyxl.",
            hint=f"Install openpyxl, or save the sheet as {file.with_suffix('.csv').name} beside it.",
        ) from error
    try:
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
    except Exception as error:
        raise DatasetError(f"{file} is not a spreadsheet: {error}.", hint="Download it again.") from error
    try:
        page = book[sheet] if sheet and sheet in book.sheetnames else book.worksheets[0]
        yield from page.iter_rows(values_only=True)
    finally:
        book.close()


def matlab_column(folder: DatasetFolder, file: Path, variable: str) -> list[Any]:
    """A vector of numbers or texts in a MATLAB file."""
    import scipy.io

    try:
        stored = scipy.io.loadmat(str(file), squeeze_me=True)
    except Exception as error:
        # A damaged file makes SciPy fail in many ways, from zlib to struct.
        raise folder.malformed(file, f"it is not a MATLAB 5 file ({error})") from error
    if variable not in stored:
        raise folder.malformed(file, f"it has no variable {variable}")
    # Texts come as arrays of one element each.
    values = np.atleast_1d(stored[variable]).ravel()
    return [value.item() if isinstance(value, np.ndarray) and value.size == 1 else value for value in values]


def json_records(folder: DatasetFolder, file: Path) -> Iterator[dict[str, Any]]:
    """The objects of a JSON list, or of JSON Lines."""
    try:
        if file.suffix.casefold() == ".jsonl":
            records = [json.loads(line) for line in text_lines(file)]
        else:
            records = json.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise folder.malformed(file, f"it is not JSON ({error})") from error
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise folder.malformed(file, "it is no list of questions")
    yield from records


# --- A dataset's folder ---


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


def first_key(row: dict[str, Any], *names: str) -> Any:
    """The first of several column names that a row has; column names compare without case and spaces."""
    by_key = {column_key(name): value for name, value in row.items()}
    return next((by_key[key] for name in names if (key := column_key(name)) in by_key), None)


def column_key(name: str) -> str:
    """
    >>> column_key("DMOS Realigned") == column_key("dmosRealigned ")
    True
    """
    return "".join(name.casefold().split())
