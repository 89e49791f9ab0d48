"""What is left in a new home: the files that docs/running/configuration.md lists, and all private."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from support.command_line import COMMAND, clean_environment

pytestmark = pytest.mark.hard

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTED = ROOT / "docs" / "running" / "configuration.md"


@pytest.fixture
def newcomer(tmp_path: Path) -> dict[str, str]:
    """An account in which nothing ever ran."""
    (tmp_path / "account").mkdir(mode=0o755)
    (tmp_path / "tmp").mkdir()
    environment = clean_environment(tmp_path / "unused")
    for name in ("AGENTICIQA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        environment.pop(name, None)
    return {**environment, "HOME": str(tmp_path / "account"), "TMPDIR": str(tmp_path / "tmp")}


def documented() -> set[str]:
    """The files that the documentation lists for a home after a first question."""
    table = DOCUMENTED.read_text(encoding="utf-8").split("| in the home | what |")[1].split("\n\n")[0]
    first_columns = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    return {name for column in first_columns for name in re.findall(r"`([^`]+)`", column)}


def left_in(account: Path) -> set[str]:
    """Files of the account by their paths in the home, after checking that nothing else is there or open to others."""
    home = account / ".local" / "share" / "agenticiqa"
    on_the_way = (home.parent, home.parent.parent)
    made = [path for path in account.rglob("*") if path not in on_the_way]
    assert [path for path in made if path != home and home not in path.parents] == [], "outside the home"
    for path in made:
        mode = stat.S_IMODE(path.lstat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), f"{path}: {mode:o}"
    return {str(path.relative_to(home)) for path in made if not path.is_dir()}


def run(words: list[str], environment: dict[str, str], folder: Path) -> None:
    before = os.umask(0o022)
    try:
        done = subprocess.run(
            words, env=environment, cwd=folder, capture_output=True, text=True, timeout=300, check=False
        )
    finally:
        os.umask(before)
    assert done.returncode == 0, done.stderr


def test_the_demonstration_leaves_exactly_what_is_documented(newcomer: dict[str, str], tmp_path: Path) -> None:
    recipe = subprocess.run(
        ["make", "--no-print-directory", "-n", "demo"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert recipe.strip().endswith("python examples/demo.py")
    run([sys.executable, str(ROOT / "examples" / "demo.py")], newcomer, tmp_path)
    assert left_in(Path(newcomer["HOME"])) == documented()
    assert list((tmp_path / "tmp").iterdir()) == []
    assert [path.name for path in (tmp_path / "demo-output").iterdir()] == ["report.html"]


def test_a_first_assessment_leaves_exactly_what_is_documented(newcomer: dict[str, str], tmp_path: Path) -> None:
    picture = ROOT / "examples" / "pictures" / "dandelion_compressed.jpg"
    run([COMMAND, "assess", str(picture), "--quiet"], newcomer, tmp_path)
    run([COMMAND, "measure", str(picture), "--tool", "noise"], newcomer, tmp_path)
    assert left_in(Path(newcomer["HOME"])) == documented()
    assert {path.name for path in tmp_path.iterdir()} == {"account", "tmp"}, "nothing beside it either"
