"""Many samples in one request: taken apart into pictures in the upload store, then run as any other batch.

A batch has its own worker beside those of single runs, so that it slows them down but never keeps them waiting for
its end.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fastapi import Request
from starlette.datastructures import UploadFile

from agenticiqa.auditing.running import AuditRequest, run_audit
from agenticiqa.batch.engines.base import ThreadEngine
from agenticiqa.batch.manifest import Manifest, open_manifest
from agenticiqa.batch.runner import Batch, StopSwitch, Tally
from agenticiqa.batch.sample import Sample
from agenticiqa.batch.work import BatchJob, backends_of
from agenticiqa.reports.contact_sheet.page import SheetLinks, SheetPicture, write_contact_sheet
from agenticiqa.runtime.config import Settings
from agenticiqa.runtime.files import make_private_folder, write_atomic
from agenticiqa.runtime.stopping import Cancelled
from agenticiqa.serve.http.problems import ServiceError
from agenticiqa.serve.http.store.uploads import StoredPicture
from agenticiqa.serve.http.wire import BatchBody, BatchSample
from agenticiqa.serve.http.work.intake import MAX_FIELDS, RequestReader, body_faults, body_kind, display_name
from agenticiqa.serve.http.work.jobs import ServiceJob, WorkResult
from agenticiqa.serve.http.work.pipeline_work import Pipeline, presentable

MAX_SAMPLES_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True)
class BatchIntake:
    """A batch that was understood: each sample with its pictures in the upload store."""

    body: BatchBody
    pictures: list[dict[str, StoredPicture]]

    @property
    def files(self) -> list[Path]:
        return [picture.path for sample in self.pictures for picture in sample.values()]


async def read_batch(request: Request, reader: RequestReader) -> BatchIntake:
    """JSON, or a form whose field ``batch`` holds the same JSON and whose ``files`` are the uploads it names."""
    with body_faults():
        if body_kind(request) == "form":
            return await _from_form(request, reader)
        body = await asyncio.to_thread(BatchBody.model_validate_json, await request.body(), strict=True)
        return BatchIntake(body, await _stored_pictures(body, {}, reader))


async def _from_form(request: Request, reader: RequestReader) -> BatchIntake:
    most = reader.settings.max_batch_samples * 2
    async with request.form(max_files=most, max_fields=MAX_FIELDS, max_part_size=MAX_SAMPLES_BYTES) as form:
        text = form.get("batch")
        if not isinstance(text, str):
            raise ServiceError(422, "invalid_request", "batch: the samples are needed, as JSON.")
        body = await asyncio.to_thread(BatchBody.model_validate_json, text, strict=True)
        files = {file.filename or "": file for file in form.getlist("files") if isinstance(file, UploadFile)}
        return BatchIntake(body, await _stored_pictures(body, files, reader))


async def _stored_pictures(
    body: BatchBody, files: Mapping[str, UploadFile], reader: RequestReader
) -> list[dict[str, StoredPicture]]:
    if len(body.samples) > reader.settings.max_batch_samples:
        most = reader.settings.max_batch_samples
        raise ServiceError(422, "too_many_samples", f"samples: this server takes {most} at a time.")
    found = []
    for place, sample in enumerate(body.samples):
        pictures = {}
        for name, source in (("image", sample.image), ("reference", sample.reference)):
            if source is None:
                continue
            where = f"samples.{place}.{name}"
            if source.upload is not None:
                if source.upload not in files:
                    raise ServiceError(422, "invalid_request", f"{where}: no file of this name was sent.")
                await files[source.upload].seek(0)
                given = display_name(source.upload), await files[source.upload].read()
            else:
                given = await asyncio.to_thread(reader.bytes_of, where, source.as_picture())
            pictures[name] = await asyncio.to_thread(reader.store, *given)
        found.append(pictures)
    return found


def run_batch(job: ServiceJob, pipeline: Pipeline, intake: BatchIntake, output: Path) -> WorkResult:
    """Work through a batch inside the batch worker's thread; results are kept as they come."""
    body = intake.body
    settings = _without_record(pipeline.settings_for(body.backend))
    tools = dict.fromkeys(pipeline.assessor().tools.find(name).name for name in body.tools or ())
    choices = {} if tools else backends_of(settings)
    batch_job = BatchJob(settings, choices, tools=tuple(tools), query=body.query, align=body.align)
    switch = StopSwitch()
    reported = -1

    def progress(tally: Tally) -> None:
        nonlocal reported
        if job.stop_reason is not None:
            # Twice: what is being worked on is dropped as well.
            switch.asked = 2
        elif tally.finished != reported:
            reported = tally.finished
            job.report("progress", {"total": tally.total, "finished": reported, "by_status": dict(tally.done)})

    make_private_folder(output.parent)
    summary = Batch(
        manifest=_written_manifest(intake, output.with_suffix(".manifest.jsonl")),
        job=batch_job,
        output=output,
        make_engine=lambda: ThreadEngine(batch_job, 1),
        on_progress=progress,
        stop=switch,
    ).run()
    if job.stop_reason is not None:
        raise Cancelled
    shown = {key: value for key, value in summary.as_dict().items() if key not in ("output", "exit_code", "stopped")}
    failed = summary.failed == summary.total
    return WorkResult("error" if failed else "partial" if summary.failed else "ok", shown)


def _without_record(settings: Settings) -> Settings:
    """A batch has its results file: a record and checkpoints of every sample would be a second one."""
    runs = settings.pipeline.runs.model_copy(update={"enabled": False})
    return settings.model_copy(update={"pipeline": settings.pipeline.model_copy(update={"runs": runs})})


def _written_manifest(intake: BatchIntake, path: Path) -> Manifest:
    samples = [_sample(*each) for each in zip(intake.body.samples, intake.pictures, strict=True)]
    write_atomic(path, "".join(json.dumps(sample.as_row()) + "\n" for sample in samples))
    return open_manifest(str(path))


def _sample(sample: BatchSample, pictures: Mapping[str, StoredPicture]) -> Sample:
    reference = pictures.get("reference")
    return Sample(
        sample_id=sample.sample_id,
        image_path=str(pictures["image"].path),
        reference_path=str(reference.path) if reference else None,
        query=sample.query,
        options=sample.options,
        regions=sample.regions,
    )


def public_lines(output: Path, request: Mapping[str, Any]) -> Iterator[str]:
    """The results so far, one JSON object per line, under the names that the pictures were sent with."""
    names = {
        sample_id: {entry["file"]: entry["name"] for entry in pictures.values()}
        for sample_id, pictures in request.get("sample_pictures", {}).items()
    }
    if not output.is_file():
        return
    with output.open(encoding="utf-8") as file:
        for line in file:
            if not line.endswith("\n"):
                # Being written at this moment.
                return
            result = json.loads(line)
            yield json.dumps(presentable(result, names.get(result["sample_id"], {})), ensure_ascii=False) + "\n"


# --- Many pictures looked through at once ---


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
            raise Cancelled
        # What the server's folder is called is nobody's business.
        names = {f"{files.folder}/": "", str(files.folder): "the pictures"}
        summary: dict[str, Any] = presentable(report.summary().as_dict(), names)
        shown: list[dict[str, Any]] = [presentable(row, names) for row in report]
        write_atomic(files.rows, "".join(_line(row) for row in shown))

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
