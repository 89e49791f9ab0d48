"""``agenticiqa compare`` as a user runs it."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

PICTURES = Path(__file__).resolve().parents[2] / "examples" / "pictures"
GOOD, BAD = str(PICTURES / "dandelion.jpg"), str(PICTURES / "dandelion_compressed.jpg")


def test_it_says_which_is_better_and_why(run):
    finished = run("compare", BAD, GOOD)
    assert finished.code == 0
    assert "B is better" in finished.out
    assert "Compression damage" in finished.out


@pytest.mark.hard
def test_json_quiet_and_expect(run):
    assert run("compare", GOOD, BAD, "--json").json["winner"] == "A"
    assert run("compare", GOOD, BAD, "--quiet").out.strip() == "A"
    assert run("compare", GOOD, BAD, "--quiet", "--expect", "a").code == 0
    assert run("compare", GOOD, BAD, "--quiet", "--expect", "B").code == 3
    assert run("compare", GOOD, BAD, "--expect", "C").code == 2


@pytest.mark.hard
def test_files_are_written(run, folder):
    finished = run("compare", GOOD, BAD, "--reference", GOOD, "--map", "where.png", "--report", "page.html")
    assert finished.code == 0
    assert (folder / "where.png").stat().st_size > 1000
    assert "A is better" in (folder / "page.html").read_text(encoding="utf-8")


def test_a_missing_picture_is_an_error(run):
    finished = run("compare", GOOD, "nowhere.png")
    assert finished.code == 1
    assert "nowhere.png" in finished.err
    assert "better" not in finished.out


@pytest.mark.hard
def test_a_map_that_cannot_be_made_is_said_also_quietly(run, folder):
    with Image.open(GOOD) as file:
        file.resize((320, 224)).save(folder / "small.png")
    finished = run("compare", GOOD, "small.png", "--quiet", "--map", "where.png")
    assert finished.code == 0
    assert finished.out.strip() in ("A", "B", "tie")
    assert "where.png was not written" in finished.err
    assert not (folder / "where.png").exists()
