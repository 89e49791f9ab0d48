"""Where results go and in which form, by the name of the output: JSON Lines, CSV or Parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from agenticiqa.batch.results.flat_rows import Rows, column_names, flat_rows
from agenticiqa.errors import OutputError
from agenticiqa.runtime.files import whole_file
from agenticiqa.runtime.locks import locked

Format = Literal["jsonl", "csv", "parquet"]
FORMATS: dict[str, Format] = {
    "": "jsonl",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
}


def format_of(path: Path) -> Format:
    """
    >>> format_of(Path("results.CSV")), format_of(Path("results"))
    ('csv', 'jsonl')
    """
    ending = path.suffix.lower()
    if ending not in FORMATS:
        raise OutputError(
            f"{str(path)!r}: results are not written as {ending}.", hint="Name it .jsonl, .csv or .parquet."
        )
    return FORMATS[ending]


@dataclass(frozen=True)
class BatchOutput:
    """Lines that a batch appends to, and the table that is made of them when it ends.

    A table can be written only as a whole: its lines stay beside it, for --resume.
    """

    path: Path
    format: Format

    @classmethod
    def named(cls, path: Path, given: Format | None = None) -> BatchOutput:
        return cls(path, given or format_of(path))

    @property
    def lines(self) -> Path:
        return self.path if self.format == "jsonl" else self.path.with_name(self.path.name + ".jsonl")

    @property
    def table(self) -> Path | None:
        """The file that is made of the lines, where they are not the result themselves."""
        return None if self.format == "jsonl" else self.path

    @contextmanager
    def held(self, *, resume: bool, overwrite: bool) -> Iterator[None]:
        """Refuses what cannot be written before anything is spent; makes the table once the block ends well."""
        if self.format == "jsonl":
            # The batch looks after its lines itself.
            yield
            return
        if self.format == "parquet":
            from agenticiqa.batch.results.parquet import check_installed

            check_installed()
        if self.path.exists() and not (resume or overwrite):
            raise OutputError(
                f"{str(self.path)!r} is there already.", hint="--resume continues it, --overwrite starts afresh."
            )
        with locked(self.path):
            yield
            write_table(flat_rows(self.lines), self.path, self.format)


def write_table(rows: Rows, target: Path, form: Format) -> None:
    """The rows as a file of this form, whole or not at all."""
    if form == "parquet":
        from agenticiqa.batch.results.parquet import write_parquet

        write_parquet(rows, target)
    elif form == "csv":
        _write_csv(rows, target)
    else:
        with whole_file(target) as file:
            for row in rows():
                file.write(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n")


def _write_csv(rows: Rows, target: Path) -> None:
    columns = column_names(name for row in rows() for name in row)
    with whole_file(target) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(text)
        writer.writerow(columns)
        writer.writerows([_csv_cell(row.get(name)) for name in columns] for row in rows())
        # Whoever opened the file closes it.
        text.detach()


def _csv_cell(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value
