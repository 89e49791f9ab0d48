"""The command line: in this process, which is quick, or as the installed command, which has streams of its own."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agenticiqa.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
COMMAND = str(Path(sys.executable).with_name("agenticiqa"))


@dataclass(frozen=True)
class Finished:
    code: int
    out: str
    err: str


def clean_environment(home: Path, **more: str) -> dict[str, str]:
    """This machine's, without keys and configuration, with a home of its own.

    Lines covered by a command in a process of its own are not counted: counting makes its start a quarter slower, and
    the same lines are covered by commands in this process.
    """
    foreign = ("AGENTICIQA_", "OPENAI_", "ANTHROPIC_", "GOOGLE_", "COMPATIBLE_", "QWEN_", "COVERAGE_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return {**kept, "AGENTICIQA_HOME": str(home), "XDG_CONFIG_HOME": str(home.parent), "COLUMNS": "120", **more}


@dataclass
class CommandLine:
    """Runs commands in one folder, with one home."""

    folder: Path
    environment: dict[str, str]
    _monkeypatch: pytest.MonkeyPatch
    _capsys: pytest.CaptureFixture[str]
    module: str | None = None
    """A program of the repository, such as ``benchmarks.paper``, in place of the installed command."""

    def __call__(self, *arguments: str | Path) -> Finished:
        """The entry point, called in this process."""
        with self._monkeypatch.context() as patch:
            patch.setattr(os, "environ", self.environment)
            patch.setattr(sys, "argv", [self.module or "agenticiqa", *map(str, arguments)])
            patch.chdir(self.folder)
            with pytest.raises(SystemExit) as stop:
                self._run()
        captured = self._capsys.readouterr()
        assert "Traceback" not in captured.err, captured.err
        return Finished(int(stop.value.code or 0), captured.out, captured.err)

    def _run(self) -> None:
        if self.module is None:
            main()
            return
        place = ROOT.joinpath(*self.module.split("."))
        runpy.run_path(str(place / "__main__.py" if place.is_dir() else place.with_suffix(".py")), run_name="__main__")

    def start(self, *arguments: str | Path, **options: Any) -> subprocess.Popen[str]:
        """The installed command, or the module, started."""
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        program = [sys.executable, "-m", self.module] if self.module else [COMMAND]
        path = os.pathsep.join(filter(None, [str(ROOT), self.environment.get("PYTHONPATH")]))
        environment = {**self.environment, "PYTHONPATH": path} if self.module else self.environment
        return subprocess.Popen(
            [*program, *map(str, arguments)], cwd=self.folder, env=environment, text=True, **streams
        )

    def shell(self, script: str, timeout: float = 120) -> Finished:
        """A shell script in which ``agenticiqa`` is the installed command."""
        environment = {**self.environment, "PATH": f"{Path(COMMAND).parent}{os.pathsep}{os.environ['PATH']}"}
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Finished(done.returncode, done.stdout, done.stderr)
