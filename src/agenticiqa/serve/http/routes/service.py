"""Routes about the server itself: what there is (tools, backends, limits, examples), and how it is doing."""

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from fastapi.responses import Response

from agenticiqa._version import __version__
from agenticiqa.models.backends import provider_names
from agenticiqa.pictures.formats import readable
from agenticiqa.serve.http.app_state import AdminCaller, AppState, Caller, State
from agenticiqa.serve.http.page.files import EXAMPLES, ExamplePicture
from agenticiqa.serve.http.problems import ServiceError
from agenticiqa.serve.http.routes.common import FILE, problems, reply_of
from agenticiqa.serve.http.wire import BackendList, ReadinessReply, ServiceLimits
from agenticiqa.serve.http.work.pipeline_work import presentable
from agenticiqa.tools.facts import all_facts

catalogue = APIRouter(prefix="/v1", tags=["catalogue"], responses=problems())
operation = APIRouter(tags=["operation"], responses=problems())


@catalogue.get("/tools", summary="Every measuring tool, and whether it runs here")
async def list_tools(state: State, _caller: Caller) -> dict[Literal["tools"], list[dict[str, Any]]]:
    facts = await asyncio.to_thread(all_facts, state.pipeline.settings.pipeline.tools)
    return {"tools": presentable(facts, {})}


@catalogue.get("/backends", summary="Models a request may name")
async def list_backends(state: State, _caller: Caller) -> BackendList:
    default = await asyncio.to_thread(state.pipeline.default_backends)
    providers = await asyncio.to_thread(lambda: [state.pipeline.provider(name) for name in provider_names()])
    return BackendList(default=default, selectable=state.pipeline.selectable, providers=providers)


@catalogue.get("/limits", summary="What pictures may be like")
async def limits(state: State, _caller: Caller) -> ServiceLimits:
    settings = state.settings
    return ServiceLimits(
        max_upload_bytes=settings.max_upload_bytes,
        max_pixels=state.pipeline.limits.max_pixels,
        max_batch_upload_bytes=settings.max_batch_upload_bytes,
        max_batch_samples=settings.max_batch_samples,
        formats=[each.name for each in readable()],
        endings=[ending for each in readable() for ending in each.endings],
        keep_uploads_hours=settings.keep_uploads_hours,
    )


@catalogue.get("/examples", summary="Pictures to try")
async def list_examples(_caller: Caller) -> dict[Literal["examples"], list[ExamplePicture]]:
    return {"examples": list(EXAMPLES.values())}


@catalogue.get(
    "/examples/{name}",
    summary="One example picture",
    response_class=Response,
    responses={**problems(404, 422), **reply_of("image/jpeg", "JPEG", FILE)},
)
async def example_picture(name: Annotated[str, Path(max_length=100)], _caller: Caller) -> Response:
    example = EXAMPLES.get(name)
    if example is None:
        raise ServiceError(404, "unknown_example", "There is no example of this name.")
    data = await asyncio.to_thread(example.data)
    return Response(data, media_type="image/jpeg", headers={"Cache-Control": "private, max-age=3600"})


# --- for operators; watchdogs and load balancers ask with HEAD ---


@operation.head("/healthz", include_in_schema=False)
@operation.get("/healthz", summary="The process answers")
async def healthz() -> dict[Literal["status"], Literal["ok"]]:
    return {"status": "ok"}


@operation.head("/readyz", include_in_schema=False)
@operation.get("/readyz", summary="Work is accepted", responses=problems(503))
async def readyz(state: State) -> ReadinessReply:
    running = state.queue.running
    counts: dict[str, Any] = {"running": running, "waiting": state.queue.taken - running}
    why = await asyncio.to_thread(_why_not, state)
    if why:
        raise ServiceError(503, "not_ready", f"The server is {why}.", retry_s=2, **counts)
    return ReadinessReply(version=__version__, workers=state.settings.workers, **counts)


def _why_not(state: AppState) -> str | None:
    if state.queue.draining:
        return "stopping"
    if not state.is_warm:
        return "loading its model"
    if state.is_short_of_room():
        return "out of room on its disk"
    return "full: all workers are busy and nothing more may wait" if state.queue.is_full else None


@operation.get(
    "/metrics",
    summary="Counters for Prometheus",
    response_class=Response,
    responses=reply_of("text/plain", "Prometheus text"),
)
async def metrics(state: State, _caller: AdminCaller) -> Response:
    return Response(state.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
