"""Everything the routes work with, in one place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import Request

from agenticiqa.service.intake import RequestReader
from agenticiqa.service.job_record import JobRecord, JobRow
from agenticiqa.service.jobs import JobDesk
from agenticiqa.service.keys import KeyFile
from agenticiqa.service.painter import Painter
from agenticiqa.service.pipeline_work import Pipeline
from agenticiqa.service.service_metrics import ServiceMetrics
from agenticiqa.service.settings import ServiceSettings
from agenticiqa.service.shelf import PictureShelf, ShelvedPicture


@dataclass(frozen=True)
class Parts:
    """One server's parts."""

    settings: ServiceSettings
    pipeline: Pipeline
    record: JobRecord
    desk: JobDesk
    batch_desk: JobDesk
    shelf: PictureShelf
    reader: RequestReader
    metrics: ServiceMetrics
    keys: KeyFile | None
    painter: Painter
    ready: list[str]
    """Empty until the model is loaded."""

    def batch_output(self, batch_id: str) -> Path:
        return self.settings.data_folder / "batches" / f"{batch_id}.jsonl"


def parts_of(request: Request) -> Parts:
    parts: Parts = request.app.state.parts
    return parts


def stored_pictures(request: dict[str, Any]) -> dict[str, ShelvedPicture]:
    """The pictures of a recorded request, as its ``pictures`` entry names them."""
    return {
        name: ShelvedPicture(Path(entry["file"]), entry["name"]) for name, entry in request.get("pictures", {}).items()
    }


def public_request(row: JobRow) -> dict[str, Any]:
    """What was asked, without the server's paths."""
    shown = {key: value for key, value in row.request.items() if key != "pictures"}
    return {**shown, "pictures": {name: entry["name"] for name, entry in row.request.get("pictures", {}).items()}}
