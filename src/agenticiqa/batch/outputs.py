"""Where results go: lines of JSON, or CSV with columns to filter by and everything nested as JSON text."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from agenticiqa.batch.results import read_results
from agenticiqa.errors import OutputError
from agenticiqa.runtime.files import atomic_file, locked

Rows = Callable[[], Iterable[Mapping[str, Any]]]
"""Makes the rows anew each time: a table's columns are known only when all rows were seen, before any is written."""


def flat_rows(lines: Path) -> Rows:
    """The rows of a results file, read as they are needed."""
    return lambda: (flat_row(line.record) for line in read_results(lines))


def flat_row(record: Mapping[str, Any]) -> dict[str, Any]:
    """One row: ``final_answer``, ``quality_score``, ``error_kind``, ``cost_usd`` and one column per tool lifted out."""
    row = {whole_text(key): _cell(value) for key, value in record.items()}
    summary = record.get("summarizer_result") or {}
    about = record.get("metadata") or {}
    lifted = {
        "final_answer": _cell(summary.get("final_answer")) if record.get("status") != "error" else None,
        "quality_score": summary.get("quality_score"),
        "score_low": (summary.get("score_interval") or [None, None])[0],
        "score_high": (summary.get("score_interval") or [None, None])[1],
        "error_kind": about.get("error_kind"),
        "cost_usd": about.get("cost_usd"),
    }
    for each in record.get("measurements") or []:
        where = f"{each['tool']}@{each['region']}" if each.get("region") else each["tool"]
        lifted[whole_text(where)] = each.get("raw")
    # A column of the manifest keeps its name; what was lifted out makes way.
    return {**{f"result_{name}" if name in row else name: value for name, value in lifted.items()}, **row}


def _cell(value: Any) -> Any:
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else value
    return whole_text(text) if isinstance(text, str) else text


def whole_text(text: str) -> str:
    """JSON can hold halves of characters, a table cannot: there they are question marks."""
    return text.encode(errors="replace").decode()


Format = Literal["jsonl", "csv"]
FORMATS: dict[str, Format] = {"": "jsonl", ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv"}


def format_of(path: Path) -> Format:
    """
    >>> format_of(Path("results.CSV")), format_of(Path("results"))
    ('csv', 'jsonl')
    """
    ending = path.suffix.lower()
    if ending not in FORMATS:
        raise OutputError(f"{str(path)!r}: results are not written as {ending}.", hint="Name it .jsonl or .csv.")
    return FORMATS[ending]


@dataclass(frozen=True)
class BatchOutput:
    """Lines that a batch appends to, and the table that is made of them at its end; for --resume the lines stay."""

    lines: Path
    table: Path | None
    """The file that is made of the lines, where they are not the result themselves."""

    @classmethod
    def named(cls, path: Path) -> BatchOutput:
        return cls(path, None) if format_of(path) == "jsonl" else cls(path.with_name(path.name + ".jsonl"), path)

    @contextmanager
    def held(self, *, resume: bool, overwrite: bool) -> Iterator[None]:
        """Refuses what cannot be written before anything is spent; makes the table once the block ends well."""
        if self.table is None:
            # The batch looks after its lines itself.
            yield
            return
        if self.table.exists() and not (resume or overwrite):
            raise OutputError(
                f"{str(self.table)!r} is there already.", hint="--resume continues it, --overwrite starts afresh."
            )
        with locked(self.table):
            yield
            write_table(flat_rows(self.lines), self.table, "csv")


def write_table(rows: Rows, target: Path, form: Format) -> None:
    """The rows as a file of this form, whole or not at all."""
    with atomic_file(target) as file:
        if form == "jsonl":
            for row in rows():
                file.write(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
            return
        # sample_id first, then in the order in which columns were met.
        met = dict.fromkeys(name for row in rows() for name in row)
        columns = sorted(met, key=lambda name: name != "sample_id")
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.DictWriter(text, columns)
        writer.writeheader()
        for row in rows():
            writer.writerow({name: str(each).lower() if isinstance(each, bool) else each for name, each in row.items()})
        # Closed by the caller that opened it.
        text.detach()
