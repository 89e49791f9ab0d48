"""Stopping: accepted work is finished or recorded as interrupted, and nothing is lost without a word."""

from __future__ import annotations

import base64
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from agenticiqa.api.assessor import AgenticIQA
from agenticiqa.errors import ConfigError
from agenticiqa.runtime.config import ROLES
from agenticiqa.serve.http.store.job_record import JobOutcome, JobRecord, JobRow
from support.http_service import Gate, command_serving, encoded, is_problem, serving, wait_until
from support.pictures import distorted, scene
from support.scripted import ScriptedClient, detection_reply, plan_reply

pytestmark = pytest.mark.hard

BODY = {"image": {"base64": base64.b64encode(encoded(distorted(scene(240, 320)))).decode()}}
RUNS = 4


def recorded(home: Path) -> dict[str, JobRow]:
    with closing(JobRecord(home / "service" / "service.sqlite")) as record:
        return {row.id: row for row in record.latest("local", ("assess",), 100)}


def ask(url: str) -> httpx.Response | None:
    try:
        return httpx.post(f"{url}/v1/assess", json=BODY, timeout=120)
    except httpx.TransportError:
        return None


@pytest.mark.parametrize("grace", ["90", "0"])
def test_sigterm_under_load_loses_nothing(tmp_path: Path, grace: str):
    with (
        ThreadPoolExecutor(RUNS) as pool,
        command_serving(tmp_path, "--workers", "1", "--queue", "20", "--grace", grace) as (process, url),
    ):
        accepted = [
            httpx.post(f"{url}/v1/assess", params={"async": "true"}, json=BODY, timeout=60).json()["id"]
            for _ in range(RUNS)
        ]
        waiting = [pool.submit(ask, url) for _ in range(RUNS)]
        wait_until(lambda: httpx.get(f"{url}/readyz").json()["waiting"] >= RUNS)
        process.send_signal(signal.SIGTERM)
        assert process.wait(150) == 0
        replies = [reply.result() for reply in waiting]
    rows = recorded(tmp_path)
    assert set(accepted) <= set(rows)
    assert {row.status for row in rows.values()} <= {"ok", "interrupted"}
    assert all(row.finished_at for row in rows.values())
    if grace == "90":
        assert all(rows[run].status == "ok" for run in accepted)
    else:
        assert any(row.status == "interrupted" for row in rows.values())
    for reply in filter(None, replies):
        if reply.status_code == 200:
            assert rows[reply.json()["metadata"]["run_id"]].status == "ok"
        else:
            document = reply.json()
            assert reply.status_code == 503
            assert "retry-after" in reply.headers
            assert "run_id" not in document or rows[document["run_id"]].status == "interrupted"


def test_killed_server_leaves_runs_that_the_next_one_calls_interrupted(tmp_path: Path):
    with command_serving(tmp_path, "--workers", "1") as (process, url):
        ids = [
            httpx.post(f"{url}/v1/assess", params={"async": "true"}, json=BODY, timeout=60).json()["id"]
            for _ in range(3)
        ]
        process.kill()
        process.wait(30)
    with serving(tmp_path, ScriptedClient()) as running, running.client() as client:
        last = client.get(f"/v1/runs/{ids[-1]}").json()
        assert last["status"] == "interrupted"
        assert last["error"]["type"].endswith("interrupted")
        assert client.get(f"/v1/runs/{ids[-1]}/events").text.endswith('data: {"status": "interrupted"}\n\n')
        assert client.get(last["links"]["image"]).status_code == 200


def test_stopping_server_refuses_new_work_and_says_so(tmp_path: Path):
    gate = Gate(plan_reply())
    with serving(tmp_path, ScriptedClient(plan=gate), workers=1) as running, running.client() as client:
        assert client.get("/healthz").status_code == 200
        run = client.post("/v1/assess", params={"async": "true"}, json=BODY).json()
        gate.wait_until_reached()
        follower = threading.Thread(target=lambda: httpx.get(f"{running.url}{run['links']['events']}", timeout=60))
        follower.start()
        running.bound.state.queue.draining = True
        is_problem(client.post("/v1/assess", json=BODY), 503, "stopping")
        is_problem(client.get("/readyz"), 503, "not_ready")
        assert client.get("/healthz").status_code == 200
        gate.open.set()
        follower.join(60)
        assert not follower.is_alive()
    assert recorded(tmp_path)[run["id"]].status == "ok"


def test_run_interrupted_on_its_way_can_be_resumed(tmp_path: Path):
    gate = Gate(detection_reply())
    model = ScriptedClient(detection=gate)
    with serving(tmp_path, model, grace_s=0.0) as running, running.client() as client:
        run = client.post("/v1/assess", params={"async": "true"}, json=BODY).json()["id"]
        gate.wait_until_reached()
        running.bound.state.queue.find(run).stop("interrupted")
        gate.open.set()
        wait_until(lambda: client.get(f"/v1/runs/{run}").json()["status"] == "interrupted")
    settings = running.bound.state.pipeline.settings
    with AgenticIQA(settings=settings, clients=dict.fromkeys(ROLES, model)) as assessor:
        assert assessor.runs.find(run).status == "interrupted"
        assert assessor.resume(run).answer == "C"
    # The planner's work was kept.
    assert model.script.counts["plan"] == 1


def test_two_servers_do_not_share_a_folder(tmp_path: Path):
    second = serving(tmp_path, ScriptedClient())
    with serving(tmp_path, ScriptedClient()), pytest.raises(ConfigError, match="Another server"), second:
        pass


def test_late_word_does_not_overwrite_an_interruption(tmp_path: Path):
    with closing(JobRecord(tmp_path / "r.sqlite")) as record:
        record.begin("a" * 12, "me", "assess", {})
        record.finish("a" * 12, JobOutcome("interrupted"))
        record.finish("a" * 12, JobOutcome("ok", {"x": 1}))
        row = record.find("a" * 12, "me")
        assert row is not None
        assert (row.status, row.result) == ("interrupted", None)
        assert record.find("a" * 12, "you") is None
