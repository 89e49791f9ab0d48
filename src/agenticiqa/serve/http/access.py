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


def _with_role(role: Role, *, for_work: bool = False) -> Callable[[AppState, CallerInfo], Awaitable[CallerInfo]]:
    """A dependency: callers of this role; ``for_work``, only those for whom there is a place and who ask not too often.

    It is asked before a body is read.
    """

    async def checked(state: State, caller: Caller) -> CallerInfo:
        if caller.key is not None and role not in caller.key.roles:
            raise ServiceError(403, "role_missing", f"This key may not do this: it needs the role {role!r}.")
        if for_work:
            (state.batch_queue if role == "batch" else state.queue).check_room(caller.owner, caller.at_once)
            if caller.key is not None and caller.key.per_minute is not None:
                state.key_rates.count(caller.owner, caller.key.per_minute)
        return caller

    return checked


AssessCaller = Annotated[CallerInfo, Depends(_with_role("assess"))]
BatchCaller = Annotated[CallerInfo, Depends(_with_role("batch"))]
AdminCaller = Annotated[CallerInfo, Depends(_with_role("admin"))]
AssessAdmitted = Annotated[CallerInfo, Depends(_with_role("assess", for_work=True))]
BatchAdmitted = Annotated[CallerInfo, Depends(_with_role("batch", for_work=True))]
