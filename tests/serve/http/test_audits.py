"""Many pictures looked through at once: findings by the names that were sent, a sheet behind an address of its own."""

from __future__ import annotations

import base64
import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from agenticiqa.serve.http.keys import KeyFile
from support.http_service import PICTURE, REFERENCE, Running, encoded, is_problem, serving, wait_until
from support.scripted import ScriptedClient

BLANK = encoded(np.full((64, 80, 3), 128, np.uint8))
SENT = [
    ("shoot/first.png", PICTURE),
    ("shoot/copy of first.png", PICTURE),
    ("shoot/clean.png", REFERENCE),
    ("blank.png", BLANK),
    ("../../letter.png", b"Dear Sir or Madam"),
]


def send(client: httpx.Client, files: list[tuple[str, bytes]], **fields: str) -> httpx.Response:
    return client.post("/v1/audits", files=[("files", file) for file in files], data=fields)


def ended(client: httpx.Client, files: list[tuple[str, bytes]], **fields: str) -> dict[str, Any]:
    """An audit, once it has ended."""
    reply = send(client, files, **fields)
    assert reply.status_code == 202, reply.text
    here = reply.headers["location"]
    wait_until(lambda: client.get(here).json()["finished_at"], 120)
    found: dict[str, Any] = client.get(here).json()
    return found


@pytest.fixture(scope="module")
def audit(client: httpx.Client) -> dict[str, Any]:
    return ended(client, SENT, quick="true")


@pytest.fixture(scope="module")
def rows(client: httpx.Client, audit: dict[str, Any]) -> dict[str, dict[str, Any]]:
    lines = client.get(audit["links"]["rows"]).text.splitlines()
    return {row["path"]: row for row in map(json.loads, lines)}


@pytest.mark.hard
def test_an_audit_can_be_cancelled(client: httpx.Client):
    files = [(f"{number}.png", encoded(np.full((400, 400, 3), number, np.uint8))) for number in range(40)]
    made = send(client, files).json()
    wait_until(lambda: client.get(made["links"]["self"]).json()["finished"], 120)
    client.post(made["links"]["cancel"])
    wait_until(lambda: client.get(made["links"]["self"]).json()["status"] == "cancelled", 60)
    stopped = client.get(made["links"]["self"]).json()
    # What was found before stays, on its sheet too.
    found = client.get(made["links"]["rows"]).text.splitlines()
    assert 0 < len(found) == stopped["summary"]["pictures"] < 40
    assert client.get(stopped["links"]["sheet"]).status_code == 200


def test_what_is_found_can_be_read_while_it_runs(client: httpx.Client):
    files = [(f"{number}.png", encoded(np.full((400, 400, 3), number, np.uint8))) for number in range(40)]
    made = send(client, files).json()
    address = made["links"]["rows"]
    wait_until(lambda: client.get(address).text, 120)
    first = [json.loads(line) for line in client.get(address, params={"thumbnails": "true"}).text.splitlines()]
    assert client.get(made["links"]["self"]).json()["finished_at"] is None
    assert all(base64.b64decode(row["thumbnail"]).startswith(b"\xff\xd8") for row in first)
    assert "blank" in first[0]["findings"]
    following = wait_until(lambda: client.get(address, params={"after": len(first)}).text, 120)
    assert "thumbnail" not in following
    paths = [row["path"] for row in first] + [json.loads(line)["path"] for line in following.splitlines()]
    # At a quick look each once; then each once more, with what the model sees.
    assert len(set(paths[:40])) == len(paths[:40])
    assert len(set(paths[40:])) == len(paths[40:])
    client.post(made["links"]["cancel"])
    wait_until(lambda: client.get(made["links"]["self"]).json()["finished_at"], 60)


def noisy(number: int) -> bytes:
    return encoded(np.random.default_rng(number).integers(0, 255, (72, 96, 3), np.uint8))


MANY = [(f"{number}.png", noisy(number)) for number in range(24)] + [("copy of 0.png", noisy(0))]


def told(client: httpx.Client, audit: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Each picture as it was told last."""
    return {row["path"]: row for row in map(json.loads, client.get(audit["links"]["rows"]).text.splitlines())}


def stopped_half_way(client: httpx.Client) -> dict[str, Any]:
    """An audit that was cancelled when the model had seen some of its pictures."""
    made: dict[str, Any] = send(client, MANY).json()
    wait_until(lambda: any(row["settled"] for row in told(client, made).values()), 120)
    # Groups are known before all scores are.
    copy = told(client, made)["copy of 0.png"]
    assert (copy["decision"], copy["why"]) == ("reject", "the same pixels as 0.png")
    client.post(made["links"]["cancel"])
    return ended_now(client, made)


def ended_now(client: httpx.Client, made: dict[str, Any]) -> dict[str, Any]:
    wait_until(lambda: client.get(made["links"]["self"]).json()["finished_at"], 120)
    found: dict[str, Any] = client.get(made["links"]["self"]).json()
    return found


@pytest.mark.hard
def test_a_stopped_audit_keeps_all_it_knows_and_goes_on_where_it_stopped(server: Running, client: httpx.Client):
    audit = stopped_half_way(client)
    assert audit["status"] == "cancelled"
    assert audit["summary"]["pictures"] == len(MANY)
    done = len(MANY) - audit["summary"]["not_done"]
    assert 0 < done < len(MANY)
    rows = told(client, audit)
    assert sum(row["score"] is not None for row in rows.values()) == done
    assert rows["copy of 0.png"]["decision"] == "reject"
    assert "settled" not in rows["0.png"]
    assert list(rows) == sorted(name for name, _ in MANY)
    resumed = client.post(audit["links"]["resume"])
    assert resumed.status_code == 202, resumed.text
    is_problem(client.post(audit["links"]["resume"]), 409, "not_ended")
    whole = ended_now(client, audit)
    assert (whole["id"], whole["status"], whole["summary"]["not_done"]) == (audit["id"], "ok", 0)
    assert all(row["score"] is not None for row in told(client, whole).values())
    # What was looked at before was not looked at again.
    with closing(sqlite3.connect(server.home / "service" / "service.sqlite")) as record:
        (events,) = record.execute("SELECT events FROM jobs WHERE id=?", (audit["id"],)).fetchone()
    counted = [event["data"]["finished"] for event in json.loads(events) if event["event"] == "progress"]
    assert min(counted) >= done
    assert "resume" not in whole["links"]
    left = [path.name for path in (server.home / "service" / "batches").glob(f"{audit['id']}*")]
    assert sorted(left) == [f"{audit['id']}.rows.jsonl", f"{audit['id']}.sheet.html"]
    is_problem(client.post(audit["links"]["resume"]), 409, "nothing_to_resume")


@pytest.mark.hard
def test_an_audit_goes_on_after_its_server_ended(tmp_path: Path):
    with serving(tmp_path, ScriptedClient(), grace_s=0.0) as running, running.client() as client:
        made = send(client, MANY).json()
        wait_until(lambda: any(row["settled"] for row in told(client, made).values()), 120)
    with serving(tmp_path, ScriptedClient()) as running, running.client() as client:
        audit = client.get(made["links"]["self"]).json()
        assert (audit["status"], audit["summary"]) == ("interrupted", None)
        rows = told(client, audit)
        assert len(rows) == len(MANY)
        assert rows["copy of 0.png"]["decision"] == "reject"
        assert client.post(audit["links"]["resume"]).status_code == 202
        assert ended_now(client, audit)["status"] == "ok"


@pytest.mark.hard
def test_what_cannot_be_resumed_is_refused(server: Running, client: httpx.Client):
    audit = stopped_half_way(client)
    kept = server.home / "service" / "pictures"
    digest = hashlib.sha256(MANY[3][1]).hexdigest()
    next(kept.glob(f"*/{digest}")).unlink()
    is_problem(client.post(audit["links"]["resume"]), 404, "picture_gone")
    # It is as it was, and can be deleted with all that was kept for going on.
    assert client.get(audit["links"]["self"]).json() == audit
    assert client.delete(audit["links"]["self"]).status_code == 204
    assert list((server.home / "service" / "batches").glob(f"{audit['id']}*")) == []
    is_problem(client.post(audit["links"]["resume"]), 404, "audit_not_found")


def test_findings_stand_under_the_names_that_were_sent(audit: dict[str, Any], rows: dict[str, dict[str, Any]]):
    assert audit["status"] == "ok"
    assert (audit["total"], audit["finished"]) == (5, 5)
    assert set(rows) == {"shoot/first.png", "shoot/copy of first.png", "shoot/clean.png", "blank.png", "letter.png"}
    assert "exact_duplicate" in rows["shoot/first.png"]["findings"]
    assert "blank" in rows["blank.png"]["findings"]
    assert "corrupt" in rows["letter.png"]["findings"]


def test_nothing_tells_of_the_servers_folders(
    server: Running, client: httpx.Client, audit: dict[str, Any], rows: dict[str, dict[str, Any]]
):
    sheet = client.get(audit["links"]["sheet"]).text
    for text in (json.dumps(rows), json.dumps(audit), sheet):
        assert str(server.home) not in text
    left = [path.name for path in (server.home / "service" / "batches").glob(f"{audit['id']}*")]
    assert sorted(left) == [f"{audit['id']}.rows.jsonl", f"{audit['id']}.sheet.html"]


def test_sheet_is_a_page_under_a_policy_of_its_own(client: httpx.Client, audit: dict[str, Any]):
    reply = client.get(audit["links"]["sheet"])
    assert reply.headers["content-type"].startswith("text/html")
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'self'" in policy
    assert "unsafe" not in policy


def test_pictures_of_the_sheet_can_be_seen_and_asked_about(client: httpx.Client, audit: dict[str, Any]):
    address = audit["links"]["sheet"].replace("/sheet?", "/picture?")
    assert client.get(address, params={"name": "nowhere.png"}).status_code in (404, 422)
    reply = client.get(f"{address}&name=shoot/first.png")
    assert reply.headers["content-type"] == "image/png"
    asked = client.post("/v1/assess", json={"image": {"kept": f"{audit['id']}/shoot/first.png"}})
    assert asked.json()["image_path"] == "first.png"


@pytest.mark.parametrize("word", ["", "wrong", "é"])
def test_without_its_word_the_sheet_is_not_there(client: httpx.Client, audit: dict[str, Any], word: str):
    for name in ("sheet", "picture"):
        reply = client.get(f"/v1/audits/{audit['id']}/{name}", params={"pass": word, "name": "blank.png"})
        is_problem(reply, 404, "audit_not_found")


@pytest.mark.hard
def test_others_see_no_audit_of_mine(tmp_path: Path):
    keys = KeyFile(tmp_path / "keys.json")
    mine, yours = keys.add("me"), keys.add("you")
    with serving(tmp_path, ScriptedClient(), api_keys_file=keys.path) as running:
        with running.client(headers={"Authorization": f"Bearer {mine}"}) as client:
            audit = ended(client, SENT[:2], quick="true")
        with running.client(headers={"Authorization": f"Bearer {yours}"}) as client:
            for name in ("self", "rows"):
                is_problem(client.get(audit["links"][name]), 404, "audit_not_found")
            is_problem(client.post(f"{audit['links']['self']}/resume"), 404, "audit_not_found")
            assert client.get("/v1/audits").json() == {"audits": [], "next": None}
        # Its sheet has an address of its own: a frame can send no key.
        with running.client() as client:
            assert client.get(audit["links"]["sheet"]).status_code == 200
            is_problem(client.get(audit["links"]["rows"]), 401, "unauthorized")


def test_deleting_takes_everything_along(server: Running, client: httpx.Client):
    audit = ended(client, [("one.png", encoded(np.full((70, 70, 3), 77, np.uint8)))], quick="true")
    assert client.delete(audit["links"]["self"]).status_code == 204
    is_problem(client.get(audit["links"]["sheet"]), 404, "audit_not_found")
    assert list((server.home / "service" / "batches").glob(f"{audit['id']}*")) == []


@pytest.fixture
def narrow(tmp_path: Path) -> Iterator[httpx.Client]:
    with serving(tmp_path, ScriptedClient(), max_batch_samples=2) as running, running.client() as client:
        yield client


def test_more_than_the_server_takes(narrow: httpx.Client):
    is_problem(send(narrow, SENT[:3]), 422, "too_many_samples")
    is_problem(narrow.post("/v1/audits", files={"other": ("a.png", PICTURE)}), 422, "invalid_request")
    is_problem(narrow.post("/v1/audits", json={}), 415, "unsupported_media_type")
