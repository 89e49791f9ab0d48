"""The server: four tools, the runs they made as resources, progress while they work.

A tool's words never become more than arguments: which tools exist, which files may be opened and what is written is
fixed here, whatever a question or a text inside a picture says.
"""

from __future__ import annotations

import base64
import functools
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp_types import CallToolResult, ContentBlock, ImageContent, ResourceLink, TextContent, ToolAnnotations
from PIL import Image
from pydantic import Field

from agenticiqa._version import __version__
from agenticiqa.api.assessor import AgenticIQA
from agenticiqa.api.comparison import compare_pictures
from agenticiqa.api.measure import Measurer, Pair, Record
from agenticiqa.errors import AgenticIQAError, BackendUnavailableError, RunNotFoundError
from agenticiqa.nodes.results import Assessment
from agenticiqa.nodes.run_state import PipelineEvent
from agenticiqa.pictures.images import load_image
from agenticiqa.pictures.overlays import overlay
from agenticiqa.reports.assessment import render_report, report_item, thumbnail
from agenticiqa.reports.difference import difference_of, open_pictures
from agenticiqa.runtime.config import ImageLimits
from agenticiqa.runtime.runs import StopRun
from agenticiqa.serve.mcp.pictures import PictureStore
from agenticiqa.serve.mcp.replies import (
    RUN_URI,
    AssessReply,
    CompareReply,
    MeasureReply,
    ToolsReply,
    answer_text,
    assess_reply,
    compare_reply,
    dumped,
    measure_reply,
    scores_text,
    tools_reply,
    verdict_text,
)
from agenticiqa.tools.catalogue import default_tools
from agenticiqa.vocabulary import DEFAULT_QUERY

Result = TypeVar("Result")

INSTRUCTIONS = (
    "Judges the technical quality of pictures: rates them, names distortions and where they are, measures them with "
    "published metrics, and says which of two is better. Pictures are paths on this machine or data: URLs."
)
STEPS = ("plan", "detection", "selection", "analysis", "tools", "summary")
READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)

Picture = Annotated[
    str, Field(description="Path of a picture on this machine, or the picture as a data: URL (base64).")
]
Question = Annotated[str, Field(description="The question: rate it, is it blurry, which distortion dominates, …")]
Reference = Annotated[
    str | None, Field(description="The undistorted original, as path or data: URL, of the same size as the picture.")
]


def build_server(assessor: AgenticIQA, pictures: PictureStore) -> MCPServer[Any]:
    """The server over one assessor; the caller closes the assessor."""
    server: MCPServer[Any] = MCPServer(
        "agenticiqa",
        title="AgenticIQA",
        instructions=INSTRUCTIONS,
        version=__version__,
        log_level="WARNING",
    )
    _add_assess(server, assessor, pictures)
    _add_measure(server, assessor, pictures)
    _add_compare(server, assessor, pictures)
    _add_list(server, assessor)
    _add_resources(server, assessor)
    return server


# --- tools ---


def _add_assess(server: MCPServer[Any], assessor: AgenticIQA, pictures: PictureStore) -> None:
    @server.tool(title="Assess a picture", annotations=READ_ONLY)
    async def assess_image(
        ctx: Context[Any, Any],
        image: Picture,
        query: Question = DEFAULT_QUERY,
        reference: Reference = None,
        options: Annotated[list[str] | None, Field(description="Answer options to choose from.")] = None,
        regions: Annotated[
            dict[str, list[int]] | None, Field(description="Where objects are: name to [x, y, width, height].")
        ] = None,
        include_map: Annotated[bool, Field(description="Also return a picture of where quality is lost.")] = False,
    ) -> Annotated[CallToolResult, AssessReply]:
        """Answer a question about a picture's quality, with the evidence behind the answer."""
        with _plain_errors(), pictures.in_use() as file:
            ask = functools.partial(
                assessor.assess,
                file(image),
                query,
                reference=file(reference) if reference else None,
                options=options,
                regions=regions,
            )
            result = await _in_thread(ctx, lambda listen: ask(on_event=listen))
            if result.status == "error":
                raise ToolError(result.error or "The run failed.")
            reply = assess_reply(result)
            content: list[ContentBlock] = [TextContent(text=answer_text(reply))]
            if include_map:
                content += await anyio.to_thread.run_sync(_map_content, result, assessor.limits)
        return CallToolResult(content=[*content, *_links(reply.run_id)], structured_content=dumped(reply))


def _add_measure(server: MCPServer[Any], assessor: AgenticIQA, pictures: PictureStore) -> None:
    @server.tool(title="Measure a picture", annotations=READ_ONLY)
    async def measure_image(
        image: Picture,
        tools: Annotated[
            list[str] | None, Field(description="Metrics such as SSIM or NIQE; list_tools names them all.")
        ] = None,
        reference: Reference = None,
    ) -> Annotated[CallToolResult, MeasureReply]:
        """Run image quality metrics on a picture; no model is asked."""
        with _plain_errors(), pictures.in_use() as file:
            pair = Pair.of(file(image), file(reference) if reference else None)
            names = tools or default_tools("measure_image", has_reference=reference is not None)
            measurer = _measurer(assessor, names)
            records: list[Record] = await anyio.to_thread.run_sync(lambda: measurer.measure(pair))
        failed = [record for record in records if record.error]
        if len(failed) == len(records):
            raise ToolError(failed[0].error or "No metric could be run.")
        reply = measure_reply(records)
        return CallToolResult(content=[TextContent(text=scores_text(reply))], structured_content=dumped(reply))


def _add_compare(server: MCPServer[Any], assessor: AgenticIQA, pictures: PictureStore) -> None:
    @server.tool(title="Compare two pictures", annotations=READ_ONLY)
    async def compare_images(
        ctx: Context[Any, Any],
        image_a: Picture,
        image_b: Picture,
        reference: Reference = None,
        include_map: Annotated[bool, Field(description="Also return a picture of where they differ.")] = False,
    ) -> Annotated[CallToolResult, CompareReply]:
        """Say which of two pictures is better, how sure that is, and why."""
        with _plain_errors(), pictures.in_use() as file:
            a, b = file(image_a), file(image_b)
            original = file(reference) if reference else None
            found = await _in_thread(
                ctx,
                lambda listen: compare_pictures(
                    assessor, a, b, reference=original, on_event=lambda _side, event: listen(event)
                ),
                passes=2,
            )
            if found.status == "error" or found.winner is None:
                raise ToolError(found.error or "The comparison failed.")
            reply = compare_reply(found)
            content: list[ContentBlock] = [TextContent(text=verdict_text(reply))]
            if include_map:
                content += await anyio.to_thread.run_sync(_difference_content, a, b, original, assessor.limits)
        return CallToolResult(content=content, structured_content=dumped(reply))


def _add_list(server: MCPServer[Any], assessor: AgenticIQA) -> None:
    @server.tool(title="List measuring tools", annotations=READ_ONLY)
    async def list_tools() -> ToolsReply:
        """The metrics that run here, what each is good at, and why others do not run."""
        return tools_reply(assessor.tools)


def _measurer(assessor: AgenticIQA, names: list[str]) -> Measurer:
    pipeline = assessor.settings.pipeline
    found = [assessor.tools.find(name) for name in dict.fromkeys(names)]
    return Measurer(found, pipeline.tools, pipeline.images, assessor.cache, memory=assessor.memory)


# --- resources ---


def _add_resources(server: MCPServer[Any], assessor: AgenticIQA) -> None:
    @server.resource(RUN_URI, title="A run", mime_type="application/json")
    def run_result(run_id: str) -> str:
        """The whole result of a run."""
        return _recorded(assessor, run_id).model_dump_json()

    @server.resource(f"{RUN_URI}/report", title="A run's report", mime_type="text/html")
    def run_report(run_id: str) -> str:
        """The result as one self-contained HTML page."""
        return render_report([report_item(_recorded(assessor, run_id), assessor.limits)])


def _recorded(assessor: AgenticIQA, run_id: str) -> Assessment:
    try:
        record = assessor.runs.find(run_id)
    except RunNotFoundError as error:
        raise ResourceNotFoundError(str(error)) from error
    if record.result is None:
        raise ResourceNotFoundError(f"The run {run_id} has not ended.")
    return Assessment.model_validate(record.result)


def _links(run_id: str) -> list[ResourceLink]:
    uri = RUN_URI.format(run_id=run_id)
    return [
        ResourceLink(uri=uri, name=f"run {run_id}", mime_type="application/json", description="The whole result"),
        ResourceLink(uri=f"{uri}/report", name=f"report {run_id}", mime_type="text/html", description="As a page"),
    ]


# --- pictures in replies ---


def _map_content(result: Assessment, limits: ImageLimits) -> list[ImageContent]:
    """The picture with its quality map; none where the vision model is not installed."""
    from agenticiqa.vision.quality_map import quality_map

    picture = load_image(result.image_path, limits)
    try:
        return [_png(Image.fromarray(overlay(thumbnail(picture), quality_map(picture))))]
    except BackendUnavailableError:
        return []


def _difference_content(a: Path, b: Path, reference: Path | None, limits: ImageLimits) -> list[ImageContent]:
    pictures = open_pictures(a, b, reference, limits)
    difference = difference_of(pictures)
    return [] if difference is None else [_png(Image.fromarray(difference.picture(pictures.a.rgb)))]


def _png(picture: Image.Image) -> ImageContent:
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return ImageContent(data=base64.b64encode(buffer.getvalue()).decode("ascii"), mime_type="image/png")


# --- work in threads, with progress ---


async def _in_thread(
    ctx: Context[Any, Any], work: Callable[[Callable[[PipelineEvent], None]], Result], passes: int = 1
) -> Result:
    """Run ``work`` beside the event loop; its steps become progress, and it stops once the caller is gone."""
    gone = False
    done = 0

    def listen(event: PipelineEvent) -> None:
        nonlocal done
        if gone:
            # The caller left: the run ends at its next step.
            raise StopRun
        if event.kind == "step":
            # A replan takes more steps than foreseen; progress never reaches the total before the end.
            done += 1
            total = passes * len(STEPS)
            anyio.from_thread.run(ctx.report_progress, min(done, total - 1), total, event.name)

    try:
        return await anyio.to_thread.run_sync(functools.partial(work, listen), abandon_on_cancel=True)
    finally:
        gone = True


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Errors of this package reach the caller as their message; anything else stays a defect."""
    try:
        yield
    except AgenticIQAError as error:
        raise ToolError(str(error)) from error
