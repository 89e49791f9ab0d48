"""Questions that follow a run of the same key, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from agenticiqa.serve.http.app import WEB
from agenticiqa.serve.http.keys import KeyFile
from support.http_service import PICTURE, REFERENCE, Running, assess, is_problem, serving, wait_until
from support.scripted import ALL_OFF, ScriptedClient, answer_reply, plan_reply

BLURRY = "Is the car blurry?"


def asked_on(client: httpx.Client, run_id: str, query: str = "why?", **more: object) -> httpx.Response:
    return client.post("/v1/assess", json={"after": run_id, "query": query, **more})


@pytest.mark.hard
def test_the_picture_and_the_turns_come_from_the_run(client: httpx.Client, server: Running):
    sent = {"query": "Rate it", "regions": '{"car": [0, 0, 40, 40]}'}
    first = assess(client, data=sent, files={"reference": ("clean.png", REFERENCE, "image/png")}).json()
    second = asked_on(client, first["metadata"]["run_id"]).json()
    assert second["metadata"]["image_sha256"] == first["metadata"]["image_sha256"]
    assert second["reference_path"] == "clean.png"
    assert second["metadata"]["regions"] == {"car": [0, 0, 40, 40]}
    assert [turn["query"] for turn in second["earlier"]] == ["Rate it"]
    assert "Earlier questions about this image" in server.model.script.of("answer")[-1].user
    run = client.get(f"/v1/runs/{second['metadata']['run_id']}").json()
    assert run["request"]["after"] == first["metadata"]["run_id"]
    page = client.get(run["links"]["report"]).text
    assert "Rate it C (Fair)" in page
    third = asked_on(client, second["metadata"]["run_id"], "really?", regions={})
    assert [turn["query"] for turn in third.json()["earlier"]] == ["Rate it", "why?"]
    assert not third.json()["metadata"]["regions"]


def test_a_form_and_the_answer_that_comes_later(client: httpx.Client):
    first = assess(client).json()["metadata"]["run_id"]
    accepted = client.post("/v1/assess?async=true", files={"after": (None, first), "query": (None, "why?")})
    assert accepted.status_code == 202
    ended = wait_until(lambda: client.get(accepted.json()["links"]["self"]).json()["result"])
    assert len(ended["earlier"]) == 1


def test_what_cannot_be_asked_on(client: httpx.Client):
    is_problem(asked_on(client, "000000000000"), 404, "run_not_found")
    is_problem(asked_on(client, "last"), 422, "invalid_request")
    is_problem(client.post("/v1/assess", json={"query": "why?"}), 422, "invalid_request")
    files = {"image_a": ("a.png", PICTURE), "image_b": ("b.png", REFERENCE)}
    compared = client.post("/v1/compare?async=true", files=files).json()
    wait_until(lambda: client.get(compared["links"]["self"]).json()["result"])
    is_problem(asked_on(client, compared["id"]), 409, "no_result")


def test_a_picture_that_is_no_longer_kept_is_to_be_sent_again(client: httpx.Client, server: Running):
    first = assess(client).json()["metadata"]["run_id"]
    for file in (server.home / "service" / "pictures").glob("*/*"):
        file.unlink()
    is_problem(asked_on(client, first), 422, "picture_gone")
    again = assess(client, data={"after": first, "query": "why?"})
    assert [turn["query"] for turn in again.json()["earlier"]] == ["Rate the perceptual quality of the image."]


@pytest.fixture
def keyed(tmp_path: Path) -> Iterator[tuple[Running, list[str]]]:
    keys = KeyFile(tmp_path / "keys.json")
    made = [keys.add(name) for name in ("ann", "bob")]
    model = ScriptedClient(plan=plan_reply(query_type="Other", plan=ALL_OFF), answer=answer_reply("Yes"))
    with serving(tmp_path, model, api_keys_file=keys.path) as running:
        yield running, made


def test_a_run_of_another_key_is_unknown(keyed: tuple[Running, list[str]]):
    running, keys = keyed
    ann, bob = (running.client(headers={"Authorization": f"Bearer {key}"}) for key in keys)
    with ann, bob:
        run_id = assess(ann, data={"query": BLURRY}).json()["metadata"]["run_id"]
        is_problem(asked_on(bob, run_id), 404, "run_not_found")
        is_problem(assess(bob, data={"after": run_id, "query": "why?"}), 404, "run_not_found")
        assert asked_on(ann, run_id).json()["earlier"] == [{"query": BLURRY, "answer": "Yes"}]


def test_the_page_asks_on():
    """What can be seen without a browser: the form names the run that was answered, the thread follows it back."""
    assert 'form.append("after", this.run.id)' in (WEB / "js" / "bench.js").read_text(encoding="utf-8")
    assert "run.request.after" in (WEB / "js" / "desk.js").read_text(encoding="utf-8")
