"""What `make demo` runs."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).resolve().parents[1] / "examples" / "demo.py"


@pytest.mark.usefixtures("isolated")
def test_the_demonstration_ends_in_answers_and_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["demo.py", "--output", str(tmp_path / "demo")])
    runpy.run_path(str(DEMO), run_name="__main__")
    shown = capsys.readouterr().out
    assert shown.count("─ Answer ─") == 6
    page = (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
    assert page.count("<article>") == 6
    assert "data:image/jpeg" in page
