"""`python -m benchmarks.datasets`: what it lists, checks and writes."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from PIL import Image

from support.command_line import CommandLine


@pytest.fixture
def run(command_line: CommandLine) -> CommandLine:
    return replace(command_line, module="benchmarks.datasets")


@pytest.fixture
def kadid(run):
    home = run.folder / "kadid10k"
    (home / "images").mkdir(parents=True)
    (home / "dmos.csv").write_text(
        "dist_img,ref_img,dmos,var\nI01_01_01.png,I01.png,4.57,0.5\nI01_10_05.png,I01.png,1.3,0.4\n"
    )
    for name in ("I01.png", "I01_01_01.png", "I01_10_05.png"):
        Image.new("RGB", (8, 8)).save(home / "images" / name)
    return home


def test_list_names_all(run):
    assert {entry["name"] for entry in json.loads(run("list", "--json").out)} >= {"tid2013", "cidiq", "llvisionqa"}
    assert "KonIQ-10k" in run("list").out


def test_info_tells_layout_and_source(run):
    shown = run("info", "TID2013")
    assert shown.code == 0
    assert "mos_with_names.txt" in shown.out
    assert json.loads(run("info", "tid2013", "--json").out)["counts"] == {"all": 3000}


def test_an_unknown_dataset(run):
    done = run("info", "nothing")
    assert (done.code, "Known: tid2013" in done.err) == (1, True)


def test_check_counts_and_names(run, kadid):
    (kadid / "images/I01_10_05.png").unlink()
    done = run("check", "kadid10k", str(kadid))
    assert done.code == 1
    assert "official: 10125" in done.out
    assert "Missing: images/I01_10_05.png" in done.out


def test_manifest_is_written(run, kadid):
    folder = run.folder
    done = run("manifest", "kadid10k", str(kadid), "-o", "m.jsonl")
    assert done.code == 0
    rows = [json.loads(line) for line in (folder / "m.jsonl").read_text().splitlines()]
    assert [row["distortion"] for row in rows] == ["gaussian_blur", "jpeg"]
    assert "2 samples written" in done.out
    drawn = json.loads(run("manifest", "kadid10k", str(kadid), "-o", "one.jsonl", "--max-samples", "1", "--json").out)
    assert (drawn["present"], drawn["written"]) == (2, 1)


def test_manifest_of_a_gap_is_refused(run, kadid):
    folder = run.folder
    (kadid / "images/I01_10_05.png").unlink()
    done = run("manifest", "kadid10k", str(kadid), "-o", "m.jsonl")
    assert (done.code, (folder / "m.jsonl").exists()) == (1, False)
    assert "--partial" in done.err
    assert (
        json.loads(run("manifest", "kadid10k", str(kadid), "-o", "m.jsonl", "--partial", "--json").out)["present"] == 1
    )


def test_the_list_can_be_read_at_eighty_columns(run, monkeypatch: pytest.MonkeyPatch):
    # Rich keeps the environment that it was imported in.
    monkeypatch.setattr("rich.console.Console._environ", {"COLUMNS": "80"})
    listed = run("list").out
    assert {"agenticiqa-eval", "koniq10k", "10,073", "questions"} <= set(listed.split())
    assert max(map(len, listed.splitlines())) <= 80
    assert "…" not in listed, "broken over lines, not cut"
