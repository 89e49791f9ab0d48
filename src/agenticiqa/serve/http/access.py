"""Who is asking, and whether they may."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from agenticiqa.serve.http.app_state import AppState, State
from agenticiqa.serve.http.keys import KeyRecord, Role
from agenticiqa.serve.http.problems import ServiceError
from agenticiqa.serve.http.work.jobs import JobQueue

LOCAL_USER = "local"
bearer = HTTPBearer(auto_error=False, description="A key made by `agenticiqa serve keys add NAME`")


@dataclass(frozen=True)
class CallerInfo:
    """Whom runs belong to, and the key that was shown; None where no key is needed."""

    owner: str
    key: KeyRecord | None = None

    @property
    def at_once(self) -> int | None:
        """Runs that this caller may have here at a time, where the key says."""
        return self.key.at_once if self.key else None

    @property
    def deletes_of(self) -> str | None:
        """Whose runs this caller may delete; None: everybody's."""
        return None if self.key is not None and "admin" in self.key.roles else self.owner


async def _caller(
    request: Request, state: State, given: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]
) -> CallerInfo:
    if state.keys is None:
        request.state.key_name = LOCAL_USER
        return CallerInfo(LOCAL_USER)
    record = state.keys.owner_of(given.credentials) if given else None
    if record is None:
        raise ServiceError(
            401,
            "unauthorized",
            "This server needs a valid API key: Authorization: Bearer KEY.",
            headers={"WWW-Authenticate": 'Bearer realm="agenticiqa"'},
        )
    request.state.key_name = record.name
    return CallerInfo(record.owner, record)


Caller = Annotated[CallerInfo, Depends(_caller)]


def _with_role(role: Role) -> Callable[[Caller], Awaitable[CallerInfo]]:
    async def checked(caller: Caller) -> CallerInfo:
        if caller.key is not None and role not in caller.key.roles:
            raise ServiceError(403, "role_missing", f"This key may not do this: it needs the role {role!r}.")
        return caller

    return checked


AssessCaller = Annotated[CallerInfo, Depends(_with_role("assess"))]
BatchCaller = Annotated[CallerInfo, Depends(_with_role("batch"))]
AdminCaller = Annotated[CallerInfo, Depends(_with_role("admin"))]


def _admitted(state: AppState, caller: CallerInfo, queue: JobQueue) -> CallerInfo:
    """Before a body is read: refuse whoever would find no place, or has asked too often."""
    queue.check_room(caller.owner, caller.at_once)
    if caller.key is not None and caller.key.per_minute is not None:
        state.key_rates.count(caller.owner, caller.key.per_minute)
    return caller


async def _admitted_to_assess(state: State, caller: AssessCaller) -> CallerInfo:
    return _admitted(state, caller, state.queue)


async def _admitted_to_batch(state: State, caller: BatchCaller) -> CallerInfo:
    return _admitted(state, caller, state.batch_queue)


AssessAdmitted = Annotated[CallerInfo, Depends(_admitted_to_assess)]
BatchAdmitted = Annotated[CallerInfo, Depends(_admitted_to_batch)]
