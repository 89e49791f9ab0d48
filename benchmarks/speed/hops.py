"""How far a question travels: files and file-to-file calls of one run, and how often the same thing is done again.

    python benchmarks/speed/hops.py [--json FILE] [--list]

Each run is the first one of a process of its own. Counted is every Python file of the package in which a function ran,
and every pair of such files where one called into the other; importing a module, with the tables that it makes for
itself, does not count. Four runs of a three-option question about a part of the picture: ``agenticiqa assess`` on the
embedded backend and on an OpenAI model (a scripted server on loopback, all four steps of the executor switched on),
both from the command line's entry point; one batch sample as a worker does it; one POST to a service that is warm, with
a picture that it has not seen.
"""

from __future__ import annotations

import argparse
import inspect
import io
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
    "backend chosen": ("choose_backends",),
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


def traced(name: str) -> dict[str, Any]:
    """The counts of one run, in this process."""
    import agenticiqa

    package = Path(agenticiqa.__file__).parent
    trace = Trace(package)
    # Making a server ready is not part of the request; whatever a command or a worker makes is part of its question.
    trace.counting = name != "POST"
    run = RUNS[name]()
    trace.counting = True
    run()
    trace.counting = False
    calls = sorted(tuple(str(Path(file).relative_to(package)) for file in edge) for edge in trace.edges)
    counts = {"files": len(trace.files), "edges": len(trace.edges), "calls": calls}
    return counts | {what: trace.done(names) for what, names in ONCE.items()}


# --- the four runs ---


def command_line(*options: str) -> Callable[[], None]:
    """``agenticiqa assess``, from its entry point."""
    from agenticiqa.cli.main import main as entry_point

    def run() -> None:
        sys.argv = ["agenticiqa", "assess", str(PICTURE), "--query", QUESTION, "--quiet", *options]
        try:
            entry_point()
        except SystemExit as ended:
            if ended.code:
                raise

    return run


def embedded_assess() -> Callable[[], None]:
    return command_line("--backend", "embedded")


_asked: set[str] = set()


class _Scripted(BaseHTTPRequestHandler):
    """Answers every agent in the chat-completions form; the replies are the least that the agents accept."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        system = json.dumps(request["messages"][0])
        phrase = next(phrase for phrase in REPLIES if phrase in system)
        _asked.add(phrase)
        message = {"role": "assistant", "content": json.dumps(REPLIES[phrase])}
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


# A phrase of each step's prompt, and a reply to it.
REPLIES: dict[str, dict[str, Any]] = {
    "planner in an image quality": {
        "query_type": "IQA",
        "query_scope": ["flower"],
        "distortion_source": "Inferred",
        "distortions": None,
        "reference_mode": "No-Reference",
        "required_tool": None,
        "plan": dict.fromkeys(
            ("distortion_detection", "distortion_analysis", "tool_selection", "tool_execution"), True
        ),
    },
    "find the distortions": {"objects": [{"object": "flower", "types": ["Blurs"]}]},
    "judge how badly it shows": {
        "analysis": [
            {"object": "flower", "type": "Blurs", "severity": "slight", "explanation": "Soft.", "uncertain": False}
        ]
    },
    "choose the one measuring tool": {"selection": [{"object": "flower", "distortion": "Blurs", "tool": "sharpness"}]},
    "visual quality assessment assistant": {"final_answer": "B", "quality_reasoning": "The analysis says slight."},
}


def openai_assess() -> Callable[[], None]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Scripted)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["OPENAI_API_KEY"] = "sk-loopback-only"
    os.environ["OPENAI_BASE_URL"] = f"http://127.0.0.1:{server.server_port}/v1"
    run = command_line("--backend", "openai.gpt-4o", "--no-cache")

    def run_all_steps() -> None:
        run()
        if _asked != {*REPLIES}:
            raise SystemExit(f"Not asked: {', '.join({*REPLIES} - _asked)}")

    return run_all_steps


def batch_sample() -> Callable[[], None]:
    """What a worker does with one row, in this process: engines start it in another, where nobody counts."""
    from agenticiqa.batch.manifest import Row
    from agenticiqa.batch.work import BatchJob, SampleWorker, Task, backends_of
    from agenticiqa.runtime.config import load_settings

    settings = load_settings(overrides={"backend": "embedded"})
    worker = SampleWorker(BatchJob(settings, backends_of(settings)))

    def work() -> None:
        row = json.dumps({"sample_id": "1", "image_path": str(PICTURE), "query": QUESTION}).encode()
        result = worker.work(Task(0, Row(1, row, str(ROOT)), "run", "1"))
        if result.status == "error":
            raise SystemExit(f"The run failed: {result}")

    return work


def one_post() -> Callable[[], None]:
    """One request to a server in a thread of this process."""
    import httpx
    from PIL import Image, ImageOps

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
            pass
        time.sleep(0.1)
    # The server warms up on the example itself, so its mirror image is sent.
    mirrored = io.BytesIO()
    ImageOps.mirror(Image.open(PICTURE)).save(mirrored, "JPEG", quality=90)

    def post() -> None:
        files = {"image": ("mirrored.jpg", mirrored.getvalue(), "image/jpeg")}
        reply = client.post("/v1/assess", files=files, data={"query": QUESTION, "backend": "embedded"})
        reply.raise_for_status()

    return post


RUNS = {
    "embedded assess": embedded_assess,
    "OpenAI assess": openai_assess,
    "batch sample": batch_sample,
    "POST": one_post,
}


def counted(name: str) -> dict[str, Any]:
    """The counts of one run, from a process of its own."""
    environment = {**os.environ, "AGENTICIQA_HOME": tempfile.mkdtemp(prefix="agenticiqa-hops-")}
    command = [sys.executable, __file__, "--only", name]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if found.returncode:
        raise SystemExit(found.stderr)
    counts: dict[str, Any] = json.loads(found.stdout.splitlines()[-1])
    return counts


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--json", type=Path, help="Also write the counts here.")
    arguments.add_argument("--list", action="store_true", help="Also print who called whom.")
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
    if chosen.list:
        for name, counts in found.items():
            print(f"\n{name}:")
            for caller, callee in counts["calls"]:
                print(f"  {caller} → {callee}")
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
