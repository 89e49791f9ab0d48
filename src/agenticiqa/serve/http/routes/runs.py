"""Routes about runs: list, show, follow, cancel, pin, delete; the page of each, its pictures, and maps of lost quality.

What was sent is never sent back as it is: it is decoded and encoded afresh, so that nothing hidden in a file (scripts,
metadata, a second file) comes out again. Only a smaller file keeps the colour profile: it would look wrong without.
"""

import asyncio
import json
from base64 import b64decode
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import partial
from html import escape
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Header, Path, Query, Request
from fastapi.responses import HTMLResponse, Response, StreamingResponse
from PIL import Image

from agenticiqa.api.encode import DEFAULT_TOOL, HIGHEST, LOWEST, decoded_pixels, encode, encoded_file
from agenticiqa.errors import ImageNotFoundError, ToolError
from agenticiqa.nodes.results import Assessment, Comparison
from agenticiqa.pictures.file_facts import read_file_facts
from agenticiqa.pictures.images import TRANSPARENT_NOTE, Box, UInt8Image, load_image, peek_size, png_bytes
from agenticiqa.pictures.inputs import aligned
from agenticiqa.pictures.regions import coloured, overlay
from agenticiqa.reports.assessment import render_report, report_item
from agenticiqa.reports.comparison import render_page
from agenticiqa.runtime.config import ImageLimits
from agenticiqa.runtime.stopping import checkpoint
from agenticiqa.serve.http.app_state import AppState, AssessCaller, AssessDeleter, State, stored_pictures
from agenticiqa.serve.http.problems import ServiceError
from agenticiqa.serve.http.routes import common
from agenticiqa.serve.http.store.job_record import JobRow
from agenticiqa.serve.http.store.uploads import StoredPicture
from agenticiqa.serve.http.wire import FixPreview, PictureFile, Run, RunList, SmallerFile, WorstPlace
from agenticiqa.serve.http.work.jobs import ServiceJob
from agenticiqa.serve.http.work.pipeline_work import with_picture_names
from agenticiqa.state import Advice, Fix, View
from agenticiqa.tools.maps import badness_of
from agenticiqa.tools.measuring import ToolJob, ToolRunner
from agenticiqa.tools.needs import pictures_need, pixels_of, sizes_once_scaled, tool_need
from agenticiqa.tools.registry import Tool

router = APIRouter(prefix="/v1/runs", tags=["runs"], responses=common.problems(404, 409, 422, 429))

HEARTBEAT_S = 10.0
REPORT_POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'; sandbox"
)
DRAWING_BYTES = 40
"""Per pixel: colours over the picture, and the file that is made of it."""
QUALITY = "quality"
"""The map of the embedded model, which needs no tool."""
DIFFERENCE = "difference"
"""The map of a comparison: who is better where."""
CACHED = {"Cache-Control": "private, max-age=300"}


@router.get("", summary="Your runs, newest first")
async def list_runs(
    state: State,
    caller: AssessCaller,
    limit: Annotated[int, Query(ge=1, le=200)] = 20,
    before: Annotated[str | None, Query(pattern="^[0-9a-f]{12}$", description="Only runs before this one.")] = None,
    q: Annotated[str | None, Query(max_length=200, description="Words of questions, names or answers.")] = None,
    pinned: Annotated[bool | None, Query(description="Only pinned runs, or only others.")] = None,
) -> RunList:
    latest = partial(state.record.latest, caller.owner, common.RUN_KINDS, limit, before, words=q or None, pinned=pinned)
    rows = await asyncio.to_thread(latest)
    same = {"limit": limit, **({"q": q} if q else {}), **({} if pinned is None else {"pinned": str(pinned).lower()})}
    following = f"/v1/runs?{urlencode({**same, 'before': rows[-1].id})}" if len(rows) == limit else None
    return RunList.model_validate({"runs": [common.run_summary(state, row) for row in rows], "next": following})


@router.get("/{run_id}", summary="One run with its result")
async def show_run(state: State, row: common.OwnRun) -> Run:
    return common.run_view(state, row)


@router.post("/{run_id}/cancel", summary="Stop a run at its next step")
async def cancel_run(state: State, row: common.OwnRun) -> Run:
    state.queue.cancel(row.id)
    return common.run_view(state, await common.find_run(state, row.id, row.owner))


@router.delete(
    "/{run_id}",
    summary="Delete a run and its pictures",
    description="A picture that another run shows too stays. A key with the role `admin` may delete any owner's run.",
    status_code=204,
)
async def delete_run_route(state: State, run_id: common.JobId, caller: AssessDeleter) -> None:
    await state.delete_ended(await common.find_run(state, run_id, caller.deletes_of))


@router.post("/{run_id}/pin", summary="Keep a run until it is unpinned")
@router.delete("/{run_id}/pin", summary="Let a run be forgotten with age")
async def pin_run(request: Request, state: State, row: common.OwnRun) -> Run:
    await asyncio.to_thread(partial(state.record.pin, row.id, pinned=request.method == "POST"))
    return common.run_view(state, await common.find_run(state, row.id, row.owner))


@router.get(
    "/{run_id}/events",
    summary="The steps of a run as server-sent events",
    description="Events `status`, `step`, `node` and `done`; the data of each is JSON. The stream begins with what "
    "has happened already (or behind `Last-Event-ID`) and always ends with `done`.",
    response_class=StreamingResponse,
    responses=common.EVENTS,
)
async def run_events(
    state: State,
    row: common.OwnRun,
    last_event_id: Annotated[str | None, Header(description="Send only what came after this one.")] = None,
) -> Response:
    job = state.queue.find(row.id)
    seen = int(last_event_id) if last_event_id and last_event_id.isdecimal() and len(last_event_id) < 10 else 0
    stream: AsyncIterator[str] | Iterator[str] = _live(job, seen) if job is not None else _recorded(row, seen)
    return StreamingResponse(stream, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


async def _live(job: ServiceJob, seen: int) -> AsyncIterator[str]:
    while True:
        ended = job.outcome is not None
        # An id from elsewhere is beyond all; whoever has seen all is told that it was all.
        for event in job.events[min(seen, len(job.events) - ended) :]:
            seen = event["id"]
            yield _sse(event)
        if ended:
            return
        seen = min(seen, len(job.events))
        before = len(job.events)
        await job.wait_for_event(HEARTBEAT_S)
        if len(job.events) == before and job.outcome is None:
            # A comment keeps the connection open, and detects a client that has gone.
            yield ": still here\n\n"


def _recorded(row: JobRow, seen: int) -> Iterator[str]:
    last = {"id": len(row.events) + 1, "event": "done", "data": {"status": row.status}}
    return (_sse(event) for event in [*row.events, last] if event["id"] > min(seen, len(row.events)))


def _sse(event: dict[str, Any]) -> str:
    return f"id: {event['id']}\nevent: {event['event']}\ndata: {json.dumps(event['data'])}\n\n"


@router.get("/{run_id}/report", summary="The run as one self-contained page", response_class=HTMLResponse)
async def run_report(state: State, row: common.OwnRun) -> Response:
    if row.result is None:
        raise ServiceError(409, "no_result", "Only a run with a result has a report.")
    kept = [picture for picture in stored_pictures(row.request).values() if picture.path.is_file()]
    page = await _rendered(state, row.owner, partial(_report_page, row, state.pipeline.limits), kept)
    return HTMLResponse(page, headers={"Content-Security-Policy": REPORT_POLICY})


def _report_page(row: JobRow, limits: ImageLimits) -> str:
    pictures = stored_pictures(row.request)
    result = with_picture_names(row.result or {}, {name: str(picture.path) for name, picture in pictures.items()})
    if row.kind == "compare":
        page = render_page(Comparison.model_validate(result), limits)
    else:
        page = render_report([report_item(Assessment.model_validate(result), limits)])
    # The page was made from the server's files: what they are called here is not the reader's business.
    for picture in pictures.values():
        page = page.replace(str(picture.path), escape(picture.name)).replace(picture.path.name, escape(picture.name))
    return page


def drawing_need(sizes: Sequence[tuple[int, int]], tool: Tool | None = None, *, align: bool = False) -> int:
    """What drawing pictures of these sizes takes of memory, with a map of a tool over one of them."""
    sizes = sizes_once_scaled(sizes, resize=align)
    pixels = max(map(pixels_of, sizes), default=0)
    return pictures_need(sizes) + DRAWING_BYTES * pixels + (tool_need(tool, pixels) if tool else 0)


def screen_png(shown: Image.Image, max_side: int | None) -> bytes:
    """The picture for a screen."""
    if max_side is not None and max(shown.size) > max_side:
        shown = shown.copy()
        shown.thumbnail((max_side, max_side), Image.Resampling.LANCZOS)
    return png_bytes(shown)


def _quality_map(picture: StoredPicture, limits: ImageLimits) -> UInt8Image:
    """The picture under the embedded model's map, 1 (red) to 5 (blue)."""
    from agenticiqa.vision.quality_map import quality_map

    image = load_image(picture.path, limits)
    return overlay(image.rgb, quality_map(image))


def _difference_map(pictures: Sequence[StoredPicture], limits: ImageLimits) -> UInt8Image:
    """Where the first of two pictures is better (blue) and where the second (orange); a third is the reference."""
    from agenticiqa.reports.comparison import difference_of, open_pictures

    a, b, *originals = (picture.path for picture in pictures)
    opened = open_pictures(a, b, originals[0] if originals else None, limits)
    difference = difference_of(opened)
    if difference is None:
        raise ToolError("No difference map can be made of these pictures.")
    return difference.picture(opened.a.rgb)


def _tool_map(
    tool: Tool, pictures: Sequence[StoredPicture], region: Box | None, limits: ImageLimits, *, align: bool
) -> UInt8Image:
    """The first picture as it was measured, or a region of it, under one tool's map; the second is the reference."""
    image, *originals = (load_image(picture.path, limits) for picture in pictures)
    original = originals[0] if originals else None
    if original is not None and align:
        image = aligned(image, original)
    result = ToolRunner(image, original, keep_maps=True).measure(ToolJob(tool, region))
    if result.map is None:
        raise ToolError(result.error or f"{tool.name} makes no map.")
    pixels = image.rgb if region is None else image.rgb[region.rows, region.columns]
    return coloured(pixels, badness_of(result.map, tool.spec))


Result = TypeVar("Result")
MaxSide = Annotated[int | None, Query(ge=16, le=8192, description="Scale down so that no side is longer.")]
Which = Annotated[Literal["a", "b"] | None, Query(description="Of a comparison.")]


async def _rendered(
    state: AppState,
    owner: str,
    render: Callable[[], Result],
    pictures: Sequence[StoredPicture],
    tool: Tool | None = None,
    *,
    align: bool = False,
) -> Result:
    try:
        limits = state.pipeline.limits
        return await state.render_queue.draw(
            owner,
            render,
            lambda: drawing_need([peek_size(picture.path, limits) for picture in pictures], tool, align=align),
        )
    except ImageNotFoundError:
        # It went between a look at the upload store and its turn to be drawn.
        raise picture_gone() from None


async def drawn_picture(state: AppState, owner: str, picture: StoredPicture, max_side: int | None) -> Response:
    limits = state.pipeline.limits
    png = await _rendered(state, owner, lambda: screen_png(load_image(picture.path, limits).pil, max_side), [picture])
    return Response(png, media_type="image/png", headers=CACHED)


def picture_gone() -> ServiceError:
    return ServiceError(404, "picture_gone", "This picture is no longer kept here.")


def _picture(row: JobRow, name: str) -> StoredPicture:
    picture = stored_pictures(row.request).get(name)
    if picture is None:
        raise ServiceError(404, "no_such_picture", "This run has no such picture.")
    if not picture.path.is_file():
        raise picture_gone()
    return picture


async def _chosen(row: common.OwnRun, which: Which = None) -> StoredPicture:
    return _picture(row, "image" if row.kind == "assess" else f"image_{which or 'a'}")


Chosen = Annotated[StoredPicture, Depends(_chosen)]
"""The picture of the run, or one of the two of a comparison."""


@router.get("/{run_id}/image", summary="The picture of a run", response_class=Response, responses=common.PNG)
async def run_image(state: State, row: common.OwnRun, picture: Chosen, max_side: MaxSide = None) -> Response:
    return await drawn_picture(state, row.owner, picture, max_side)


@router.get(
    "/{run_id}/reference", summary="The reference picture of a run", response_class=Response, responses=common.PNG
)
async def run_reference(state: State, row: common.OwnRun, max_side: MaxSide = None) -> Response:
    return await drawn_picture(state, row.owner, _picture(row, "reference"), max_side)


@router.get(
    "/{run_id}/map",
    summary="Where quality is lost, over the picture",
    description="Red is worse, blue is better. `tool=quality` is the embedded model's map with fixed colours, 1 to 5; "
    "a tool's own map is coloured relative to its worst places; `tool=difference` shows who is better where in a "
    "comparison.",
    response_class=Response,
    responses=common.PNG,
)
async def run_map(
    state: State,
    row: common.OwnRun,
    picture: Chosen,
    tool: Annotated[str, Query(max_length=100, description="`quality`, `difference` or a tool.")] = QUALITY,
    region: Annotated[str | None, Query(max_length=100, description="A region of the request, by name.")] = None,
    max_side: MaxSide = None,
) -> Response:
    limits, align, named = state.pipeline.limits, False, None
    with_reference = tool != QUALITY and "reference" in stored_pictures(row.request)
    originals = [_picture(row, "reference")] if with_reference else []
    if tool == QUALITY:
        needed = [picture]
        draw = partial(_quality_map, picture, limits)
    elif tool == DIFFERENCE and row.kind == "compare":
        needed = [_picture(row, "image_a"), _picture(row, "image_b"), *originals]
        draw = partial(_difference_map, needed, limits)
    else:
        boxes = row.request.get("regions") or {}
        if region is not None and region not in boxes:
            raise ServiceError(422, "unknown_region", "This run has no region of this name.")
        box = Box(*boxes[region]) if region is not None else None
        named = state.pipeline.assessor().tools.find(tool)
        align = row.request.get("align") == "resize"
        needed = [picture, *originals]
        draw = partial(_tool_map, named, needed, box, limits, align=align)
    data = await _rendered(
        state, row.owner, lambda: screen_png(Image.fromarray(draw()), max_side), needed, named, align=align
    )
    return Response(data, media_type="image/png", headers=CACHED)


@router.get(
    "/{run_id}/view",
    summary="A closer look that a run took",
    description="Its place and why it was taken are in `executor_evidence.views` of the result.",
    response_class=Response,
    responses=common.PNG,
)
async def run_view(
    state: State,
    row: common.OwnRun,
    picture: Chosen,
    number: Annotated[int, Query(ge=1, le=100, description="Its place in the list, from 1 on.")] = 1,
) -> Response:
    taken = ((row.result or {}).get("executor_evidence") or {}).get("views") or []
    if number > len(taken):
        raise ServiceError(404, "no_such_view", "This run took no such view.")
    originals = [_picture(row, "reference")] if "reference" in stored_pictures(row.request) else []

    def draw() -> bytes:
        from agenticiqa.vision.views import render

        image, *others = (load_image(each.path, state.pipeline.limits) for each in (picture, *originals))
        if others and row.request.get("align") == "resize":
            image = aligned(image, others[0])
        return render(View.model_validate(taken[number - 1]), image, others[0] if others else None).data

    data = await _rendered(state, row.owner, draw, [picture, *originals], align=row.request.get("align") == "resize")
    return Response(data, media_type="image/png", headers=CACHED)


@router.get(
    "/{run_id}/worst",
    summary="Where the picture is worst",
    description="By the embedded model's map, whatever model answered.",
)
async def run_worst(state: State, row: common.OwnRun, picture: Chosen, response: Response) -> WorstPlace:
    def render() -> WorstPlace:
        from agenticiqa.vision.quality_map import quality_map, worst_place

        image = load_image(picture.path, state.pipeline.limits)
        found = worst_place(quality_map(image), image.size)
        return WorstPlace(box=found.box.as_list(), score=found.score, whole=found.whole, even=found.even)

    response.headers.update(CACHED)
    return await _rendered(state, row.owner, render, [picture])


# --- advice that can be followed here ---


FixNumber = Annotated[int, Path(ge=0, le=20, description="Which piece of advice, counted from 0.")]


def _advised(row: JobRow, number: int) -> Advice:
    told = ((row.result or {}).get("summarizer_result") or {}).get("advice") or []
    found = Advice.model_validate(told[number]) if number < len(told) else None
    if found is None or found.fix is None:
        raise ServiceError(404, "no_such_fix", "This run has no such advice, or none that can be followed here.")
    return found


def _followed(picture: StoredPicture, fix: Fix | None, limits: ImageLimits) -> UInt8Image:
    from agenticiqa.pictures.fixes import fixed

    rgb = load_image(picture.path, limits).rgb
    return rgb if fix is None else fixed(rgb, fix)


@router.get(
    "/{run_id}/fixes/{number}",
    summary="What a copy with one piece of advice followed gains",
    description="For advice that has a `fix`: the embedded model's score of the picture and of the copy.",
)
async def run_fix(
    state: State, row: common.OwnRun, picture: Chosen, number: FixNumber, response: Response
) -> FixPreview:
    advised, limits = _advised(row, number), state.pipeline.limits

    scoring = state.pipeline.assessor().tools.find("AIQA_NR")

    def render() -> FixPreview:
        before, after = (scoring.metric.measure(_followed(picture, fix, limits)).value for fix in (None, advised.fix))
        image = f"/v1/runs/{row.id}/fixes/{number}/image"
        return FixPreview(do=advised.do, before=round(before, 2), after=round(after, 2), image=image)

    response.headers.update(CACHED)
    return await _rendered(state, row.owner, render, [picture], scoring)


@router.get(
    "/{run_id}/fixes/{number}/image",
    summary="A copy of the picture with one piece of advice followed",
    description="Of at most 8 megapixels.",
    response_class=Response,
    responses=common.PNG,
)
async def run_fixed_image(
    state: State, row: common.OwnRun, picture: Chosen, number: FixNumber, max_side: MaxSide = None
) -> Response:
    fix, limits = _advised(row, number).fix, state.pipeline.limits
    data = await _rendered(
        state,
        row.owner,
        lambda: screen_png(Image.fromarray(_followed(picture, fix, limits)), max_side),
        [picture],
    )
    return Response(data, media_type="image/png", headers=CACHED)


def _as_webp(picture: StoredPicture, quality: int, limits: ImageLimits) -> bytes:
    shown = load_image(picture.path, limits).pil
    shown.info["icc_profile"] = b64decode(read_file_facts(picture.path, limits).profile)
    return encoded_file(shown, "webp", quality)


@router.get(
    "/{run_id}/smaller",
    summary="The smallest WebP file of the picture that looks the same",
    description="Found as `agenticiqa encode` does: settings are tried, each copy is compared with the picture.",
)
async def run_smaller(state: State, row: common.OwnRun, picture: Chosen, response: Response) -> SmallerFile:
    tools, limits = state.pipeline.assessor().tools, state.pipeline.limits
    scoring = tools.find("AIQA_NR")

    def render() -> SmallerFile:
        image = load_image(picture.path, limits)
        if TRANSPARENT_NOTE in image.notes:
            raise ServiceError(422, "transparent", "Only opaque pictures are tried here: agenticiqa encode takes all.")
        found = encode(image, formats=["webp"], limits=limits, on_trial=lambda _: checkpoint())
        data = _as_webp(picture, found.best.quality, limits) if found.best else b""
        best = found.best if len(data) < found.source_bytes else None
        return SmallerFile(
            bytes_before=found.source_bytes,
            bytes_after=len(data) if best else None,
            quality=best.quality if best else None,
            kept=best.score if best else None,
            least=found.bound.limit,
            before=round(scoring.metric.measure(image.rgb).value, 2),
            after=round(scoring.metric.measure(decoded_pixels(data)).value, 2) if best else None,
            notes=list(found.notes),
            image=f"/v1/runs/{row.id}/smaller/image?quality={best.quality}" if best else None,
        )

    response.headers.update(CACHED)
    return await _rendered(state, row.owner, render, [picture], tools.find(DEFAULT_TOOL))


@router.get(
    "/{run_id}/smaller/image",
    summary="A copy of the picture as a WebP file",
    response_class=Response,
    responses=common.reply_of("image/webp", "WebP", common.FILE),
)
async def run_smaller_image(
    state: State,
    row: common.OwnRun,
    picture: Chosen,
    quality: Annotated[int, Query(ge=LOWEST, le=HIGHEST, description="The encoder's setting.")],
) -> Response:
    data = await _rendered(state, row.owner, partial(_as_webp, picture, quality, state.pipeline.limits), [picture])
    return Response(data, media_type="image/webp", headers=CACHED)


@router.get(
    "/{run_id}/file",
    summary="What the picture's file says",
    description="Format, size, and how it was taken. Where it was taken, by whom, and numbers of devices are left out.",
)
async def run_file(state: State, row: common.OwnRun, picture: Chosen, response: Response) -> PictureFile:
    limits = state.pipeline.limits
    found = await _rendered(state, row.owner, lambda: read_file_facts(picture.path, limits), [picture])
    response.headers.update(CACHED)
    width, height = found.size
    facts = {name: value for name, value in vars(found).items() if name not in ("size", "profile")}
    return PictureFile.model_validate({**facts, "name": picture.name, "width": width, "height": height})
