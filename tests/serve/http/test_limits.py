"""Limits: bodies, queue, time, and clients that leave."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from agenticiqa.runtime.runs import RunStore
from agenticiqa.serve.http.problems import ServiceError
from agenticiqa.serve.http.store.uploads import UploadStore
from agenticiqa.serve.http.work.jobs import RenderQueue
from support.http_service import (
    PICTURE,
    REFERENCE,
    Gate,
    Running,
    answer_to_dribbling,
    assess,
    is_problem,
    serving,
    wait_until,
)
from support.scripted import ScriptedClient, plan_reply

MEGABYTE = 1024 * 1024


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with tight limits."""
    home = tmp_path_factory.mktemp("small")
    with serving(
        home, ScriptedClient(), max_upload_bytes=MEGABYTE, header_timeout_s=0.5, body_idle_s=0.5, body_total_s=2.0
    ) as running:
        yield running


@pytest.fixture
def gate() -> Gate:
    return Gate(plan_reply())


@pytest.fixture
def gated(tmp_path: Path, gate: Gate) -> Iterator[Running]:
    """One worker, one waiting place, and a model that answers when the test lets it."""
    with serving(tmp_path, ScriptedClient(plan=gate), workers=1, queue=1, timeout_s=30.0) as running:
        try:
            yield running
        finally:
            gate.open.set()


# --- bodies ---


def test_announced_gigabyte_is_refused_unread(small: Running):
    with socket.create_connection(small.host_and_port, timeout=20) as connection:
        connection.sendall(
            b"POST /v1/assess HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Content-Length: 1073741824\r\n\r\n"
        )
        # Not one byte of the body was sent, and the answer is there.
        head = connection.recv(65536)
    assert head.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close" in head


def test_streamed_gigabyte_is_cut_off_early(small: Running):
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        while sent < 1024 * MEGABYTE:
            sent += 65536
            yield b"x" * 65536

    with small.client() as client:
        reply = client.post("/v1/assess", content=endless(), headers={"Content-Type": "application/json"})
    is_problem(reply, 413, "body_too_large")
    assert sent < 64 * MEGABYTE


def test_curl_sees_the_refusal_of_a_large_file(small: Running, tmp_path: Path):
    large = tmp_path / "large.png"
    with large.open("wb") as file:
        file.truncate(64 * MEGABYTE)
    done = subprocess.run(
        ["curl", "-sS", "-w", "%{http_code}", "-o", "/dev/null", "-F", f"image=@{large}", f"{small.url}/v1/assess"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stdout == "413", done.stderr


@pytest.mark.hard
def test_slow_body_is_cut_off(small: Running):
    with socket.create_connection(small.host_and_port, timeout=30) as connection:
        connection.sendall(
            b"POST /v1/assess HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Content-Length: 1000\r\n\r\n{"
        )
        head = connection.recv(65536)
    assert head.startswith(b"HTTP/1.1 408 ")


@pytest.mark.hard
def test_body_in_drops_is_cut_off(small: Running):
    with socket.create_connection(small.host_and_port, timeout=30) as connection:
        connection.sendall(
            b"POST /v1/assess HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Content-Length: 100000\r\n\r\n"
        )
        head = answer_to_dribbling(connection, b" ", 0.1)
    assert head.startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("start", [b"", b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "])
def test_slow_headers_are_cut_off(small: Running, start: bytes):
    with socket.create_connection(small.host_and_port, timeout=30) as connection:
        connection.sendall(start)
        assert connection.recv(65536) == b""


def test_slow_headers_of_a_second_request_are_cut_off(small: Running):
    with socket.create_connection(small.host_and_port, timeout=30) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        answer = b""
        while not answer.endswith(b'{"status":"ok"}'):
            answer += connection.recv(65536)
        connection.sendall(b"GET /healthz HT")
        assert connection.recv(65536) == b""


def test_endless_header_is_refused(small: Running):
    with socket.create_connection(small.host_and_port, timeout=30) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * 200_000)
        assert connection.recv(65536)[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 431")


def test_compressed_bodies_are_not_unpacked(small: Running):
    with small.client() as client:
        headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
        is_problem(client.post("/v1/assess", content=b"\x1f\x8b", headers=headers), 415, "content_encoding")


# --- queue and time ---


def in_background(action) -> tuple[threading.Thread, list[httpx.Response]]:
    replies: list[httpx.Response] = []
    thread = threading.Thread(target=lambda: replies.append(action()))
    thread.start()
    return thread, replies


@pytest.mark.hard
def test_full_queue_says_when_to_come_back(gated: Running, gate: Gate):
    with gated.client() as client:
        first = assess(client, params={"async": "true"}).json()
        gate.wait_until_reached()
        second = assess(client, params={"async": "true"}).json()
        refused = assess(client)
        is_problem(refused, 429, "queue_full")
        assert int(refused.headers["retry-after"]) >= 1
        assert client.get("/healthz").status_code == 200
        assert client.get("/readyz").json()["waiting"] == 1
        assert client.get(second["links"]["self"]).json()["status"] == "queued"
        gate.open.set()
        for run in (first, second):
            wait_until(lambda run=run: client.get(run["links"]["self"]).json()["status"] == "ok")
        assert assess(client).status_code == 200


def test_refused_request_leaves_its_place_free(gated: Running, gate: Gate):
    gate.open.set()
    with gated.client() as client:
        for _ in range(5):
            is_problem(client.post("/v1/assess", json={"image": {}}), 422, "invalid_request")
        assert assess(client).status_code == 200


def test_run_is_cancelled_when_its_client_leaves(gated: Running, gate: Gate):
    with gated.client() as client:
        body = json.dumps({"image": {"example": "dandelion_compressed"}}).encode()
        with socket.create_connection(gated.host_and_port, timeout=30) as connection:
            connection.sendall(
                b"POST /v1/assess HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
            )
            gate.wait_until_reached()
        (run,) = client.get("/v1/runs").json()["runs"]
        wait_until(lambda: gated.bound.state.queue.find(run["id"]).stop_reason)
        gate.open.set()
        wait_until(lambda: client.get(run["links"]["self"]).json()["status"] == "cancelled")
        shown = client.get(run["links"]["self"]).json()
        assert shown["error"]["type"].endswith("client_left")
    assert gated.model.script.counts["detection"] == 0


def test_run_can_be_cancelled(gated: Running, gate: Gate):
    with gated.client() as client:
        run = assess(client, params={"async": "true"}).json()
        gate.wait_until_reached()
        assert client.post(run["links"]["cancel"]).status_code == 200
        gate.open.set()
        wait_until(lambda: client.get(run["links"]["self"]).json()["status"] == "cancelled")
        events = client.get(run["links"]["events"]).text
        assert '"cancelled"' in events
    assert gated.model.script.counts["answer"] == 0


def test_waiting_run_can_be_cancelled_without_ever_starting(gated: Running, gate: Gate):
    with gated.client() as client:
        assess(client, params={"async": "true"})
        gate.wait_until_reached()
        waiting = assess(client, params={"async": "true"}).json()
        client.post(waiting["links"]["cancel"])
        gate.open.set()
        wait_until(lambda: client.get(waiting["links"]["self"]).json()["status"] == "cancelled")
    assert gated.model.script.counts["plan"] == 1


@pytest.mark.hard
def test_run_out_of_time_is_answered_and_stopped(tmp_path: Path, gate: Gate):
    with serving(tmp_path, ScriptedClient(plan=gate), timeout_s=0.5) as running, running.client() as client:
        document = is_problem(assess(client), 504, "timed_out")
        gate.open.set()
        run = f"/v1/runs/{document['run_id']}"
        wait_until(lambda: client.get(run).json()["status"] == "timed_out")
        assert client.get(run).json()["result"] is None


@pytest.mark.hard
def test_event_loop_answers_while_the_pipeline_works(gated: Running, gate: Gate):
    with gated.client() as client:
        thread, replies = in_background(lambda: assess(client))
        gate.wait_until_reached()
        with gated.client() as other:
            assert other.get("/healthz").status_code == 200
            assert other.get("/v1/tools").status_code == 200
        gate.open.set()
        thread.join(60)
        assert replies[0].status_code == 200


def test_drawing_is_bounded(tmp_path: Path):
    async def crowd() -> list[object]:
        render_queue = RenderQueue(most_waiting=2)
        opened = threading.Event()
        drawings = [asyncio.create_task(render_queue.draw("a", lambda: opened.wait(30))) for _ in range(3)]
        await asyncio.wait(drawings, return_when=asyncio.FIRST_COMPLETED)
        opened.set()
        found = await asyncio.gather(*drawings, return_exceptions=True)
        render_queue.close()
        return found

    first, second, third = asyncio.run(crowd())
    assert (first, second) == (True, True)
    assert isinstance(third, ServiceError)
    assert third.status == 429


@pytest.mark.hard
def test_uploads_go_when_their_time_is_over(tmp_path: Path):
    with serving(tmp_path, ScriptedClient(), keep_uploads_hours=1) as running, running.client() as client:
        run = client.get(assess(client).headers["location"]).json()
        assert client.get(run["links"]["image"]).status_code == 200
        (stored,) = [path for path in (tmp_path / "service" / "pictures").glob("*/*") if path.read_bytes() == PICTURE]
        old = time.time() - 2 * 3600
        os.utime(stored, (old, old))
        assert running.bound.state.uploads.sweep(in_use={stored}) == 0
        assert running.bound.state.uploads.sweep() == 1
        is_problem(client.get(run["links"]["image"]), 404, "picture_gone")
        assert client.get(run["links"]["self"]).json()["answer"] == "C"
        assert client.get(run["links"]["report"]).status_code == 200


def test_shelf_keeps_to_its_size(tmp_path: Path):
    uploads = UploadStore(tmp_path, keep_s=3600, max_bytes=250, least_s=10)
    kept = [uploads.put(bytes([number]) * 100, "x") for number in range(4)]
    for age, picture in zip((400, 300, 200, 1), kept, strict=True):
        os.utime(picture.path, (time.time() - age, time.time() - age))
    assert uploads.sweep() == 2
    assert [picture.path.exists() for picture in kept] == [False, False, True, True]


def test_cancelled_comparison_leaves_no_run_that_is_called_running(gated: Running, gate: Gate):
    with gated.client() as client:
        files = {"image_a": ("a.png", PICTURE), "image_b": ("b.png", REFERENCE)}
        run = client.post("/v1/compare", files=files, params={"async": "true"}).json()
        gate.wait_until_reached()
        client.post(run["links"]["cancel"])
        gate.open.set()
        wait_until(lambda: client.get(run["links"]["self"]).json()["status"] == "cancelled")
    (inner,) = RunStore(gated.home / "runs.sqlite").latest()
    assert inner.status == "cancelled"
