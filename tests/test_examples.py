"""What `make demo` runs, and the notebook."""

from __future__ import annotations

import json
import runpy
import shutil
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
DEMO = EXAMPLES / "demo.py"
NOTEBOOK = EXAMPLES / "first_look.ipynb"


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


def kinds(notebook: dict) -> list[list[list[str]]]:
    """What each cell shows, by kind."""
    outputs = [cell.get("outputs", []) for cell in notebook["cells"]]
    return [[sorted(each.get("data", {"text/stream": ""})) for each in cell] for cell in outputs]


@pytest.mark.hard
@pytest.mark.usefixtures("isolated")
def test_the_notebook_runs_and_shows_what_it_keeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cells, without a kernel; ``python examples/run_notebook.py examples/first_look.ipynb`` keeps them anew."""
    shutil.copytree(EXAMPLES / "pictures", tmp_path / "pictures")
    monkeypatch.chdir(tmp_path)
    kept = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    run = runpy.run_path(str(EXAMPLES / "run_notebook.py"))["run_notebook"]
    assert kinds(run(json.loads(NOTEBOOK.read_text(encoding="utf-8")))) == kinds(kept)
    shown = [each["data"] for cell in kept["cells"] for each in cell.get("outputs", []) if "data" in each]
    assert len(shown) == 2
    for data in shown:
        text = "".join(data["text/html"])
        assert text.count("data:image/jpeg;base64,") >= 2, "the picture and its map"
        assert "of 5" in text
        assert len(data["text/plain"]) == 1


def test_the_notebook_stays_small_and_names_nobody() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert len(text) < 150_000
    assert "/home/" not in text
    assert str(EXAMPLES.parent) not in text
