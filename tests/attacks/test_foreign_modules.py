"""Python files of the folder that one merely works in are not run by anything we start."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agenticiqa.batch.engines.processes import refuse_foreign_modules
from agenticiqa.errors import ConfigError
from support.command_line import CommandLine
from support.pictures import distorted, save, scene

pytestmark = pytest.mark.hard


def test_a_module_in_the_working_folder_is_not_run_by_worker_processes(command_line: CommandLine) -> None:
    """A new interpreter looks for its first modules where it is started: a download may bring such files."""
    folder = command_line.folder
    for name in ("multiprocessing", "runpy", "numpy", "json"):
        (folder / f"{name}.py").write_text(f"open({str(folder / 'owned')!r}, 'w').close()\n", encoding="utf-8")
    save(folder / "a.png", distorted(scene()))
    done = command_line.shell("agenticiqa batch a.png -o r.jsonl -w 2 --measure noise")
    assert not (folder / "owned").exists()
    if sys.version_info >= (3, 11):
        assert done.code == 0, done.err
    else:
        assert "would run it" in done.err


def test_where_python_cannot_be_told_such_a_folder_is_refused(tmp_path: Path) -> None:
    save(tmp_path / "json.png", scene())
    (tmp_path / "mine.py").touch()
    refuse_foreign_modules(tmp_path)
    (tmp_path / "json").mkdir()
    with pytest.raises(ConfigError, match="json"):
        refuse_foreign_modules(tmp_path)
