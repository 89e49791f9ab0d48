"""Batches over HTTP."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from support.http_service import PICTURE, REFERENCE, Running, encoded, is_problem, wait_until
from support.pictures import scene

ENDED = ("ok", "partial", "error", "cancelled", "interrupted")


def ended(client: httpx.Client, batch: dict[str, Any]) -> dict[str, Any]:
    def state() -> dict[str, Any] | None:
        found: dict[str, Any] = client.get(batch["links"]["self"]).json()
        return found if found["status"] in ENDED else None

    found: dict[str, Any] = wait_until(state, 120)
    return found


def results(client: httpx.Client, batch: dict[str, Any]) -> list[dict[str, Any]]:
    reply = client.get(batch["links"]["results"])
    assert reply.status_code == 200
    return [json.loads(line) for line in reply.text.splitlines()]


def test_batch_of_uploads_and_paths_is_measured(client: httpx.Client, server: Running):
    (server.home / "allowed" / "third.png").write_bytes(REFERENCE)
    batch = {
        "samples": [
            {"sample_id": "1", "image": {"upload": "a.png"}, "reference": {"upload": "b.png"}},
            {"sample_id": "2", "image": {"upload": "b.png"}, "reference": {"upload": "b.png"}},
            {"sample_id": "3", "image": {"path": str(server.home / "allowed" / "third.png")}},
        ],
        "tools": ["sharpness"],
    }
    files = [("files", ("a.png", PICTURE)), ("files", ("b.png", REFERENCE))]
    reply = client.post("/v1/batches", data={"batch": json.dumps(batch)}, files=files)
    assert reply.status_code == 202, reply.text
    made = reply.json()
    assert made["total"] == 3
    state = ended(client, made)
    assert (state["status"], state["finished"], state["summary"]["ok"]) == ("ok", 3, 3)
    lines = results(client, made)
    assert [line["sample_id"] for line in lines] == ["1", "2", "3"]
    assert [line["image_path"] for line in lines] == ["a.png", "b.png", "third.png"]
    assert lines[0]["measurements"][0]["tool"] == "sharpness"
    assert str(server.home) not in json.dumps(lines)
    assert made["id"] in [each["id"] for each in client.get("/v1/batches").json()["batches"]]


@pytest.mark.hard
def test_batch_is_assessed_by_the_agents(client: httpx.Client):
    body = {"samples": [{"sample_id": "x", "image": {"example": "dandelion_compressed"}}], "backend": "embedded"}
    made = client.post("/v1/batches", json=body).json()
    assert ended(client, made)["status"] == "ok"
    (line,) = results(client, made)
    assert line["summarizer_result"]["final_answer"] in "ABCDE"


def test_batch_can_be_cancelled_and_keeps_what_it_has(client: httpx.Client):
    samples = [{"sample_id": str(number), "image": {"example": "dandelion"}} for number in range(40)]
    made = client.post("/v1/batches", json={"samples": samples, "backend": "embedded"}).json()
    wait_until(lambda: client.get(made["links"]["self"]).json()["finished"], 120)
    client.post(made["links"]["cancel"])
    state = ended(client, made)
    assert state["status"] == "cancelled"
    assert 1 <= len(results(client, made)) < 40


def test_wrong_batches_are_refused_before_anything_runs(client: httpx.Client):
    image = {"example": "dandelion"}
    twice = [{"sample_id": "1", "image": image}] * 2
    is_problem(client.post("/v1/batches", json={"samples": twice}), 422, "invalid_request")
    is_problem(client.post("/v1/batches", json={"samples": []}), 422, "invalid_request")
    unknown = {"samples": twice[:1], "tools": ["NONSENSE"]}
    is_problem(client.post("/v1/batches", json=unknown), 422, "tool_unavailable")
    absent = {"samples": [{"sample_id": "1", "image": {"upload": "nowhere.png"}}]}
    is_problem(client.post("/v1/batches", json=absent), 422, "invalid_request")
    outside = {"samples": [{"sample_id": "1", "image": {"path": "/etc/passwd"}}]}
    is_problem(client.post("/v1/batches", json=outside), 422, "path_refused")
    is_problem(client.get("/v1/batches/0123456789ab"), 404, "batch_not_found")


def test_batch_scales_pictures_to_their_references_where_told(client: httpx.Client):
    batch = {
        "samples": [{"sample_id": "1", "image": {"upload": "a.png"}, "reference": {"upload": "b.png"}}],
        "tools": ["PSNR"],
    }
    files = [("files", ("a.png", PICTURE)), ("files", ("b.png", encoded(scene(96, 120))))]
    kept = []
    for words in ({}, {"align": "resize"}):
        made = client.post("/v1/batches", data={"batch": json.dumps({**batch, **words})}, files=files).json()
        ended(client, made)
        kept.append(results(client, made)[0])
    refused, scaled = kept
    assert refused["status"] == "error"
    assert scaled["measurements"][0]["raw"] > 10
