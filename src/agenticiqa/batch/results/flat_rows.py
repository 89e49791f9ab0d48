"""Results as rows of a table: what people filter by in columns of its own, everything nested as JSON text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from agenticiqa.batch.results.results_file import read_results

Rows = Callable[[], Iterable[Mapping[str, Any]]]
"""Makes the rows anew each time: a table's columns are known only when all rows were seen, before any is written."""


def flat_rows(lines: Path) -> Rows:
    """The rows of a results file, read as they are needed."""
    return lambda: (flat_row(line.record) for line in read_results(lines))


def flat_row(record: Mapping[str, Any]) -> dict[str, Any]:
    """One row: ``final_answer``, ``quality_score``, ``error_kind``, ``cost_usd`` and one column per tool lifted out.

    >>> flat_row({"sample_id": "1", "measurements": [{"tool": "PSNR", "region": None, "raw": 31.5}]})["PSNR"]
    31.5
    """
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


def column_names(names: Iterable[str]) -> list[str]:
    """sample_id first, then in the order in which columns were met."""
    return sorted(dict.fromkeys(names), key=lambda name: name != "sample_id")
