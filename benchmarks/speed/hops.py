"""How far a question travels: files and file-to-file calls of one run, and how often the same thing is done again.

    python benchmarks/speed/hops.py [--json FILE]

Each run is the first one of a process of its own. Counted is every Python file of the package in which a function ran,
and every pair of such files where one called into the other; importing a module, with the tables that it makes for
itself, does not count. Four runs: one embedded ``assess`` with a three-option question about a part of the picture, one
``assess`` on an OpenAI model (a scripted server on loopback), one batch sample, one POST to the service.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "examples" / "pictures" / "dandelion_compressed.jpg"
QUESTION = "How blurry is the flower? A. Not at all B. A little C. Very"

# What should happen once for a question, by the function that does it.
ONCE = {
    "question parsed": ("read_question",),
    "options parsed": ("split_question",),
    "part located": ("locate",),
    "picture decoded": ("decode_image",),
    "picture looked at": ("Vision.look",),
    "backend chosen": ("choose_backend",),
}


class Trace:
    """Counts calls between files of the package, in every thread that starts after it was made."""

    def __init__(self, package: Path) -> None:
        self._package = str(package) + os.sep
        self.counting = False
        self.forget()
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)

    def forget(self) -> None:
        self.files: set[str] = set()
        self.edges: set[tuple[str, str]] = set()
        self.calls: Counter[str] = Counter()

    def _profile(self, frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        if not self.counting or event != "call" or not code.co_filename.startswith(self._package):
            return
        if not code.co_flags & inspect.CO_OPTIMIZED or self._is_import(frame):
            return
        callee = frame.f_code.co_filename
        self.files.add(callee)
        name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
        self.calls[name] += 1
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(self._package):
            caller = caller.f_back
        if caller is not None and caller.f_code.co_filename != callee:
            self.edges.add((caller.f_code.co_filename, callee))

    @staticmethod
    def _is_import(frame: FrameType | None) -> bool:
        """Whether a module is being loaded: tables that it makes for itself are not the question's way."""
        while frame is not None:
            if frame.f_code.co_name == "<module>" and "importlib" in str(frame.f_back and frame.f_back.f_code):
                return True
            frame = frame.f_back
        return False

    def done(self, names: tuple[str, ...]) -> int:
        return max(self.calls[name] for name in names)


def traced(name: str) -> dict[str, int]:
    """The counts of one run, in this process."""
    import agenticiqa

    trace = Trace(Path(agenticiqa.__file__).parent)
    # Making a server ready is not part of the request, making an assessor is part of the first question.
    trace.counting = name != "POST"
    run = RUNS[name]()
    trace.counting = True
    run(PICTURE)
    trace.counting = False
    counts = {"files": len(trace.files), "edges": len(trace.edges)}
    return counts | {what: trace.done(names) for what, names in ONCE.items()}


# --- the four runs ---


def embedded_assess() -> Callable[[Path], object]:
    from agenticiqa import AgenticIQA

    assessor = AgenticIQA("embedded")
    return lambda picture: _must_work(assessor.assess(str(picture), QUESTION))


class _Scripted(BaseHTTPRequestHandler):
    """Answers every agent in the chat-completions form; the replies are the least that the agents accept."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        system = json.dumps(request["messages"][0])
        message = {"role": "assistant", "content": json.dumps(_reply_for(system))}
        body = {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": request["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Silent."""


def _reply_for(system: str) -> dict[str, Any]:
    if "planner in an image quality" in system:
        switches = dict.fromkeys(("distortion_detection", "tool_selection", "tool_execution"), False)
        return {
            "query_type": "IQA",
            "query_scope": ["flower"],
            "distortion_source": "Explicit",
            "distortions": [{"object": "flower", "types": ["Blurs"]}],
            "reference_mode": "No-Reference",
            "required_tool": None,
            "plan": {**switches, "distortion_analysis": True},
        }
    if "judge how badly it shows" in system:
        entry = {"object": "flower", "type": "Blurs", "severity": "slight", "explanation": "Soft.", "uncertain": False}
        return {"analysis": [entry]}
    return {"final_answer": "B", "quality_reasoning": "The analysis says slight."}


def openai_assess() -> Callable[[Path], object]:
    from agenticiqa import AgenticIQA

    server = ThreadingHTTPServer(("127.0.0.1", 0), _Scripted)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["OPENAI_API_KEY"] = "sk-loopback-only"
    os.environ["OPENAI_BASE_URL"] = f"http://127.0.0.1:{server.server_port}/v1"
    assessor = AgenticIQA("openai.gpt-4o", overrides={"pipeline.cache.enabled": False})
    return lambda picture: _must_work(assessor.assess(str(picture), QUESTION))


def _must_work(result: Any) -> object:
    if result.status == "error":
        raise SystemExit(f"The run failed: {result}")
    return result


def batch_sample() -> Callable[[Path], object]:
    """What a worker does with one row, in this process."""
    from agenticiqa.batch.manifest import Row
    from agenticiqa.batch.work import BatchJob, SampleWorker, Task, backends_of
    from agenticiqa.runtime.config import load_settings

    settings = load_settings(overrides={"backend": "embedded"})
    worker = SampleWorker(BatchJob(settings, backends_of(settings)))

    def work(picture: Path) -> object:
        row = json.dumps({"sample_id": "1", "image_path": str(picture), "query": QUESTION}).encode()
        return _must_work(worker.work(Task(0, Row(1, row, str(ROOT)), f"run-{picture.stem}", "1")))

    return work


def one_post() -> Callable[[Path], object]:
    """One request to a server in a thread of this process."""
    import httpx

    from agenticiqa.runtime.config import load_settings
    from agenticiqa.serve.http.server import bind
    from agenticiqa.serve.http.settings import ServiceSettings

    folder = Path(os.environ["AGENTICIQA_HOME"])
    bound = bind(ServiceSettings(data_folder=folder / "service", port=0), load_settings())
    threading.Thread(target=bound.run, daemon=True).start()
    client = httpx.Client(base_url=bound.address, timeout=120)
    while True:
        try:
            if client.get("/readyz").status_code == 200:
                break
        except httpx.TransportError:
            time.sleep(0.1)

    def post(picture: Path) -> object:
        files = {"image": (picture.name, picture.read_bytes(), "image/jpeg")}
        reply = client.post("/v1/assess", files=files, data={"query": QUESTION, "backend": "embedded"})
        reply.raise_for_status()
        return reply

    return post


RUNS = {
    "embedded assess": embedded_assess,
    "OpenAI assess": openai_assess,
    "batch sample": batch_sample,
    "POST": one_post,
}


def counted(name: str) -> dict[str, int]:
    """The counts of one run, from a process of its own."""
    environment = {**os.environ, "AGENTICIQA_HOME": tempfile.mkdtemp(prefix="agenticiqa-hops-")}
    command = [sys.executable, __file__, "--only", name]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if found.returncode:
        raise SystemExit(found.stderr)
    counts: dict[str, int] = json.loads(found.stdout.splitlines()[-1])
    return counts


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--json", type=Path, help="Also write the counts here.")
    arguments.add_argument("--only", choices=RUNS, help="One run, in this process, its counts as JSON.")
    chosen = arguments.parse_args()
    if chosen.only:
        print(json.dumps(traced(chosen.only)))
        # Servers and their threads end with the process.
        sys.stdout.flush()
        os._exit(0)
    found = {name: counted(name) for name in RUNS}
    columns = ["files", "edges", *ONCE]
    print(f"{'':16} " + " ".join(f"{column:>18}" for column in columns))
    for name, counts in found.items():
        print(f"{name:16} " + " ".join(f"{counts[column]:18}" for column in columns))
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
