"""Ctrl-C while a model is waited for: the run ends at once with what is known, is on record, and can be resumed."""

from __future__ import annotations

import json
import re
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agenticiqa import AgenticIQA, Assessment
from agenticiqa.batch.engines.base import ThreadEngine
from agenticiqa.batch.manifest import Row
from agenticiqa.batch.work import SampleOutcome, SampleWorker, Task
from agenticiqa.nodes.run_context import PipelineEvent
from agenticiqa.runtime.stopping import Cancelled, pause
from agenticiqa.vlm_client import ModelReply, ModelRequest, RichVLMClient
from cli.model_server import REPLIES, ModelServer, Reply
from support.batches import measuring_job
from support.command_line import CommandLine
from support.http_service import wait_until
from support.pictures import distorted, save, scene

pytestmark = pytest.mark.hard

SOON_S = 10.0
"""Far less than the model takes; a busy machine needs more than the second that it takes otherwise."""
SLOW_S = 60.0


PROMPT = ("You are a planner", "find the distortions")


class SlowModel(ModelServer):
    """Answers the planner and the detection at once, and everything after them when it is told to."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.asked_late = threading.Event()
        late = {words: self._later(reply) for words, reply in REPLIES.items() if words not in PROMPT}
        super().__init__(late)
        # Clients leave before they are answered: that is the point.
        self._http.handle_error = lambda *_: None  # type: ignore[method-assign]

    def _later(self, reply: Reply) -> Reply:
        def answer(_prompt: str) -> Reply:
            self.asked_late.set()
            self.go_on.wait(SLOW_S)
            return reply

        return answer


@pytest.fixture
def model() -> Iterator[SlowModel]:
    with SlowModel() as server:
        yield server
        server.go_on.set()


@pytest.fixture
def picture(command_line: CommandLine, model: SlowModel) -> Path:
    command_line.environment.update(COMPATIBLE_BASE_URL=model.base_url, AGENTICIQA_BACKEND="compatible.tiny")
    return save(command_line.folder / "p.png", distorted(scene(96, 128)))


@pytest.mark.parametrize("form", ["--json", "--quiet"])
def test_first_interrupt_ends_the_run_and_resuming_finishes_it(
    command_line: CommandLine, model: SlowModel, picture: Path, form: str
) -> None:
    running = command_line.start("assess", "p.png", form)
    assert model.asked_late.wait(60)
    sent = time.monotonic()
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=SLOW_S)
    took = time.monotonic() - sent
    requests = len(model.requests)
    assert (running.returncode, took < SOON_S) == (130, True), err
    assert out == "", "half a result is none"
    calls = re.search(r"Interrupted after (\d+) calls. `agenticiqa runs resume (\w+)` continues", " ".join(err.split()))
    assert calls is not None, err
    assert int(calls[1]) >= 2

    (record,) = json.loads(command_line("runs", "list", "--json").out)
    assert (record["id"], record["status"]) == (calls[2], "interrupted")
    time.sleep(0.5)
    assert len(model.requests) == requests, "nothing more is sent once the run has ended"
    model.go_on.set()
    resumed = command_line("runs", "resume", record["id"], "--json")
    assert resumed.code == 0, resumed.err
    assert json.loads(resumed.out)["summarizer_result"]["final_answer"] == "C"
    plans = [request for request in model.requests if "You are a planner" in json.dumps(request["messages"])]
    assert len(plans) == 1, "the resumed run continues where the interrupted one was"
    assert json.loads(command_line("runs", "list", "--json").out)[0]["status"] in ("ok", "partial")


def test_interrupt_while_waiting_to_try_again(command_line: CommandLine, picture: Path) -> None:
    """The pause between two attempts is cut short as well."""
    with ModelServer(status=503) as down:
        command_line.environment["COMPATIBLE_BASE_URL"] = down.base_url
        command_line.environment["AGENTICIQA_PROVIDERS__COMPATIBLE__MAX_RETRIES"] = "10"
        running = command_line.start("assess", "p.png", "--quiet")
        end = time.monotonic() + 60
        while len(down.requests) < 4 and time.monotonic() < end:
            time.sleep(0.05)
        sent = time.monotonic()
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=SLOW_S)
        assert (running.returncode, time.monotonic() - sent < SOON_S) == (130, True), err


class Foreign(RichVLMClient):
    """Somebody's plug-in, which knows nothing of being stopped."""

    backend = "foreign"

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.asked = threading.Event()
        self.calls = 0

    def complete(self, request: ModelRequest) -> ModelReply:
        self.calls += 1
        self.asked.set()
        self.go_on.wait(SLOW_S)
        return ModelReply("no JSON at all")


def test_interrupt_in_python_waits_for_no_foreign_client(assessor: Any, pair: Any) -> None:
    client = Foreign()
    running = assessor(client)

    def press_once_asked() -> None:
        client.asked.wait(60)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    started = time.monotonic()
    threading.Thread(target=press_once_asked).start()
    with pytest.raises(KeyboardInterrupt) as ended:
        running.assess(pair.test)
    assert time.monotonic() - started < SLOW_S
    (recorded,) = running.runs.latest()
    assert (recorded.id, recorded.status) == (ended.value.run_id, "interrupted")  # type: ignore[attr-defined]
    calls = client.calls
    client.go_on.set()
    time.sleep(0.3)
    assert client.calls == calls, "the reply that came too late is not asked for again"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_listener_that_raises_is_not_kept_waiting(assessor: Any, pair: Any) -> None:
    class SlowAfterDetection(Foreign):
        def complete(self, request: ModelRequest) -> ModelReply:
            early = [reply for words, reply in REPLIES.items() if words in PROMPT and words in request.full_prompt]
            return ModelReply(json.dumps(early[0])) if early else super().complete(request)

    client = SlowAfterDetection()
    running = assessor(client)

    def stop(event: PipelineEvent) -> None:
        if event.name == "detection":
            client.asked.wait(60)
            raise Cancelled

    started = time.monotonic()
    with pytest.raises(Cancelled):
        running.assess(pair.test, on_event=stop)
    assert time.monotonic() - started < SLOW_S
    assert running.runs.latest()[0].status == "cancelled"
    client.go_on.set()


def test_an_interrupted_stream_can_be_resumed(assessor: Any, pair: Any) -> None:
    """Closing the generator is an interruption too."""
    with AgenticIQA("embedded") as iqa:
        events = iqa.stream(pair.test)
        next(events)
        events.close()
        (record,) = iqa.runs.latest()
        assert record.status == "interrupted"
        assert isinstance(iqa.resume(record.id), Assessment)
        assert iqa.runs.latest()[0].status in ("ok", "partial")


@pytest.mark.parametrize("way", ["dropped", "overdue"])
def test_a_sample_that_nobody_waits_for_ends(monkeypatch: pytest.MonkeyPatch, isolated: Path, way: str) -> None:
    """After a second Ctrl-C the batch printed its summary, and the program hung until the model answered."""
    begun, ended = threading.Event(), threading.Event()

    def hang(_worker: SampleWorker, _task: Task) -> SampleOutcome:
        begun.set()
        try:
            pause(SLOW_S)
        finally:
            ended.set()
        raise AssertionError("nobody told it to stop")

    monkeypatch.setattr(SampleWorker, "work", hang)
    engine = ThreadEngine(measuring_job(timeout_s=0.2 if way == "overdue" else 600), 1)
    engine.submit(Task(0, Row(1, {"image_path": "p.png"}, ""), "a" * 12, "1"))
    assert begun.wait(30)
    if way == "dropped":
        engine.close()
    else:
        wait_until(lambda: engine.finished(0.1), SOON_S)
    assert ended.wait(SOON_S)
    engine.close()
