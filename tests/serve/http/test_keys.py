"""API keys: made once, kept as hashes, each with its own runs."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from agenticiqa.errors import ConfigError
from agenticiqa.serve.http.keys import KeyFile
from agenticiqa.serve.http.settings import ServiceSettings
from support.http_service import Running, assess, audit, is_problem, serving
from support.scripted import ScriptedClient


@pytest.fixture(scope="module")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> KeyFile:
    return KeyFile(tmp_path_factory.mktemp("keys") / "keys.json")


@pytest.fixture(scope="module")
def keys(key_file: KeyFile) -> dict[str, str]:
    return {name: key_file.add(name) for name in ("ann", "bob")}


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory, key_file: KeyFile, keys: dict[str, str]) -> Iterator[Running]:
    home = tmp_path_factory.mktemp("keyed")
    with serving(home, ScriptedClient(), api_keys_file=key_file.path) as running:
        yield running


def as_user(running: Running, key: str) -> httpx.Client:
    return running.client(headers={"Authorization": f"Bearer {key}"})


def test_file_holds_hashes_only(key_file: KeyFile, keys: dict[str, str]):
    text = key_file.path.read_text()
    for key in keys.values():
        assert key not in text
        assert key.split("_", 2)[2] not in text
    assert stat.S_IMODE(key_file.path.stat().st_mode) == 0o600


@pytest.mark.hard
@pytest.mark.parametrize(
    "authorization",
    [None, "", "Bearer", "Bearer x", "Bearer aiqa_000000000000_x", "Basic YTpi", "Bearer aiqa__", "Bearer \xe9"],
)
def test_without_a_valid_key_nothing_is_told(keyed: Running, authorization: str | None):
    headers = {} if authorization is None else {"Authorization": authorization.encode("latin-1")}
    with keyed.client(headers=headers) as client:
        for method, address in (
            ("GET", "/v1/runs"),
            ("GET", "/v1/tools"),
            ("GET", "/metrics"),
            ("POST", "/v1/assess"),
            ("POST", "/v1/audits"),
            ("GET", "/v1/runs/0123456789ab/image"),
        ):
            reply = client.request(method, address)
            is_problem(reply, 401, "unauthorized")
            assert reply.headers["www-authenticate"].startswith("Bearer")
        assert client.get("/healthz").status_code == 200
        assert client.get("/readyz").status_code == 200


def test_right_id_with_wrong_secret_is_refused(keyed: Running, keys: dict[str, str]):
    wrong = keys["ann"][:-1] + ("A" if keys["ann"][-1] != "A" else "B")
    with as_user(keyed, wrong) as client:
        is_problem(client.get("/v1/runs"), 401, "unauthorized")


def test_key_in_the_address_does_not_count(keyed: Running, keys: dict[str, str]):
    with keyed.client() as client:
        for name in ("key", "api_key", "access_token", "token"):
            is_problem(client.get("/v1/runs", params={name: keys["ann"]}), 401, "unauthorized")


@pytest.mark.hard
def test_runs_and_audits_belong_to_their_key(keyed: Running, keys: dict[str, str]):
    with as_user(keyed, keys["ann"]) as ann, as_user(keyed, keys["bob"]) as bob:
        run = ann.get(assess(ann).headers["location"]).json()
        made = audit(ann).json()
        for address in (*run["links"].values(), *made["links"].values()):
            method = "POST" if address.endswith("/cancel") else "GET"
            reply = bob.request(method, address)
            assert reply.status_code == 404, address
            nobody = bob.request(method, address.replace(run["id"], "0" * 12).replace(made["id"], "0" * 12))
            # Somebody else's and nobody's look the same.
            assert {**reply.json(), "instance": ""} == {**nobody.json(), "instance": ""}
        assert bob.get("/v1/runs").json()["runs"] == []
        assert bob.get("/v1/runs", params={"before": run["id"]}).json()["runs"] == []
        assert bob.get("/v1/audits").json()["audits"] == []
        assert ann.get(run["links"]["self"]).status_code == 200


def test_revoked_key_is_refused_at_once_and_never_again_valid(keyed: Running, key_file: KeyFile):
    old = key_file.add("carol")
    with as_user(keyed, old) as client:
        run = assess(client).headers["location"]
        assert client.get(run).status_code == 200
        key_file.revoke("carol")
        is_problem(client.get(run), 401, "unauthorized")
    new = key_file.add("carol")
    with as_user(keyed, old) as client:
        is_problem(client.get(run), 401, "unauthorized")
    with as_user(keyed, new) as client:
        # The same name, another key: another owner.
        is_problem(client.get(run), 404, "run_not_found")


def test_names_are_checked(key_file: KeyFile, keys: dict[str, str]):
    with pytest.raises(ConfigError, match="already"):
        key_file.add("ann")
    for name in ("", "a b", "../x", "a\nb", "x" * 65):
        with pytest.raises(ConfigError):
            key_file.add(name)
    with pytest.raises(ConfigError):
        key_file.revoke("nobody")


def test_keys_made_at_the_same_time_all_stay(tmp_path: Path):
    path = tmp_path / "keys.json"
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda number: KeyFile(path).add(f"key{number}"), range(24)))
    kept = KeyFile(path)
    assert all(kept.owner_of(key) for key in made)
    assert not list(tmp_path.glob("*.lock"))


def test_damaged_key_file_lets_nobody_in(tmp_path: Path):
    path = tmp_path / "keys.json"
    key = KeyFile(path).add("ann")
    path.write_text(json.dumps({"keys": [{"id": 1}]}))
    with pytest.raises(ConfigError, match="damaged"):
        KeyFile(path).owner_of(key)


def test_missing_key_file_lets_nobody_in(tmp_path: Path):
    assert KeyFile(tmp_path / "none.json").owner_of("aiqa_000000000000_x") is None


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_open_address_needs_keys(tmp_path: Path, host: str):
    with pytest.raises(ConfigError, match="without API keys"):
        ServiceSettings(data_folder=tmp_path, host=host).check()
    ServiceSettings(data_folder=tmp_path, host=host, api_keys_file=tmp_path / "keys.json").check()


def test_any_origin_is_not_an_origin(tmp_path: Path):
    with pytest.raises(ConfigError):
        ServiceSettings(data_folder=tmp_path, allowed_origins=("*",)).check()


def test_key_file_damaged_while_serving_is_the_servers_secret(tmp_path: Path):
    path = tmp_path / "keys.json"
    key = KeyFile(path).add("ann")
    with serving(tmp_path / "home", ScriptedClient(), api_keys_file=path) as running, as_user(running, key) as client:
        assert client.get("/v1/runs").status_code == 200
        path.write_text("{")
        reply = client.get("/v1/runs")
        is_problem(reply, 500, "internal")
        assert str(tmp_path) not in reply.text


def test_server_without_any_active_key_does_not_start(tmp_path: Path):
    with (
        pytest.raises(ConfigError),
        serving(tmp_path, ScriptedClient(), api_keys_file=tmp_path / "none.json"),
    ):
        pass
