"""No command destroys what it reads, and none replaces a file that is there unless it was told to."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from pathlib import Path

import pytest
from benchmarks.paper.reproduce import refuse_unrelated_files

import agenticiqa
from agenticiqa.errors import ManifestError, OutputError
from agenticiqa.runtime.files import write_atomic
from support.command_line import CommandLine
from support.pictures import distorted, save, scene
from support.result_lines import scored, write

MANIFEST = "pairs.jsonl"
TABLE = "pairs.csv"
RESULTS = "results.jsonl"


@pytest.fixture
def shelf(command_line: CommandLine) -> Path:
    """A folder with one of everything that commands read."""
    folder = command_line.folder
    save(folder / "a.png", scene())
    save(folder / "b.png", distorted(scene()))
    write(folder / RESULTS, [scored("1", 3.0, 3.2), scored("2", 2.0, 2.4)])
    (folder / MANIFEST).write_text(
        json.dumps({"sample_id": "1", "image_path": "b.png", "reference_path": "a.png"}) + "\n", encoding="utf-8"
    )
    (folder / TABLE).write_text("sample_id,image_path,reference_path\n1,b.png,a.png\n", encoding="utf-8")
    # The same files under names that outputs may have.
    os.link(folder / "a.png", folder / "same-as-a.png")
    os.link(folder / "a.png", folder / "a.csv")
    os.link(folder / RESULTS, folder / "results.html")
    os.symlink("a.png", folder / "link-to-a.png")
    return folder


def contents(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir() if path.is_file()}


DESTROYING = [
    ("assess", "a.png", "--report", "a.png"),
    ("assess", "b.png", "--reference", "a.png", "--report", "a.png"),
    ("compare", "a.png", "b.png", "--map", "a.png"),
    ("compare", "a.png", "b.png", "--report", "b.png"),
    ("measure", "a.png", "--tool", "noise", "-o", "a.csv"),
    ("batch", MANIFEST, "--measure", "PSNR", "-o", MANIFEST),
    ("batch", TABLE, "--measure", "PSNR", "-o", TABLE),
    ("report", RESULTS, "-o", "results.html"),
    ("gate", RESULTS, "--min-score", "1", "--junit", RESULTS),
]


@pytest.mark.hard
@pytest.mark.parametrize("overwrite", [(), ("--overwrite",)], ids=["", "overwrite"])
@pytest.mark.parametrize("words", DESTROYING, ids=" ".join)
def test_no_output_is_an_input(
    command_line: CommandLine,
    shelf: Path,
    words: tuple[str, ...],
    overwrite: tuple[str, ...],
) -> None:
    before = contents(shelf)
    ended = command_line(*words, *overwrite)
    assert ended.code == 1, ended.out + ended.err
    assert contents(shelf) == before
    said = " ".join(ended.err.split())
    assert "also an input" in said or "also the output" in said or (not overwrite and "already" in said)


@pytest.mark.parametrize("words", [("batch", MANIFEST, "-o", MANIFEST), ("batch", TABLE, "-o", TABLE)], ids=" ".join)
def test_resuming_destroys_no_manifest_either(command_line: CommandLine, shelf: Path, words: tuple[str, ...]) -> None:
    before = contents(shelf)
    assert command_line(*words, "--measure", "PSNR", "--resume").code == 1
    assert contents(shelf) == before


REPLACING = [
    (("assess", "a.png", "--report", "there.html"), "there.html"),
    (("compare", "a.png", "b.png", "--map", "there.png"), "there.png"),
    (("compare", "a.png", "b.png", "--report", "there.html"), "there.html"),
    (("measure", "a.png", "--tool", "noise", "-o", "there.csv"), "there.csv"),
    (("measure", "b.png", "--reference", "a.png", "--tool", "SSIM", "--maps", "."), "b_SSIM.npy"),
    (("assess", "b.png", "--reference", "a.png", "--maps", "."), "b_AIQA-FR.png"),
    (("report", RESULTS), "report.html"),
    (("report", RESULTS, "-o", "there.html"), "there.html"),
    (("gate", RESULTS, "--min-score", "1", "--junit", "there.xml"), "there.xml"),
]


@pytest.mark.hard
@pytest.mark.parametrize(("words", "file"), REPLACING, ids=lambda value: value if isinstance(value, str) else value[0])
def test_a_file_that_is_there_is_replaced_only_when_told(
    command_line: CommandLine,
    shelf: Path,
    words: tuple[str, ...],
    file: str,
) -> None:
    if "--maps" in words and words[0] == "assess":
        # Which tools run is the agents' choice: a first run shows it.
        assert command_line(*words).code == 0
        (file,) = [path.name for path in shelf.glob("b_*.png")][:1]
    (shelf / file).write_text("precious", encoding="utf-8")
    refused = command_line(*words)
    assert refused.code == 1, refused.out
    assert "--overwrite" in refused.err
    assert (shelf / file).read_text(encoding="utf-8") == "precious"
    allowed = command_line(*words, "--overwrite")
    assert allowed.code == 0, allowed.err
    assert (shelf / file).read_bytes() != b"precious"


def test_two_outputs_in_one_file_are_refused(command_line: CommandLine, shelf: Path) -> None:
    ended = command_line("compare", "a.png", "b.png", "--map", "x.html", "--report", "x.html")
    assert ended.code == 2
    assert not (shelf / "x.html").exists()


def test_maps_of_pictures_with_one_name_are_all_kept(command_line: CommandLine, shelf: Path) -> None:
    for folder in ("one", "two", "three"):
        (shelf / folder).mkdir()
        save(shelf / folder / "p.png", distorted(scene(), strength=float(len(folder))))
    words = ("one/p.png", "two/p.png", "three/p.png", "-r", "a.png", "--tool", "SSIM", "--maps", "maps")
    ended = command_line("measure", *words)
    assert ended.code == 0, ended.err
    assert len(list((shelf / "maps").glob("*.npy"))) == 3


def test_python_destroys_no_manifest(shelf: Path) -> None:
    before = contents(shelf)
    for manifest in (MANIFEST, TABLE):
        for overwrite in (False, True):
            with pytest.raises(OutputError, match="also an input"):
                agenticiqa.run_batch(
                    shelf / manifest, output=shelf / manifest, tools=["PSNR"], workers=1, overwrite=overwrite
                )
    rows = [{"image_path": str(shelf / "a.png")}]
    os.link(shelf / "a.png", shelf / "new.jsonl")
    with pytest.raises(ManifestError, match="also the output"):
        agenticiqa.run_batch(rows, output=shelf / "new.jsonl", tools=["noise"], workers=1, overwrite=True)
    assert {**before, "new.jsonl": before["a.png"]} == contents(shelf)


def test_a_device_is_written_to_and_stays_a_device(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomic(pipe, b"page")
        assert os.read(reader, 100) == b"page"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_a_page_for_standard_output_goes_there(command_line: CommandLine, shelf: Path) -> None:
    # What /dev/stdout is, in a folder of ours: a machine's own must survive a test that fails.
    name = shelf / "stdout"
    os.symlink("/proc/self/fd/1", name)
    for target in ("> page.html", "| cat > page.html"):
        (shelf / "page.html").unlink(missing_ok=True)
        ended = command_line.shell(f"agenticiqa gate {RESULTS} --min-score 1 --junit stdout {target}")
        assert ended.code == 0, ended.err
        assert "<testsuite" in (shelf / "page.html").read_text(encoding="utf-8")
        assert name.is_symlink()


def test_the_papers_tables_are_written_over_earlier_ones_alone(tmp_path: Path) -> None:
    files = [tmp_path / f"ratings.{suffix}" for suffix in ("md", "json")]
    refuse_unrelated_files(files, "ratings")
    files[0].write_text("mine\n", encoding="utf-8")
    files[1].write_text('{"mine": 1}', encoding="utf-8")
    with pytest.raises(OutputError, match=r"ratings\.md"):
        refuse_unrelated_files(files, "ratings")
    files[1].write_text('{"table": "ratings"}', encoding="utf-8")
    refuse_unrelated_files(files, "ratings")
