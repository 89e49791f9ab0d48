"""The ASGI application: its state, routes and guards put together."""

import asyncio
import functools
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import Response
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Scope

from agenticiqa._version import __version__
from agenticiqa.errors import AgenticIQAError
from agenticiqa.pictures.isolation import isolated_reading
from agenticiqa.reports import contact_sheet
from agenticiqa.serve.http.app_state import AppState
from agenticiqa.serve.http.keys import RefusedWork
from agenticiqa.serve.http.observing import log_request
from agenticiqa.serve.http.page.files import EXAMPLES, PageFiles
from agenticiqa.serve.http.problems import REFUSALS, STORAGE_FULL, Problem, ServiceError, on_error
from agenticiqa.serve.http.request_guard import RequestGuard
from agenticiqa.serve.http.routes import audits, runs, service, work
from agenticiqa.serve.http.routes.common import COMPONENTS
from agenticiqa.serve.http.wire import AssessBody, CompareBody, MeasureBody, PreviewBody

logger = logging.getLogger(__name__)

WEB = Path(__file__).parent / "page" / "web"
SHEET = Path(contact_sheet.__file__).parent / "sheet"
SWEEP_EVERY_S = 60.0
DESCRIPTION = (
    "Ask how good a picture is, what is wrong with it, where, and why. Errors are problem documents (RFC 9457)."
)


def create_app(state: AppState) -> FastAPI:
    """The application over a state that is ready."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        workers = state.settings.workers
        # As many as runs, drawings and requests may read pictures at a time.
        with isolated_reading(2 * workers + 8, workers + 4), state.memory.reserved():
            chores = [asyncio.create_task(_warm_up(state)), asyncio.create_task(_sweep_periodically(state))]
            yield
            for chore in chores:
                chore.cancel()
            await drain(state, 0 if state.queue.draining else state.settings.grace_s)
            await asyncio.to_thread(state.is_short_of_room)
        state.pipeline.close()
        state.record.close()

    app = FastAPI(
        title="AgenticIQA",
        description=DESCRIPTION,
        version=__version__,
        lifespan=lifespan,
        # The ready-made pages of the framework load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
    )
    app.state.service = state
    for router in (work.router, runs.router, audits.router, service.catalogue, service.operation):
        app.include_router(router)
    files = PageFiles(directory=WEB, html=True)
    app.mount("/static/sheet", PageFiles(directory=SHEET))
    app.mount("/static", files, name="static")

    @app.head("/", include_in_schema=False)
    @app.get("/", include_in_schema=False)
    async def page(request: Request) -> Response:
        return await files.get_response("index.html", request.scope)

    for error in (ServiceError, AgenticIQAError, RequestValidationError, HTTPException):
        app.add_exception_handler(error, on_error)
    _add_guards(app, state)
    # The way FastAPI's documentation names for a document of one's own.
    app.openapi = lambda: _openapi(app, with_keys=state.keys is not None)  # type: ignore[method-assign]
    return app


async def drain(state: AppState, grace_s: float) -> None:
    """Let single runs finish; audits stop where they are, and after the runs whatever is still being drawn."""
    await asyncio.gather(state.queue.drain(grace_s), state.batch_queue.drain(0))
    state.render_queue.close()


def _add_guards(app: FastAPI, state: AppState) -> None:
    settings = state.settings

    def for_origins(inner: ASGIApp) -> ASGIApp:
        return CORSMiddleware(
            inner,
            allow_origins=list(settings.allowed_origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID"],
            expose_headers=["Idempotent-Replayed", "Location", "Retry-After", "X-Request-Id"],
        )

    def observe(scope: Scope, status: int, seconds: float) -> None:
        if status == STORAGE_FULL:
            state.room.note_full()
        if status in REFUSALS and (owner := scope["state"].get("owner")):
            state.refused.add(owner, RefusedWork.EACH_S + scope["state"]["body_bytes"] / RefusedWork.BYTES_PER_S)
        state.metrics.request_ended(scope, status, seconds)
        log_request(scope, status, seconds, settings.trusted_proxies)

    more = {"for_origins": for_origins} if settings.allowed_origins else {}
    app.add_middleware(RequestGuard, settings=settings, observe=observe, **more)


async def _warm_up(state: AppState) -> None:
    """Load the model before the first request waits for it."""

    def first_assessment() -> None:
        state.uploads.sweep()
        state.pipeline.assessor()
        if state.pipeline.is_embedded:
            # Other backends would be paid for this.
            state.pipeline.warm_up(state.uploads.put(EXAMPLES["dandelion_compressed"].data(), "warm-up"))

    try:
        await asyncio.to_thread(first_assessment)
    except Exception:
        logger.exception("The first assessment failed; the server goes on without having tried its model")
    state.is_warm = True


async def _sweep_periodically(state: AppState) -> None:
    while True:
        await asyncio.sleep(SWEEP_EVERY_S)
        sweep = functools.partial(state.uploads.sweep, state.files_in_use())
        for chore in (sweep, state.forget_old_runs, state.is_short_of_room):
            try:
                await asyncio.to_thread(chore)
            except Exception:
                # A disk that is full or a database that is locked now may not be so in a minute.
                logger.exception("Old files could not be removed; trying again later")


def _openapi(app: FastAPI, *, with_keys: bool) -> dict[str, Any]:
    """The framework's document with the bodies and problems it cannot know of."""
    if app.openapi_schema:
        return app.openapi_schema
    document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    bodies: list[type[BaseModel]] = [AssessBody, MeasureBody, CompareBody, PreviewBody, Problem]
    _, extra = models_json_schema([(model, "validation") for model in bodies], ref_template=COMPONENTS + "{model}")
    document["components"].setdefault("schemas", {}).update(extra["$defs"])
    if not with_keys:
        document["components"].pop("securitySchemes", None)
        for operation in (each for operations in document["paths"].values() for each in operations.values()):
            operation.pop("security", None)
    app.openapi_schema = document
    return document
