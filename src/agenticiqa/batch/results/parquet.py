"""Results as Parquet: made from the finished lines in one pass over them, row group by row group.

Columns of the result that hold objects or lists become JSON texts; what people filter by is lifted out of them
(``final_answer``, ``quality_score``, ``error_kind``, ``cost_usd``, one column for each measuring tool).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from agenticiqa.batch.results.results_file import FREE_SPACE, read_results
from agenticiqa.errors import MissingExtraError, OutputError

EXTRA = "parquet"
ROWS_A_GROUP = 5000
# From the narrowest to the widest: a column takes the widest kind that occurs in it.
_KINDS = ("null", "bool", "int", "float", "text")


def check_installed() -> None:
    _pyarrow()


def write_parquet(lines: Path, target: Path) -> None:
    """Turn a results file into Parquet, whole or not at all."""
    arrow = _pyarrow()
    import pyarrow.parquet as writer_module

    schema = _schema(arrow, _column_kinds(lines))
    unfinished = target.with_name(target.name + ".unfinished")
    try:
        with writer_module.ParquetWriter(unfinished, schema) as writer:
            for rows in _groups(lines):
                writer.write_table(
                    arrow.Table.from_pylist([_fitted(row, schema, arrow) for row in rows], schema=schema)
                )
        unfinished.replace(target)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise OutputError(f"{str(target)!r} cannot be written: {error}.", hint=FREE_SPACE) from error


def _groups(lines: Path) -> Iterator[list[dict[str, Any]]]:
    rows: list[dict[str, Any]] = []
    for line in read_results(lines):
        rows.append(flat_row(line.record))
        if len(rows) == ROWS_A_GROUP:
            yield rows
            rows = []
    if rows:
        yield rows


def flat_row(record: Mapping[str, Any]) -> dict[str, Any]:
    """One row: plain values as they are, everything nested as JSON text, the usual figures lifted out.

    >>> flat_row({"sample_id": "1", "measurements": [{"tool": "PSNR", "region": None, "raw": 31.5}]})["PSNR"]
    31.5
    """
    row = {_whole(key): _plain(value) for key, value in record.items()}
    summary = record.get("summarizer_result") or {}
    about = record.get("metadata") or {}
    lifted = {
        "final_answer": _plain(summary.get("final_answer")) if record.get("status") != "error" else None,
        "quality_score": summary.get("quality_score"),
        "error_kind": about.get("error_kind"),
        "cost_usd": about.get("cost_usd"),
    }
    for each in record.get("measurements") or []:
        where = f"{each['tool']}@{each['region']}" if each.get("region") else each["tool"]
        lifted[_whole(where)] = each.get("raw")
    # A column of the manifest keeps its name; what was lifted out makes way.
    return {**{f"result_{name}" if name in row else name: value for name, value in lifted.items()}, **row}


def _plain(value: Any) -> Any:
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else value
    return _whole(text) if isinstance(text, str) else text


def _whole(text: str) -> str:
    """JSON can hold halves of characters, Parquet cannot: there they are question marks."""
    return text.encode(errors="replace").decode()


def _column_kinds(lines: Path) -> dict[str, str]:
    kinds: dict[str, str] = {}
    for line in read_results(lines):
        for name, value in flat_row(line.record).items():
            kind = _kind(value)
            kinds[name] = max(kinds.get(name, "null"), kind, key=_KINDS.index)
    return kinds


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int" if -(2**63) <= value < 2**63 else "text"
    return "float" if isinstance(value, float) else "text"


def _schema(arrow: ModuleType, kinds: Mapping[str, str]) -> Any:
    types = {
        "null": arrow.string(),
        "bool": arrow.bool_(),
        "int": arrow.int64(),
        "float": arrow.float64(),
        "text": arrow.string(),
    }
    # sample_id first, then in the order in which columns were met.
    names = sorted(kinds, key=lambda name: name != "sample_id")
    return arrow.schema([arrow.field(name, types[kinds[name]]) for name in names])


def _fitted(row: Mapping[str, Any], schema: Any, arrow: ModuleType) -> dict[str, Any]:
    """Values as their column wants them: a column with texts and numbers is text."""
    fitted: dict[str, Any] = {}
    for name, value in row.items():
        kind = schema.field(name).type
        if value is None or isinstance(value, str):
            fitted[name] = value
        elif kind == arrow.string():
            fitted[name] = json.dumps(value)
        else:
            fitted[name] = int(value) if kind == arrow.int64() else float(value) if kind == arrow.float64() else value
    return fitted


def _pyarrow() -> ModuleType:
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("--format parquet needs pyarrow.", hint=f"pip install 'agenticiqa[{EXTRA}]'") from None
    module: ModuleType = pyarrow
    return module
