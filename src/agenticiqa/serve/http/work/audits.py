"""Audits: many pictures of one request, stored and looked through by a worker of their own beside single runs."""

import asyncio
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from fastapi import Request
from starlette.datastructures import UploadFile

from agenticiqa.auditing.decisions import Bounds, Decider
from agenticiqa.auditing.grouping import GroupPlace
from agenticiqa.auditing.report import audit_row
from agenticiqa.auditing.running import AuditRequest, run_audit
from agenticiqa.batch.runner import StopSwitch, Tally
from agenticiqa.reports.contact_sheet.page import SheetLinks, SheetPicture, write_contact_sheet
from agenticiqa.runtime.files import make_private_folder, write_atomic
from agenticiqa.runtime.stopping import Cancelled
from agenticiqa.serve.http.problems import ServiceError
from agenticiqa.serve.http.store.job_record import JobOutcome
from agenticiqa.serve.http.store.uploads import StoredPicture
from agenticiqa.serve.http.work.intake import MAX_FIELDS, RequestReader, body_faults, body_kind, display_name
from agenticiqa.serve.http.work.jobs import ServiceJob
from agenticiqa.serve.http.work.pipeline_work import Pipeline, presentable

Samples = dict[str, StoredPicture]
"""The pictures by their paths on the sheet."""


def _progress_of(job: ServiceJob, stop: StopSwitch) -> Callable[[Tally], None]:
    """Reports how far a job is, and stops its work once the job is to stop."""
    reported = -1

    def progress(tally: Tally) -> None:
        nonlocal reported
        if job.stop_reason is not None:
            # Twice: what is being worked on is dropped as well.
            stop.asked = 2
        elif tally.finished != reported:
            reported = tally.finished
            job.report("progress", {"total": tally.total, "finished": reported, "by_status": dict(tally.done)})

    return progress


DEEPEST = 8
# An audit's files. All but the pictures and records stay until it is forgotten.
ROWS = ".rows.jsonl"
SHEET = ".sheet.html"
QUICK = ".quick.jsonl"
RECORDS = ".records.jsonl"
PICTURES = ".pictures"


async def read_audit(request: Request, reader: RequestReader, owner: str, samples: Samples) -> bool:
    """A form whose ``files`` are the pictures; what does not open is taken too, because an audit says so.

    Puts the pictures into ``samples``, by the path that each has on the contact sheet, also where it fails half-way.
    Returns whether a quick look is wanted.
    """
    most = reader.settings.max_batch_samples
    with body_faults():
        if body_kind(request) != "form":
            raise ServiceError(415, "unsupported_media_type", "Send the pictures as files of multipart/form-data.")
        async with request.form(max_files=most + 1, max_fields=MAX_FIELDS) as form:
            files = [file for file in form.getlist("files") if isinstance(file, UploadFile)]
            if not files:
                raise ServiceError(422, "invalid_request", "files: at least one picture is needed.")
            if len(files) > most:
                raise ServiceError(422, "too_many_samples", f"files: this server takes {most} at a time.")
            if (quick := form.get("quick", "false")) not in ("true", "false"):
                raise ServiceError(422, "invalid_request", "quick: this is neither true nor false.")
            for file in files:
                name = free_name(sheet_path(file.filename), samples)
                data, shown = await file.read(), name.rpartition("/")[2]
                in_use = {each.path for each in samples.values()}
                samples[name] = await asyncio.to_thread(reader.uploads.put, data, shown, owner, in_use)
            return quick == "true"


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


def unfinished(folder: Path) -> set[str]:
    """Ids of audits that left something unfinished there."""
    return {left.name.partition(".")[0] for name in (QUICK, RECORDS, PICTURES) for left in folder.glob(f"*{name}*")}


def keep_found(output: Path) -> None:
    """Make rows of what an audit that did not end has found, and remove the rest of it; groups are not known."""
    try:
        # What was told later of a picture is more.
        rows = {found.row["path"]: found.row for found in found_so_far(output)}
        if rows and not output.with_suffix(ROWS).is_file():
            write_atomic(output.with_suffix(ROWS), row_lines(output, rows.values()))
    finally:
        shutil.rmtree(output.with_suffix(PICTURES), ignore_errors=True)
        for name in (QUICK, RECORDS):
            for each in output.parent.glob(f"{output.with_suffix(name).name}*"):
                each.unlink(missing_ok=True)


def found_so_far(output: Path, after: int = 0) -> Iterator[SheetPicture]:
    """What an audit that still runs has found, beyond the first so many: at a quick look, then with the model."""
    decider = Decider(Bounds.of())
    for line in islice(_lines_so_far(output), after, None):
        record = json.loads(line)
        row = audit_row(record, GroupPlace(), decider)
        yield SheetPicture(row, (record.get("picture") or {}).get("thumbnail"))


def _lines_so_far(output: Path) -> Iterator[bytes]:
    for name in (QUICK, RECORDS):
        with suppress(FileNotFoundError), output.with_suffix(name).open("rb") as records:
            # The last one may be half written.
            yield from (line for line in records if line.endswith(b"\n"))


def row_lines(output: Path, rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as lines of JSON, for whoever sent the pictures."""
    names = _own_names(output)
    return "".join(json.dumps(presentable(row, names), ensure_ascii=False) + "\n" for row in rows)


def _own_names(output: Path) -> dict[str, str]:
    """The name of the server's folder is not disclosed."""
    folder = output.with_suffix(PICTURES)
    return {f"{folder}/": "", str(folder): "the pictures"}


def audit_pictures(
    job: ServiceJob, pipeline: Pipeline, samples: Samples, output: Path, links: SheetLinks, *, quick: bool
) -> JobOutcome:
    """Look all pictures through inside the batch worker's thread; what was found before it was stopped is kept."""
    folder, stop = output.with_suffix(PICTURES), StopSwitch()
    make_private_folder(output.parent)
    try:
        make_private_folder(folder)
        for name, picture in samples.items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                os.link(picture.path, target)
            except OSError:
                # Some file systems know no second name of a file.
                shutil.copyfile(picture.path, target)
        request = AuditRequest(
            folder,
            quick=quick,
            records=output.with_suffix(RECORDS),
            overwrite=True,
            workers=1,
            settings=pipeline.settings.changed(pipeline={"runs": {"enabled": False}, "allowed_roots": (folder,)}),
            in_threads=True,
            on_progress=_progress_of(job, stop),
            on_quick=lambda _: None,
            quick_records=output.with_suffix(QUICK),
            stop=stop,
        )
        report, _ = run_audit(request)
        if job.stop_reason == "interrupted" or (job.stop_reason and not len(report)):
            # A server that ends has no time for a sheet.
            raise Cancelled
        names = _own_names(output)
        summary: dict[str, Any] = presentable(report.summary().as_dict(), names)
        write_atomic(output.with_suffix(ROWS), row_lines(output, report))

        def shown() -> Iterator[SheetPicture]:
            return (replace(each, row=presentable(dict(each.row), names)) for each in report.sheet_pictures())

        sheet, title = output.with_suffix(SHEET), f"{len(report)} pictures"
        write_contact_sheet(sheet, shown, title=title, summary=summary, links=links, thumbnails="embedded")
        return JobOutcome("ok", summary)
    finally:
        keep_found(output)
