"""The deployment files: an image cannot be built everywhere, so they are read, and their steps are tried."""

from __future__ import annotations

import configparser
import inspect
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import yaml
from typer.main import get_command

from agenticiqa.cli.main import build_app
from agenticiqa.cli.serve import serve
from agenticiqa.runtime.memory import SHARE, parse_size
from agenticiqa.serve.http.settings import ServiceSettings

ROOT = Path(__file__).resolve().parents[1]


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions with lines joined and comments left out."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in joined.splitlines()]


def value(name: str) -> str:
    return [argument for instruction, argument in instructions() if instruction == name][-1]


def test_the_image_runs_without_root_and_says_whether_it_is_well():
    names = [name for name, _ in instructions()]
    assert value("USER") == "10001"
    assert names.index("USER") > max(place for place, name in enumerate(names) if name == "RUN")
    assert "/healthz" in value("HEALTHCHECK")
    assert "ADD" not in names
    assert all(":" in argument and "latest" not in argument for name, argument in instructions() if name == "FROM")


def test_everything_the_image_copies_is_there_and_not_ignored():
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    copied = [argument.split()[:-1] for name, argument in instructions() if name == "COPY" and "--from" not in argument]
    for source in [path for paths in copied for path in paths]:
        assert (ROOT / source).exists()
        assert f"!{source}" in ignored


def options_of(words: list[str]) -> None:
    """The command exists and takes these options."""
    command = get_command(build_app())
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    known = {name for parameter in command.params for name in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known, words


def test_commands_of_the_deployment_files_exist():
    assert json.loads(value("ENTRYPOINT")) == ["agenticiqa"]
    options_of(json.loads(value("CMD")))
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(ROOT / "deploy" / "agenticiqa.service", encoding="utf-8")
    program, *words = shlex.split(unit["Service"]["ExecStart"])
    assert program.endswith("/bin/agenticiqa")
    options_of(words)
    comment = next(
        line for line in (ROOT / "compose.yaml").read_text(encoding="utf-8").splitlines() if "keys add" in line
    )
    options_of(shlex.split(comment.partition("--rm agenticiqa ")[2]))


def test_the_container_may_write_nowhere_but_its_volume():
    service = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]["agenticiqa"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert service["volumes"] == ["data:/data"]
    assert value("VOLUME") == "/data"


def test_the_health_check_fails_when_nobody_answers():
    program, flag, code = json.loads(value("HEALTHCHECK").partition("CMD ")[2])
    assert (program, flag) == ("python", "-c")
    # The code as printed, at a port where nothing listens.
    tried = subprocess.run([sys.executable, "-c", code.replace(":8000", ":9")], capture_output=True, check=False)
    assert tried.returncode != 0


def test_hadolint_has_no_complaint():
    program = Path(sys.executable).with_name("hadolint")
    tried = subprocess.run([program, str(ROOT / "Dockerfile")], capture_output=True, text=True, check=False)
    assert tried.returncode == 0, tried.stdout


def test_the_limits_of_the_files_fit_each_other():
    service = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]["agenticiqa"]
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.read(ROOT / "deploy" / "agenticiqa.service", encoding="utf-8")
    limit = parse_size(service["mem_limit"])
    (temporary,) = re.findall(r"size=(\w+)", service["tmpfs"][0])
    assert parse_size(unit["Service"]["MemoryMax"]) == limit
    # What runs may take, what uploads take on the way, and an eighth for what nobody counts.
    assert SHARE * limit + parse_size(temporary) <= limit * 7 / 8
    grace = inspect.signature(serve).parameters["grace"].default
    assert int(unit["Service"]["TimeoutStopSec"]) > grace
    assert int(service["stop_grace_period"].removesuffix("s")) > grace


def test_the_proxy_waits_longer_than_the_service_works():
    block = (ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8")
    defaults = inspect.signature(serve).parameters
    (patience,) = re.findall(r"proxy_read_timeout (\d+)s", block)
    assert int(patience) > defaults["timeout"].default
    (largest,) = re.findall(r"client_max_body_size (\w+);", block)
    assert parse_size(largest) >= ServiceSettings.max_batch_upload_bytes
    assert "Host $http_host" in block
