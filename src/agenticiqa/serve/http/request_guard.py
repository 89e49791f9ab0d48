"""What every request passes before a route sees it: where it comes from, and how its body arrives.

A page of another site can make a browser send requests to a server on this machine, and by rebinding its own name it
could read the answers. So a request that carries another origin is refused unless that origin is allowed, and a
server without keys answers only to the names of this machine.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agenticiqa.serve.http.problems import ServiceError, problem_response, service_error
from agenticiqa.serve.http.settings import ServiceSettings, is_loopback

LINGER_BYTES = 4 * 1024 * 1024
LINGER_S = 5.0
SMALL_BODY = 1024 * 1024
"""A body of this size is taken in before a refusal is written: the connection can then be used again."""
PAGE_POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"content-security-policy": PAGE_POLICY.encode(),
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=()",
}
BATCH_PATH = "/v1/audits"
BATCHES_AT_ONCE = 2
Observer = Callable[[Scope, int, float], None]
"""(scope, status, seconds), called when a request has ended."""


class RequestGuard:
    """ASGI middleware, the outermost: origins, limits of bodies, headers of responses, a problem for whatever fails."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        settings: ServiceSettings,
        observe: Observer,
        for_origins: Callable[[ASGIApp], ASGIApp] = lambda app: app,
    ) -> None:
        """``for_origins`` lets the pages of allowed origins read what an application answers."""
        self.app = for_origins(app)
        self._for_origins = for_origins
        self.settings = settings
        self.observe = observe
        self._origins = {origin.rstrip("/").lower() for origin in settings.allowed_origins}
        one, batch = settings.max_upload_bytes, settings.max_batch_upload_bytes
        self._single = _BodyLimits(one, settings.bodies_at_once * one)
        self._batches = _BodyLimits(batch, BATCHES_AT_ONCE * batch)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = secrets.token_hex(6)
        scope.setdefault("state", {})["request_id"] = request_id
        limits = self._batches if scope["path"] == BATCH_PATH else self._single
        body = _Body(scope, receive, self.settings, limits)
        reply = _Response(scope, send, body, request_id)
        started = time.monotonic()
        try:
            body.check_announced()
            self._check_origin(scope)
            await self.app(scope, body.receive, reply.send)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is logged and answered
            found = service_error(f"Request {request_id}", error)
            if not reply.status:
                await self._for_origins(problem_response(found, request_id))(scope, body.receive, reply.send)
        finally:
            scope["state"]["body_bytes"] = body.forget()
            self.observe(scope, reply.status, time.monotonic() - started)

    def _check_origin(self, scope: Scope) -> None:
        """Refuse requests under foreign names and from foreign pages."""
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        host, origin = headers.get(b"host", ""), headers.get(b"origin")
        without_keys = self.settings.api_keys_file is None
        if without_keys and not is_loopback(_host_name(host)):
            raise ServiceError(421, "unknown_host", "This server answers to the names of its own machine only.")
        if origin is not None:
            same = urlsplit(origin).netloc.lower() == host.lower() and origin != "null"
            foreign = not same and origin.lower() not in self._origins
        else:
            # A link on another site may lead to the page itself.
            cross_site = headers.get(b"sec-fetch-site") == "cross-site"
            foreign = without_keys and cross_site and scope["path"].startswith("/v1/")
        if foreign:
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


@dataclass
class _BodyLimits:
    """Of one body, and of all that are being read."""

    one: int
    together: int
    held: int = 0
    """What all hold now."""


class _Body:
    """The request's body as it arrives, within limits."""

    def __init__(self, scope: Scope, receive: Receive, settings: ServiceSettings, limits: _BodyLimits) -> None:
        headers = dict(scope["headers"])
        self._receive = receive
        self._settings = settings
        self._limits = limits
        self._announced = headers.get(b"content-length", b"")
        self._encoding = headers.get(b"content-encoding", b"identity").lower()
        self.complete = self._announced in (b"", b"0") and b"transfer-encoding" not in headers
        self._taken = 0
        self._begun = time.monotonic()

    @property
    def is_small(self) -> bool:
        return self._announced.isdigit() and int(self._announced) <= SMALL_BODY

    def check_announced(self) -> None:
        if self._encoding not in (b"identity", b""):
            raise ServiceError(415, "content_encoding", "Send the body as it is, without Content-Encoding.")
        if self._announced.isdigit():
            self._check_size(int(self._announced))

    def _check_size(self, size: int) -> None:
        if size > self._limits.one:
            most = self._limits.one // (1024 * 1024)
            raise ServiceError(413, "body_too_large", f"The request is larger than {most} MB, the limit here.")

    async def receive(self) -> Message:
        if self.complete:
            # Nothing but the client's leaving can come now.
            return await self._receive()
        try:
            message = await asyncio.wait_for(self._receive(), max(self._time_left(), 0.01))
        except asyncio.TimeoutError:
            raise ServiceError(408, "slow_body", "The request's body arrived too slowly.") from None
        if message["type"] == "http.request":
            size = len(message.get("body", b""))
            self._check_size(self._taken + size)
            if self._limits.held + size > self._limits.together:
                raise ServiceError(503, "uploads_full", "Too much is being uploaded just now. Try again.", retry_s=2)
            self._limits.held += size
            self._taken += size
            self.complete = not message.get("more_body", False)
        else:
            self.complete = True
        return message

    def _time_left(self) -> float:
        """How long the next part may take: neither silent nor slow for long."""
        settings, now = self._settings, time.monotonic()
        in_time = self._begun + settings.body_total_s
        fast_enough = self._begun + settings.body_grace_s + self._taken / settings.body_least_rate
        return min(settings.body_idle_s, in_time - now, fast_enough - now)

    def forget(self) -> int:
        """The request has ended: its body is in the upload store, or nowhere. Returns how many bytes it had."""
        taken, self._taken = self._taken, 0
        self._limits.held -= taken
        return taken

    async def linger(self) -> None:
        """Read and throw away what is under way, for a moment."""

        async def drop() -> None:
            dropped = 0
            while not self.complete and dropped < LINGER_BYTES:
                message = await self._receive()
                dropped += len(message.get("body", b""))
                self.complete = message["type"] != "http.request" or not message.get("more_body", False)

        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(drop(), LINGER_S)


class _Response:
    """The response on its way out."""

    def __init__(self, scope: Scope, send: Send, body: _Body, request_id: str) -> None:
        self._scope = scope
        self._send = send
        self._body = body
        self._request_id = request_id
        self.status = 0
        self._closes = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            # Who is to go has its large body left unread.
            self._closes = (b"connection", b"close") in message.get("headers", [])
            if self._body.is_small and not self._body.complete:
                await self._body.linger()
            self.status = message["status"]
            await self._send({**message, "headers": self._headers(message.get("headers", []))})
        elif message["type"] == "http.response.body" and not message.get("more_body") and not self._body.complete:
            await self._send({**message, "more_body": True})
            if not self._closes:
                await self._body.linger()
            await self._send({"type": "http.response.body", "body": b""})
        else:
            await self._send(message)

    def _headers(self, given: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        present = {name.lower() for name, _ in given}
        added: dict[bytes, bytes] = {**HEADERS, b"x-request-id": self._request_id.encode()}
        if self._scope["path"].startswith("/v1/"):
            added[b"cache-control"] = b"no-store"
        if not self._body.complete:
            added[b"connection"] = b"close"
        return [*given, *((name, value) for name, value in added.items() if name not in present)]
