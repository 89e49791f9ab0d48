"""An audit as a file: CSV, JSON, JSON Lines or Parquet by its name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agenticiqa.batch.results.flat_rows import Rows
from agenticiqa.batch.results.outputs import format_of, write_table
from agenticiqa.errors import OutputError
from agenticiqa.runtime.files import whole_file

ENDINGS = (".csv", ".json", ".jsonl", ".parquet")


def check_name(target: Path) -> None:
    """Refuse what cannot be written, before anything is spent."""
    if target.suffix.lower() not in ENDINGS:
        raise OutputError(f"{str(target)!r}: an audit is not written so.", hint=f"Name it {', '.join(ENDINGS)}.")
    if target.suffix.lower() == ".parquet":
        from agenticiqa.batch.results.parquet import check_installed

        check_installed()


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
    with whole_file(target) as file:
        head = json.dumps(summary, ensure_ascii=False).encode("utf-8", "replace")
        file.write(b'{"summary": ' + head + b',\n"pictures": [\n')
        for number, row in enumerate(rows()):
            file.write((b",\n" if number else b"") + json.dumps(row, ensure_ascii=False).encode("utf-8", "replace"))
        file.write(b"\n]}\n")
