"""Tables of pictures are read row by row, however large their groups of rows are."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from agenticiqa.batch import containers

ROWS = 100


@pytest.mark.parametrize("group", [7, ROWS])
@pytest.mark.parametrize(
    "order", [range(ROWS), range(1, ROWS, 3), [5, 3, 4, 17, 15, 40, 39, 99, 0, 98], range(ROWS - 1, -1, -1)]
)
def test_rows_in_any_order(tmp_path, group, order):
    data = [bytes([number]) * 10 for number in range(ROWS)]
    pq.write_table(pa.table({"image": data, "other": data[::-1]}), tmp_path / "t.parquet", row_group_size=group)
    table = containers._Table(str(tmp_path / "t.parquet"))
    assert [table.value(row, "image") for row in order] == [data[row] for row in order]
    assert table.value(order[-1], "other") == data[::-1][order[-1]]
    with pytest.raises(IndexError):
        table.value(ROWS, "image")


def test_one_after_the_other_each_batch_is_read_once_and_few_are_kept(tmp_path, monkeypatch):
    read = []
    iter_batches = pq.ParquetFile.iter_batches

    def counted(*arguments, **more):
        for batch in iter_batches(*arguments, **more):
            read.append(len(batch))
            yield batch

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", counted)
    pq.write_table(pa.table({"image": [b"x"] * ROWS}), tmp_path / "t.parquet")
    table = containers._Table(str(tmp_path / "t.parquet"))
    for row in range(1, ROWS, 2):
        table.value(row, "image")
        # Another thread is a little behind.
        table.value(max(row - 7, 0), "image")
    assert sum(read) == ROWS
    assert len(table._kept) == 2


def test_a_stream_that_breaks_tells_it_for_every_row(tmp_path, monkeypatch):
    pq.write_table(pa.table({"image": [b"x"] * 40}), tmp_path / "t.parquet")
    table = containers._Table(str(tmp_path / "t.parquet"))

    def broken(_number, _column):
        yield from ()

    monkeypatch.setattr(table, "_batches", broken)
    for row in (0, 1, 20):
        with pytest.raises(ValueError, match=f"row {row} cannot be read"):
            table.value(row, "image")


def test_a_shard_above_folders_of_pictures_hides_none(tmp_path):
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "a.png").write_bytes(b"")
    (tmp_path / "old.tar").write_bytes(b"")
    assert containers._expanded(str(tmp_path)) == [tmp_path]
    (tmp_path / "train" / "a.png").unlink()
    assert containers._expanded(str(tmp_path)) == [tmp_path / "old.tar"]
