"""The recipe for Spark as it is printed: its function on tables of pandas, and all of it in Spark's local mode."""

from __future__ import annotations

import subprocess
import sys

import pandas as pd
import pytest

from agenticiqa.batch.rating_run import RatingRequest, run_rating
from support.batches import records
from support.pictures import distorted, save, scene
from support.snippets import blocks

COUNT = 3
(FUNCTION,) = (block.text for block in blocks("python") if "def rate(batches)" in block.text)
(RUN,) = (block.text for block in blocks("text") if "mapInPandas" in block.text)


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    for number in range(COUNT):
        save(folder / f"{number}.jpg", distorted(scene(96, 128), 6 * number))
    (folder / "broken.jpg").write_bytes(b"\xff\xd8\xff no picture")
    return folder


def check(rated, photos):
    """The scores of ``agenticiqa rate``, and a reason for the one that has none."""
    lines = photos.parent / "lines.jsonl"
    run_rating(RatingRequest([str(photos)], lines, device="cpu", workers=1))
    found = {str(path).rpartition("/")[2]: (score, error) for path, score, error in rated.itertuples(index=False)}
    assert len(found) == len(rated) == COUNT + 1
    for record in records(lines):
        score, error = found[record["sample_id"]]
        if record["status"] == "ok":
            assert score == pytest.approx(record["rating"]["score"], abs=1e-3)
            assert pd.isna(error)
        else:
            assert pd.isna(score)
            assert "cannot identify" in error


@pytest.mark.hard
def test_the_function_on_tables_of_pandas(photos):
    names: dict = {}
    exec(compile(FUNCTION, "rate.md", "exec"), names)
    files = sorted(photos.iterdir())
    tables = [
        pd.DataFrame({"path": list(map(str, some)), "content": [file.read_bytes() for file in some]})
        for some in (files[:2], files[2:])
    ]
    check(pd.concat(names["rate"](iter(tables))), photos)


@pytest.mark.hard
def test_a_local_run_of_spark(photos):
    pytest.importorskip("pyspark")
    done = subprocess.run(
        [sys.executable, "-c", FUNCTION + RUN], cwd=photos.parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    check(pd.read_parquet(photos.parent / "spark-scores"), photos)
