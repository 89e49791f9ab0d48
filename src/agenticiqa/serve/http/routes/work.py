"""Routes that make work: assess, compare, measure, preview."""

import asyncio
import sqlite3
import time
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.responses import JSONResponse, Response

from agenticiqa.nodes.results import Assessment, Comparison
from agenticiqa.pictures.images import decode_image
from agenticiqa.runtime.runs import new_run_id
from agenticiqa.serve.http import wire
from agenticiqa.serve.http.app_state import AssessAdmitted, State, kept_picture
from agenticiqa.serve.http.problems import ServiceError
from agenticiqa.serve.http.routes.common import PNG, WORK_PROBLEMS, Responses, body_of, find_run, run_view
from agenticiqa.serve.http.routes.runs import drawing_need, screen_png
from agenticiqa.serve.http.store.job_record import JobOutcome, JobRow
from agenticiqa.serve.http.work.intake import Body, Intake
from agenticiqa.serve.http.work.jobs import ServiceJob, StopReason, stopped_error
from agenticiqa.serve.http.work.pipeline_work import failure_of

router = APIRouter(prefix="/v1", tags=["work"], responses=WORK_PROBLEMS)

PREVIEW_SIDE = 2048
ACCEPTED: Responses = {202: {"model": wire.Run, "description": "Accepted; see `links.events`"}}
Async = Annotated[bool, Query(alias="async", description="Answer 202 at once; follow the run's events.")]
IdempotencyKey = Annotated[
    str | None,
    Header(
        pattern="^[!-~]{1,200}$",
        description="A name that you make up for this request: sent again under it, also after the server started "
        "anew, the request gets the answer of the first time, unless there was none.",
    ),
]
Question = TypeVar("Question", wire.AssessBody, wire.CompareBody)
FOLLOWED = ("regions", "backend", "backends", "align", "mode", "without", "views", "max_replan")
"""What a question takes over from the run that it follows."""
LATE_S = 1.0
"""How long past its time limit a job may still report how it ended."""


class _WorkRequest:
    """A request for work, with its caller and the state of the server."""

    def __init__(self, request: Request, state: State, caller: AssessAdmitted) -> None:
        self.request = request
        self.state = state
        self.caller = caller

    async def read(self, form: type[Body]) -> Intake[Body]:
        owner = self.caller.owner
        return await self.state.reader.read(self.request, form, owner, partial(kept_picture, self.state, owner))

    async def read_in_thread(self) -> Intake[wire.AssessBody]:
        """A question; where it follows a run of the caller's, with what is not given as it was there."""
        intake = await self.read(wire.AssessBody)
        fields, after = intake.fields, intake.fields.after
        if after is None:
            return intake
        row = await find_run(self.state, after, self.caller.owner)
        if row.kind != "assess" or row.result is None or row.status == "error":
            raise ServiceError(409, "no_result", "after: this run has no answer about one picture to ask on from.")
        given = fields.model_fields_set
        # Whoever names who answers names all of them.
        given = given | {"backend", "backends"} if given & {"backend", "backends"} else given
        kept = [each for each in FOLLOWED if each not in given and each in row.request]
        as_it_was = {name: row.request[name] for name in kept}
        pictures, reader = dict(intake.pictures), self.state.reader
        earlier = partial(kept_picture, self.state, self.caller.owner)
        for name in row.request["pictures"]:
            if name not in pictures:
                again = wire.PictureSource(kept=f"{after}/{name}")
                found = await asyncio.to_thread(reader.bytes_of, name, again, earlier)
                unstored, owner = intake.unstored, self.caller.owner
                pictures[name] = await asyncio.to_thread(reader.look_at, *found, owner, unstored)
        turns = Assessment.model_validate(row.result).turns
        return Intake(fields.model_copy(update=as_it_was), pictures, intake.unstored, turns)

    async def submit_question(
        self,
        kind: str,
        intake: Intake[Question],
        work: Callable[[ServiceJob, Intake[Question]], JobOutcome],
        respond_async: bool,
        key: str | None,
    ) -> Response:
        """A question to the agents: recorded, and answered when it is done or at once with where to follow it."""
        state, owner = self.state, self.caller.owner
        state.pipeline.settings.pipeline.check_query_length(intake.fields.query)
        state.pipeline.check_backends(intake.fields.backend, intake.fields.backends)
        payload = {
            **intake.fields.model_dump(mode="json", exclude={*intake.fields.pictures()}, exclude_none=True),
            "pictures": {name: picture.as_recorded() for name, picture in intake.pictures.items()},
        }
        if key and (before := await asyncio.to_thread(state.record.asked_before, owner, key)):
            return await self._answer_again(before, kind, payload, respond_async)
        need = await asyncio.to_thread(state.pipeline.assessing_need, intake)
        in_use = self.state.files_in_use().union(intake.files)
        try:
            job = await state.queue.submit(
                new_run_id(),
                owner,
                kind,
                lambda job: work(job, intake),
                payload,
                intake.files,
                need,
                self.caller.at_once,
                keep=lambda: state.uploads.keep(intake.unstored, in_use),
                idempotency_key=key,
            )
        except sqlite3.IntegrityError:
            message = "The same request came a moment ago and is being accepted. Ask again."
            raise ServiceError(409, "idempotency_key_in_use", message, retry_s=1) from None
        headers = {"Location": f"/v1/runs/{job.id}"}
        if respond_async:
            shown = run_view(state, await find_run(state, job.id, owner))
            return JSONResponse(shown.model_dump(mode="json"), 202, headers=headers)
        return JSONResponse(await self.reply_of(job), headers=headers)

    async def _answer_again(self, row: JobRow, kind: str, payload: dict[str, Any], respond_async: bool) -> Response:
        """The answer to a question that was put under the same key before."""
        if (row.kind, row.request) != (kind, payload):
            raise ServiceError(422, "idempotency_key_reused", "Idempotency-Key: another request came under this one.")
        headers = {"Location": f"/v1/runs/{row.id}", "Idempotent-Replayed": "true"}
        if respond_async:
            return JSONResponse(run_view(self.state, row).model_dump(mode="json"), 202, headers=headers)
        job = self.state.queue.find(row.id)
        reply = await self.reply_of(job, stops=False) if job else row.result
        return JSONResponse(reply, headers=headers)

    async def reply_of(self, job: ServiceJob, *, stops: bool = True) -> dict[str, Any]:
        """The result of a job, waited for; it is told to stop when its time is over or (``stops``) the client left."""
        ended = asyncio.ensure_future(job.done.wait())
        left = asyncio.ensure_future(self._client_left())
        try:
            limit = max(job.deadline - time.monotonic(), 0) + LATE_S
            await asyncio.wait({ended, left}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if not ended.done():
                reason: StopReason = "client_left" if left.done() else "timed_out"
                if stops or reason == "timed_out":
                    self.state.queue.stop(job, reason)
                raise stopped_error(reason, job.id)
        except asyncio.CancelledError:
            if stops:
                self.state.queue.stop(job, "client_left")
            raise
        finally:
            ended.cancel()
            left.cancel()
        outcome = job.outcome
        if outcome is None:
            raise RuntimeError(f"job {job.id} has no outcome")
        if outcome.problem is not None:
            raise outcome.problem.fresh(**({"run_id": job.id} if job.recorded else {}))
        reply = outcome.result or {}
        if outcome.status == "error":
            raise failure_of(reply, job.id)
        return reply

    async def _client_left(self) -> None:
        while (await self.request.receive())["type"] != "http.disconnect":
            continue


WorkRequest = Annotated[_WorkRequest, Depends()]


@router.post(
    "/assess",
    summary="Answer a question about a picture",
    response_model=Assessment,
    responses=ACCEPTED,
    openapi_extra=body_of(wire.AssessBody),
)
async def assess(
    incoming: WorkRequest, respond_async: Async = False, idempotency_key: IdempotencyKey = None
) -> Response:
    return await incoming.submit_question(
        "assess", await incoming.read_in_thread(), incoming.state.pipeline.assess, respond_async, idempotency_key
    )


@router.post(
    "/compare",
    summary="Say which of two pictures is better, where and why",
    response_model=Comparison,
    responses=ACCEPTED,
    openapi_extra=body_of(wire.CompareBody),
)
async def compare(
    incoming: WorkRequest, respond_async: Async = False, idempotency_key: IdempotencyKey = None
) -> Response:
    intake = await incoming.read(wire.CompareBody)
    return await incoming.submit_question(
        "compare", intake, incoming.state.pipeline.compare, respond_async, idempotency_key
    )


@router.post(
    "/measure",
    summary="Measure a picture with tools, without any model",
    response_model=dict[Literal["measurements"], list[wire.MeasuredValue]],
    openapi_extra=body_of(wire.MeasureBody),
)
async def measure(incoming: WorkRequest) -> Response:
    intake, pipeline, caller = await incoming.read(wire.MeasureBody), incoming.state.pipeline, incoming.caller
    need = await asyncio.to_thread(pipeline.measuring_need, intake)
    work = partial(pipeline.measure, intake=intake)
    job = await incoming.state.queue.submit(new_run_id(), caller.owner, "measure", work, need=need, most=caller.at_once)
    return JSONResponse(await incoming.reply_of(job))


@router.post(
    "/preview",
    summary="A picture as a screen can show it",
    description="For formats that browsers cannot show, and to learn whether a picture can be used before asking about "
    "it. The header `Picture-Size` has its own width and height. Nothing is kept.",
    response_class=Response,
    responses=PNG,
    openapi_extra=body_of(wire.PreviewBody),
)
async def make_preview(incoming: WorkRequest) -> Response:
    intake, limits = await incoming.read(wire.PreviewBody), incoming.state.pipeline.limits
    (picture,), (sent,) = intake.pictures.values(), intake.unstored.values()

    def drawn() -> Response:
        image = decode_image(sent, path=picture.name, limits=limits)
        size = {"Picture-Size": f"{image.size[0]}x{image.size[1]}"}
        return Response(screen_png(image.pil, PREVIEW_SIDE), media_type="image/png", headers=size)

    return await incoming.state.render_queue.draw(incoming.caller.owner, drawn, lambda: drawing_need([picture.size]))
