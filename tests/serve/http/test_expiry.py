"""Pictures and runs are kept for a while; what is gone is said to be gone."""

from __future__ import annotations

import os
import time
from pathlib import Path

import httpx
import pytest

from agenticiqa.runtime.runs import RunStore
from support.http_service import PICTURE, REFERENCE, Running, assess, audit, is_problem, serving, wait_until
from support.scripted import ScriptedClient

pytestmark = pytest.mark.hard

COMPARED = {"image_a": ("a.png", PICTURE), "image_b": ("b.png", REFERENCE), "reference": ("r.png", REFERENCE)}


def compared(client: httpx.Client) -> dict:
    reply = client.post("/v1/compare", files=COMPARED)
    assert reply.status_code == 200, reply.text
    return client.get(reply.headers["location"]).json()


def remove_pictures(running: Running) -> None:
    for path in (running.home / "service" / "pictures").glob("*/*"):
        os.utime(path, (1, 1))
    assert running.bound.state.uploads.sweep() > 0


def test_run_without_its_pictures_says_so(tmp_path: Path):
    with serving(tmp_path, ScriptedClient()) as running, running.client() as client:
        run = compared(client)
        single = client.get(assess(client).headers["location"]).json()
        remove_pictures(running)
        for address in (
            *(run["links"][name] for name in ("image_a", "image_b", "reference", "map")),
            *(single["links"][name] for name in ("image", "map")),
        ):
            document = is_problem(client.get(address), 404, "picture_gone")
            assert str(tmp_path) not in document["detail"]
        for shown in (run, single):
            report = client.get(shown["links"]["report"])
            assert report.status_code == 200
            assert "no longer where they were" in report.text
            assert str(tmp_path) not in report.text
        assert run["result"]["verdict"] in client.get(run["links"]["report"]).text


def test_map_that_needs_a_reference_which_is_gone(tmp_path: Path):
    with serving(tmp_path, ScriptedClient()) as running, running.client() as client:
        reply = assess(client, files={"reference": ("r.png", REFERENCE)})
        run = client.get(reply.headers["location"]).json()
        for path in (tmp_path / "service" / "pictures").glob("*/*"):
            if path.read_bytes() == REFERENCE:
                path.unlink()
        is_problem(client.get(f"{run['links']['map']}?tool=SSIM"), 404, "picture_gone")
        assert client.get(run["links"]["image"]).status_code == 200


def test_runs_and_audits_are_forgotten_after_their_time(tmp_path: Path):
    tiny = 0.5 / (24 * 3600)
    with serving(tmp_path, ScriptedClient(), keep_runs_days=tiny) as running, running.client() as client:
        comparison, single = compared(client), assess(client)
        batch = audit(client).json()
        wait_until(lambda: client.get(batch["links"]["self"]).json()["status"] == "ok")
        library = RunStore(tmp_path / "runs.sqlite")
        assert len(library.latest()) == 3
        assert list((tmp_path / "service" / "batches").iterdir())
        time.sleep(0.6)
        assert running.bound.state.forget_old_runs() == 3
        for address in (comparison["links"]["self"], single.headers["location"]):
            wait_until(lambda address=address: client.get(address).status_code == 404)
        is_problem(client.get(batch["links"]["self"]), 404, "audit_not_found")
        assert client.get("/v1/runs").json()["runs"] == []
        assert library.latest() == []
        assert not list((tmp_path / "service" / "batches").iterdir())
        assert running.bound.state.forget_old_runs() == 0
        assert assess(client).status_code == 200
