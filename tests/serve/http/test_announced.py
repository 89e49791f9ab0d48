"""The address that is announced takes connections."""

from __future__ import annotations

import socket
from pathlib import Path

from agenticiqa.runtime.config import load_settings
from agenticiqa.serve.http.server import bind
from agenticiqa.serve.http.settings import ServiceSettings


def test_a_client_that_is_quicker_than_the_server_waits_and_is_not_refused(tmp_path: Path) -> None:
    bound = bind(ServiceSettings(data_folder=tmp_path, port=0), load_settings(environment={}))
    try:
        with socket.create_connection(bound.sock.getsockname()[:2], timeout=5) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\n\r\n")
    finally:
        bound.sock.close()
        bound.state.record.close()
