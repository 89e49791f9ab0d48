"""A small HTTP server that answers as told and remembers what it was asked, for faults that are rarely seen."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Answer:
    """One scripted answer; ``body`` is JSON unless it is bytes already."""

    body: Any = field(default_factory=dict)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut_after: int | None = None
    """Close the connection after so many bytes of the body, though more were announced."""
    silent: bool = False
    """Say nothing until the server stops."""
    trickle: bool = False
    """Send a blank now and then, for ever."""

    @property
    def data(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclass(frozen=True)
class Asked:
    path: str
    headers: dict[str, str]
    body: Any


class ScriptedServer:
    """Gives its answers in turn; the last one again and again."""

    def __init__(self, answers: list[Answer]) -> None:
        self.answers = answers
        self.asked: list[Asked] = []
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def stop(self) -> None:
        self.stopping.set()
        self._http.shutdown()
        self._http.server_close()

    def _next(self, asked: Asked) -> Answer:
        with self._lock:
            self.asked.append(asked)
            return self.answers[min(len(self.asked), len(self.answers)) - 1]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                body = json.loads(self.rfile.read(length) or b"null")
                answer = server._next(Asked(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                if answer.silent:
                    server.stopping.wait()
                    self.close_connection = True
                else:
                    self._send(answer)

            def _send(self, answer: Answer) -> None:
                self.send_response(answer.status)
                for name, value in {"content-type": "application/json", **answer.headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(10**6 if answer.trickle else len(answer.data)))
                self.end_headers()
                if answer.trickle:
                    self._trickle()
                    return
                self.wfile.write(answer.data[: answer.cut_after])
                if answer.cut_after is not None:
                    self.close_connection = True

            def _trickle(self) -> None:
                self.close_connection = True
                try:
                    while not server.stopping.wait(0.05):
                        self.wfile.write(b" ")
                        self.wfile.flush()
                except OSError:
                    return  # the client has gone, as it should

            def log_message(self, format: str, *args: Any) -> None:
                return

        return Handler
