"""A chat-completions server on loopback whose model reads a picture's mark, and that counts what it is paid for."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import signal
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.paper_data import read_mark
from support.scripted import STEP_PHRASES, analysed, analysis_reply, detection_reply, plan_reply

_PICTURE = re.compile(r"data:image/[a-z]+;base64,([A-Za-z0-9+/=]+)")
LETTERS = {5: "A", 4: "B", 3: "C", 2: "D", 1: "E"}


class ScriptedJudge:
    """Use with ``with``. ``paid`` counts every request that got an answer, by its content."""

    def __init__(self) -> None:
        self.paid: Counter[str] = Counter()
        self.steps: Counter[str] = Counter()
        self._victim: tuple[int, int] | None = None
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def kill_at(self, pid: int, requests: int) -> None:
        """Kill a process when so many requests have been answered, instead of answering the next that begins one."""
        self._victim = pid, requests

    def __enter__(self) -> ScriptedJudge:
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def reply(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """None: the process that asked is no more."""
        text = json.dumps(request["messages"])
        step = next((step for step, phrase in STEP_PHRASES.items() if phrase in text), "direct")
        with self._lock:
            if self._victim and sum(self.paid.values()) >= self._victim[1] and step in ("plan", "direct"):
                os.kill(self._victim[0], signal.SIGKILL)
                self._victim = None
                return None
            self.paid[hashlib.sha256(json.dumps([request["model"], text]).encode()).hexdigest()] += 1
            self.steps[step] += 1
        return _answer(step, text, request["model"])

    def _handler(server) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = server.reply(request)
                if answer is None:
                    self.close_connection = True
                    return
                data = json.dumps(_completion(request["model"], json.dumps(answer))).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                """Keep the test output clean."""

        return Handler


def _answer(step: str, text: str, model: str) -> dict[str, Any]:
    if step == "plan":
        return plan_reply()
    if step == "detection":
        return detection_reply(Global=["Noise"])
    if step == "analysis":
        return analysis_reply(analysed("Global", "Noise"))
    if step == "selection":
        return {"selection": [{"object": "Global", "distortion": "Noise", "tool": "noise"}]}
    mark = max(read_mark(base64.b64decode(found)) for found in _PICTURE.findall(text))
    # The small model sees one level less of the best pictures.
    seen = min(mark, 4) if "mini" in model else mark
    letter = "ABC"[seen % 3] if "Too dark" in text else LETTERS[seen]
    return {"final_answer": letter, "quality_reasoning": "Noise, as the measurement says."}


def _completion(model: str, text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "finish_reason": "stop", "message": message, "logprobs": None}],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050},
    }
