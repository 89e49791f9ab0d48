"""What is missing, empty or listed twice is named; manifests are whole or not there."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import layouts
from benchmarks.datasets.catalogue import find
from benchmarks.datasets.checking import check_folder, write_manifest
from benchmarks.datasets.folder import DatasetError, DatasetFolder

KADID = find("kadid")


@pytest.fixture
def kadid(tmp_path):
    layouts.kadid10k(tmp_path / "kadid")
    return tmp_path / "kadid"


def test_missing_and_empty_pictures_are_named(kadid):
    (kadid / "images/I01_01_01.png").unlink()
    (kadid / "images/I01_25_05.png").write_bytes(b"")
    check = check_folder(KADID, kadid)
    assert check.missing == ["images/I01_01_01.png"]
    assert check.empty == ["images/I01_25_05.png"]
    assert (check.listed, check.present, check.complete) == (2, 0, False)


def test_a_missing_reference_is_named_once(kadid):
    (kadid / "images/I01.png").unlink()
    assert check_folder(KADID, kadid).missing == ["images/I01.png"]


def test_pictures_renamed_in_case_are_used(kadid):
    (kadid / "images/I01_01_01.png").rename(kadid / "images/i01_01_01.PNG")
    check = check_folder(KADID, kadid)
    assert check.missing == []
    assert check.present == 2


def test_doubles_in_the_list_are_named(kadid):
    with (kadid / "dmos.csv").open("a") as stream:
        stream.write("I01_01_01.png,I01.png,4.57,0.5\n")
    check = check_folder(KADID, kadid)
    assert check.duplicates == ["images/I01_01_01.png is listed more than once"]
    assert not check.complete


def test_a_folder_one_level_too_high_is_pointed_at(kadid):
    with pytest.raises(DatasetError) as failure:
        check_folder(KADID, kadid.parent)
    assert str(kadid) in failure.value.message


def test_no_folder_at_all(tmp_path):
    with pytest.raises(DatasetError):
        DatasetFolder(tmp_path / "nowhere", "T", "get it")


def test_unknown_names_list_the_known_ones(kadid):
    with pytest.raises(DatasetError) as failure:
        find("imagenet")
    assert "tid2013" in failure.value.hint
    with pytest.raises(DatasetError, match="dev"):
        check_folder(KADID, kadid, "dev")


def test_the_manifest_holds_every_sample(kadid, tmp_path):
    output = tmp_path / "m.jsonl"
    write_manifest(KADID, kadid, output)
    first, second = map(json.loads, output.read_text().splitlines())
    assert first["sample_id"] == "kadid10k/I01_01_01"
    assert (first["mos"], first["mos_original"], first["distortion"], first["level"]) == (
        4.57,
        4.57,
        "gaussian_blur",
        1,
    )
    assert Path(first["image_path"]).is_absolute()
    assert second["task_type"] == "scoring"


def test_a_manifest_with_gaps_must_be_asked_for(kadid, tmp_path):
    (kadid / "images/I01_25_05.png").unlink()
    output = tmp_path / "m.jsonl"
    output.write_text("old")
    with pytest.raises(DatasetError, match="lacks 1 pictures"):
        write_manifest(KADID, kadid, output)
    assert output.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    check = write_manifest(KADID, kadid, output, partial=True)
    assert len(output.read_text().splitlines()) == check.present == 1


def test_no_picture_at_all_is_never_a_manifest(kadid, tmp_path):
    for picture in (kadid / "images").iterdir():
        picture.unlink()
    with pytest.raises(DatasetError, match="0 pictures"):
        write_manifest(KADID, kadid, tmp_path / "m.jsonl", partial=True)


def test_a_draw_is_the_same_every_time_and_in_order(tmp_path):
    layouts.live(tmp_path / "live")
    drawn = []
    for output in (tmp_path / "a.jsonl", tmp_path / "b.jsonl"):
        write_manifest(find("live"), tmp_path / "live", output, max_samples=50)
        drawn.append([json.loads(line)["mos"] for line in output.read_text().splitlines()])
    assert drawn[0] == drawn[1] == sorted(drawn[0], reverse=True)
    assert len(drawn[0]) == 50
    assert drawn[0][0] - drawn[0][-1] > 50


def test_only_the_named_samples_count(kadid, tmp_path):
    output = tmp_path / "m.jsonl"
    for name in ("I01_25_05.png", "kadid10k/I01_25_05"):
        write_manifest(KADID, kadid, output, only={name})
        assert [json.loads(line)["sample_id"] for line in output.read_text().splitlines()] == ["kadid10k/I01_25_05"]
    with pytest.raises(DatasetError, match="None of the 1 names to keep"):
        write_manifest(KADID, kadid, output, only={"elsewhere.png"})


def test_progress_is_reported(kadid, tmp_path):
    seen: list[int] = []
    write_manifest(KADID, kadid, tmp_path / "m.jsonl", on_sample=seen.append)
    assert seen == [1, 2]
