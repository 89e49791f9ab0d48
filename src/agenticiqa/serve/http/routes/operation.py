"""Routes for whoever runs the server."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from agenticiqa._version import __version__
from agenticiqa.serve.http.access import AdminCaller
from agenticiqa.serve.http.app_state import AppState, app_state_of
from agenticiqa.serve.http.problems import ServiceError
from agenticiqa.serve.http.routes.request_documents import problems
from agenticiqa.serve.http.wire import Health, ReadinessReply

router = APIRouter(tags=["operation"])


# Watchdogs and load balancers ask with HEAD.
@router.head("/healthz", include_in_schema=False)
@router.get("/healthz", summary="The process answers", response_model=Health, responses=problems())
async def healthz() -> Response:
    return JSONResponse({"status": "ok"})


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", summary="Work is accepted", response_model=ReadinessReply, responses=problems(503))
async def readyz(request: Request) -> Response:
    parts = app_state_of(request)
    running = parts.queue.running
    why = await asyncio.to_thread(_why_not, parts)
    if why:
        raise ServiceError(
            503,
            "not_ready",
            f"The server is {why}.",
            headers={"Retry-After": "2"},
            running=running,
            waiting=parts.queue.taken - running,
        )
    shown = ReadinessReply(
        version=__version__,
        workers=parts.settings.workers,
        running=running,
        waiting=parts.queue.taken - running,
    )
    return JSONResponse(shown.model_dump(mode="json"))


def _why_not(parts: AppState) -> str | None:
    if parts.queue.draining:
        return "stopping"
    if not parts.ready:
        return "loading its model"
    if parts.is_short_of_room():
        return "out of room on its disk"
    return "full: all workers are busy and nothing more may wait" if parts.queue.is_full else None


@router.get(
    "/metrics",
    summary="Counters for Prometheus",
    response_class=Response,
    responses={
        **problems(),
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Prometheus text"},
    },
)
async def metrics(request: Request, _caller: AdminCaller) -> Response:
    return Response(app_state_of(request).metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
