"""A chat-completions server on loopback that answers each agent from a table."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = dict[str, Any] | str | Callable[[str], Any]

PLAN = {
    "query_type": "IQA",
    "query_scope": "Global",
    "distortion_source": "Inferred",
    "distortions": None,
    "reference_mode": "No-Reference",
    "required_tool": None,
    "plan": {
        "distortion_detection": True,
        "distortion_analysis": True,
        "tool_selection": True,
        "tool_execution": True,
    },
}
REPLIES: dict[str, Reply] = {
    "You are a planner": PLAN,
    "find the distortions": {"objects": [{"object": "Global", "types": ["Noise"]}]},
    "judge how badly": {
        "analysis": [
            {
                "object": "Global",
                "type": "Noise",
                "severity": "moderate",
                "explanation": "Grain all over.",
                "uncertain": False,
            }
        ]
    },
    "choose the one measuring tool": {"selection": [{"object": "Global", "distortion": "Noise", "tool": "noise"}]},
    "visual quality assessment assistant": {"final_answer": "C", "quality_reasoning": "Grain of moderate strength."},
}


class ModelServer:
    """Start with ``with``; ``requests`` holds what arrived."""

    def __init__(self, replies: dict[str, Reply] | None = None, status: int = 200) -> None:
        self.replies = {**REPLIES, **(replies or {})}
        self.status = status
        self.fault = "no"
        """What it says with another status than 200."""
        self.requests: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.base_url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> ModelServer:
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def answer(self, request: dict[str, Any]) -> str:
        prompt = json.dumps(request["messages"])
        reply = next(value for words, value in self.replies.items() if words in prompt)
        value = reply(prompt) if callable(reply) else reply
        return value if isinstance(value, str) else json.dumps(value)

    def _handler(server) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with server._lock:
                    server.requests.append(request)
                if server.status != 200:
                    body: dict[str, Any] = {"error": {"message": server.fault, "type": "x"}}
                else:
                    body = _completion(request["model"], server.answer(request))
                data = json.dumps(body).encode()
                self.send_response(server.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                """Keep the test output clean."""

        return Handler


def _completion(model: str, text: str) -> dict[str, Any]:
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}, "logprobs": None}
        ],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }
