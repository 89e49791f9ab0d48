"""Output that cannot be delivered and a home without room: each says so, with an exit code of its own."""

from __future__ import annotations

import json
import resource
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agenticiqa import AgenticIQA
from agenticiqa.runtime.runs import RunStore
from support.batches import make_pictures
from support.command_line import CommandLine
from support.pictures import distorted, save, scene

pytestmark = pytest.mark.hard

DEFECT = "defect of AgenticIQA"
CLOSED, UNWRITABLE, HOME_FULL = 141, 74, 73


@pytest.fixture
def many(command_line: CommandLine) -> str:
    make_pictures(command_line.folder / "many", 20)
    return "many"


# What /dev/stdout is, in a folder of ours: a machine's own must survive a test that fails.
LINK = "ln -s /proc/self/fd/1 stdout; "


@pytest.mark.parametrize("output", ["-", "stdout"])
def test_a_batch_whose_reader_leaves_ends_at_once(command_line: CommandLine, many: str, output: str) -> None:
    ended = command_line.shell(
        f"{LINK} agenticiqa batch {many} --measure noise --no-cache -o {output} | head -1; exit ${{PIPESTATUS[0]}}"
    )
    assert ended.code == CLOSED, ended.err
    assert json.loads(ended.out)["status"] == "ok"
    assert "Standard output was closed by its reader" in ended.err
    assert DEFECT not in ended.err


def test_a_batch_goes_to_whatever_standard_output_is(command_line: CommandLine, many: str) -> None:
    ended = command_line.shell(f"{LINK} agenticiqa batch {many} --measure noise --no-cache -o stdout > results.jsonl")
    assert ended.code == 0, ended.err
    lines = (command_line.folder / "results.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 40
    assert {json.loads(line)["status"] for line in lines} == {"ok"}


def test_a_batch_into_a_pipe_that_is_left(command_line: CommandLine, many: str) -> None:
    ended = command_line.shell(
        f"mkfifo p; agenticiqa batch {many} --measure noise --no-cache -o p & head -1 p > first; wait $!"
    )
    assert ended.code == CLOSED, ended.err
    assert "'p'" in ended.err


COMMANDS = ["--help", "--version", "tools list", "tools list --json", "measure p.png --json", "assess p.png --quiet"]


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize(("where", "code"), [("> /dev/full", UNWRITABLE), (">&-", CLOSED)], ids=["full", "closed"])
def test_standard_output_that_takes_nothing(command_line: CommandLine, words: str, where: str, code: int) -> None:
    save(command_line.folder / "p.png", distorted(scene()))
    ended = command_line.shell(f"agenticiqa {words} {where}")
    assert ended.code == code, ended.err
    assert "standard output" in ended.err.lower()
    assert DEFECT not in ended.err
    assert "Exception ignored" not in ended.err


@pytest.mark.parametrize("where", ["2>/dev/full", "2>&-"])
def test_messages_that_reach_nobody_cost_no_answer(command_line: CommandLine, where: str) -> None:
    save(command_line.folder / "p.png", distorted(scene()))
    ended = command_line.shell(f"agenticiqa assess p.png --json {where}")
    assert ended.code == 0
    assert json.loads(ended.out)["status"] == "ok"


def test_closed_streams_let_no_file_take_their_place(command_line: CommandLine) -> None:
    """The first file opened would get the number of the closed stream, and what is printed would be written there."""
    save(command_line.folder / "p.png", distorted(scene()))
    ended = command_line.shell("agenticiqa assess p.png <&- >&- 2>&-")
    assert ended.code == CLOSED
    home = Path(command_line.environment["AGENTICIQA_HOME"])
    assert RunStore(home / "runs.sqlite").latest()[0].status == "ok"
    for line in (home / "log.jsonl").read_text(encoding="utf-8").splitlines():
        json.loads(line)


def test_standard_input_that_is_closed(command_line: CommandLine) -> None:
    for words in ("assess -", "measure -", "batch - -o out.jsonl"):
        assert command_line.shell(f"agenticiqa {words} <&-").code == 1


def _little_room() -> None:
    """What a full disk is to a program, without filling one: no file may grow beyond this."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))


def test_a_home_without_room_costs_the_record_and_not_the_answer(command_line: CommandLine) -> None:
    save(command_line.folder / "p.png", distorted(scene()))
    running = command_line.start("assess", "p.png", "--json", preexec_fn=_little_room)
    out, err = running.communicate(timeout=120)
    assert json.loads(out)["status"] == "ok"
    assert running.returncode == HOME_FULL, err
    assert "no room" in err
    assert "AGENTICIQA_HOME" in err
    assert DEFECT not in err
    assert "Traceback" not in err


def test_a_full_disk_is_told_in_python(isolated: Path, pair: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite's own way to be full, from some moment on: the answer stays, the trouble can be asked for."""
    # Imported first: it must keep the real way to open a database.
    import agenticiqa.api.run_result  # noqa: F401
    from agenticiqa.errors import HomeFullError
    from agenticiqa.runtime import runs

    open_database = runs.open_database

    def nearly_full(file: Path, **options: bool):
        connection = open_database(file, **options)
        connection.execute("PRAGMA max_page_count=1")
        return connection

    with AgenticIQA("embedded") as iqa:
        monkeypatch.setattr(runs, "open_database", nearly_full)
        result = iqa.assess(pair.test, "Rate it. " * 400)
    assert result.status in ("ok", "partial")
    assert isinstance(iqa.home_full, HomeFullError)


def test_the_record_of_a_full_disk_cannot_be_listed(command_line: CommandLine) -> None:
    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    running = command_line.start("runs", "list", preexec_fn=no_room, stdout=subprocess.PIPE)
    _, err = running.communicate(timeout=120)
    assert running.returncode == HOME_FULL, err
    assert DEFECT not in err
