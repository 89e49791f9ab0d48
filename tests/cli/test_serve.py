"""``agenticiqa serve`` and its keys."""

from __future__ import annotations

from pathlib import Path


def test_key_is_shown_once_and_listed_without_its_secret(run, tmp_path: Path):
    file = str(tmp_path / "keys.json")
    key = run("serve", "keys", "add", "laptop", "--api-keys-file", file).out.strip()
    assert key.startswith("aiqa_")
    listed = run("serve", "keys", "list", "--api-keys-file", file, "--json")
    assert [entry["name"] for entry in listed.json] == ["laptop"]
    assert key.split("_", 2)[2] not in listed.out + Path(file).read_text()
    assert "laptop" in run("serve", "keys", "list", "--api-keys-file", file).out


def test_key_is_revoked(run, tmp_path: Path):
    file = str(tmp_path / "keys.json")
    run("serve", "keys", "add", "laptop", "--api-keys-file", file)
    assert run("serve", "keys", "add", "laptop", "--api-keys-file", file).code == 1
    assert run("serve", "keys", "revoke", "laptop", "--api-keys-file", file, "--json").json["revoked_at"]
    assert run("serve", "keys", "revoke", "laptop", "--api-keys-file", file).code == 1
    assert run("serve", "keys", "add", "laptop", "--api-keys-file", file, "--json").json["key"].startswith("aiqa_")


def test_open_address_without_keys_is_refused(run, tmp_path: Path):
    words = ("serve", "--host", "0.0.0.0", "--port", "0")
    assert "--api-keys-file" in run(*words).err
    assert run(*words, "--api-keys-file", str(tmp_path / "none.json")).code == 1


def test_wrong_options_are_explained(run, tmp_path: Path):
    assert run("serve", "--allowed-origin", "*").code == 1
    assert "nowhere" in run("serve", "--allowed-root", str(tmp_path / "nowhere")).err
    assert run("serve", "--workers", "0").code == 2


def test_taken_port_is_explained(run):
    import logging
    import socket

    before = list(logging.getLogger("agenticiqa").handlers)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run("serve", "--port", str(taken.getsockname()[1]))
    assert done.code == 1
    assert logging.getLogger("agenticiqa").handlers == before
