"""Read label files: text tables, spreadsheets, MATLAB files, JSON."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from agenticiqa.evaluation.datasets.folder import DatasetError, DatasetFolder, column_key


def text_lines(file: Path) -> Iterator[str]:
    """Lines of a text file that hold something."""
    try:
        with file.open(encoding="utf-8-sig") as stream:
            yield from (line.strip() for line in stream if line.strip())
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{file} cannot be read: {error}.", hint="Download it again.") from error


def table_rows(
    folder: DatasetFolder, file: Path, columns: Sequence[str], sheet: str | None = None
) -> Iterator[dict[str, Any]]:
    """Rows of a CSV file or spreadsheet as dictionaries; the header is the first row that has all ``columns``."""
    rows = _sheet_rows(file, sheet) if file.suffix.casefold() == ".xlsx" else _csv_rows(file)
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


def _csv_rows(file: Path) -> Iterator[Sequence[Any]]:
    yield from csv.reader(text_lines(file))


def _sheet_rows(file: Path, sheet: str | None) -> Iterator[Sequence[Any]]:
    try:
        import openpyxl
    except ImportError as error:
        raise DatasetError(
            f"Reading {file.name} needs openpyxl.",
            hint=f"Install agenticiqa[datasets], or save the sheet as {file.with_suffix('.csv').name} beside it.",
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
    return [_item(value) for value in np.atleast_1d(stored[variable]).ravel()]


def _item(value: Any) -> Any:
    return value.item() if isinstance(value, np.ndarray) and value.size == 1 else value


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
