"""Who is asking."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from agenticiqa.serve.http.app_state import AppState, app_state_of
from agenticiqa.serve.http.keys import KeyRecord, Role
from agenticiqa.serve.http.problems import ServiceError
from agenticiqa.serve.http.work.jobs import JobQueue, Slot

LOCAL_USER = "local"
bearer = HTTPBearer(auto_error=False, description="A key made by `agenticiqa serve keys add NAME`")


async def _caller(request: Request, given: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]) -> str:
    parts: AppState = app_state_of(request)
    if parts.keys is None:
        request.state.key_name = LOCAL_USER
        return LOCAL_USER
    record = parts.keys.owner_of(given.credentials) if given else None
    if record is None:
        raise ServiceError(
            401,
            "unauthorized",
            "This server needs a valid API key: Authorization: Bearer KEY.",
            headers={"WWW-Authenticate": 'Bearer realm="agenticiqa"'},
        )
    request.state.key = record
    request.state.key_name = record.name
    return record.owner


Caller = Annotated[str, Depends(_caller)]
"""Whom a run belongs to."""


def _with_role(role: Role) -> Callable[..., Awaitable[str]]:
    async def checked(request: Request, caller: Caller) -> str:
        key = key_of(request)
        if key is not None and role not in key.roles:
            raise ServiceError(403, "role_missing", f"This key may not do this: it needs the role {role!r}.")
        return caller

    return checked


AssessCaller = Annotated[str, Depends(_with_role("assess"))]
BatchCaller = Annotated[str, Depends(_with_role("batch"))]
AdminCaller = Annotated[str, Depends(_with_role("admin"))]


def key_of(request: Request) -> KeyRecord | None:
    """The key that was shown; None where none is needed."""
    key: KeyRecord | None = getattr(request.state, "key", None)
    return key


def is_admin(request: Request) -> bool:
    """Whether the key that was shown may act for others; without keys there are no others."""
    key = key_of(request)
    return key is not None and "admin" in key.roles


def admit(request: Request, caller: str, queue: JobQueue) -> None:
    """Before a body is read: refuse whoever would find no place, or has asked too often."""
    key = key_of(request)
    queue.check_room(caller, key.at_once if key else None)
    if key is not None and key.per_minute is not None:
        app_state_of(request).key_rates.count(caller, key.per_minute)


def place_for(request: Request, caller: str, queue: JobQueue) -> Slot:
    """Once the body is there: a place in the queue."""
    key = key_of(request)
    return queue.reserve(caller, key.at_once if key else None)
