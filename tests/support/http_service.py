"""HTTP services for tests, on loopback: in a thread with a scripted model, or the command in a process of its own."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import httpx
import numpy as np
from PIL import Image

from agenticiqa.runtime.config import ROLES, load_settings
from agenticiqa.serve.http.server import BoundServer, bind
from agenticiqa.serve.http.settings import ServiceSettings
from agenticiqa.vlm_client import VLMClient
from support.pictures import distorted, scene
from support.scripted import ScriptedClient

COMMAND = Path(sys.executable).with_name("agenticiqa")


def encoded(pixels: np.ndarray, kind: str = "PNG", **more: Any) -> bytes:
    buffer = BytesIO()
    Image.fromarray(pixels).save(buffer, kind, **({"compress_level": 1} | more))
    return buffer.getvalue()


PICTURE = encoded(distorted(scene()))
REFERENCE = encoded(scene())


@dataclass
class Running:
    """A server that answers, and a client for it."""

    url: str
    bound: BoundServer
    model: ScriptedClient
    home: Path

    def client(self, **more: Any) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=60, **more)

    @property
    def host_and_port(self) -> tuple[str, int]:
        host, port = self.bound.sock.getsockname()[:2]
        return host, port


@contextmanager
def serving(
    home: Path,
    model: VLMClient | None,
    *,
    memory: str | None = None,
    overrides: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Iterator[Running]:
    """A server in a thread of this process, on any free port; without a model it uses those of the settings."""
    overrides = {
        **(overrides or {}),
        "pipeline.memory": memory,
        "pipeline.runs.database": home / "runs.sqlite",
        "pipeline.logging.file": home / "log.jsonl",
        "pipeline.cache.enabled": False,
    }
    settings = load_settings(overrides=overrides, environment={})
    service = ServiceSettings(**{"data_folder": home / "service", "port": 0, "grace_s": 20.0, **changes})
    bound = bind(service, settings, clients=dict.fromkeys(ROLES, model) if model else None)
    thread = threading.Thread(target=bound.run, daemon=True)
    thread.start()
    try:
        wait_until(lambda: answers(f"{bound.address}/readyz"))
        yield Running(bound.address, bound, model, home)  # type: ignore[arg-type]
    finally:
        bound.server.handle_exit(15, None)
        thread.join(60)
        assert not thread.is_alive()


def answers(address: str) -> bool:
    try:
        return httpx.get(address).status_code == 200
    except httpx.TransportError:
        return False


def wait_until(condition: Callable[[], Any], seconds: float = 60) -> Any:
    """What the condition gives once it gives something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("it did not happen in time")


class Gate:
    """A step of the model that waits until it is let through."""

    def __init__(self, reply: Any) -> None:
        self.reply = reply
        self.reached = threading.Semaphore(0)
        self.open = threading.Event()

    def __call__(self, _question: Any) -> Any:
        self.reached.release()
        assert self.open.wait(60)
        return self.reply

    def wait_until_reached(self) -> None:
        assert self.reached.acquire(timeout=60)


def audit(client: httpx.Client) -> httpx.Response:
    """One picture looked through quickly, sent as a job of many."""
    return client.post("/v1/audits", files=[("files", ("a.png", PICTURE))], data={"quick": "true"})


def assess(client: httpx.Client, **more: Any) -> httpx.Response:
    """Upload the small picture with a question."""
    files = {"image": ("photo.png", PICTURE, "image/png"), **more.pop("files", {})}
    return client.post("/v1/assess", files=files, **more)


def is_problem(reply: httpx.Response, status: int, kind: str) -> dict[str, Any]:
    """The problem document, after checking that it is one."""
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    document: dict[str, Any] = reply.json()
    assert document["status"] == status
    assert document["type"] == f"urn:agenticiqa:problem:{kind}", document
    assert document["title"]
    assert document["detail"]
    return document


def sse_events(text: str) -> list[tuple[str, dict[str, Any]]]:
    blocks = [block for block in text.split("\n\n") if block and not block.startswith(":")]
    events = []
    for block in blocks:
        fields = dict(line.split(": ", 1) for line in block.splitlines())
        events.append((fields["event"], json.loads(fields["data"])))
    return events


@contextmanager
def command_serving(
    home: Path, *arguments: str, counted: bool = False, log: IO[str] | int = subprocess.PIPE, **extra: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """``agenticiqa serve`` in a process of its own, once it is ready; its lines are counted as covered where told.

    A server that answers many requests needs a file for its ``log``: nobody reads the pipe, and a full one stops it.
    """
    kept = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_BASE_URL"))}
    if not counted:
        kept = {name: value for name, value in kept.items() if not name.startswith("COVERAGE_")}
    environment: Mapping[str, str] = {**kept, "AGENTICIQA_HOME": str(home), "XDG_CONFIG_HOME": str(home), **extra}
    process = subprocess.Popen(
        [str(COMMAND), "serve", "--port", "0", "--json", *arguments],
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
        env=environment,
        cwd=home,
    )
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(3)]
        url = json.loads("".join(lines))["url"]
        wait_until(lambda: answers(f"{url}/readyz"), 120)
        yield process, url
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=30)


def answer_to_dribbling(connection: socket.socket, piece: bytes, pause_s: float) -> bytes:
    """The head of what the server answers to a client that sends little and never stops."""
    stopped = threading.Event()

    def dribble() -> None:
        while not stopped.wait(pause_s):
            try:
                connection.sendall(piece)
            except OSError:
                return

    thread = threading.Thread(target=dribble)
    thread.start()
    try:
        return connection.recv(65536)
    finally:
        stopped.set()
        thread.join()
