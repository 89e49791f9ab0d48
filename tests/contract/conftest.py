"""Servers for the contract tests: aimock (an npm package), llama.cpp (in the xllamacpp wheel), and a scripted one.

``llama_server`` and ``aimock`` start once for each test process, on free ports, so that parallel runs do not meet.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

# The helpers beside this file are plain modules.
sys.path.insert(0, str(Path(__file__).parent))

from scripted_server import Answer, ScriptedServer
from wire import CALLED_PLACE, KEY, WRITTEN_PLACE

from support.scripted import (
    STEP_PHRASES,
    analysis_reply,
    answer_reply,
    detection_reply,
    plan_reply,
    selection_reply,
    views_reply,
)

AIMOCK_VERSION = "1.43.0"
START_LIMIT_S = 30.0


@pytest.fixture
def scripted() -> Iterator[Callable[..., ScriptedServer]]:
    """Start a server that gives these answers in turn."""
    servers: list[ScriptedServer] = []

    def start(*answers: Answer) -> ScriptedServer:
        servers.append(ScriptedServer(list(answers)))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


# --- llama.cpp -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LlamaServer:
    base_url: str
    model: str = "tiny"


@pytest.fixture(scope="session")
def llama_server(tmp_path_factory: pytest.TempPathFactory) -> LlamaServer:
    """A real llama.cpp server on a tiny random model that sees pictures."""
    xllamacpp = pytest.importorskip("xllamacpp", reason="the xllamacpp wheel is not installed")
    import tiny_gguf

    folder = tmp_path_factory.mktemp("tiny-gguf")
    tiny_gguf.write_language_model(folder / "tiny.gguf")
    tiny_gguf.write_projector(folder / "projector.gguf")
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(folder / "tiny.gguf")
    parameters.mmproj.path = str(folder / "projector.gguf")
    parameters.mmproj_use_gpu = False
    parameters.n_ctx = tiny_gguf.CONTEXT
    parameters.n_parallel = 1
    parameters.warmup = False
    parameters.cpuparams.n_threads = 1
    parameters.port = free_port()
    server = xllamacpp.Server(parameters)
    # The server stops when the object is collected: the fixture's value keeps it alive for the session.
    _KEEP_ALIVE.append(server)
    return LlamaServer(base_url=server.listening_address + "/v1")


_KEEP_ALIVE: list[Any] = []


# --- aimock ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Aimock:
    url: str
    key: str

    def journal(self, path: str) -> list[dict[str, Any]]:
        """Every request the server saw on a path, as it understood it."""
        request = urllib.request.Request(f"{self.url}/__aimock/journal", headers={"x-api-key": self.key})
        with urllib.request.urlopen(request, timeout=10) as response:
            entries = json.load(response)
        return [entry for entry in entries if entry["path"].partition("?")[0].endswith(path)]


USAGE = {
    "prompt_tokens": 120,
    "completion_tokens": 9,
    "input_tokens": 120,
    "output_tokens": 9,
    "promptTokenCount": 120,
    "candidatesTokenCount": 9,
}


def _tool_calls(*calls: tuple[str, Any], words: str = "") -> dict[str, Any]:
    """What is called where a closer look is offered as a tool; ``words`` of the question choose another fixture."""
    match = {"systemMessage": STEP_PHRASES["views"], "toolName": "look_closer"}
    called = [{"name": name, "arguments": arguments} for name, arguments in calls]
    return {
        "match": {**match, **({"userMessage": words} if words else {})},
        "response": {"toolCalls": called, "usage": USAGE} if called else {"content": "It looks fine.", "usage": USAGE},
    }


AIMOCK_FIXTURES: list[dict[str, Any]] = [
    _tool_calls(("look_elsewhere", views_reply(CALLED_PLACE)), words="call an unknown tool"),
    _tool_calls(("look_closer", "{'views': 1"), words="call with damaged arguments"),
    _tool_calls(("look_closer", {"views": [{"kind": "noise"}]}), words="call with half of a place"),
    _tool_calls(("look_closer", views_reply((5000, 5000, 9, 9))), words="call for a place outside"),
    _tool_calls(words="call no tool"),
    {
        "match": {"systemMessage": STEP_PHRASES["views"], "userMessage": "refuse to call"},
        "response": {"content": "", "finishReason": "content_filter"},
    },
    _tool_calls(("look_closer", views_reply(CALLED_PLACE)), ("look_closer", views_reply((0, 0, 9, 9)))),
    {
        "match": {"userMessage": "please slow down"},
        "response": {"error": {"message": "Too many requests", "type": "x"}, "status": 429, "retryAfter": 7},
    },
    {"match": {"userMessage": "please fail"}, "response": {"error": {"message": "It broke"}, "status": 500}},
    {
        "match": {"userMessage": "please stop early"},
        "response": {"content": '{"final_answer": "B", "quality_rea', "finishReason": "length"},
    },
    {
        "match": {"userMessage": "please refuse"},
        "response": {"content": "", "finishReason": "content_filter"},
    },
    {"match": {"userMessage": "please say nothing"}, "response": {"content": ""}},
    {"match": {"userMessage": "please babble"}, "response": {"content": "I would say it is rather fine."}},
    {
        "match": {"userMessage": "please damage the reply"},
        "response": {"content": "never seen"},
        "chaos": {"malformedRate": 1.0},
    },
    {
        "match": {"userMessage": "please hang up"},
        "response": {"content": "never seen"},
        "chaos": {"disconnectRate": 1.0},
    },
    *(
        {"match": {"systemMessage": words}, "response": {"content": json.dumps(reply), "usage": USAGE}}
        for words, reply in {
            "Answer with JSON": answer_reply("A"),
            STEP_PHRASES["plan"]: plan_reply(),
            STEP_PHRASES["views"]: views_reply(WRITTEN_PLACE),
            STEP_PHRASES["detection"]: detection_reply(),
            STEP_PHRASES["analysis"]: analysis_reply(),
            STEP_PHRASES["selection"]: selection_reply(("Global", "Blurs", "sharpness")),
            STEP_PHRASES["answer"]: answer_reply("C"),
            STEP_PHRASES["direct"].strip(): answer_reply("C"),
        }.items()
    ),
    {
        "match": {"userMessage": "rate this picture"},
        "response": {
            "content": '{"final_answer": "B", "quality_reasoning": "slight blur"}',
            "usage": USAGE,
        },
    },
]


@pytest.fixture(scope="session")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aimock]:
    """aimock's server for the wire formats of OpenAI, Anthropic and Gemini; it accepts one key only."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        pytest.skip("npm is not installed, so aimock cannot be")
    program = _install_aimock() / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
    folder = tmp_path_factory.mktemp("aimock")
    fixtures = folder / "fixtures.json"
    fixtures.write_text(json.dumps({"fixtures": AIMOCK_FIXTURES}))
    port = free_port()
    with (folder / "log.txt").open("w") as log:
        process = subprocess.Popen(
            [node, str(program), "--port", str(port), "--fixtures", str(fixtures)],
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "AIMOCK_API_KEYS": KEY},
        )
    try:
        _wait_for(f"http://127.0.0.1:{port}/health", process, folder / "log.txt")
        yield Aimock(f"http://127.0.0.1:{port}", KEY)
    finally:
        process.terminate()
        process.wait(timeout=10)


def _install_aimock() -> Path:
    """The package's folder in the user's cache. Parallel installs each work aside; the first to finish moves in."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agenticiqa-tests"
    target = cache / f"aimock-{AIMOCK_VERSION}"
    if target.is_dir():
        return target
    cache.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix="aimock-", dir=cache))
    # Without a connection npm would try again for minutes.
    patience = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=2000"]
    command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", *patience, "--prefix", str(aside)]
    try:
        subprocess.run(
            [*command, f"@copilotkit/aimock@{AIMOCK_VERSION}"], check=True, capture_output=True, text=True, timeout=120
        )
    except (subprocess.SubprocessError, OSError) as error:
        shutil.rmtree(aside, ignore_errors=True)
        pytest.skip(f"npm could not install aimock: {getattr(error, 'stderr', None) or error}")
    try:
        aside.rename(target)
    except OSError:
        shutil.rmtree(aside, ignore_errors=True)  # another process was first
    return target


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=1):
                return
        except OSError:
            if process.poll() is not None:
                pytest.fail(f"aimock did not start: {log.read_text()[-2000:]}")
            time.sleep(0.05)
    pytest.fail(f"aimock did not answer in {START_LIMIT_S:.0f} s")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
