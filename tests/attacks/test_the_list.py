"""The list of attacks names every file of tests here, and none that is not there."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent


def test_the_list_is_complete_and_true() -> None:
    named = set(re.findall(r"`((?:[a-z_]+/)*test_[a-z_]+\.py)`", (HERE / "README.md").read_text(encoding="utf-8")))
    assert [name for name in sorted(named) if not (HERE.parent / name).is_file()] == []
    here = {f"attacks/{path.name}" for path in HERE.glob("test_*.py") if path.name != Path(__file__).name}
    assert here - named == set()
