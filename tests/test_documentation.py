"""The documentation tells the truth: its commands run, its links lead somewhere, its make targets exist."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def commands() -> list[str]:
    """Lines that begin with ``$`` in console blocks."""
    found = []
    for page in PAGES:
        for block in re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            found += [line[2:].strip() for line in block.splitlines() if line.startswith("$ ")]
    return sorted(set(found))


@pytest.mark.parametrize("command", commands())
def test_command_runs_as_printed(command, tmp_path, monkeypatch):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AGENTICIQA_HOME", str(tmp_path))
    words = shlex.split(command)
    assert words[0] == "agenticiqa"
    program = Path(sys.executable).with_name("agenticiqa")
    done = subprocess.run([program, *words[1:]], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_readme_has_commands_to_run():
    assert len(commands()) >= 8


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", text):
        if not target.startswith(("http:", "https:")):
            assert (page.parent / target).exists(), target


def test_make_targets_of_the_readme_exist():
    text = (ROOT / "README.md").read_text(encoding="utf-8") + (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    targets = set(re.findall(r"\bmake ([a-z-]+)\b(?=[`\s])", text)) & {"demo", "test", "lint", "parity", "bench"}
    assert targets == {"demo", "test", "lint", "parity", "bench"}
    for target in targets:
        done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_shipped_defaults_are_the_configuration_folder():
    """D2-40, SC-33, D4-23: configs/ and the packaged defaults are the same files."""
    for name in ("model_backends.yaml", "pipeline.yaml"):
        shipped = ROOT / "src" / "agenticiqa" / "runtime" / "configs" / name
        assert (ROOT / "configs" / name).read_bytes() == shipped.read_bytes()
