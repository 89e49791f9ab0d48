"""Who is asking. Without a key file everybody on this machine is one user."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from agenticiqa.serve.http.parts import Parts, parts_of
from agenticiqa.serve.http.problems import ServiceError

LOCAL_USER = "local"
bearer = HTTPBearer(auto_error=False, description="A key made by `agenticiqa serve keys add NAME`")


async def _caller(request: Request, given: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]) -> str:
    parts: Parts = parts_of(request)
    if parts.keys is None:
        return LOCAL_USER
    record = parts.keys.owner_of(given.credentials) if given else None
    if record is None:
        raise ServiceError(
            401,
            "unauthorized",
            "This server needs a valid API key: Authorization: Bearer KEY.",
            headers={"WWW-Authenticate": 'Bearer realm="agenticiqa"'},
        )
    return f"key:{record.id}"


Caller = Annotated[str, Depends(_caller)]
"""Whom a run belongs to."""
