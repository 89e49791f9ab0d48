"""One row of a manifest: a sample, or what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from agenticiqa.batch.manifest.fields import sample_from_row
from agenticiqa.batch.sample import Sample
from agenticiqa.errors import ManifestError
from agenticiqa.pictures.finding import Skipped

Record = bytes | Mapping[str, Any] | str
"""A line of JSON, the cells of a row by column, or what is wrong with the row."""


@dataclass(frozen=True)
class Row:
    """One sample, or what is wrong with the line that should hold one; read when somebody asks."""

    line: int
    record: Record
    base: str

    @property
    def sample(self) -> Sample | None:
        return self._read if isinstance(self._read, Sample) else None

    @property
    def problem(self) -> str | None:
        return self._read if isinstance(self._read, str) else None

    @property
    def has_id(self) -> bool:
        """Whether it brings an id; without one, a path serves."""
        return isinstance(self._fields, Mapping) and self._fields.get("sample_id") not in (None, "")

    @cached_property
    def _fields(self) -> Mapping[str, Any] | str:
        return _json_fields(self.record) if isinstance(self.record, bytes) else self.record

    @cached_property
    def _read(self) -> Sample | str:
        try:
            return self._fields if isinstance(self._fields, str) else sample_from_row(self._fields, self.base)
        except ManifestError as error:
            return error.message

    def __getstate__(self) -> dict[str, Any]:
        """Another process reads the line for itself: the runner then need not."""
        return {"line": self.line, "record": self.record, "base": self.base}


class Manifest(Protocol):
    """Samples in a fixed order; may be read any number of times."""

    name: str
    file: Path | None
    """The file that the rows are read from, where it is the user's own."""
    skipped: Skipped
    """Files that stand beside the samples' pictures and are none of them."""

    def rows(self) -> Iterator[Row]: ...

    def close(self) -> None: ...


def _json_fields(text: bytes) -> dict[str, Any] | str:
    try:
        fields = _JSON.decode(text.decode())
        readable = b"\\u" not in text or _is_text(fields)
    except (ValueError, RecursionError) as error:
        return f"not valid JSON ({error})."
    if not readable:
        return "holds halves of characters, which are not valid text."
    return fields if isinstance(fields, dict) else "not a JSON object."


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _is_text(fields: Any) -> bool:
    """Whether it can be written again: a lone half of a character can be an escape in JSON, and nothing else."""
    try:
        json.dumps(fields, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


_JSON = json.JSONDecoder(parse_constant=_refuse_constant)
