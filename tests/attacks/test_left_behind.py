"""What killed processes leave among the temporary files is cleared by the next that starts, and nothing else is."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.batches import make_manifest
from support.command_line import CommandLine

pytestmark = pytest.mark.hard


@pytest.fixture
def temporary(command_line: CommandLine, tmp_path: Path) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    command_line.environment["TMPDIR"] = str(folder)
    return folder


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if "agenticiqa" in path.name}


def wait_until(condition, process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)


def started_mcp(command_line: CommandLine, temporary: Path) -> subprocess.Popen[str]:
    before = names(temporary)
    running = command_line.start("mcp", stdin=subprocess.PIPE)
    wait_until(lambda: {each for each in names(temporary) - before if "-mcp-" in each}, running)
    return running


@pytest.fixture
def running(command_line: CommandLine, temporary: Path) -> Iterator[subprocess.Popen[str]]:
    process = started_mcp(command_line, temporary)
    yield process
    process.kill()
    process.communicate()


def test_the_next_server_clears_what_a_killed_one_left(
    command_line: CommandLine, temporary: Path, running: subprocess.Popen[str]
) -> None:
    killed = started_mcp(command_line, temporary)
    (left,) = {each for each in names(temporary) if killed.poll() is None} - names_of(running, temporary)
    killed.kill()
    killed.communicate()
    assert left in names(temporary)
    third = started_mcp(command_line, temporary)
    assert left not in names(temporary), "its owner is gone"
    assert names_of(running, temporary) <= names(temporary), "its owner still runs"
    third.stdin.close()
    third.wait(60)
    assert len(names(temporary)) == 1, "one that ends clears its own"


def names_of(running: subprocess.Popen[str], temporary: Path) -> set[str]:
    """Folders in which the process holds a file open."""
    links = Path(f"/proc/{running.pid}/fd")
    held = {os.readlink(link) for link in links.iterdir()}
    return {each for each in names(temporary) if any(f"/{each}/" in path for path in held)}


def test_a_batch_that_is_killed_with_its_workers_leaves_nothing_for_long(
    command_line: CommandLine, temporary: Path
) -> None:
    manifest = make_manifest(command_line.folder / "set", 400)
    words = ("batch", str(manifest), "--measure", "PSNR,SSIM", "-w", "2", "--no-cache")
    running = command_line.start(*words, "-o", "r.jsonl", start_new_session=True)
    wait_until(lambda: (command_line.folder / "r.jsonl").exists() and len(names(temporary)) >= 2, running)
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate()
    with manifest.open("rb") as rows:
        again = command_line.start(
            "batch", "-", "--measure", "PSNR", "--sample-range", ":2", "-w", "1", "-o", "s.jsonl", stdin=rows
        )
        out, err = again.communicate(timeout=120)
    assert again.returncode in (0, 1, 2), out + err
    assert names(temporary) == set()


def test_only_folders_of_this_user_with_a_dead_owner_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from agenticiqa.runtime.files import ScratchFolder, clear_abandoned

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "agenticiqa-old-version").mkdir()
    (tmp_path / "agenticiqa-a-file").write_text("mine", encoding="utf-8")
    elsewhere = tmp_path / "precious"
    elsewhere.mkdir()
    (elsewhere / ".owner").touch()
    os.symlink(elsewhere, tmp_path / "agenticiqa-link")
    (tmp_path / "agenticiqa-dead").mkdir()
    (tmp_path / "agenticiqa-dead" / ".owner").touch()
    with ScratchFolder("test") as held:
        code = "from agenticiqa.runtime.files import clear_abandoned; clear_abandoned()"
        environment = {**os.environ, "TMPDIR": str(tmp_path)}
        subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=60)
        clear_abandoned()
        assert held.is_dir(), "neither another process nor this one takes what is in use"
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"agenticiqa-old-version", "agenticiqa-a-file", "agenticiqa-link", "precious"}
    assert (elsewhere / ".owner").exists()


def test_a_cleaner_that_is_killed_leaves_nothing_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from agenticiqa.runtime import files

    class Killed(BaseException):
        pass

    def killed(folder: Path, **_: object) -> None:
        (folder / ".owner").unlink()  # with more in the folder to go
        raise Killed

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "agenticiqa-dead").mkdir()
    for name in (".owner", "picture"):
        (tmp_path / "agenticiqa-dead" / name).touch()
    with monkeypatch.context() as during:
        during.setattr(files.shutil, "rmtree", killed)
        with pytest.raises(Killed):
            files.clear_abandoned()
    monkeypatch.setattr(files, "UNFINISHED_S", -1.0)
    files.clear_abandoned()
    assert list(tmp_path.iterdir()) == []


def test_results_in_memory_go_with_their_folder(command_line: CommandLine, temporary: Path) -> None:
    """A program that keeps results, and is killed; another that ends as it should."""
    manifest = make_manifest(command_line.folder / "set", 2)
    program = (
        "import agenticiqa, sys, time\n"
        f"found = agenticiqa.run_batch({str(manifest)!r}, tools=['PSNR'], workers=1)\n"
        "print(len(list(found)), flush=True)\n"
        "time.sleep(float(sys.argv[1]))\n"
    )
    arguments = [sys.executable, "-c", program]
    killed = subprocess.Popen([*arguments, "60"], env=command_line.environment, stdout=subprocess.PIPE, text=True)
    assert killed.stdout is not None
    assert json.loads(killed.stdout.readline()) == 2
    killed.kill()
    killed.communicate()
    assert len(names(temporary)) == 1
    subprocess.run([*arguments, "0"], env=command_line.environment, check=True, capture_output=True, timeout=120)
    assert names(temporary) == set()
