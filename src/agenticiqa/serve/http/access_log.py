"""One line for every request that was answered: who asked what, what came of it, how long it took."""

from __future__ import annotations

import logging

from starlette.types import Scope

from agenticiqa.runtime.logs import ACCESS_LOGGER
from agenticiqa.serve.http.settings import is_loopback

logger = logging.getLogger(ACCESS_LOGGER)

LONGEST = 200
"""Of what a client made up: its path, and what a proxy says of where it comes from."""


def log_request(scope: Scope, status: int, seconds: float) -> None:
    """A request that has ended; a client that left before its answer has status 499, as nginx writes it."""
    state = scope.get("state", {})
    fields = {
        "request": state.get("request_id"),
        "client": _client(scope),
        "key": state.get("key_name"),
        "method": scope["method"][:16],
        # Without the query: it may hold what somebody asked.
        "path": scope["path"][:LONGEST],
        "status": status or 499,
        "seconds": round(seconds, 4),
    }
    logger.info(
        '%s %s "%s %s" %d %.3f s %s',
        fields["client"],
        fields["key"] or "-",
        fields["method"],
        fields["path"],
        fields["status"],
        seconds,
        fields["request"],
        extra={"fields": fields},
    )


def _client(scope: Scope) -> str:
    """Where a request comes from; behind a proxy on this machine, where that says it comes from."""
    client = (scope.get("client") or ("unknown",))[0]
    forwarded = dict(scope["headers"]).get(b"x-forwarded-for", b"").decode("latin-1")
    # The last entry is the one that our own proxy wrote; those before it are the client's words.
    nearest = forwarded.rpartition(",")[2].strip()[:LONGEST]
    return nearest if nearest and is_loopback(client) else client
