"""Everything the routes work with, in one place; the records and pictures of a caller's own work; who may do what."""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from agenticiqa.errors import ConfigError
from agenticiqa.runtime.config import ImageLimits, Settings
from agenticiqa.runtime.files import DiskSpace
from agenticiqa.serve.http.keys import LOCAL_USER, KeyFile, KeyRates, KeyRecord, RefusedWork, Role
from agenticiqa.serve.http.observing import ServiceMetrics
from agenticiqa.serve.http.problems import REFUSALS, STORAGE_FULL, ServiceError
from agenticiqa.serve.http.settings import ServiceSettings
from agenticiqa.serve.http.store.job_record import JobOutcome, JobRecord, JobRow
from agenticiqa.serve.http.store.uploads import HOUR, StoredPicture, UploadStore
from agenticiqa.serve.http.work import audits
from agenticiqa.serve.http.work.intake import RequestReader
from agenticiqa.serve.http.work.jobs import KEY_SHARE, JobQueue, MemoryShares, RenderQueue, ServiceJob, stopped_error
from agenticiqa.serve.http.work.pipeline_work import Pipeline, failure_of
from agenticiqa.vlm_client import VLMClient

logger = logging.getLogger(__name__)

WAITING_BATCHES = 4
BATCH_S = 7 * 24 * 3600.0


class AppState:
    """One server's settings, queues and stores, all open."""

    def __init__(
        self, service: ServiceSettings, settings: Settings, clients: Mapping[str, VLMClient] | None = None
    ) -> None:
        """``clients`` replace the models of the three roles."""
        service.check()
        self.settings = service
        self.keys = KeyFile(service.api_keys_file) if service.api_keys_file else None
        if self.keys is not None and not any(record.is_active for record in self.keys.records()):
            raise ConfigError(
                f"There is no active key in {str(self.keys.path)!r}: every request would be refused.",
                hint="Make one with `agenticiqa serve keys add NAME --api-keys-file FILE`.",
            )
        self.key_rates = KeyRates()
        self.refused = RefusedWork()
        self.uploads = UploadStore(
            service.data_folder / "pictures",
            keep_s=service.keep_uploads_hours * HOUR,
            max_bytes=service.store_bytes,
            least_s=service.body_total_s + 60,
            of_one=round(service.store_bytes * KEY_SHARE) if self.keys else None,
        )
        self.record = JobRecord(service.data_folder / "service.sqlite")
        lost = self.record.note_interrupted(stopped_error("interrupted", ""))
        if lost:
            logger.warning("%d runs of an earlier server did not finish and are recorded as interrupted", lost)
        for audit_id in audits.unfinished(service.data_folder / "batches"):
            audits.keep_found(self.batch_output(audit_id))
        self.pipeline = Pipeline(_narrowed(settings, service, self.uploads.folder), service.allowed_backends, clients)
        limits = ImageLimits(max_pixels=self.pipeline.limits.max_pixels, max_bytes=service.max_upload_bytes)
        self.reader = RequestReader(service, self.uploads, limits, self.refused)
        self.memory = MemoryShares.of(self.pipeline.memory, service.workers)
        self.render_queue = RenderQueue(self.memory, timeout_s=service.timeout_s, shared=self.keys is not None)
        self.queue = JobQueue(
            self.record,
            workers=service.workers,
            queue_length=service.queue,
            timeout_s=service.timeout_s,
            memory=self.memory,
            shared=self.keys is not None,
        )
        self.batch_queue = JobQueue(
            self.record, workers=1, queue_length=WAITING_BATCHES, timeout_s=BATCH_S, shared=self.keys is not None
        )
        self.metrics = ServiceMetrics(self.queue, self.memory.budget, self.keys)
        self.room = DiskSpace(service.data_folder)
        self.queue.ended = self.batch_queue.ended = self._job_ended
        self.render_queue.failed = self.refused.add
        self.is_warm = False
        """Whether the model is loaded."""

    def _job_ended(self, job: ServiceJob, outcome: JobOutcome) -> None:
        self.metrics.job_ended(job, outcome)
        problem = outcome.problem
        if problem is None and outcome.status == "error":
            problem = failure_of(outcome.result or {}, job.id)
        if problem is not None and problem.status == STORAGE_FULL:
            self.room.note_full()
        if problem is not None and problem.status in REFUSALS:
            self.refused.add(job.owner, outcome.seconds or 0)

    def files_in_use(self) -> frozenset[Path]:
        return frozenset().union(*(job.holds for job in (*self.queue.active, *self.batch_queue.active)))

    def is_short_of_room(self) -> bool:
        """Whether what is sent could not be kept; outcomes that are still to be recorded are tried again."""
        if self.room.is_short():
            return True
        try:
            for queue in (self.queue, self.batch_queue):
                queue.keep_again()
        except (OSError, sqlite3.Error):
            self.room.note_full()
        return self.queue.has_unkept or self.batch_queue.has_unkept

    def batch_output(self, batch_id: str) -> Path:
        return self.settings.data_folder / "batches" / f"{batch_id}.jsonl"

    # --- runs and batches that are forgotten ---

    def forget_old_runs(self) -> int:
        """Remove what has been kept long enough; returns how many runs and batches went."""
        oldest_kept = datetime.now(tz=timezone.utc) - timedelta(days=self.settings.keep_runs_days)
        gone = self.record.forget_ended_before(oldest_kept)
        if gone:
            self._delete_stored_files(gone)
            logger.info("Forgot %d runs that ended before %s", len(gone), oldest_kept.date())
        return len(gone)

    async def delete_ended(self, row: JobRow) -> None:
        """Remove a run or batch, and its pictures unless another run shows them; one that still runs is refused."""
        job = self.queue.find(row.id) or self.batch_queue.find(row.id)
        if job is not None and job.outcome is None:
            raise ServiceError(409, "not_ended", "This is still being worked on: cancel it first.")
        self.queue.forget(row.id)
        self.batch_queue.forget(row.id)

        def delete() -> None:
            self.record.delete(row.id)
            self._delete_stored_files([row])

        await asyncio.to_thread(delete)
        logger.info("Deleted %s %s", row.kind, row.id)

    def _delete_stored_files(self, gone: Sequence[JobRow]) -> None:
        """Remove results, the package's own records, and pictures that no other run shows."""
        own_runs: list[str] = []
        pictures: set[tuple[str, Path]] = set()
        for row in gone:
            for file in self.batch_output(row.id).parent.glob(f"{row.id}.*"):
                file.unlink(missing_ok=True)
            # Of a comparison, those of its two pictures too.
            of_sides = ((row.result or {}).get("metadata") or {}).get("run_ids") or []
            own_runs += [row.id, *filter(None, of_sides)]
            groups = [row.request.get("pictures", {}), *row.request.get("sample_pictures", {}).values()]
            pictures |= {(row.owner, Path(entry["file"])) for group in groups for entry in group.values()}
        self.pipeline.assessor().forget(own_runs)
        self.discard(pictures)

    def discard(self, pictures: Iterable[tuple[str, Path]]) -> None:
        """Remove pictures, with their owners, that no run asks about."""
        in_use = self.files_in_use()
        for owner, picture in pictures:
            if picture not in in_use and not self.record.mentions(owner, picture.name):
                self.uploads.remove(picture)


def _narrowed(settings: Settings, service: ServiceSettings, uploads: Path) -> Settings:
    """The same settings for a pipeline that may open the upload store and nothing else."""
    images, tools = settings.pipeline.images, settings.pipeline.tools
    # Workers share the processors: more threads than those would only keep the event loop waiting for its turn.
    share = max(1, (os.cpu_count() or 1) // service.workers)
    pixels, workers = min(images.max_pixels, service.max_pixels), min(tools.max_workers, share)
    narrowed = {"images": {"max_pixels": pixels}, "tools": {"max_workers": workers}}
    return settings.changed(pipeline={"allowed_roots": (uploads,), **narrowed})


async def _app_state(request: Request) -> AppState:
    state: AppState = request.app.state.service
    return state


State = Annotated[AppState, Depends(_app_state)]


async def own_job(state: AppState, job_id: str, owner: str | None, kinds: Collection[str], noun: str) -> JobRow:
    """The record of a job of one of these kinds, if it is this owner's; an ``owner`` of None means any."""
    row = await asyncio.to_thread(state.record.find, job_id, owner)
    if row is None or row.kind not in kinds:
        raise ServiceError(404, f"{noun}_not_found", f"You have no {noun} of this id.")
    return row


def stored_pictures(request: dict[str, Any]) -> dict[str, StoredPicture]:
    """The pictures of a recorded request, as its ``pictures`` entry names them."""
    return {
        name: StoredPicture(Path(entry["file"]), entry["name"]) for name, entry in request.get("pictures", {}).items()
    }


def kept_picture(state: AppState, owner: str, kept: str) -> StoredPicture:
    """A picture of an owner's earlier work, named ``id/name``: of a run, or by its sample of a batch.

    Raises LookupError where there is none.
    """
    job_id, _, name = kept.partition("/")
    row = state.record.find(job_id, owner)
    request = row.request if row else {}
    if name in request.get("sample_pictures", {}):
        return stored_pictures({"pictures": request["sample_pictures"][name]})["image"]
    return stored_pictures(request)[name]


# --- who is asking, and whether they may ---


bearer = HTTPBearer(auto_error=False, description="A key made by `agenticiqa serve keys add NAME`")


async def _caller(
    request: Request, state: State, given: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]
) -> KeyRecord:
    record: KeyRecord | None = LOCAL_USER
    if state.keys is not None:
        record = state.keys.owner_of(given.credentials) if given else None
    if record is None:
        message = "This server needs a valid API key: Authorization: Bearer KEY."
        raise ServiceError(401, "unauthorized", message, headers={"WWW-Authenticate": 'Bearer realm="agenticiqa"'})
    request.state.key_name = record.name
    request.state.owner = record.owner
    return record


Caller = Annotated[KeyRecord, Depends(_caller)]


def _with_role(
    role: Role, *others: Role, for_work: bool = False
) -> Callable[[AppState, KeyRecord], Awaitable[KeyRecord]]:
    """A dependency, resolved before the body is read: callers of one of these roles; ``for_work``, within limits."""

    async def checked(state: State, caller: Caller) -> KeyRecord:
        if not {role, *others} & {*caller.roles}:
            raise ServiceError(403, "role_missing", f"This key may not do this: it needs the role {role!r}.")
        if for_work:
            if state.keys is not None:
                await state.refused.check(caller.owner)
            (state.batch_queue if role == "batch" else state.queue).check_room(caller.owner, caller.at_once)
            if caller.per_minute is not None:
                state.key_rates.count(caller.owner, caller.per_minute)
        return caller

    return checked


AssessCaller = Annotated[KeyRecord, Depends(_with_role("assess"))]
BatchCaller = Annotated[KeyRecord, Depends(_with_role("batch"))]
AssessDeleter = Annotated[KeyRecord, Depends(_with_role("assess", "admin"))]
BatchDeleter = Annotated[KeyRecord, Depends(_with_role("batch", "admin"))]
AdminCaller = Annotated[KeyRecord, Depends(_with_role("admin"))]
AssessAdmitted = Annotated[KeyRecord, Depends(_with_role("assess", for_work=True))]
BatchAdmitted = Annotated[KeyRecord, Depends(_with_role("batch", for_work=True))]
