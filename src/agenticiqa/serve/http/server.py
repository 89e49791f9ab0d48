"""The server process: bind, announce, serve, and stop without losing accepted work."""

import asyncio
import contextlib
import json
import math
import os
import signal
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

import cv2
import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from agenticiqa.errors import ConfigError
from agenticiqa.runtime.config import Settings
from agenticiqa.serve.http.app import create_app, drain
from agenticiqa.serve.http.app_state import AppState
from agenticiqa.serve.http.observing import share_arenas
from agenticiqa.serve.http.problems import MEDIA_TYPE, ServiceError
from agenticiqa.serve.http.request_guard import HEADERS
from agenticiqa.serve.http.settings import ServiceSettings
from agenticiqa.serve.http.work.jobs import CLOSING_TIMEOUT_S
from agenticiqa.vlm_client import VLMClient

MAX_CONNECTIONS = 1000
SWITCH_S = 0.001
MAX_HEADER_BYTES = 32 * 1024


def protocol_with_header_timeout(seconds: float) -> type[H11Protocol]:
    """A connection that does not finish its request's headers in time is closed: slow headers cost nothing.

    uvicorn has no such limit: a thousand connections that send one byte of a header each, again and again, would use up
    ``MAX_CONNECTIONS`` for as long as they like (tests/serve/http/test_attacks.py does that). Only the protocol knows
    where one request of a connection ends and the next begins, so it is derived from; pyproject.toml bounds uvicorn.
    """

    class HeaderTimeoutProtocol(H11Protocol):
        _header_timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._watch_headers()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch_headers()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_watch()
            super().connection_lost(exc)

        def send_400_response(self, msg: str) -> None:
            """What is not HTTP never reaches the application: its problem document is written here."""
            if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                body = json.dumps(ServiceError(400, "malformed_http", msg).document()).encode()
                headers = [
                    (b"content-type", MEDIA_TYPE.encode()),
                    (b"content-length", str(len(body)).encode()),
                    (b"connection", b"close"),
                    *HEADERS.items(),
                ]
                for event in (
                    h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
                    h11.Data(data=body),
                    h11.EndOfMessage(),
                ):
                    self.transport.write(self.conn.send(event) or b"")
            self.transport.close()

        def _in_request(self) -> bool:
            return self.cycle is not None and not self.cycle.response_complete

        def _watch_headers(self) -> None:
            if self._in_request():
                self._stop_watch()
            elif self._header_timer is None:
                self._header_timer = self.loop.call_later(seconds, self._close)

        def _stop_watch(self) -> None:
            if self._header_timer is not None:
                self._header_timer.cancel()
                self._header_timer = None

        def _close(self) -> None:
            self._header_timer = None
            if not self._in_request() and not self.transport.is_closing():
                with contextlib.suppress(h11.LocalProtocolError):
                    self.conn.send(h11.ConnectionClosed())
                self.transport.close()

    return HeaderTimeoutProtocol


ENDING_S = 6.0
LAST_ANSWERS_S = 1.0


def draining_seconds(grace_s: float) -> float:
    """How long work may go on; the rest of the grace is for the process to end, on a busy machine for seconds."""
    return grace_s - min(ENDING_S, grace_s / 5)


class GracefulServer(uvicorn.Server):
    """Begins to drain as soon as it is asked to stop."""

    def __init__(self, config: uvicorn.Config, state: AppState) -> None:
        super().__init__(config)
        self._state = state
        self._draining: asyncio.Task[None] | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - a signal handler gets it
        # From here on every request for work is refused, also on connections that stay open. The signal is not raised
        # once more at the end, as the base class would: a server that stopped in good order exits with 0.
        self._state.queue.draining = self._state.batch_queue.draining = True
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True

    async def shutdown(self, sockets: list[Any] | None = None) -> None:
        self._draining = asyncio.create_task(drain(self._state, draining_seconds(self._state.settings.grace_s)))
        await super().shutdown(sockets)


@dataclass(frozen=True)
class BoundServer:
    """A server whose address is taken: who connects before it runs waits for its answer."""

    server: GracefulServer
    sock: socket.socket
    address: str
    state: AppState

    def run(self) -> None:
        """Serve until told to stop."""
        # Workers that compute in Python hand over after a millisecond instead of five: the event loop waits less.
        sys.setswitchinterval(SWITCH_S)
        share_arenas()
        cv2.setNumThreads(max(1, (os.cpu_count() or 1) // self.state.settings.workers))
        with contextlib.suppress(KeyboardInterrupt):
            self.server.run(sockets=[self.sock])


def bind(service: ServiceSettings, settings: Settings, clients: Mapping[str, VLMClient] | None = None) -> BoundServer:
    """Open everything and take the address; ``clients`` replace the models of the three roles."""
    state = AppState(service, settings, clients)
    config = uvicorn.Config(
        create_app(state),
        host=service.host,
        port=service.port,
        http=protocol_with_header_timeout(service.header_timeout_s),
        ws="none",
        lifespan="on",
        access_log=False,
        # What it has to say goes where the operator wants the log of this program.
        log_config=None,
        log_level="warning",
        server_header=False,
        limit_concurrency=MAX_CONNECTIONS,
        h11_max_incomplete_event_size=MAX_HEADER_BYTES,
        timeout_keep_alive=15,
        # Who is still sending a request when all work has ended is not waited for.
        timeout_graceful_shutdown=math.ceil(max(draining_seconds(service.grace_s), CLOSING_TIMEOUT_S) + LAST_ANSWERS_S),
        proxy_headers=False,
    )
    try:
        sock = config.bind_socket()
    except SystemExit:
        state.record.close()
        raise ConfigError(
            f"{service.host}:{service.port} cannot be used.", hint="Another program may listen there: choose --port."
        ) from None
    # The address is announced before the server runs: a client that is quicker must wait, not be refused.
    sock.listen(config.backlog)
    host = f"[{service.host}]" if ":" in service.host else service.host
    return BoundServer(GracefulServer(config, state), sock, f"http://{host}:{sock.getsockname()[1]}", state)
