"""Who may send a browser here.

A page of another site can make a browser send requests to a server on this machine, and by rebinding its own name it
could read the answers. So a request that carries another origin is refused unless that origin is allowed, and a
server without keys answers only to the names of this machine.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from agenticiqa.serve.http.problems import ServiceError
from agenticiqa.serve.http.settings import ServiceSettings, is_loopback


class OriginGuard:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp, *, settings: ServiceSettings) -> None:
        self.app = app
        self.allowed = {origin.rstrip("/").lower() for origin in settings.allowed_origins}
        self.any_host = settings.api_keys_file is not None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
            # A link on another site may lead to the page itself.
            fetch_site = headers.get(b"sec-fetch-site") if scope["path"].startswith("/v1/") else None
            self.check(headers.get(b"host", ""), headers.get(b"origin"), fetch_site)
        await self.app(scope, receive, send)

    def check(self, host: str, origin: str | None, fetch_site: str | None) -> None:
        if not self.any_host and not is_loopback(_host_name(host)):
            raise ServiceError(421, "unknown_host", "This server answers to the names of its own machine only.")
        if origin is not None:
            same = urlsplit(origin).netloc.lower() == host.lower() and origin != "null"
            if not same and origin.lower() not in self.allowed:
                raise ServiceError(403, "foreign_origin", "Pages of this origin may not use this server.")
        elif fetch_site == "cross-site" and not self.any_host:
            raise ServiceError(403, "foreign_origin", "Pages of other sites may not use this server.")


def _host_name(host: str) -> str:
    """
    >>> _host_name("[::1]:8000"), _host_name("localhost:80"), _host_name("127.0.0.1")
    ('::1', 'localhost', '127.0.0.1')
    """
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
