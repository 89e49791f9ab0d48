"""``agenticiqa audit``: what it prints, writes, refuses, and how it ends."""

from __future__ import annotations

import csv
import json
import signal
import time
from pathlib import Path

import pytest

from support.pictures import save, scene
from support.shoots import make_shoot


@pytest.fixture
def shoot(tmp_path: Path) -> Path:
    return make_shoot(tmp_path / "shoot")


def test_a_summary_for_people(command_line, shoot):
    done = command_line("audit", shoot, "--quick")
    assert done.code == 0
    assert "exact_duplicate" in done.out
    assert "corrupt                   1" in done.out
    assert max(map(len, done.out.splitlines()[1:])) <= 80
    assert sorted(path.name for path in shoot.parent.iterdir()) == sorted({"shoot", *_own(shoot)})


def _own(shoot: Path) -> set[str]:
    """What the test's own fixtures made beside the folder."""
    return {path.name for path in shoot.parent.iterdir() if path.name in ("home", "work", "config", ".config")}


def test_json_table_sheet_and_links(command_line, shoot, tmp_path):
    table, sheet, best = tmp_path / "a.csv", tmp_path / "a.html", tmp_path / "best"
    done = command_line(
        "audit", shoot, "--quick", "-o", table, "--sheet", sheet, "--link-best", best, "--json", "--fail-on", "dark"
    )
    assert done.code == 0
    summary = json.loads(done.out)
    assert (summary["pictures"], summary["keep"], summary["linked"]) == (11, 4, 4)
    with table.open(newline="") as file:
        rows = {row["path"]: row for row in csv.DictReader(file)}
    assert rows["blank.png"]["keep"] == "false"
    assert sheet.read_text(encoding="utf-8").count('id="thumbnails-0"') == 1
    assert len(list(best.iterdir())) == 4


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--fail-on", "blury"], "no finding 'blury'"),
        (["--fail-on", ","], "names no finding"),
        (["--resume"], "--output or --sheet"),
        (["--resume", "--overwrite"], "contradict"),
        (["--sheet", "a.pdf"], "name it .html"),
        (["-o", "a.xlsx"], "not written as"),
        (["-o", "a.json"], "not written as"),
        (["--thumbnails", "both"], "'embedded', 'folder'"),
        (["--link-best", "shoot/best"], "which is audited"),
        (["-o", "shoot/cat.png"], "there already"),
    ],
)
def test_what_cannot_be_is_refused_first(command_line, shoot, options, said):
    command_line.folder = shoot.parent
    done = command_line("audit", "shoot", "--quick", *options)
    assert done.code in (1, 2)
    assert said in " ".join(done.err.split())


def test_a_build_fails_on_what_was_found(command_line, shoot):
    done = command_line("audit", shoot, "--quick", "--fail-on", "blank,corrupt,dark")
    assert done.code == 3
    assert "--fail-on: corrupt 1, blank 1" in done.err


def test_progress_of_the_comparison(command_line, shoot, monkeypatch):
    monkeypatch.setattr("agenticiqa.cli.audit.GROUPING_REPORT_EVERY_S", 0.0)
    assert "0 of 4 pairs compared" in command_line("audit", shoot, "--quick").err


def test_nothing_that_opens_is_an_error(command_line, tmp_path):
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "a.jpg").write_bytes(b"no picture")
    assert command_line("audit", tmp_path / "set", "--quick").code == 1
    assert command_line("audit", tmp_path / "nowhere", "--quick").code == 1


def test_files_that_are_there_stay(command_line, shoot, tmp_path):
    table = tmp_path / "a.csv"
    table.write_text("mine")
    done = command_line("audit", shoot, "--quick", "-o", table)
    assert (done.code, table.read_text()) == (1, "mine")
    assert command_line("audit", shoot, "--quick", "-o", table, "--overwrite").code == 0
    assert table.read_text().startswith("path,")


@pytest.mark.hard
def test_a_killed_audit_continues(command_line, tmp_path):
    folder, table = tmp_path / "set", tmp_path / "a.csv"
    folder.mkdir()
    for number in range(120):
        save(folder / f"{number:03}.png", scene(120 + number, 160))
    process = command_line.start("audit", folder, "--quick", "-o", table)
    records = tmp_path / "a.csv.records"
    while process.poll() is None and not (records.exists() and records.read_bytes().count(b"\n") > 3):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not table.exists()
    left = records.read_bytes().count(b"\n")
    assert 0 < left < 120
    assert command_line("audit", folder, "--quick", "-o", table, "--resume").code == 0
    again = tmp_path / "b.csv"
    assert command_line("audit", folder, "--quick", "-o", again).code == 0
    assert table.read_text() == again.read_text()


def test_a_purpose_bounds_and_files_beside_the_pictures(command_line, shoot):
    told = json.loads(command_line("audit", shoot, "--quick", "--for", "print", "--xmp", "--json").out)
    assert (told["keep"], told["maybe"], told["reject"]) == (0, 4, 7)
    assert told["sidecars"] == 11
    assert "Yellow" in (shoot / "cat.png.xmp").read_text()
    refused = command_line("audit", shoot, "--quick", "--keep-from", "2", "--reject-below", "3")
    assert refused.code == 1
    assert "Give a lower bound for rejecting" in refused.err


@pytest.mark.hard
def test_the_quick_look_is_told_and_shown_before_scores_are_known(command_line, shoot):
    done = command_line("audit", shoot, "--sheet", "sheet.html")
    assert "At a quick look (" in done.err
    assert "sheet.html shows them already; scores follow." in done.err
    assert "Mean score" in done.out
