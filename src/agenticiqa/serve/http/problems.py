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

from agenticiqa.errors import (
    AgenticIQAError,
    BackendError,
    BackendUnavailableError,
    HomeFullError,
    ImageError,
    ImageFormatError,
    ImageTooLargeError,
    MemoryLimitError,
    PictureTooSmallError,
    QueryError,
    RegionError,
    RunNotFoundError,
    ToolError,
    client_messages,
)
from agenticiqa.runtime.files import is_out_of_space

logger = logging.getLogger(__name__)

STORAGE_FULL = int(HTTPStatus.INSUFFICIENT_STORAGE)
MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:agenticiqa:problem:"
_ADDRESS = re.compile(r"\b(?:https?|file|ftp)://\S+", re.IGNORECASE)


# What people read first. Kinds that are not here have the title of their status.
_TITLES = {
    "assessment_failed": "The run ended without an answer",
    "backend_not_selectable": "This model cannot be chosen here",
    "body_too_large": "The request is too large",
    "cancelled": "The run was cancelled",
    "image": "The picture cannot be used",
    "image_format": "This is not a picture that can be read here",
    "image_too_large": "The picture is too large",
    "memory_limit": "The picture is too large for this server",
    "not_ready": "The server is not ready",
    "picture_gone": "The picture is no longer kept",
    "picture_too_small": "The picture is too small",
    "query": "The question cannot be taken",
    "queue_full": "The server is busy",
    "region": "The region does not fit the picture",
    "run_not_found": "There is no such run",
    "timed_out": "The run took too long",
    "unauthorized": "A key is needed",
}
_TITLES_BY_STATUS = {
    400: "The request cannot be read",
    401: "A key is needed",
    403: "This is not allowed",
    404: "Not found",
    405: "This address does not take that",
    408: "The request came too slowly",
    409: "Not possible now",
    413: "Too large",
    415: "This kind of file cannot be read here",
    421: "Asked under another name",
    422: "Something in the request is not right",
    429: "The server is busy",
    500: "The server failed",
    502: "The model failed",
    503: "The server is not ready",
    504: "It took too long",
}


def title_of(kind: str, status: int) -> str:
    """A few words for people; programs read the type.

    >>> title_of("image_format", 415), title_of("unsupported_media_type", 415)
    ('This is not a picture that can be read here', 'This kind of file cannot be read here')
    """
    return _TITLES.get(kind) or _TITLES_BY_STATUS.get(status) or HTTPStatus(status).phrase


class Problem(BaseModel):
    """RFC 9457 problem document."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "type": "urn:agenticiqa:problem:queue_full",
                    "title": "The server is busy",
                    "status": 429,
                    "detail": "All workers are busy and the queue is full. Try again in 3 seconds.",
                    "instance": "urn:agenticiqa:request:4f1c2d3e5a6b",
                }
            ]
        },
    )

    type: str = Field(description="A stable name of the kind of failure")
    title: str
    status: int
    detail: str
    instance: str | None = Field(None, description="This request's name in the server's log")


class ServiceError(Exception):
    """A request that cannot be served, as the client will read it."""

    def __init__(
        self, status: int, kind: str, detail: str, *, headers: Mapping[str, str] | None = None, **extra: Any
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind
        self.detail = detail
        self.headers = dict(headers or {})
        self.extra = extra

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> ServiceError:
        """The error that a kept problem document describes."""
        rest = {key: value for key, value in document.items() if key not in ("type", "title", "status", "detail")}
        kind = str(document["type"]).removeprefix(TYPE_PREFIX)
        waits = {503: "5", STORAGE_FULL: "60"}
        headers = {"Retry-After": waits[document["status"]]} if document["status"] in waits else {}
        return cls(document["status"], kind, document["detail"], headers=headers, **rest)

    def document(self, instance: str | None = None) -> dict[str, Any]:
        named = {"instance": f"urn:agenticiqa:request:{instance}"} if instance else {}
        return {
            "type": TYPE_PREFIX + self.kind,
            "title": title_of(self.kind, self.status),
            "status": self.status,
            "detail": self.detail,
            **named,
            **self.extra,
        }


# The first entry whose class fits decides.
_STATUS_BY_ERROR: dict[type[AgenticIQAError], int] = {
    ImageTooLargeError: 413,
    MemoryLimitError: 413,
    PictureTooSmallError: 422,
    ImageFormatError: 415,
    ImageError: 422,
    QueryError: 422,
    RegionError: 422,
    ToolError: 422,
    RunNotFoundError: 404,
    BackendUnavailableError: 422,
    BackendError: 502,
}
# Of runs that failed, by the kind of their error; other kinds are the backend's fault. A backend that cannot be used is
# the request's fault only when the request names it, which is checked before the run.
_STATUS_BY_KIND = {
    "image_too_large": 413,
    "memory_limit": 413,
    "image_format": 415,
    "image": 422,
    "picture_too_small": 422,
    "query": 422,
    "region": 422,
}


def without_addresses(text: str) -> str:
    """A message without the addresses of other servers.

    >>> without_addresses("http://10.0.0.5:8000/v1 does not answer.")
    '[address] does not answer.'
    """
    return _ADDRESS.sub("[address]", text)


def from_package_error(error: AgenticIQAError) -> ServiceError:
    """A typed failure of the package under the status that fits it."""
    if isinstance(error, HomeFullError) or is_out_of_space(error):
        return failed("A request", error)
    status = next((status for kind, status in _STATUS_BY_ERROR.items() if isinstance(error, kind)), 500)
    if status == 500:
        # A broken configuration or database is for the server's log, not for its clients.
        logger.error("A request failed: %s", error)
        return internal_error()
    with client_messages():
        return ServiceError(status, error.kind, without_addresses(str(error)))


def status_of_kind(kind: str) -> int:
    """The status of a run that ended with an error of this kind: the request's own fault, or the backend's.

    >>> status_of_kind("picture_too_small"), status_of_kind("backend_timeout")
    (422, 502)
    """
    return _STATUS_BY_KIND.get(kind, 502)


def failed(what: str, error: Exception) -> ServiceError:
    """What a client is told of a failure that is not the request's: a full disk, or a defect. The log has the rest."""
    if not (isinstance(error, HomeFullError) or is_out_of_space(error)):
        logger.error("%s failed", what, exc_info=error)
        return internal_error()
    logger.error("%s: there is no room left on the disk (%s)", what, error)
    return ServiceError(
        STORAGE_FULL,
        "storage_full",
        "The server has no room left to keep this. Try again later, or tell whoever runs it.",
        headers={"Retry-After": "60"},
    )


def internal_error() -> ServiceError:
    return ServiceError(500, "internal", "The server failed. Its log has the details under this request's name.")


def invalid_fields(error: ValidationError | RequestValidationError) -> ServiceError:
    """Which fields are wrong and why, without repeating what was sent."""
    errors = [
        {"field": ".".join(str(part) for part in each["loc"]), "message": str(each["msg"])}
        for each in error.errors()[:20]
    ]
    first = errors[0]
    return ServiceError(
        422, "invalid_request", f"{first['field'] or 'body'}: {first['message']}.".replace("..", "."), errors=errors
    )


def problem_response(error: ServiceError, request_id: str | None = None) -> JSONResponse:
    return JSONResponse(error.document(request_id), error.status, headers=error.headers, media_type=MEDIA_TYPE)


async def on_error(request: Request, error: Exception) -> JSONResponse:
    """The problem document of whatever a route or the framework has raised."""
    if isinstance(error, ServiceError):
        found = error
    elif isinstance(error, AgenticIQAError):
        found = from_package_error(error)
    elif isinstance(error, RequestValidationError):
        found = invalid_fields(error)
    elif isinstance(error, HTTPException):
        found = _refused_by_framework(request, error)
    else:
        found = internal_error()
    return problem_response(found, request.scope.get("state", {}).get("request_id"))


def _refused_by_framework(request: Request, error: HTTPException) -> ServiceError:
    """Unknown paths, wrong methods, malformed bodies."""
    kind = HTTPStatus(error.status_code).phrase.lower().replace(" ", "_").replace("-", "_")
    details = {404: "There is nothing at this address.", 405: "This address does not take this method."}
    headers = dict(error.headers or {})
    if error.status_code == 405:
        # The framework names the methods of the first route at this address only.
        headers["Allow"] = ", ".join(_methods_at(request))
    return ServiceError(error.status_code, kind, details.get(error.status_code, str(error.detail)), headers=headers)


def _methods_at(request: Request) -> list[str]:
    scope = {"type": "http", "path": request.url.path, "headers": [], "root_path": ""}
    return [
        method
        for method in ("GET", "POST", "DELETE")
        if any(route.matches({**scope, "method": method})[0] is Match.FULL for route in request.app.routes)
    ]
