"""``agenticiqa rate``: the same numbers as ``assess``, from every kind of source, into every kind of table."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import tarfile
import time

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from PIL import Image

import agenticiqa
from agenticiqa.batch.rating import COLUMNS
from support.pictures import distorted, save, scene

COUNT = 4


@pytest.fixture
def shots(folder):
    """Some pictures of a few sizes, one of them large enough to be looked at in windows, and one that is broken."""
    (folder / "shots").mkdir()
    for number, size in enumerate(((96, 128), (200, 150), (820, 500), (700, 1100))):
        save(folder / "shots" / f"{number}.jpg", distorted(scene(*size), 4 * number))
    (folder / "shots" / "broken.jpg").write_bytes(b"\xff\xd8\xff no picture")
    return folder / "shots"


def rows_of(file):
    return {row["id"]: row for row in pq.read_table(file).to_pylist()}


def test_scores_are_those_of_assess(run, shots, folder):
    done = run("rate", "shots", "-o", "scores.parquet", "--device", "cpu", "-w", "1")
    assert done.code == 2, done.err
    rows = rows_of(folder / "scores.parquet")
    assert list(rows) == ["0.jpg", "1.jpg", "2.jpg", "3.jpg", "broken.jpg"]
    for number in range(COUNT):
        row, told = rows[f"{number}.jpg"], agenticiqa.assess(shots / f"{number}.jpg")
        assert row["score"] == pytest.approx(told.score, abs=1e-4)
        low, high = told.summarizer_result.score_interval
        assert (row["low"], row["high"]) == (pytest.approx(low, abs=1e-3), pytest.approx(high, abs=1e-3))
        assert row["level"] == told.answer
        assert sum(row["levels"]) == pytest.approx(1, abs=1e-3)
        with Image.open(shots / f"{number}.jpg") as opened:
            assert (row["width"], row["height"]) == opened.size
    broken = rows["broken.jpg"]
    assert broken["score"] is None
    assert "broken.jpg" in broken["error"]
    assert not (folder / "scores.parquet.part").exists()


@pytest.mark.hard
def test_tables_lists_and_what_survives(run, shots, folder):
    (shots / "broken.jpg").unlink()
    done = run("rate", "shots", "-o", "s.csv", "-w", "1", "--keep", "score >= 1 and sort != 'page'", "--json")
    assert done.code == 0, done.err
    assert (done.json["ok"], done.json["kept"]) == (COUNT, COUNT)
    assert (folder / "s.csv.kept.txt").read_text().splitlines() == [str(shots / f"{n}.jpg") for n in range(COUNT)]
    assert (folder / "s.csv").read_text().splitlines()[0] == ",".join(COLUMNS)
    run("rate", "shots", "-o", "s.jsonl", "-w", "1", "--keep", "score > 5 or not level", "--kept", "none.txt")
    assert [json.loads(line)["id"] for line in (folder / "s.jsonl").open()] == [f"{n}.jpg" for n in range(COUNT)]
    assert (folder / "none.txt").read_text() == ""


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("score >", "cannot be read"),
        ("beauty > 3", "no column 'beauty'"),
        ("__import__('os').system('true')", "not understood"),
        ("score ** 99999999", "not understood"),
    ],
)
def test_conditions_that_are_refused(run, shots, folder, condition, words):
    done = run("rate", "shots", "-o", "s.csv", "--keep", condition)
    assert done.code == 1
    assert words in done.err
    assert not (folder / "s.csv").exists()


@pytest.mark.parametrize("condition", ["score > 'high'", "score >= 1 or flaws > 3"])
def test_a_condition_that_compares_apples_and_pears(run, shots, folder, condition):
    """Also where it would not be reached: before anything is rated."""
    done = run("rate", "shots", "-o", "s.csv", "-w", "1", "--keep", condition)
    assert done.code == 1
    assert "cannot be compared" in done.err
    assert not (folder / "s.csv.part").exists()


@pytest.mark.hard
def test_a_column_called_rating_is_no_rating(run, shots, folder):
    (folder / "list.jsonl").write_text(
        json.dumps({"image_path": "nope.jpg", "rating": {"score": 5, "level": "A"}})
        + "\n"
        + json.dumps({"image_path": "shots/0.jpg", "rating": "good"})
        + "\n"
    )
    assert run("rate", "list.jsonl", "-o", "s.parquet", "-w", "1").code == 2
    missing, rated = rows_of(folder / "s.parquet").values()
    assert (missing["score"], missing["level"]) == (None, None)
    assert 1 <= rated["score"] <= 5


@pytest.mark.hard
def test_what_is_finished_is_not_resumed(run, shots, folder):
    (shots / "broken.jpg").unlink()
    assert run("rate", "shots", "-o", "s.csv", "-w", "1").code == 0
    before = (folder / "s.csv").read_bytes()
    done = run("rate", "shots", "-o", "s.csv", "-w", "1", "--resume")
    assert done.code == 1
    assert "is finished" in done.err
    assert (folder / "s.csv").read_bytes() == before


@pytest.mark.parametrize("kept", ["shots/0.jpg", "s.csv.part", "s.csv"])
def test_survivors_are_written_over_no_picture_and_no_other_output(run, shots, folder, kept):
    before = (shots / "0.jpg").read_bytes()
    done = run("rate", "shots", "-o", "s.csv", "-w", "1", "--keep", "score > 0", "--kept", kept, "--overwrite")
    assert done.code in (1, 2)
    assert not (folder / "s.csv").exists()
    assert (shots / "0.jpg").read_bytes() == before


@pytest.mark.hard
def test_shards_tables_and_datasets(run, shots, folder):
    """Pictures inside other files have the scores that they have by themselves."""
    files = [shots / f"{number}.jpg" for number in range(COUNT)]
    with tarfile.open(folder / "shard-0.tar", "w") as shard:
        for file in files:
            about = tarfile.TarInfo(f"{file.stem}.jpg")
            about.size = file.stat().st_size
            shard.addfile(about, io.BytesIO(file.read_bytes()))
            shard.addfile(tarfile.TarInfo(f"{file.stem}.json"))
    data = [file.read_bytes() for file in files]
    pq.write_table(pa.table({"label": range(COUNT), "image": [{"bytes": each, "path": None} for each in data]}),
                   folder / "bytes.parquet", row_group_size=3)  # fmt: skip
    pq.write_table(pa.table({"path": [str(file) for file in files]}), folder / "paths.parquet")
    (folder / "dataset").mkdir()
    table = pa.table({"image": [{"bytes": each, "path": None} for each in data]})
    with pa.ipc.new_stream(folder / "dataset" / "data-00000-of-00001.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    (folder / "dataset" / "state.json").write_text('{"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}')
    (folder / "dataset" / "dataset_info.json").write_text("{}")
    (shots / "broken.jpg").unlink()
    run("rate", "shots", "-o", "plain.parquet", "-w", "1")
    wanted = [row["score"] for row in rows_of(folder / "plain.parquet").values()]
    for source in ("shard-0.tar", "bytes.parquet", "paths.parquet", "dataset"):
        done = run("rate", source, "-o", "inside.parquet", "-w", "1", "--overwrite")
        assert done.code == 0, (source, done.err)
        assert [row["score"] for row in rows_of(folder / "inside.parquet").values()] == wanted, source


@pytest.mark.hard
def test_shards_of_one_name_patterns_and_odd_names(run, shots, folder):
    data = (shots / "0.jpg").read_bytes()
    for place in ("x", "y"):
        (folder / place).mkdir()
        with tarfile.open(folder / place / "s.tar", "w", encoding="latin-1") as shard:
            for name in ("a b?&#%.jpg", "\xe9.jpg", "\xe9.jpg"):
                about = tarfile.TarInfo(name)
                about.size = len(data)
                shard.addfile(about, io.BytesIO(data))
    done = run("rate", "*/s.tar", "-o", "s.parquet", "-w", "1")
    assert done.code == 0, done.err
    assert len(rows_of(folder / "s.parquet")) == 6


@pytest.mark.hard
def test_tables_that_lead_elsewhere(run, shots, folder):
    """Relative paths start at the table; a path in the place of bytes is not followed; a row may have none."""
    (folder / "sub").mkdir()
    pq.write_table(pa.table({"path": ["../shots/0.jpg", None]}), folder / "sub" / "rel.parquet")
    assert run("rate", "sub/rel.parquet", "-o", "s.parquet", "-w", "1").code == 2
    found, missing = rows_of(folder / "s.parquet").values()
    assert found["score"]
    assert "no bytes" in missing["error"]
    rows = [{"bytes": None, "path": str(shots / "0.jpg")}, {"bytes": (shots / "1.jpg").read_bytes(), "path": None}]
    pq.write_table(pa.table({"md5": [b"x", b"y"], "image": rows}), folder / "hf.parquet")
    assert run("rate", "hf.parquet", "-o", "t.parquet", "-w", "1").code == 2
    elsewhere, inside = rows_of(folder / "t.parquet").values()
    assert "no bytes" in elsewhere["error"]
    assert inside["score"]


@pytest.mark.parametrize(
    ("state", "words"), [('{"_data_files": [{"filename": "../s.arrow"}]}', "elsewhere"), ("{", "state.json")]
)
def test_datasets_that_are_none(run, folder, state, words):
    (folder / "d").mkdir()
    (folder / "d" / "dataset_info.json").write_text("{}")
    (folder / "d" / "state.json").write_text(state)
    done = run("rate", "d", "-o", "s.csv")
    assert done.code == 1
    assert words in done.err


@pytest.mark.parametrize("name", ["cut.tar", "no.parquet", "packed.tar.gz"])
def test_containers_that_are_none(run, folder, name):
    (folder / name).write_bytes(b"not what its name says" * 40)
    done = run("rate", name, "-o", "s.csv")
    assert done.code == 1
    assert name in done.err


def test_an_output_that_is_there_and_one_of_no_known_kind(run, shots, folder):
    (folder / "s.csv").write_text("mine")
    assert "--overwrite" in run("rate", "shots", "-o", "s.csv").err
    assert (folder / "s.csv").read_text() == "mine"
    assert ".parquet, .csv or .jsonl" in run("rate", "shots", "-o", "s.xlsx").err


@pytest.mark.hard
def test_no_gpu_is_told_and_one_that_is_asked_for_is_missed(run, shots, monkeypatch):
    monkeypatch.setattr("agenticiqa.vision.accelerator._why_no_gpu", lambda: "there is none")
    done = run("rate", "shots", "-o", "s.csv", "-w", "1")
    assert "there is none" in done.err
    done = run("rate", "shots", "-o", "t.csv", "--device", "cuda")
    assert done.code == 1
    assert "No GPU can be used: there is none" in done.err


@pytest.mark.hard
def test_killed_and_resumed_each_picture_once(shots, folder):
    """SIGKILL in the middle: what was rated stays rated, and nothing is there twice."""
    for number in range(COUNT, 40):
        save(shots / f"{number}.jpg", distorted(scene(160, 200), number))
    command = [sys.executable, "-m", "agenticiqa", "rate", "shots", "-o", "s.parquet", "-w", "1", "--device", "cpu"]
    lines = folder / "s.parquet.part"
    running = subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL)
    while not lines.exists() or lines.read_bytes().count(b"\n") < 3:
        assert running.poll() is None
        time.sleep(0.02)
    running.send_signal(signal.SIGKILL)
    running.wait()
    kept = lines.read_bytes().splitlines()[:3]
    assert not (folder / "s.parquet").exists()
    assert subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 1, (
        "holds results already"
    )
    done = subprocess.run([*command, "--resume"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    rows = rows_of(folder / "s.parquet")
    assert len(rows) == len(pq.read_table(folder / "s.parquet")) == 41
    assert all(json.loads(line)["sample_id"] in rows for line in kept)


@pytest.mark.hard
def test_links_inside_a_shard(run, shots, folder):
    """A hard link is the picture that it names; one that leads nowhere in the file, and a symbolic one, are counted."""
    data = (shots / "0.jpg").read_bytes()
    with tarfile.open(folder / "s.tar", "w") as shard:
        for name, kind, target in (
            ("a.jpg", tarfile.REGTYPE, ""),
            ("b.jpg", tarfile.LNKTYPE, "a.jpg"),
            ("c.jpg", tarfile.LNKTYPE, "elsewhere.jpg"),
            ("d.jpg", tarfile.SYMTYPE, "a.jpg"),
        ):
            about = tarfile.TarInfo(name)
            about.type, about.linkname, about.size = kind, target, 0 if target else len(data)
            shard.addfile(about, None if target else io.BytesIO(data))
    done = run("rate", "s.tar", "-o", "s.parquet", "-w", "1", "--json")
    assert done.code == 0, done.err
    first, linked = rows_of(folder / "s.parquet").values()
    assert (linked["id"], linked["score"], linked["sha256"]) == ("s.tar/b.jpg", first["score"], first["sha256"])
    (skipped,) = done.json["skipped"]
    assert (skipped["count"], skipped["files"]) == (2, ["s.tar/c.jpg", "s.tar/d.jpg"])
    assert "link" in skipped["reason"]


@pytest.mark.hard
def test_folders_of_shards_and_of_tables(run, shots, folder):
    data = (shots / "0.jpg").read_bytes()
    for place in ("tars", "tables"):
        (folder / place).mkdir()
        (folder / place / "README.md").write_text("about")
    for number in range(2):
        pq.write_table(pa.table({"image": [data]}), folder / "tables" / f"{number}.parquet")
        with tarfile.open(folder / "tars" / f"{number}.tar", "w") as shard:
            shard.add(shots / "0.jpg", "x.jpg")
    for place, names in (("tars", ["0.tar/x.jpg", "1.tar/x.jpg"]), ("tables", ["0.parquet/0", "1.parquet/0"])):
        assert run("rate", place, "-o", f"{place}.parquet", "-w", "1").code == 0
        assert list(rows_of(folder / f"{place}.parquet")) == names
    done = run("rate", "tables", "-o", "tables/1.parquet", "-w", "1", "--overwrite")
    assert done.code == 1
    assert "read and written" in done.err
    assert pq.read_table(folder / "tables" / "1.parquet").column_names == ["image"]
    save(folder / "tars" / "picture.png", scene(64, 64))
    assert run("rate", "tars", "-o", "pictures.parquet", "-w", "1").code == 0
    assert list(rows_of(folder / "pictures.parquet")) == ["picture.png"]
