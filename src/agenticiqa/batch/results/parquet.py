"""A table as Parquet: written row group by row group, so that memory does not grow with it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

from agenticiqa.batch.results.flat_rows import Rows, column_names
from agenticiqa.batch.results.results_file import FREE_SPACE
from agenticiqa.errors import MissingExtraError, OutputError

EXTRA = "parquet"
ROWS_PER_GROUP = 5000
# From the narrowest to the widest: a column takes the widest kind that occurs in it.
_KINDS = ("null", "bool", "int", "float", "text")


def check_installed() -> None:
    _pyarrow()


def write_parquet(rows: Rows, target: Path) -> None:
    """The whole table or nothing."""
    arrow = _pyarrow()
    import pyarrow.parquet as writer_module

    schema = _schema(arrow, _column_kinds(rows))
    unfinished = target.with_name(target.name + ".unfinished")
    try:
        with writer_module.ParquetWriter(unfinished, schema) as writer:
            for group in _groups(rows):
                writer.write_table(
                    arrow.Table.from_pylist([_fitted(row, schema, arrow) for row in group], schema=schema)
                )
        unfinished.replace(target)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise OutputError(f"{str(target)!r} cannot be written: {error}.", hint=FREE_SPACE) from error


def _groups(rows: Rows) -> Iterator[list[Mapping[str, Any]]]:
    left = iter(rows())
    while group := list(islice(left, ROWS_PER_GROUP)):
        yield group


def _column_kinds(rows: Rows) -> dict[str, str]:
    kinds: dict[str, str] = {}
    for row in rows():
        for name, value in row.items():
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
    return arrow.schema([arrow.field(name, types[kinds[name]]) for name in column_names(kinds)])


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
        raise MissingExtraError("A .parquet file needs pyarrow.", hint=f"pip install 'agenticiqa[{EXTRA}]'") from None
    module: ModuleType = pyarrow
    return module
