"""Fixtures of the requirement tests. Nothing in here applies to a test that does not ask for it."""

from __future__ import annotations

import gc
import logging
import os
import signal
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pytest

from agenticiqa.api.assessor import AgenticIQA
from agenticiqa.runtime.config import ROLES
from agenticiqa.runtime.logs import PACKAGE_LOGGER, configure_logging
from agenticiqa.vlm_client import VLMClient
from support.command_line import CommandLine, clean_environment
from support.pictures import distorted, save, scene

# Every client of an SDK reads the certificates that the machine trusts, for 50 ms.
ssl.create_default_context = lru_cache(ssl.create_default_context)

# Python searches for garbage after every 700 new objects, and every search goes through all modules that are loaded.
gc.set_threshold(20_000)

# A shell starts what runs in its background deaf to Ctrl-C, and every child inherits that; some tests press it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that do the same thing hundreds of times are not traced: other tests cover what they run."""
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("no_cover")


@pytest.fixture
def isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home of its own, no keys, no configuration of the machine: the folder that AGENTICIQA_HOME names."""
    for name in list(os.environ):
        if (
            name.startswith("AGENTICIQA_")
            or name.endswith(("_API_KEY", "_BASE_URL"))
            or name in ("QWEN_MODEL", "QWEN_ADAPTER")
        ):
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.setenv("AGENTICIQA_HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(work)
    yield home
    # A log file in a folder that is about to go must not catch another test's records.
    configure_logging(None)
    logging.getLogger(PACKAGE_LOGGER).setLevel(logging.NOTSET)


@dataclass(frozen=True)
class Pair:
    test: str
    reference: str


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    """A noisy test picture and its clean reference."""
    clean = scene()
    return Pair(str(save(tmp_path / "test.png", distorted(clean))), str(save(tmp_path / "reference.png", clean)))


class Assessors:
    """Makes assessors that run on given clients and closes them at the end."""

    def __init__(self) -> None:
        self.made: list[AgenticIQA] = []

    def __call__(self, client: VLMClient, *, fallback: VLMClient | None = None, **overrides: object) -> AgenticIQA:
        clients: dict[str, VLMClient] = dict.fromkeys(ROLES, client)
        if fallback is not None:
            clients.update({f"{role}.fallback": fallback for role in ROLES})
        dotted = {key.replace("__", "."): value for key, value in overrides.items()}
        self.made.append(AgenticIQA(clients=clients, overrides=dotted))
        return self.made[-1]


@pytest.fixture
def assessor(isolated: Path) -> Iterator[Assessors]:
    assessors = Assessors()
    yield assessors
    for each in assessors.made:
        each.close()


@pytest.fixture
def command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """Commands in an empty folder, with a home of their own."""
    folder = tmp_path / "work"
    folder.mkdir()
    return CommandLine(folder, clean_environment(tmp_path / "home"), monkeypatch, capsys)
