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
from wire import CALLED_PLACE, KEY, WIRES, WRITTEN_PLACE, Wire

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


@pytest.mark.hard
def test_the_pictures_on_the_wire_are_exactly_the_planned_views(tap, wire, large) -> None:
    client = wire.make(tap.url, max_image_side=512)
    assert client.sees_side == 512
    with assessor_for(client) as given:
        result = given.assess(large, views="ask", max_replan_iterations=0)
        image = given.open_picture(large)
    assert result.status in ("ok", "partial"), result.error
    views = result.executor_evidence.views
    (asked, *_) = [body for body in tap.bodies if "ask for closer looks" in (wire.system(body) or "")]
    assert ("tools" in asked) == (wire.name != "compatible")
    place = CALLED_PLACE if "tools" in asked else WRITTEN_PLACE
    assert [view.box for view in views if view.chosen_by == "model"] == [place]
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


@pytest.mark.hard
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


CALLING = [name for name, wire in WIRES.items() if wire.client.calls_tools]


@pytest.mark.hard
@pytest.mark.parametrize("name", CALLING)
@pytest.mark.parametrize(
    "words",
    ["an unknown tool", "with damaged arguments", "with half of a place", "for a place outside"],
)
def test_a_tool_call_that_cannot_be_met_is_asked_for_again_and_costs_the_request_alone(tap, large, name, words) -> None:
    with assessor_for(WIRES[name].make(tap.url, max_image_side=512)) as given:
        result = given.assess(large, f"Rate the quality. call {words}", views="ask", max_replan_iterations=0)
    assert (result.status, result.answer) == ("partial", "C")
    assert [error[:7] for error in result.executor_evidence.errors] == ["views: "]
    assert {view.chosen_by for view in result.executor_evidence.views} == {"rule"}
    asked = [body for body in tap.bodies if "ask for closer looks" in (WIRES[name].system(body) or "")]
    assert [("tools" in body, "ONLY valid JSON" in json.dumps(body)) for body in asked] == [
        (True, False),
        (True, True),
        (True, True),
    ]


@pytest.mark.hard
@pytest.mark.parametrize("name", CALLING)
def test_a_refused_tool_call_costs_the_request_alone(tap, large, name) -> None:
    with assessor_for(WIRES[name].make(tap.url, max_image_side=512)) as given:
        result = given.assess(large, "Rate the quality. refuse to call", views="ask", max_replan_iterations=0)
    assert (result.status, result.answer) == ("partial", "C")
    assert "declined" in result.executor_evidence.errors[0]


@pytest.mark.hard
@pytest.mark.parametrize("name", CALLING)
def test_a_server_that_calls_no_tool_is_asked_by_schema_from_then_on(tap, large, name) -> None:
    with assessor_for(WIRES[name].make(tap.url, max_image_side=512)) as given:
        result = given.assess(large, "Rate the quality. call no tool", views="ask", max_replan_iterations=0)
    assert result.status in ("ok", "partial"), result.error
    assert result.executor_evidence.errors == []
    assert [view.box for view in result.executor_evidence.views if view.chosen_by == "model"] == [WRITTEN_PLACE]
    asked = [body for body in tap.bodies if "ask for closer looks" in (WIRES[name].system(body) or "")]
    assert [("tools" in body) for body in asked] == [True, False, False]


@pytest.mark.hard
@pytest.mark.parametrize("provider", ["compatible", "openai"])
def test_llama_cpp_takes_views_and_may_ask_for_them(llama_server, large, provider) -> None:
    """With this model's template it takes tools and ignores them: the OpenAI client finds that out."""
    overrides = {
        "backend": f"{provider}.{llama_server.model}",
        f"providers.{provider}.base_url": llama_server.base_url,
        f"providers.{provider}.api_key": KEY,
        f"providers.{provider}.max_image_side": 400,
        **{f"{role}.max_tokens": 6000 for role in ("planner", "executor", "summarizer")},
    }
    with AgenticIQA(settings=load_settings(overrides=overrides, environment={}), record=False) as given:
        result = given.assess(large, "Rate the quality.", views="ask", without=["planner"], max_replan_iterations=0)
    assert result.status in ("ok", "partial"), result.error
    assert result.executor_evidence.views
    steps = [call["step"] for call in result.metadata["call_log"]]
    assert "views" in steps
    assert steps.count("views") <= 6
    assert not any(error.startswith("views") for error in result.executor_evidence.errors)
    assert "detection" in steps
