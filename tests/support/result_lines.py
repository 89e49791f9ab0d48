"""Result lines as `agenticiqa batch` writes them, as small as the tests allow."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def scored(
    sample_id: str, mos: float | None, score: float | None, status: str = "ok", **columns: Any
) -> dict[str, Any]:
    result = None if score is None else {"final_answer": "C", "quality_reasoning": "r", "quality_score": score}
    line = {"sample_id": sample_id, "status": status, "query": "Rate the quality.", "summarizer_result": result}
    return {**line, "mos": mos, "task_type": "scoring", "metadata": {"replans": 0}, **columns}


def chosen(
    sample_id: str, right: str, answer: str | None, status: str = "ok", options: list[str] | None = None, **columns: Any
) -> dict[str, Any]:
    result = None if answer is None else {"final_answer": answer, "quality_reasoning": "r"}
    return {
        "sample_id": sample_id,
        "status": status,
        "query": "Which one?",
        "options": options or ["Blur", "Noise", "JPEG"],
        "summarizer_result": result,
        "answer": right,
        "task_type": "choice",
        **columns,
    }


def write(path: Path, lines: Iterable[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path
