"""Many pictures looked through at once: taken into the upload store, then audited as a folder of links to them.

The links have the names that were sent, because an audit tells of names and endings; they go when the audit has ended.
What stays is one file of rows and one contact sheet.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fastapi import Request
from starlette.datastructures import UploadFile

from agenticiqa.batch.audit.running import AuditRequest, run_audit
from agenticiqa.batch.runner import StopSwitch
from agenticiqa.batch.tally import Tally
from agenticiqa.reports.contact_sheet.page import SheetLinks, SheetPicture, write_contact_sheet
from agenticiqa.runtime.config import Settings
from agenticiqa.runtime.files import make_private_folder, write_whole
from agenticiqa.serve.http.problems import ServiceError
from agenticiqa.serve.http.store.upload_store import StoredPicture
from agenticiqa.serve.http.work.intake import MAX_FIELDS, RequestReader, body_faults, body_kind, display_name
from agenticiqa.serve.http.work.jobs import ServiceJob, StopWork, WorkResult
from agenticiqa.serve.http.work.pipeline_work import Pipeline, presentable

DEEPEST = 8


@dataclass(frozen=True)
class AuditIntake:
    """Files as they were sent, by the path that each has on the contact sheet."""

    pictures: Mapping[str, StoredPicture]
    quick: bool

    @property
    def files(self) -> list[Path]:
        return [picture.path for picture in self.pictures.values()]


async def read_audit(request: Request, reader: RequestReader) -> AuditIntake:
    """A form whose ``files`` are the pictures; what does not open is taken too, because an audit says so."""
    most = reader.settings.max_batch_samples
    pictures: dict[str, StoredPicture] = {}
    with body_faults():
        if body_kind(request) != "form":
            raise ServiceError(415, "unsupported_media_type", "Send the pictures as files of multipart/form-data.")
        async with request.form(max_files=most + 1, max_fields=MAX_FIELDS) as form:
            files = [file for file in form.getlist("files") if isinstance(file, UploadFile)]
            if not files:
                raise ServiceError(422, "invalid_request", "files: at least one picture is needed.")
            if len(files) > most:
                raise ServiceError(422, "too_many_samples", f"files: this server takes {most} at a time.")
            for file in files:
                name = free_name(sheet_path(file.filename), pictures)
                pictures[name] = reader.uploads.put(await file.read(), name)
            return AuditIntake(pictures, quick=form.get("quick") == "true")


def sheet_path(given: str | None) -> str:
    """The path that a file was sent under, without anything that could lead out of a folder.

    >>> sheet_path("shoot/../../day 1\\\\a.jpg"), sheet_path("/etc/passwd"), sheet_path(None)
    ('shoot/day 1/a.jpg', 'etc/passwd', 'picture')
    """
    parts = [display_name(part) for part in (given or "").replace("\\", "/").split("/") if part.strip(" .")]
    return "/".join(parts[-DEEPEST:]) or "picture"


def free_name(wanted: str, taken: Mapping[str, Any]) -> str:
    """The name itself, or with a number where another file has it, or where it is the folder of another.

    >>> free_name("a.jpg", {"a.jpg": 1, "a (2).jpg": 1})
    'a (3).jpg'
    """
    stem, ending = os.path.splitext(wanted)
    name, number = wanted, 1
    while any(name == each or each.startswith(f"{name}/") or name.startswith(f"{each}/") for each in taken):
        number += 1
        name = f"{stem} ({number}){ending}"
    return name


@dataclass(frozen=True)
class AuditFiles:
    """Where an audit's files are; all but ``folder`` stay until it is forgotten."""

    output: Path

    @property
    def rows(self) -> Path:
        return self.output.with_suffix(".rows.jsonl")

    @property
    def sheet(self) -> Path:
        return self.output.with_suffix(".sheet.html")

    @property
    def records(self) -> Path:
        return self.output.with_suffix(".records.jsonl")

    @property
    def folder(self) -> Path:
        return self.output.with_suffix(".pictures")


def carry_out(
    job: ServiceJob, pipeline: Pipeline, intake: AuditIntake, files: AuditFiles, links: SheetLinks
) -> WorkResult:
    """Look all pictures through inside the batch worker's thread."""
    make_private_folder(files.output.parent)
    try:
        _link_pictures(intake.pictures, files.folder)
        stop = StopSwitch()
        request = AuditRequest(
            files.folder,
            quick=intake.quick,
            records=files.records,
            overwrite=True,
            workers=1,
            settings=_settings(pipeline.settings, files.folder),
            in_threads=True,
            on_progress=lambda tally: _report(job, tally, stop),
            stop=stop,
        )
        report = run_audit(request).report
        if job.stop_reason is not None:
            raise StopWork
        # What the server's folder is called is nobody's business.
        names = {f"{files.folder}/": "", str(files.folder): "the pictures"}
        summary: dict[str, Any] = presentable(report.summary().as_dict(), names)
        shown: list[dict[str, Any]] = [presentable(row, names) for row in report]
        write_whole(files.rows, "".join(_line(row) for row in shown))

        def pictures() -> Iterator[SheetPicture]:
            return (replace(each, row=presentable(dict(each.row), names)) for each in report.sheet_pictures())

        title = f"{len(intake.pictures)} pictures"
        write_contact_sheet(files.sheet, pictures, title=title, summary=summary, links=links, thumbnails="embedded")
        return WorkResult("ok", summary)
    finally:
        shutil.rmtree(files.folder, ignore_errors=True)
        for each in files.output.parent.glob(f"{files.records.name}*"):
            each.unlink(missing_ok=True)


def _line(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


def _link_pictures(pictures: Mapping[str, StoredPicture], folder: Path) -> None:
    make_private_folder(folder)
    for name, picture in pictures.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            os.link(picture.path, target)
        except OSError:
            # Some file systems know no second name of a file.
            shutil.copyfile(picture.path, target)


def _settings(settings: Settings, folder: Path) -> Settings:
    """The service's own, for a pass that writes no record and opens this folder alone."""
    pipeline = settings.pipeline
    changes = {"runs": pipeline.runs.model_copy(update={"enabled": False}), "allowed_roots": (folder,)}
    return settings.model_copy(update={"pipeline": pipeline.model_copy(update=changes)})


def _report(job: ServiceJob, tally: Tally, stop: StopSwitch) -> None:
    if job.stop_reason is not None:
        # Twice: what is being looked at is dropped as well.
        stop.asked = 2
    else:
        job.report("progress", {"total": tally.total, "finished": tally.finished})
