"""Views as providers receive them: exactly the planned ones, byte for byte, within each provider's limits."""

from __future__ import annotations

import io
import json
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from PIL import Image
from wire import WIRES, Wire

from agenticiqa import AgenticIQA
from agenticiqa.runtime.config import load_settings
from agenticiqa.vision.views import render
from support.pictures import distorted, save, scene

pytestmark = pytest.mark.contract


@pytest.fixture(params=list(WIRES), ids=list(WIRES))
def wire(request) -> Wire:
    return WIRES[request.param]


@pytest.fixture
def large(tmp_path):
    return save(tmp_path / "large.png", distorted(scene(600, 900), 12))


def assessor_for(client) -> AgenticIQA:
    settings = load_settings(environment={})
    return AgenticIQA(
        settings=settings, clients=dict.fromkeys(("planner", "executor", "summarizer"), client), record=False
    )


class Tap:
    """Hands requests on to a server and keeps what was sent: aimock's own journal leaves pictures out."""

    def __init__(self, server: str) -> None:
        tap = self
        self.bodies: list[Any] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers["content-length"]))
                tap.bodies.append(json.loads(data))
                headers = {name: value for name, value in self.headers.items() if name.lower() not in DROPPED}
                request = urllib.request.Request(server + self.path, data, headers)
                with urllib.request.urlopen(request, timeout=20) as reply:
                    answer = reply.read()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


DROPPED = ("host", "content-length", "accept-encoding", "connection")


@pytest.fixture
def tap(aimock) -> Iterator[Tap]:
    made = Tap(aimock.url)
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_the_pictures_on_the_wire_are_exactly_the_planned_views(tap, wire, large) -> None:
    client = wire.make(tap.url, max_image_side=512)
    assert client.sees_side == 512
    with assessor_for(client) as given:
        result = given.assess(large, views="ask", max_replan_iterations=0)
        image = given.open_picture(large)
    assert result.status in ("ok", "partial"), result.error
    views = result.executor_evidence.views
    assert [view.box for view in views if view.chosen_by == "model"] == [(100, 50, 200, 100)]
    expected = [render(view, image).data for view in views]
    for phrase in ("find the distortions that are visible", "judge how badly it shows"):
        (body,) = [body for body in tap.bodies if phrase in (wire.system(body) or "")]
        parts = wire.parts(body)
        whole, *shown = (content for name, content in parts if name == "image")
        assert shown == [("image/png", data) for data in expected]
        with Image.open(io.BytesIO(whole[1])) as seen:
            assert seen.size == (512, 341)
        labels = [content for name, content in parts if name == "text"]
        assert [label.startswith(f"view {number}, a part of") for number, label in enumerate(labels[1:-1], 1)] == (
            [True] * len(views)
        )
    (scored,) = [body for body in tap.bodies if "assess the image quality" in (wire.system(body) or "")]
    assert [name for name, _ in wire.parts(scored)].count("image") == 1


def test_no_view_is_shrunk_at_a_providers_limit(aimock, wire, large) -> None:
    with assessor_for(wire.make(aimock.url, max_image_side=256)) as given:
        result = given.assess(large, max_replan_iterations=0)
        image = given.open_picture(large)
    notes = [note for call in result.metadata["call_log"] for note in call["notes"] if "shrunk" in note]
    assert notes
    assert all(note.startswith("test image: ") for note in notes)
    for view in result.executor_evidence.views:
        with Image.open(io.BytesIO(render(view, image).data)) as shown:
            assert max(shown.size) <= 256


def test_a_picture_that_is_seen_whole_travels_alone(aimock, wire, large) -> None:
    with assessor_for(wire.make(aimock.url)) as given:
        result = given.assess(large, views="ask", max_replan_iterations=0)
    assert result.executor_evidence.views == []
    assert "views" not in {call["step"] for call in result.metadata["call_log"]}


def test_llama_cpp_takes_views_and_may_ask_for_them(llama_server, large) -> None:
    overrides = {
        "backend": f"compatible.{llama_server.model}",
        "providers.compatible.base_url": llama_server.base_url,
        "providers.compatible.max_image_side": 400,
        **{f"{role}.max_tokens": 6000 for role in ("planner", "executor", "summarizer")},
    }
    with AgenticIQA(settings=load_settings(overrides=overrides, environment={}), record=False) as given:
        result = given.assess(large, "Rate the quality.", views="ask", without=["planner"], max_replan_iterations=0)
    assert result.status in ("ok", "partial"), result.error
    assert result.executor_evidence.views
    steps = [call["step"] for call in result.metadata["call_log"]]
    assert "views" in steps
    assert steps.count("views") <= 6
    assert "detection" in steps
