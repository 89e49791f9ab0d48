"""What a run leaves in its home is for its owner alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from agenticiqa import AgenticIQA
from agenticiqa.runtime.config import load_settings

PICTURE = Path(__file__).resolve().parents[2] / "examples" / "pictures" / "dandelion.jpg"


@pytest.mark.parametrize("made_before", [False, True])
def test_a_home_is_private(isolated: Path, made_before: bool) -> None:
    """Also files that an earlier version made readable for all."""
    if made_before:
        isolated.mkdir()
        for name in ("runs.sqlite", "log.jsonl"):
            (isolated / name).touch(mode=0o644)
    before = os.umask(0o022)
    try:
        with AgenticIQA("embedded") as assessor:
            assert assessor.assess(PICTURE).status == "ok"
            open_files = {path.name: stat.S_IMODE(path.stat().st_mode) for path in isolated.glob("*") if path.is_file()}
    finally:
        os.umask(before)
    assert {"runs.sqlite", "runs.checkpoints.sqlite", "log.jsonl"} <= set(open_files)
    assert {name: oct(mode) for name, mode in open_files.items() if mode & 0o077} == {}
    assert stat.S_IMODE(isolated.stat().st_mode) == 0o700
    assert stat.S_IMODE((isolated / "cache").stat().st_mode) == 0o700


def test_a_folder_of_other_things_is_not_closed(isolated: Path) -> None:
    (isolated / "photographs").mkdir(parents=True)
    isolated.chmod(0o755)
    assert load_settings().home == isolated
    assert stat.S_IMODE(isolated.stat().st_mode) == 0o755
