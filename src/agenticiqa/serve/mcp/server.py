"""The server: four tools, the runs they made as resources, progress while they work.

A tool's words never become more than arguments: which tools exist, which files may be opened and what is written is
fixed here, whatever a question or a text inside a picture says.
"""

import base64
import functools
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit
from urllib.request import url2pathname

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, ContentBlock, ImageContent, ResourceLink, TextContent, ToolAnnotations
from PIL import Image
from pydantic import BaseModel, Field, ValidationError

from agenticiqa._version import __version__
from agenticiqa.api.assessor import AgenticIQA
from agenticiqa.api.comparison import compare_pictures
from agenticiqa.api.measure import Measurer, Pair
from agenticiqa.errors import AgenticIQAError, BackendUnavailableError, RunNotFoundError, client_messages
from agenticiqa.nodes.results import Assessment
from agenticiqa.nodes.run_context import PipelineEvent
from agenticiqa.pictures.images import load_image, png_bytes
from agenticiqa.pictures.inputs import Align
from agenticiqa.pictures.regions import overlay
from agenticiqa.reports.assessment import render_report, report_item
from agenticiqa.reports.comparison import difference_of, open_pictures
from agenticiqa.reports.look import thumbnail
from agenticiqa.runtime.config import ImageLimits
from agenticiqa.runtime.stopping import Cancelled, stoppable
from agenticiqa.serve.mcp import replies
from agenticiqa.state import RunMode, ViewsMode
from agenticiqa.tools.catalogue import default_tools
from agenticiqa.vocabulary import DEFAULT_QUERY

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

INSTRUCTIONS = (
    "Judges the technical quality of pictures: rates them, names distortions and where they are, measures them with "
    "published metrics, and says which of two is better. Pictures are paths on this machine or data: URLs."
)
RUN_URI = "agenticiqa://runs/{run_id}"
STEPS = ("plan", "detection", "selection", "analysis", "tools", "summary")
READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)

Picture = Annotated[
    str, Field(description="Path of a picture on this machine, or the picture as a data: URL (base64).")
]
Question = Annotated[str, Field(description="The question: rate it, is it blurry, which distortion dominates, …")]
Reference = Annotated[
    str | None, Field(description="The undistorted original, as path or data: URL, of the same size as the picture.")
]
Scaling = Annotated[Align, Field(description="'resize' scales the picture to its reference's size; 'none' refuses.")]


class _StrictTool(Tool):
    """Refuses arguments that it does not know: a misspelled one would change the question without a word."""

    async def run(self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False) -> Any:
        known = list(self.parameters.get("properties", {}))
        unknown = [name for name in arguments if name not in known]
        if unknown:
            takes = f"It takes {', '.join(known)}." if known else "It takes none."
            raise ToolError(f"{self.name} knows no argument {unknown[0]!r}. {takes}")
        try:
            return await super().run(arguments, context, convert_result)
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            # The first fault in words, without what was sent and how it was found.
            fault = error.__cause__.errors()[0]
            where = ".".join(map(str, fault["loc"]))
            wanted = self.parameters["properties"].get(where.partition(".")[0], {})
            takes = wanted.get("description", "Its input schema says what it takes.")
            raise ToolError(f"{self.name}: {where}: {fault['msg']}. {takes}") from None


def build_server(assessor: AgenticIQA, pictures: replies.PictureStore) -> MCPServer[Any]:
    """The server over one assessor; the caller closes the assessor."""
    verbs = _Verbs(assessor, pictures)
    tools: list[Tool] = []
    for verb, title in (
        (verbs.assess_image, "Assess a picture"),
        (verbs.measure_image, "Measure a picture"),
        (verbs.compare_images, "Compare two pictures"),
        (verbs.list_tools, "List measuring tools"),
    ):
        tool = _StrictTool.from_function(verb, title=title, annotations=READ_ONLY)
        tool.parameters["additionalProperties"] = False
        tools.append(tool)
    about = f"{INSTRUCTIONS} {pictures.allowed_folders()}"
    server: MCPServer[Any] = MCPServer(
        "agenticiqa", title="AgenticIQA", instructions=about, version=__version__, tools=tools, log_level="WARNING"
    )

    @server.resource(RUN_URI, title="A run", mime_type="application/json")
    def run_result(run_id: str) -> str:
        """The whole result of a run."""
        return _recorded(assessor, run_id).model_dump_json()

    @server.resource(f"{RUN_URI}/report", title="A run's report", mime_type="text/html")
    def run_report(run_id: str) -> str:
        """The result as one self-contained HTML page."""
        return render_report([report_item(_recorded(assessor, run_id), assessor.limits)])

    return server


def _recorded(assessor: AgenticIQA, run_id: str) -> Assessment:
    try:
        record = assessor.runs.find(run_id)
    except RunNotFoundError as error:
        raise ResourceNotFoundError(str(error)) from error
    if record.result is None:
        raise ResourceNotFoundError(f"The run {run_id} has not ended.")
    return Assessment.model_validate(record.result)


@dataclass(frozen=True)
class _Verbs:
    """What the tools do."""

    assessor: AgenticIQA
    pictures: replies.PictureStore

    async def assess_image(  # noqa: PLR0913, PLR0917 - the arguments of the tool
        self,
        ctx: Context[Any, Any],
        image: Annotated[str | None, Field(description="As a path on this machine or a data: URL (base64).")] = None,
        query: Question = DEFAULT_QUERY,
        reference: Reference = None,
        options: Annotated[list[str] | None, Field(description="Answer options to choose from.")] = None,
        regions: Annotated[
            dict[str, list[int]] | None, Field(description="Where objects are: name to [x, y, width, height].")
        ] = None,
        align: Scaling = "none",
        mode: Annotated[
            RunMode | None, Field(description="'direct' asks the model alone, without agents and tools.")
        ] = None,
        views: Annotated[
            ViewsMode | None,
            Field(description="Closer looks at large pictures; 'ask' lets the model ask for more, 'off' takes none."),
        ] = None,
        include_map: Annotated[bool, Field(description="Also return a picture of where quality is lost.")] = False,
        after: Annotated[
            str | None,
            Field(description="A run_id to ask on from ('why?', 'and the sky?'); its picture need not be given."),
        ] = None,
    ) -> Annotated[CallToolResult, replies.AssessReply]:
        """Answer a question about a picture's quality, with the evidence behind the answer."""
        with _plain_errors(self.pictures), self.pictures.in_use(await _client_roots(ctx)) as file:
            ask = functools.partial(
                self._asking(file(image) if image else None, after, file),
                query=query,
                reference=file(reference) if reference else None,
                options=options,
                regions=regions,
                align=align,
                mode=mode,
                views=views,
            )
            result = await _in_thread(ctx, lambda listen: ask(on_event=listen))
            if result.status == "error":
                raise ToolError(result.error or "The run failed.")
            limits = self.assessor.limits
            maps = [await anyio.to_thread.run_sync(_map_content, result, limits)] if include_map else []
        reply = replies.assess_reply(result)
        uri, name = RUN_URI.format(run_id=reply.run_id), reply.run_id
        return _result(
            reply,
            TextContent(text=replies.answer_text(result)),
            *maps,
            ResourceLink(uri=uri, name=f"run {name}", mime_type="application/json", description="The whole result"),
            ResourceLink(uri=f"{uri}/report", name=f"report {name}", mime_type="text/html", description="As a page"),
        )

    def _asking(self, image: Path | None, after: str | None, file: Callable[[str], Path]) -> Callable[..., Assessment]:
        """How a question is put: about a picture, or on from a run whose pictures this client may have opened."""
        if after is None:
            if image is None:
                raise ToolError("Give image: a picture, or after: a run to ask on from.")
            return functools.partial(self.assessor.assess, image)
        asked = self.assessor.runs.find(after).request
        for path in (None if image else asked["image_path"], asked.get("reference_path")):
            if path:
                file(path)
        return functools.partial(self.assessor.follow_up, after, image=image)

    async def measure_image(
        self,
        ctx: Context[Any, Any],
        image: Picture,
        tools: Annotated[
            list[str] | None, Field(description="Metrics such as SSIM or NIQE; list_tools names them all.")
        ] = None,
        reference: Reference = None,
        align: Scaling = "none",
    ) -> Annotated[CallToolResult, replies.MeasureReply]:
        """Run image quality metrics on a picture; no model is asked."""
        own, pipeline = self.assessor, self.assessor.settings.pipeline
        with _plain_errors(self.pictures), self.pictures.in_use(await _client_roots(ctx)) as file:
            pair = Pair.of(file(image), file(reference) if reference else None)
            names = tools or default_tools("measure_image", has_reference=reference is not None)
            found = [own.tools.find(name) for name in dict.fromkeys(names)]
            measurer = Measurer(found, pipeline.tools, pipeline.images, own.cache, align, memory=own.memory)
            records = await _in_thread(ctx, lambda _listen: measurer.measure(pair))
            if all(record.error for record in records):
                raise ToolError(records[0].error or "No metric could be run.")
        reply = replies.MeasureReply(scores=[replies.Score.model_validate(record) for record in records])
        return _result(reply, TextContent(text="\n".join(map(str, reply.scores))))

    async def compare_images(
        self,
        ctx: Context[Any, Any],
        image_a: Picture,
        image_b: Picture,
        reference: Reference = None,
        query: Annotated[str, Field(description="What to compare by, such as 'Which is sharper?'.")] = DEFAULT_QUERY,
        include_map: Annotated[bool, Field(description="Also return a picture of where they differ.")] = False,
    ) -> Annotated[CallToolResult, replies.CompareReply]:
        """Say which of two pictures is better, how sure that is, and why."""
        with _plain_errors(self.pictures), self.pictures.in_use(await _client_roots(ctx)) as file:
            a, b = file(image_a), file(image_b)
            original = file(reference) if reference else None
            found = await _in_thread(
                ctx,
                lambda listen: compare_pictures(
                    self.assessor, a, b, reference=original, query=query, on_event=lambda _side, event: listen(event)
                ),
                passes=2,
            )
            if found.status == "error" or found.winner is None:
                raise ToolError(found.error or "The comparison failed.")
            maps: list[ContentBlock] = []
            if include_map:
                maps.append(await anyio.to_thread.run_sync(_difference_content, a, b, original, self.assessor.limits))
        reasons = [*found.reasons, *found.notes]
        reply = replies.CompareReply.model_validate(found).model_copy(update={"reasons": reasons})
        text = "\n".join([reply.verdict, *(f"- {reason}" for reason in reasons)])
        return _result(reply, TextContent(text=text), *maps)

    async def list_tools(self) -> replies.ToolsReply:
        """The metrics that run here, what each is good at, and why others do not run."""
        registry, facts = self.assessor.tools, replies.ToolFacts
        here = [facts(name=each.name, type=each.type, available=True, about=each.describe()) for each in registry.all()]
        missing = sorted(registry.unavailable.items())
        elsewhere = [facts(name=name, type="unknown", available=False, about=reason) for name, reason in missing]
        return replies.ToolsReply(tools=[*here, *elsewhere])


def _result(reply: BaseModel, *content: ContentBlock) -> CallToolResult:
    return CallToolResult(content=[*content], structured_content=reply.model_dump(mode="json"))


def _map_content(result: Assessment, limits: ImageLimits) -> ContentBlock:
    """The picture with its quality map; words where the vision model is not installed."""
    from agenticiqa.vision.quality_map import quality_map

    picture = load_image(result.image_path, limits)
    try:
        return _png(Image.fromarray(overlay(thumbnail(picture), quality_map(picture))))
    except BackendUnavailableError as error:
        return TextContent(text=f"There is no map: {error}")


def _difference_content(a: Path, b: Path, reference: Path | None, limits: ImageLimits) -> ContentBlock:
    pictures = open_pictures(a, b, reference, limits)
    difference = difference_of(pictures)
    if difference is None:
        return TextContent(text="There is no map: the pictures cannot be compared place by place.")
    return _png(Image.fromarray(difference.picture(pictures.a.rgb)))


def _png(picture: Image.Image) -> ImageContent:
    return ImageContent(data=base64.b64encode(png_bytes(picture)).decode("ascii"), mime_type="image/png")


async def _client_roots(ctx: Context[Any, Any]) -> list[Path]:
    """Folders that the client says its user works in; none where it names none or cannot be asked."""
    capabilities = ctx.client_capabilities
    if capabilities is None or capabilities.roots is None:
        return []
    try:
        found = await ctx.session.list_roots()
    except MCPError as error:
        logger.debug("The client names no roots: %s", error)
        return []
    addresses = [urlsplit(str(root.uri)) for root in found.roots]
    return [Path(url2pathname(each.path)) for each in addresses if each.scheme == "file"]


async def _in_thread(
    ctx: Context[Any, Any], work: Callable[[Callable[[PipelineEvent], None]], Result], passes: int = 1
) -> Result:
    """Run ``work`` beside the event loop; its steps become progress, and it stops once the caller is gone."""
    gone = False
    done, total = 0, passes * len(STEPS)

    def check() -> None:
        # Between two steps, tools or tiles: the caller may have left.
        if gone:
            raise Cancelled

    def listen(event: PipelineEvent) -> None:
        nonlocal done
        check()
        if event.kind == "step":
            # A replan takes more steps than foreseen; progress never reaches the total before the end.
            done += 1
            anyio.from_thread.run(ctx.report_progress, min(done, total - 1), total, event.name)

    def stoppable_work() -> Result:
        with stoppable(check):
            return work(listen)

    try:
        result = await anyio.to_thread.run_sync(stoppable_work, abandon_on_cancel=True)
    finally:
        gone = True
    await ctx.report_progress(total, total, "done")
    return result


@contextmanager
def _plain_errors(pictures: replies.PictureStore) -> Iterator[None]:
    """Errors of this package reach the caller as their message, in words that fit a caller; the rest stays a defect."""
    with client_messages():
        try:
            yield
        except (AgenticIQAError, ToolError) as error:
            raise ToolError(pictures.without_own_paths(str(error))) from error
