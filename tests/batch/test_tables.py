"""Results as a table."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from agenticiqa.batch.outputs import flat_rows, write_table
from support.batches import write_jsonl

ROWS = [
    {
        "sample_id": "1",
        "status": "ok",
        "summarizer_result": {"final_answer": "B", "quality_score": 4.25},
        "metadata": {"error_kind": None, "cost_usd": 0.5},
        "mos": 3.0,
        "fold": 1,
        "mixed": 1,
        "big": 2**70,
        "quality_score": "mine",
    },
    {
        "sample_id": "2",
        "status": "error",
        "summarizer_result": {"final_answer": "unable", "quality_score": None},
        "metadata": {"error_kind": "rate_limit", "cost_usd": None},
        "fold": 2.5,
        "mixed": "two",
        "tags": ["a", "b"],
    },
    {"sample_id": "3", "status": "ok", "measurements": [{"tool": "PSNR", "region": "car", "raw": 30.5}], "mixed": None},
]


def table_of(tmp_path: Path, *records: dict[str, object]) -> list[dict[str, str]]:
    lines = write_jsonl(tmp_path / "r.jsonl", records)
    write_table(flat_rows(lines), tmp_path / "r.csv", "csv")
    with (tmp_path / "r.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_halves_of_characters_become_question_marks(tmp_path):
    """A line of JSON can hold them: in a message of somebody's tool, say."""
    row = {"sample_id": "1", "status": "ok", "error": "\ud800!", "x\udfff": ["\ud800"]}
    row |= {"summarizer_result": {"final_answer": "\ud800"}, "measurements": [{"tool": "T", "region": "\ud800"}]}
    (read,) = table_of(tmp_path, row)
    assert (read["error"], read["x?"], read["final_answer"], "T@?" in read) == ("?!", '["?"]', "?", True)


def test_columns(tmp_path):
    rows = table_of(tmp_path, *ROWS)
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    assert next(iter(columns)) == "sample_id"
    assert columns["sample_id"] == ["1", "2", "3"]
    assert columns["final_answer"] == ["B", "", ""]
    assert columns["result_quality_score"] == ["4.25", "", ""]
    assert columns["quality_score"] == ["mine", "", ""]
    assert columns["error_kind"] == ["", "rate_limit", ""]
    assert columns["fold"] == ["1", "2.5", ""]
    assert columns["mixed"] == ["1", "two", ""]
    assert columns["big"] == [str(2**70), "", ""]
    assert columns["PSNR@car"] == ["", "", "30.5"]
    assert json.loads(columns["tags"][1]) == ["a", "b"]
    assert json.loads(columns["metadata"][0]) == ROWS[0]["metadata"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.csv", "r.jsonl"]
