"""A machine without keys, two small pictures, and a way to run the installed command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

sys.path.insert(0, str(Path(__file__).parent))

from model_server import ModelServer

from agenticiqa.cli.main import main

COMMAND = Path(sys.executable).with_name("agenticiqa")


@dataclass(frozen=True)
class Finished:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The caller's environment without anything that would change a run."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AGENTICIQA_", "OPENAI_", "ANTHROPIC_", "GOOGLE_", "COMPATIBLE_", "QWEN_"))
    }
    return {**kept, "AGENTICIQA_HOME": str(tmp_path / "home"), "COLUMNS": "120", "XDG_CONFIG_HOME": str(tmp_path)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder to run in."""
    made = tmp_path / "work"
    made.mkdir()
    return made


@pytest.fixture
def run(
    environment: dict[str, str],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., Finished]:
    """Run the command line in this process: the same entry point, without the price of starting Python."""

    def runner(*arguments: str, **extra: str) -> Finished:
        with monkeypatch.context() as patch:
            patch.setattr(os, "environ", {**environment, **extra})
            patch.setattr(sys, "argv", ["agenticiqa", *arguments])
            patch.chdir(folder)
            with pytest.raises(SystemExit) as stop:
                main()
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err, captured.err
        return Finished(int(stop.value.code or 0), captured.out, captured.err)

    return runner


@pytest.fixture
def run_process(environment: dict[str, str], folder: Path) -> Callable[..., Finished]:
    """Run the installed command in a process of its own."""

    def runner(*arguments: str) -> Finished:
        done = subprocess.run(
            [str(COMMAND), *arguments],
            capture_output=True,
            text=True,
            env=environment,
            cwd=folder,
            timeout=120,
            check=False,
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    return runner


@pytest.fixture
def pictures(tmp_path: Path) -> tuple[str, str]:
    """A noisy picture and its clean reference."""
    rng = np.random.default_rng(0)
    clean = np.kron(rng.integers(40, 216, (12, 16, 3)), np.ones((8, 8, 1))).astype(np.uint8)
    noisy = np.clip(clean + rng.normal(0, 12, clean.shape), 0, 255).astype(np.uint8)
    Image.fromarray(noisy).save(tmp_path / "noisy.png")
    Image.fromarray(clean).save(tmp_path / "clean.png")
    return str(tmp_path / "noisy.png"), str(tmp_path / "clean.png")


@pytest.fixture
def model(environment: dict[str, str]) -> Iterator[ModelServer]:
    """A model server that every run uses by default."""
    with ModelServer() as server:
        environment["COMPATIBLE_BASE_URL"] = server.base_url
        environment["AGENTICIQA_BACKEND"] = "compatible.tiny"
        yield server
