"""Errors as problem documents (RFC 9457): what happened and what to do, never how the server is built."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Match

from agenticiqa import errors
from agenticiqa._data import read_data
from agenticiqa.runtime.files import is_out_of_space

logger = logging.getLogger(__name__)

STORAGE_FULL = int(HTTPStatus.INSUFFICIENT_STORAGE)
MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:agenticiqa:problem:"
_ADDRESS = re.compile(r"\b(?:https?|file|ftp)://\S+", re.IGNORECASE)
_TITLES: dict[str | int, str] = read_data("serve/http/problem_titles.yaml")


def title_of(kind: str, status: int) -> str:
    """A few words for people; programs read the type.

    >>> title_of("image_format", 415), title_of("unsupported_media_type", 415)
    ('This is not a picture that can be read here', 'This kind of file cannot be read here')
    """
    return _TITLES.get(kind) or _TITLES.get(status) or HTTPStatus(status).phrase


class Problem(BaseModel):
    """RFC 9457 problem document."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(
        description="A stable name of the kind of failure", examples=["urn:agenticiqa:problem:queue_full"]
    )
    title: str
    status: int
    detail: str
    instance: str | None = Field(None, description="This request's name in the server's log")


class ServiceError(Exception):
    """A request that cannot be served, as the client will read it; ``retry_s``: when to come back."""

    def __init__(
        self,
        status: int,
        kind: str,
        detail: str,
        *,
        retry_s: int | None = None,
        headers: Mapping[str, str] | None = None,
        **extra: Any,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind
        self.detail = detail
        self.headers = {**(headers or {}), **({"Retry-After": str(retry_s)} if retry_s else {})}
        self.extra = extra

    def fresh(self, **extra: Any) -> ServiceError:
        """The same without the frames that raised it, which hold pictures: for what outlives them."""
        return ServiceError(self.status, self.kind, self.detail, headers=self.headers, **{**self.extra, **extra})

    def document(self, instance: str | None = None) -> dict[str, Any]:
        """The problem document; ``instance`` is the request's name in the log."""
        named = {"instance": f"urn:agenticiqa:request:{instance}"} if instance else {}
        about = {"title": title_of(self.kind, self.status), "status": self.status, "detail": self.detail}
        return {"type": TYPE_PREFIX + self.kind, **about, **named, **self.extra}


# The request's own faults, by the kind of the error. Whatever else ends a run is the backend's fault: one that cannot
# be used is the request's fault only when the request names it, which is checked before the run.
REQUEST_FAULTS = {
    "image_too_large": 413,
    "memory_limit": 413,
    "image_format": 415,
    "image": 422,
    "picture_too_small": 422,
    "query": 422,
    "quota_full": 429,
    "region": 422,
}
REFUSALS = frozenset({400, 413, 415, 422})
"""Of requests that nothing could be done for."""
# Of errors outside of runs; the first entry whose class fits decides.
_STATUS_BY_ERROR: dict[type[errors.AgenticIQAError], int] = {
    errors.ImageError: 422,
    errors.ToolError: 422,
    errors.RunNotFoundError: 404,
    errors.BackendUnavailableError: 422,
    errors.BackendError: 502,
}


def without_addresses(text: str) -> str:
    """A message without the addresses of other servers.

    >>> without_addresses("http://10.0.0.5:8000/v1 does not answer.")
    '[address] does not answer.'
    """
    return _ADDRESS.sub("[address]", text)


def service_error(what: str, error: Exception) -> ServiceError:
    """What a client is told of any failure of ``what``. The log has the rest of a full disk and of a defect."""
    if isinstance(error, ServiceError):
        return error
    if isinstance(error, errors.HomeFullError) or is_out_of_space(error):
        logger.error("%s: there is no room left on the disk (%s)", what, error)
        message = "The server has no room left to keep this. Try again later, or tell its operator."
        return ServiceError(STORAGE_FULL, "storage_full", message, retry_s=60)
    if isinstance(error, errors.AgenticIQAError):
        by_class = (status for known, status in _STATUS_BY_ERROR.items() if isinstance(error, known))
        status = REQUEST_FAULTS.get(error.kind) or next(by_class, None)
        if status is not None:
            with errors.client_messages():
                retry_s = 30 if status == HTTPStatus.TOO_MANY_REQUESTS else None
                return ServiceError(status, error.kind, without_addresses(str(error)), retry_s=retry_s)
    # Also a broken configuration or database: for the server's log, not for its clients.
    logger.error("%s failed", what, exc_info=error)
    return ServiceError(500, "internal", "The server failed. Its log has the details under this request's name.")


def invalid_fields(error: ValidationError | RequestValidationError) -> ServiceError:
    """Which fields are wrong and why, without repeating what was sent."""
    wrong = [
        {"field": ".".join(str(part) for part in each["loc"]), "message": str(each["msg"])}
        for each in error.errors()[:20]
    ]
    detail = f"{wrong[0]['field'] or 'body'}: {wrong[0]['message']}.".replace("..", ".")
    return ServiceError(422, "invalid_request", detail, errors=wrong)


def problem_response(error: ServiceError, request_id: str | None = None) -> JSONResponse:
    return JSONResponse(error.document(request_id), error.status, headers=error.headers, media_type=MEDIA_TYPE)


async def on_error(request: Request, error: Exception) -> JSONResponse:
    """The problem document of whatever a route or the framework has raised."""
    request_id = request.scope.get("state", {}).get("request_id")
    if isinstance(error, RequestValidationError):
        found = invalid_fields(error)
    elif isinstance(error, HTTPException):
        found = _refused_by_framework(request, error)
    else:
        found = service_error(f"Request {request_id}", error)
    return problem_response(found, request_id)


def _refused_by_framework(request: Request, error: HTTPException) -> ServiceError:
    """Unknown paths, wrong methods, malformed bodies."""
    kind = HTTPStatus(error.status_code).phrase.lower().replace(" ", "_").replace("-", "_")
    details = {404: "There is nothing at this address.", 405: "This address does not take this method."}
    headers = dict(error.headers or {})
    if error.status_code == 405:
        # The framework names the methods of the first route at this address only.
        scope = {"type": "http", "path": request.url.path, "headers": [], "root_path": ""}
        methods = ("GET", "POST", "DELETE")
        taken = [(route, each) for route in request.app.routes for each in methods]
        found = {each for route, each in taken if route.matches({**scope, "method": each})[0] is Match.FULL}
        headers["Allow"] = ", ".join(each for each in methods if each in found)
    return ServiceError(error.status_code, kind, details.get(error.status_code, str(error.detail)), headers=headers)
