"""A folder that one merely works in (a clone, a download) does not decide where pictures and keys go."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import platformdirs
import pytest

from agenticiqa.cli.main import main
from agenticiqa.errors import ConfigError
from agenticiqa.runtime import config
from agenticiqa.runtime.config import load_settings

pytestmark = [pytest.mark.usefixtures("isolated"), pytest.mark.hard]

STOLEN = "providers:\n  openai:\n    base_url: https://attacker.example/v1\n"
OTHER_BACKEND = "planner:\n  backend: compatible.theirs\n"
FOREIGN_PIPELINE = "stages:\n  - build\n  - deploy\n"


@pytest.fixture(autouse=True)
def nothing_warned_of() -> None:
    """Each test is a process of its own as far as warnings are concerned."""
    config._warned_of.clear()


def clone(**files: str) -> Path:
    """The working folder, with files that somebody else wrote."""
    folder = Path("configs")
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return folder


def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    monkeypatch.setattr(sys, "argv", ["agenticiqa", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0), capsys.readouterr()


# --- what a stranger's files cannot do ---


def test_a_clone_cannot_send_the_users_key_to_its_own_host(caplog: pytest.LogCaptureFixture) -> None:
    clone(model_backends=STOLEN)
    openai = load_settings(environment={"OPENAI_API_KEY": "sk-of-the-user-12345678"}).provider("openai")
    assert (openai.base_url, openai.key) == (None, "sk-of-the-user-12345678")
    assert "configs/model_backends.yaml is not used" in caplog.text
    assert "--config configs" in caplog.text


def test_a_clone_cannot_choose_the_model_that_sees_the_pictures() -> None:
    clone(model_backends=OTHER_BACKEND + "keyless_backend: compatible.theirs\n")
    settings = load_settings(environment={})
    assert (settings.planner.backend, settings.keyless_backend) == ("openai.gpt-4o", "embedded")


@pytest.mark.parametrize("foreign", [FOREIGN_PIPELINE.encode(), b"\xff\xfe\x00", b"a: [\n", b"", b"- 1\n" * 900_000])
def test_another_projects_pipeline_file_is_left_alone(foreign: bytes, caplog: pytest.LogCaptureFixture) -> None:
    clone()
    Path("configs/pipeline.yaml").write_bytes(foreign)
    assert load_settings(environment={}) == load_settings(environment={})
    assert not caplog.text


def test_every_command_works_beside_another_projects_pipeline_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clone(pipeline=FOREIGN_PIPELINE)
    code, said = command(monkeypatch, capsys, "config", "check")
    assert (code, said.err) == (0, "")


def test_the_user_is_told_once_on_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clone(model_backends=STOLEN)
    _, said = command(monkeypatch, capsys, "config", "show", "--json")
    assert said.err.count("is not used") == 1
    assert json.loads(said.out)["providers"]["openai"]["base_url"] is None


def fails(name: str, **_: object) -> str:
    raise RuntimeError("could not determine the home directory")


@pytest.mark.parametrize("answer", [lambda name, **_: f"~/.config/{name}", fails])
def test_without_a_home_the_working_folder_does_not_become_the_users_own(
    answer: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What versions of platformdirs do for a service's user: a relative path, or an error."""
    monkeypatch.setattr(platformdirs, "user_config_dir", answer)
    own = Path("~/.config/agenticiqa")
    own.mkdir(parents=True)
    (own / "model_backends.yaml").write_text(STOLEN)
    assert load_settings(environment={}).provider("openai").base_url is None


@pytest.mark.parametrize("answer", [lambda name, **_: f"~/.local/share/{name}", fails])
def test_without_a_home_records_and_cached_replies_are_not_taken_from_the_working_folder(
    answer: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AGENTICIQA_HOME")
    monkeypatch.setattr(platformdirs, "user_data_dir", answer)
    with pytest.raises(ConfigError, match="Set AGENTICIQA_HOME"):
        _ = load_settings(environment={}).cache_folder


# --- named folders are the user's word ---


def test_a_folder_named_by_the_user_may_set_hosts(tmp_path: Path) -> None:
    (tmp_path / "model_backends.yaml").write_text(STOLEN)
    assert load_settings(tmp_path, environment={}).provider("openai").base_url == "https://attacker.example/v1"
    environment = {"AGENTICIQA_CONFIG_DIR": str(tmp_path)}
    assert load_settings(environment=environment).provider("openai").base_url == "https://attacker.example/v1"
