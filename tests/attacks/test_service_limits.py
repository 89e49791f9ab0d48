"""The service under requests that would take too much: memory, places, time."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from agenticiqa.runtime.memory import MemoryBudget
from agenticiqa.serve.http.keys import KeyFile
from agenticiqa.serve.http.work.jobs import Lane, MemoryShares
from agenticiqa.tools.metrics import Measurement, Metric, MetricSpec, Views
from agenticiqa.tools.metrics.filters import strips
from agenticiqa.tools.registry import Tool, ToolRegistry
from support.http_service import (
    PICTURE,
    Gate,
    Running,
    answer_to_dribbling,
    assess,
    encoded,
    is_problem,
    serving,
    wait_until,
)
from support.scripted import ScriptedClient, plan_reply

pytestmark = pytest.mark.hard

GIGABYTE = 1024**3
LARGE = encoded(np.full((1250, 1600, 3), 90, np.uint8))
"""Two megapixels in a few kilobytes: large for a server that may take a gigabyte."""


@pytest.fixture
def gate() -> Gate:
    return Gate(plan_reply())


# --- memory ---


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server that may take a gigabyte, most of it for itself."""
    with serving(tmp_path_factory.mktemp("narrow"), ScriptedClient(), memory="1G", timeout_s=600.0) as running:
        yield running


def test_what_never_fits_is_refused_before_it_is_decoded(narrow: Running):
    with narrow.client() as client:
        files = {"image": ("large.png", LARGE), "reference": ("original.png", LARGE)}
        for request in ({"tools": ["LPIPS"]}, {"tools": ["SSIM", "LPIPS"]}):
            document = is_problem(client.post("/v1/measure", files=files, data=request), 413, "memory_limit")
            assert "LPIPS" in document["detail"]
            assert "--memory" not in document["detail"]
        assert client.get("/readyz").json()["running"] == 0


def test_of_all_tools_those_that_fit_run(narrow: Running):
    with narrow.client() as client:
        files = {"image": ("large.png", LARGE), "reference": ("original.png", LARGE)}
        reply = client.post("/v1/measure", files=files, data={"all_tools": "true"})
        assert reply.status_code == 200, reply.text
        found = {each["tool"]: each for each in reply.json()["measurements"]}
    assert "memory" in found["LPIPS"]["error"]
    assert "--memory" not in found["LPIPS"]["error"]
    assert found["SSIM"]["raw"] == pytest.approx(1)


def test_a_picture_too_large_for_any_run_is_refused(tmp_path: Path):
    with serving(tmp_path, ScriptedClient(), memory="100M") as running, running.client() as client:
        reply = client.post("/v1/assess", files={"image": ("large.png", LARGE)})
        is_problem(reply, 413, "memory_limit")
        reply = client.post("/v1/compare", files={"image_a": ("a.png", LARGE), "image_b": ("b.png", LARGE)})
        is_problem(reply, 413, "memory_limit")
    assert running.model.script.counts == {}


def test_large_runs_are_one_after_the_other_and_small_ones_beside_them(tmp_path: Path, gate: Gate):
    with serving(tmp_path, ScriptedClient(plan=gate), memory="1G", workers=2) as running, running.client() as client:
        large = [
            client.post("/v1/assess", files={"image": ("large.png", LARGE)}, params={"async": "true"}).json()
            for _ in range(3)
        ]
        gate.wait_until_reached()
        small = assess(client, params={"async": "true"}).json()
        gate.wait_until_reached()
        status = [client.get(run["links"]["self"]).json()["status"] for run in (*large, small)]
        assert status == ["running", "queued", "queued", "running"]
        # More of them would only wait, and hold places that small runs could have.
        refused = client.post("/v1/assess", files={"image": ("large.png", LARGE)})
        is_problem(refused, 503, "memory_busy")
        assert int(refused.headers["retry-after"]) >= 1
        gate.open.set()
        for run in (*large, small):
            wait_until(lambda run=run: client.get(run["links"]["self"]).json()["status"] in ("ok", "partial"))
        assert running.bound.state.memory.budget.taken == 0


def test_small_runs_have_memory_of_their_own():
    shares = MemoryShares.of(MemoryBudget(8 * GIGABYTE), workers=2)
    before = shares.budget.largest
    with shares.reserved():
        assert shares.budget.largest + 3 * shares.small_run <= before
        with shares.admitted(shares.small_run):
            assert shares.budget.taken == 0
        with shares.admitted(shares.small_run + 1):
            assert shares.budget.taken == shares.small_run + 1
    assert shares.budget.largest == before


# --- a client that left, a time that is over ---


def endless_tool(ended: threading.Event, begun: threading.Event) -> ToolRegistry:
    """A tool that goes through a picture in tiles for an hour."""

    def measure(views: Views) -> Measurement:
        begun.set()
        try:
            for _ in strips(360_000, 1 << 17):
                time.sleep(0.01)
        finally:
            ended.set()
        return Measurement(1.0)

    spec = MetricSpec(
        name="endless", kind="NR", range=(0, 1), higher_is_better=True, variant="toy", paper="none", good_at=(),
        bytes_per_pixel=1,
    )  # fmt: skip
    return ToolRegistry([Tool(Metric(spec, measure))])


@pytest.mark.parametrize("why", ["left", "timed out"])
def test_measuring_ends_with_its_client_or_its_time(tmp_path: Path, monkeypatch, why: str):
    ended, begun = threading.Event(), threading.Event()
    registry = endless_tool(ended, begun)
    monkeypatch.setattr("agenticiqa.api.assessor.default_registry", lambda _settings: registry)
    limit = 5.0 if why == "timed out" else 600.0
    body = json.dumps({"image": {"example": "dandelion"}, "tools": ["endless"]}).encode()
    request = (
        b"POST /v1/measure HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        % len(body)
    )
    with serving(tmp_path, ScriptedClient(), timeout_s=limit, workers=1) as running, running.client() as client:
        with socket.create_connection(running.host_and_port, timeout=60) as connection:
            connection.sendall(request + body)
            assert begun.wait(60)
            if why == "timed out":
                assert connection.recv(65536).startswith(b"HTTP/1.1 504 ")
        assert ended.wait(20)
        wait_until(lambda: client.get("/readyz").json()["running"] == 0)


def test_waiting_work_whose_client_left_gives_its_place_back(tmp_path: Path, gate: Gate):
    with serving(tmp_path, ScriptedClient(plan=gate), workers=1, queue=1) as running, running.client() as client:
        assess(client, params={"async": "true"})
        gate.wait_until_reached()
        with socket.create_connection(running.host_and_port, timeout=60) as connection:
            body = json.dumps({"image": {"example": "dandelion"}}).encode()
            connection.sendall(
                b"POST /v1/assess HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
            )
            wait_until(lambda: running.bound.state.queue.taken == 2)
        # The one worker is still busy: nobody has looked at the job that waited.
        wait_until(lambda: running.bound.state.queue.taken == 1)
        gate.open.set()


# --- slow uploads ---


def slow_upload(running: Running, key: str | None = None) -> socket.socket:
    connection = socket.create_connection(running.host_and_port, timeout=60)
    authorization = f"Authorization: Bearer {key}\r\n".encode() if key else b""
    connection.sendall(
        b"POST /v1/assess HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        + authorization
        + b"Content-Length: 30000000\r\n\r\n{"
    )
    return connection


def test_slow_uploads_hold_no_place(tmp_path: Path):
    with serving(tmp_path, ScriptedClient(), workers=1, queue=1) as running, ExitStack() as opened:
        for _ in range(18):
            opened.enter_context(slow_upload(running))
        with running.client() as client:
            assert client.get("/readyz").status_code == 200
            assert assess(client).status_code == 200
            assert running.bound.state.queue.taken == 0


def test_a_body_that_is_always_moving_but_slow_is_cut(tmp_path: Path):
    with (
        serving(tmp_path, ScriptedClient(), body_grace_s=0.5, body_idle_s=60.0, body_total_s=600.0) as running,
        slow_upload(running) as connection,
    ):
        head = answer_to_dribbling(connection, b" " * 100, 0.05)
    assert head.startswith(b"HTTP/1.1 408 ")


def test_bodies_together_are_bounded(tmp_path: Path):
    limits = {"max_upload_bytes": 100_000, "bodies_at_once": 2, "body_idle_s": 60.0, "body_grace_s": 60.0}
    with serving(tmp_path, ScriptedClient(), **limits) as running, ExitStack() as opened:
        heads = []
        for _ in range(3):
            connection = opened.enter_context(socket.create_connection(running.host_and_port, timeout=60))
            connection.sendall(
                b"POST /v1/assess HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                b"Content-Length: 99999\r\n\r\n" + b" " * 90_000
            )
            # The first two are waited for; the third is answered.
            connection.settimeout(1.0 if len(heads) < 2 else 60.0)
            try:
                heads.append(connection.recv(65536)[:12])
            except TimeoutError:
                heads.append(b"")
        assert heads == [b"", b"", b"HTTP/1.1 503"]
        opened.close()
        with running.client() as client:
            wait_until(lambda: assess(client).status_code == 200)


# --- shares ---


def test_a_full_server_says_so(tmp_path: Path, gate: Gate):
    with serving(tmp_path, ScriptedClient(plan=gate), workers=1, queue=1) as running, running.client() as client:
        assert client.get("/readyz").status_code == 200
        for _ in range(2):
            assess(client, params={"async": "true"})
        document = is_problem(client.get("/readyz"), 503, "not_ready")
        assert "full" in document["detail"]
        assert client.get("/healthz").status_code == 200
        gate.open.set()
        wait_until(lambda: client.get("/readyz").status_code == 200)


def test_one_key_cannot_take_all_places(tmp_path: Path, gate: Gate):
    keys = KeyFile(tmp_path / "keys.json")
    one, other = keys.add("one"), keys.add("other")
    with serving(tmp_path, ScriptedClient(plan=gate), workers=1, queue=3, api_keys_file=keys.path) as running:
        greedy = running.client(headers={"Authorization": f"Bearer {one}"})
        modest = running.client(headers={"Authorization": f"Bearer {other}"})
        with greedy, modest:
            kept = [assess(greedy, params={"async": "true"}).json() for _ in range(2)]
            is_problem(assess(greedy), 429, "share_full")
            late = assess(modest, params={"async": "true"}).json()
            assert late["status"] == "queued"
            gate.open.set()
            wait_until(lambda: modest.get(late["links"]["self"]).json()["status"] == "ok")
            for run in kept:
                wait_until(lambda run=run: greedy.get(run["links"]["self"]).json()["status"] == "ok")


def test_everybody_is_served_in_turn():
    class Job:
        def __init__(self, owner: str) -> None:
            self.owner = owner

    lane = Lane()
    jobs = [Job(owner) for owner in ("a", "a", "a", "b", "c", "b")]
    for job in jobs:
        lane.put(job)  # type: ignore[arg-type]
    assert "".join(lane.take().owner for _ in jobs) == "abcaba"  # type: ignore[union-attr]


# --- too small ---


@pytest.mark.parametrize("side", [1, 31])
def test_a_picture_too_small_to_judge_is_the_requests_fault(tmp_path: Path, side: int):
    from agenticiqa.models.backends import create_vlm_client
    from agenticiqa.runtime.config import load_settings

    model = create_vlm_client("embedded", load_settings(environment={}))
    tiny = encoded(np.full((side, side, 3), 90, np.uint8))
    with serving(tmp_path, model) as running, running.client() as client:
        document = is_problem(client.post("/v1/assess", files={"image": ("t.png", tiny)}), 422, "picture_too_small")
        assert "32×32" in document["detail"]
        both = {"image_a": ("t.png", tiny), "image_b": ("p.png", PICTURE)}
        is_problem(client.post("/v1/compare", files=both), 422, "picture_too_small")
