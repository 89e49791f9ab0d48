"""One server for each file of tests."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from support.http_service import Running, serving
from support.scripted import ScriptedClient


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One user on loopback, a scripted model, one folder that may be read."""
    home = tmp_path_factory.mktemp("home")
    (home / "allowed").mkdir()
    with serving(home, ScriptedClient(), allowed_roots=(home / "allowed",)) as running:
        yield running


@pytest.fixture(scope="module")
def client(server: Running) -> Iterator[httpx.Client]:
    with server.client() as made:
        yield made
