"""The documentation tells the truth: its commands and programs run, links lead somewhere, make targets exist."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from IPython.core.formatters import DisplayFormatter

from agenticiqa import AgenticIQA, Assessment
from agenticiqa.cli.main import main
from support.snippets import PAGES, ROOT, Snippet, commands, make_workshop, python_blocks

# What the documentation shows is what other tests run: not traced.
pytestmark = pytest.mark.no_cover


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_workshop(tmp_path_factory.mktemp("documentation") / "workshop")


@pytest.fixture
def reader(workshop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody without keys or configuration, in a folder with the files that the documentation speaks of."""
    for name in list(os.environ):
        if name.startswith("AGENTICIQA_") or name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AGENTICIQA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(workshop)


def kept_short(snippets: list[Snippet]) -> list[Any]:
    """The README's run with every change; what other pages show is for ``make hard`` and ``make snippets``."""
    hard = [() if snippet.id.startswith("README.md") else (pytest.mark.hard,) for snippet in snippets]
    return [pytest.param(snippet, marks=marks) for snippet, marks in zip(snippets, hard, strict=True)]


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("command", kept_short(commands()), ids=lambda command: command.text)
def test_command_runs_as_printed(
    command: Snippet, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process; ``make snippets`` runs the installed command."""
    assert command.words[0] == "agenticiqa"
    if "--after" in command.words:
        with AgenticIQA() as earlier:
            earlier.assess("photo.jpg", "Is it blurry?")
    monkeypatch.setattr(sys, "argv", command.words)
    with pytest.raises(SystemExit) as stop:
        main()
    captured = capsys.readouterr()
    assert (stop.value.code or 0) in command.exit_codes, captured.err
    assert command.is_silent or captured.out.strip()


def run_cell(code: str, name: str) -> Any:
    """Run Python as a notebook does: the value of the last line is what is shown."""
    tree = ast.parse(code, name)
    names: dict[str, Any] = {"__name__": "__main__"}
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), names)
    return eval(compile(ast.Expression(last.value), name, "eval"), names) if isinstance(last, ast.Expr) else None


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("block", kept_short(python_blocks()), ids=lambda block: block.id)
def test_python_runs_as_printed(block: Snippet) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        shown = run_cell(block.text, block.id)
    assert ("print(" in block.text) == bool(printed.getvalue())
    if isinstance(shown, Assessment):
        assert shown.status == "ok", shown.error


@pytest.mark.parametrize("block", python_blocks(), ids=lambda block: block.id)
def test_documentation_teaches_the_front_door_alone(block: Snippet) -> None:
    nodes = list(ast.walk(ast.parse(block.text)))
    imported = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    imported |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    assert {name for name in imported if name.startswith("agenticiqa")} == {"agenticiqa"}


@pytest.mark.usefixtures("reader")
def test_a_notebook_shows_an_answer_about_an_array() -> None:
    """Through the formatter with which notebooks choose what to show."""
    (cell,) = [block for block in python_blocks() if "np.random" in block.text and "assess" in block.text]
    data, _ = DisplayFormatter().format(run_cell(cell.text, cell.id))
    assert "text/html" in data
    assert 'class="agenticiqa"' in data["text/html"]
    assert "of 5" in data["text/html"]
    assert "data:image/" in data["text/html"], "the picture, though it is in no file"


@pytest.mark.usefixtures("reader")
def test_the_answer_that_the_readme_prints_is_the_one_that_comes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The box with answer and score: elsewhere lines break by the width of the terminal."""
    printed = re.search(r"^│ .*score.* │$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    (command,) = [each for each in commands() if each.page == "README.md" and "--reference" in each.words][:1]
    monkeypatch.setattr(sys, "argv", command.words)
    with pytest.raises(SystemExit):
        main()
    assert printed
    assert printed[0] in capsys.readouterr().out


def test_there_is_something_to_run() -> None:
    assert len(commands()) >= 30
    assert len(python_blocks()) >= 6
    assert {"README.md", "batch.md", "comparison.md"} <= {each.page for each in commands()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", text):
        if not target.startswith(("http:", "https:")):
            assert (page.parent / target).exists(), target


TARGETS = {"demo", "test", "hard", "fuzz", "snippets", "lint", "parity", "bench"}


def test_make_targets_of_the_readme_exist():
    text = (ROOT / "README.md").read_text(encoding="utf-8") + (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    targets = set(re.findall(r"\bmake ([a-z-]+)\b(?=[`\s])", text)) & TARGETS
    assert targets == TARGETS
    for target in targets:
        done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_shipped_defaults_are_the_configuration_folder():
    """D2-40, SC-33, D4-23: configs/ and the packaged defaults are the same files."""
    for name in ("model_backends.yaml", "pipeline.yaml"):
        shipped = ROOT / "src" / "agenticiqa" / "runtime" / "configs" / name
        assert (ROOT / "configs" / name).read_bytes() == shipped.read_bytes()
