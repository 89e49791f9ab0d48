"""Routes about what there is: tools, backends, examples."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from fastapi.responses import JSONResponse, Response

from agenticiqa.errors import AgenticIQAError
from agenticiqa.models.backends import find_provider, provider_names
from agenticiqa.pictures.formats import readable
from agenticiqa.serve.http.access import Caller
from agenticiqa.serve.http.app_state import AppState, app_state_of
from agenticiqa.serve.http.page.files import EXAMPLES
from agenticiqa.serve.http.problems import ServiceError
from agenticiqa.serve.http.routes.request_documents import problems
from agenticiqa.serve.http.wire import BackendInfo, BackendList, ExampleInfo, ExampleList, ServiceLimits, ToolList
from agenticiqa.serve.http.work.pipeline_work import presentable
from agenticiqa.tools.facts import all_facts

router = APIRouter(prefix="/v1", tags=["catalogue"])


@router.get("/tools", summary="Every measuring tool, and whether it runs here", response_model=ToolList,
            responses=problems())  # fmt: skip
async def list_tools(request: Request, _caller: Caller) -> Response:
    settings = app_state_of(request).pipeline.settings.pipeline.tools
    facts = await asyncio.to_thread(all_facts, settings)
    return JSONResponse({"tools": presentable(facts, {})})


@router.get("/backends", summary="Models a request may name", response_model=BackendList, responses=problems())
async def list_backends(request: Request, _caller: Caller) -> Response:
    listed = await asyncio.to_thread(_backends, app_state_of(request))
    return JSONResponse(listed.model_dump(mode="json"))


def _backends(parts: AppState) -> BackendList:
    pipeline = parts.pipeline
    return BackendList(
        default=pipeline.default_backends(),
        selectable=list(pipeline.selectable),
        providers=[_provider(parts, name) for name in provider_names()],
    )


def _provider(parts: AppState, name: str) -> BackendInfo:
    try:
        provider = find_provider(name)
        ready = provider.readiness(parts.pipeline.settings.provider(name)).ready
    except AgenticIQAError:
        return BackendInfo(provider=name, ready=False, local=False, description="")
    return BackendInfo(provider=name, ready=ready, local=provider.local, description=provider.description)


@router.get("/limits", summary="What pictures may be like", response_model=ServiceLimits, responses=problems())
async def limits(request: Request, _caller: Caller) -> Response:
    parts = app_state_of(request)
    settings = parts.settings
    shown = ServiceLimits(
        max_upload_bytes=settings.max_upload_bytes,
        max_pixels=parts.pipeline.limits.max_pixels,
        max_batch_upload_bytes=settings.max_batch_upload_bytes,
        max_batch_samples=settings.max_batch_samples,
        formats=[each.name for each in readable()],
        endings=[ending for each in readable() for ending in each.endings],
        keep_uploads_hours=settings.keep_uploads_hours,
    )
    return JSONResponse(shown.model_dump(mode="json"))


@router.get("/examples", summary="Pictures to try", response_model=ExampleList, responses=problems())
async def list_examples(_caller: Caller) -> Response:
    listed = ExampleList(
        examples=[
            ExampleInfo(
                name=example.name,
                title=example.title,
                licence=example.licence,
                query=example.query,
                reference=example.reference,
                first=example.first,
                image=f"/v1/examples/{example.name}",
            )
            for example in EXAMPLES.values()
        ]
    )
    return JSONResponse(listed.model_dump(mode="json"))


JPEG: dict[int | str, dict[str, Any]] = {
    200: {"content": {"image/jpeg": {"schema": {"type": "string", "format": "binary"}}}, "description": "JPEG"}
}


@router.get(
    "/examples/{name}",
    summary="One example picture",
    response_class=Response,
    responses={**problems(404, 422), **JPEG},
)
async def example_picture(name: Annotated[str, Path(max_length=100)], _caller: Caller) -> Response:
    example = EXAMPLES.get(name)
    if example is None:
        raise ServiceError(404, "unknown_example", "There is no example of this name.")
    data = await asyncio.to_thread(example.data)
    return Response(data, media_type="image/jpeg", headers={"Cache-Control": "private, max-age=3600"})
