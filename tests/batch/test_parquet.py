"""Results as Parquet."""

from __future__ import annotations

import json

import pyarrow.parquet
import pytest

from agenticiqa.batch import outputs as parquet
from agenticiqa.batch.outputs import flat_rows, write_parquet
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


def test_halves_of_characters_become_question_marks(tmp_path):
    """A line of JSON can hold them: in a message of somebody's tool, say."""
    row = {"sample_id": "1", "status": "ok", "error": "\ud800!", "x\udfff": ["\ud800"]}
    row |= {"summarizer_result": {"final_answer": "\ud800"}, "measurements": [{"tool": "T", "region": "\ud800"}]}
    write_parquet(flat_rows(write_jsonl(tmp_path / "r.jsonl", [row])), tmp_path / "r.parquet")
    (read,) = pyarrow.parquet.read_table(tmp_path / "r.parquet").to_pylist()
    assert (read["error"], read["x?"], read["final_answer"], "T@?" in read) == ("?!", '["?"]', "?", True)


@pytest.mark.parametrize("rows_per_group", [1, 1000])
def test_columns_and_types(tmp_path, monkeypatch, rows_per_group):
    monkeypatch.setattr(parquet, "ROWS_PER_GROUP", rows_per_group)
    lines = write_jsonl(tmp_path / "r.jsonl", ROWS)
    write_parquet(flat_rows(lines), tmp_path / "r.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "r.parquet")
    columns = table.to_pydict()
    assert table.column_names[0] == "sample_id"
    assert columns["sample_id"] == ["1", "2", "3"]
    assert columns["final_answer"] == ["B", None, None]
    assert columns["result_quality_score"] == [4.25, None, None]
    assert columns["quality_score"] == ["mine", None, None]
    assert columns["error_kind"] == [None, "rate_limit", None]
    assert columns["fold"] == [1.0, 2.5, None]
    assert columns["mixed"] == ["1", "two", None]
    assert columns["big"] == [str(2**70), None, None]
    assert columns["PSNR@car"] == [None, None, 30.5]
    assert json.loads(columns["tags"][1]) == ["a", "b"]
    assert json.loads(columns["metadata"][0]) == ROWS[0]["metadata"]
    assert [path.name for path in tmp_path.iterdir() if "parquet" in path.name] == ["r.parquet"]
