"""Everything the routes work with, in one place, and the records and pictures of a caller's own work."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Request

from agenticiqa.runtime.files import DiskSpace
from agenticiqa.serve.http.keys import KeyFile, KeyRates
from agenticiqa.serve.http.observing import ServiceMetrics
from agenticiqa.serve.http.problems import ServiceError
from agenticiqa.serve.http.settings import ServiceSettings
from agenticiqa.serve.http.store.job_record import JobRecord, JobRow
from agenticiqa.serve.http.store.uploads import StoredPicture, UploadStore
from agenticiqa.serve.http.work.intake import RequestReader
from agenticiqa.serve.http.work.jobs import JobQueue
from agenticiqa.serve.http.work.lanes import MemoryShares, RenderQueue
from agenticiqa.serve.http.work.pipeline_work import Pipeline


@dataclass(frozen=True)
class AppState:
    """One server's settings, queues and stores."""

    settings: ServiceSettings
    pipeline: Pipeline
    record: JobRecord
    queue: JobQueue
    batch_queue: JobQueue
    uploads: UploadStore
    reader: RequestReader
    metrics: ServiceMetrics
    keys: KeyFile | None
    render_queue: RenderQueue
    memory: MemoryShares
    key_rates: KeyRates
    room: DiskSpace
    ready: list[str]
    """Empty until the model is loaded."""

    def files_in_use(self) -> frozenset[Path]:
        """Pictures of work that has not ended."""
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


async def _app_state(request: Request) -> AppState:
    state: AppState = request.app.state.service
    return state


State = Annotated[AppState, Depends(_app_state)]


async def own_job(state: AppState, job_id: str, owner: str | None, kinds: Collection[str], noun: str) -> JobRow:
    """The record of a job of one of these kinds, if it is this owner's; None: whoever's it is."""
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
    """A picture of somebody's earlier work, named ``id/name``: of a run, or by its sample of a batch.

    Raises LookupError where there is none.
    """
    job_id, _, name = kept.partition("/")
    row = state.record.find(job_id, owner)
    request = row.request if row else {}
    if name in request.get("sample_pictures", {}):
        return stored_pictures({"pictures": request["sample_pictures"][name]})["image"]
    return stored_pictures(request)[name]
