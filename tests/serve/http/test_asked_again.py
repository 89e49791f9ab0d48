"""Requests that come twice: under one key, behind the last event, page after page, after a kill."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import httpx
import numpy as np
import pytest

from support.http_service import (
    Gate,
    assess,
    audit,
    command_serving,
    encoded,
    is_problem,
    serving,
    sse_events,
    wait_until,
)
from support.scripted import ScriptedClient, plan_reply

KEY = {"Idempotency-Key": "order-66"}
WAY_BEYOND = {"Last-Event-ID": "999"}


@pytest.mark.hard
def test_a_request_under_the_same_key_is_answered_once_also_after_a_restart(tmp_path: Path):
    replies, counts = [], []
    for _ in range(2):
        with serving(tmp_path, ScriptedClient()) as running, running.client(headers=KEY) as client:
            replies += [assess(client, data={"query": "Rate it."}) for _ in range(2)]
            counts.append(sum(running.model.script.counts.values()))
            again = assess(client, data={"query": "Rate it."}, params={"async": "true"})
            assert (again.status_code, again.json()["id"]) == (202, replies[0].headers["location"][-12:])
            reused = assess(client, data={"query": "Is it blurry?"})
            is_problem(reused, 422, "idempotency_key_reused")
    assert {reply.status_code for reply in replies} == {200}
    assert len({(reply.headers["location"], reply.text) for reply in replies}) == 1
    assert [reply.headers.get("idempotent-replayed") for reply in replies] == [None, "true", "true", "true"]
    assert counts[0] > 0
    assert counts[1] == 0


@pytest.mark.hard
def test_a_run_without_an_answer_gives_its_key_back(tmp_path: Path):
    gate = Gate(plan_reply())
    with serving(tmp_path, ScriptedClient(plan=gate)) as running, running.client(headers=KEY) as client:
        first = assess(client, params={"async": "true"}).json()
        gate.wait_until_reached()
        # Under way: the same run, and nothing new.
        assert assess(client, params={"async": "true"}).json()["id"] == first["id"]
        client.post(first["links"]["cancel"])
        gate.open.set()
        wait_until(lambda: client.get(first["links"]["self"]).json()["status"] == "cancelled")
        second = assess(client)
        assert second.status_code == 200
        assert second.headers["location"] != first["links"]["self"]


def test_a_key_that_is_no_name_is_refused(client: httpx.Client):
    is_problem(assess(client, headers={"Idempotency-Key": "x" * 201}), 422, "invalid_request")


@pytest.mark.hard
def test_a_stream_always_ends_with_done(tmp_path: Path):
    with serving(tmp_path, ScriptedClient()) as running, running.client() as client:
        run = assess(client).headers["location"]
        live = [client.get(f"{run}/events", headers=WAY_BEYOND).text]
        last = live[0].split("\n")[0].removeprefix("id: ")
        live.append(client.get(f"{run}/events", headers={"Last-Event-ID": last}).text)
    with serving(tmp_path, ScriptedClient()) as running, running.client() as client:
        recorded = client.get(f"{run}/events", headers=WAY_BEYOND).text
    for text in (*live, recorded):
        assert sse_events(text) == [("done", {"status": "ok"})]


def test_a_stream_behind_an_unknown_id_goes_on_with_what_happens(tmp_path: Path):
    gate = Gate(plan_reply())
    with serving(tmp_path, ScriptedClient(plan=gate)) as running, running.client() as client:
        run = assess(client, params={"async": "true"}).json()
        gate.wait_until_reached()
        with client.stream("GET", run["links"]["events"], headers=WAY_BEYOND) as stream:
            gate.open.set()
            events = sse_events(stream.read().decode())
    assert [event for event, _ in events][-1] == "done"
    assert ("status", {"status": "queued"}) not in events
    assert len(events) > 2


@pytest.mark.hard
def test_audits_are_listed_page_by_page(tmp_path: Path):
    with serving(tmp_path, ScriptedClient()) as running, running.client() as client:
        made = []
        for _ in range(3):
            made.append(audit(client).json()["id"])
            wait_until(lambda: client.get(f"/v1/audits/{made[-1]}").json()["finished_at"])
        first = client.get("/v1/audits", params={"limit": 2}).json()
        second = client.get(first["next"]).json()
        assert [each["id"] for each in (*first["audits"], *second["audits"])] == made[::-1]
        assert second["next"] is None


@pytest.mark.hard
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_what_an_audit_found_before_it_was_killed_is_kept(tmp_path: Path, how: signal.Signals):
    files = [("files", (f"{number}.png", encoded(np.full((500, 500, 3), number, np.uint8)))) for number in range(200)]
    with command_serving(tmp_path) as (process, url), httpx.Client(base_url=url, timeout=60) as client:
        made = client.post("/v1/audits", files=files).json()["links"]
        wait_until(lambda: (client.get(made["self"]).json()["finished"] or 0) > 5)
        process.send_signal(how)
        process.wait(60)
    with command_serving(tmp_path) as (_, url), httpx.Client(base_url=url, timeout=60) as client:
        assert client.get(made["self"]).json()["status"] == "interrupted"
        text = client.get(made["rows"]).text
    rows = [json.loads(line) for line in text.splitlines()]
    assert 5 < len(rows) <= 200
    assert {row["path"] for row in rows} <= {name for _, (name, _) in files}
    assert str(tmp_path) not in text
    left = {path.suffixes[0] for path in (tmp_path / "service" / "batches").iterdir()}
    # What the quick look found is what a resumed audit goes on from.
    assert left == {".rows", ".quick"}


# --- pages of other origins ---


@pytest.mark.hard
def test_pages_of_an_allowed_origin_can_read_every_refusal(tmp_path: Path):
    page = {"Origin": "https://example.org"}
    more = {"max_upload_bytes": 100_000, "body_idle_s": 0.5, "allowed_origins": ("https://example.org",)}
    with serving(tmp_path, ScriptedClient(), **more) as running, running.client(headers=page) as client:

        def slow():
            yield b"{"
            import time

            time.sleep(2)
            yield b"}"

        kind = {"Content-Type": "application/json"}
        refusals = {
            413: client.post("/v1/assess", content=bytes(200_000), headers=kind),
            415: client.post("/v1/assess", content=b"{}", headers={**kind, "Content-Encoding": "gzip"}),
            408: client.post("/v1/assess", content=slow(), headers=kind),
            404: client.get("/v1/runs/0123456789ab"),
        }
        for status, reply in refusals.items():
            assert reply.status_code == status
            assert reply.headers["access-control-allow-origin"] == "https://example.org"
        foreign = client.get("/v1/runs", headers={"Origin": "https://evil.example"})
        is_problem(foreign, 403, "foreign_origin")
        assert "access-control-allow-origin" not in foreign.headers
        asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "Idempotency-Key"}
        assert client.options("/v1/assess", headers=asked).status_code == 200
