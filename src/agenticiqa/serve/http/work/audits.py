"""Audits: many pictures of one request, stored and looked through by a worker of their own beside single runs."""

import asyncio
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from fastapi import Request
from starlette.datastructures import UploadFile

from agenticiqa.auditing.decisions import Bounds
from agenticiqa.auditing.live_rows import LiveRows
from agenticiqa.auditing.report import AuditReport, AuditSummary
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


DEEPEST = 8
# An audit's files. Rows and sheet stay until it is forgotten; records too where it can be resumed.
ROWS = ".rows.jsonl"
SHEET = ".sheet.html"
LIVE = ".live.jsonl"
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
    """Ids of audits that were under way when their server ended."""
    return {left.name.partition(".")[0] for name in (LIVE, PICTURES) for left in folder.glob(f"*{name}")}


def keep_found(output: Path, *, for_resuming: bool = True) -> None:
    """Make rows of what an audit found that did not end, and remove what it needs no more."""
    rows, live = output.with_suffix(ROWS), output.with_suffix(LIVE)
    try:
        if live.is_file():
            earlier = map(json.loads, rows.read_text("utf-8").splitlines()) if rows.is_file() else ()
            found = {row["path"]: row for row in (*earlier, *(each.row for each in told_pictures(output)))}
            write_atomic(rows, row_lines(output, found.values()))
    finally:
        shutil.rmtree(output.with_suffix(PICTURES), ignore_errors=True)
        live.unlink(missing_ok=True)
        for each in () if for_resuming else (QUICK, RECORDS):
            for file in output.parent.glob(f"{output.with_suffix(each).name}*"):
                file.unlink(missing_ok=True)


def told_rows(output: Path, after: int = 0, *, thumbnails: bool = False) -> Iterator[dict[str, Any]]:
    """What an audit that still runs has told, beyond the first so many rows; the small picture of each once."""
    with suppress(FileNotFoundError), output.with_suffix(LIVE).open("rb") as lines:
        # The last one may be half written.
        for line in islice((each for each in lines if each.endswith(b"\n")), after, None):
            row = json.loads(line)
            yield row if thumbnails else {name: value for name, value in row.items() if name != "thumbnail"}


def told_pictures(output: Path) -> list[SheetPicture]:
    """Each picture as an audit told it last, in the order of their paths."""
    rows: dict[str, dict[str, Any]] = {}
    for row in told_rows(output, thumbnails=True):
        rows[row["path"]] = {**rows.get(row["path"], {"thumbnail": None}), **row}
    for row in rows.values():
        del row["settled"]
    return [SheetPicture(row, row.pop("thumbnail")) for _, row in sorted(rows.items())]


def row_lines(output: Path, rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as lines of JSON, for whoever sent the pictures."""
    names = _own_names(output)
    return "".join(json.dumps(presentable(row, names), ensure_ascii=False) + "\n" for row in rows)


def _own_names(output: Path) -> dict[str, str]:
    """The name of the server's folder is not disclosed."""
    folder = output.with_suffix(PICTURES)
    return {f"{folder}/": "", str(folder): "the pictures"}


class _Watched:
    """One audit as it runs: tells what becomes known for whoever watches it, and stops once its job is to stop."""

    def __init__(self, job: ServiceJob, output: Path, *, quick: bool) -> None:
        self.rows, self.stop = LiveRows(Bounds.of()), StopSwitch()
        self._job, self._output, self._quick = job, output, quick
        self._reported = -1
        self._shown: set[str] = set()
        output.with_suffix(LIVE).unlink(missing_ok=True)

    def progress(self, tally: Tally) -> None:
        counts = self._quick or self.rows.has_decisions
        self._tell(self.rows.found(self._output.with_suffix(RECORDS if counts else QUICK)))
        if self._job.stop_reason is not None:
            # Twice: what is being worked on is dropped as well.
            self.stop.asked = 2
        elif tally.finished != self._reported:
            self._reported = tally.finished
            counted = {"total": tally.total, "finished": tally.finished, "by_status": dict(tally.done)}
            self._job.report("progress", counted)

    def looked(self, report: AuditReport) -> None:
        """The first look is over."""
        self._tell(self.rows.decide(report))

    def _tell(self, pictures: Iterable[SheetPicture]) -> None:
        with self._output.with_suffix(LIVE).open("ab") as lines:
            for each in pictures:
                # The small picture is told once.
                small = {} if each.row["path"] in self._shown else {"thumbnail": each.thumbnail}
                self._shown.add(each.row["path"])
                lines.write(row_lines(self._output, [{**each.row, **small}]).encode("utf-8", "replace"))


def audit_pictures(
    pipeline: Pipeline, samples: Samples, output: Path, links: SheetLinks, job: ServiceJob, *, quick: bool, resume: bool
) -> JobOutcome:
    """Look all pictures through inside the batch worker's thread; what was found before it was stopped is kept.

    ``resume``: go on where an audit of the same pictures stopped.
    """
    folder, done = output.with_suffix(PICTURES), False
    make_private_folder(output.parent)
    watched = _Watched(job, output, quick=quick)
    try:
        make_private_folder(folder)
        for name, picture in samples.items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                os.link(picture.path, target)
            except OSError:
                # Some file systems know no second name of a file. Its time says later that it is still the same.
                shutil.copy2(picture.path, target)
        request = AuditRequest(
            folder,
            quick=quick,
            records=output.with_suffix(RECORDS),
            resume=resume,
            overwrite=not resume,
            workers=1,
            settings=pipeline.settings.changed(pipeline={"runs": {"enabled": False}, "allowed_roots": (folder,)}),
            in_threads=True,
            on_progress=watched.progress,
            on_quick=watched.looked,
            quick_records=output.with_suffix(QUICK),
            stop=watched.stop,
        )
        report, looked = run_audit(request)
        about = report.summary()
        pictures: Callable[[], Iterable[SheetPicture]] = report.sheet_pictures
        if job.stop_reason is not None and watched.rows.has_decisions:
            # What the first look found counts too.
            pictures = partial(told_pictures, output)
            about = AuditSummary(about.source, not_done=looked.not_done)
            about.count(each.row for each in pictures())
        if job.stop_reason == "interrupted" or (job.stop_reason and not about.pictures):
            # A server that ends has no time for a sheet.
            raise Cancelled
        names = _own_names(output)
        summary: dict[str, Any] = presentable(about.as_dict(), names)
        write_atomic(output.with_suffix(ROWS), row_lines(output, (each.row for each in pictures())))

        def shown() -> Iterator[SheetPicture]:
            return (replace(each, row=presentable(dict(each.row), names)) for each in pictures())

        sheet, title = output.with_suffix(SHEET), f"{about.pictures} pictures"
        write_contact_sheet(sheet, shown, title=title, summary=summary, links=links, thumbnails="embedded")
        done = job.stop_reason is None
        # Rows are whole.
        output.with_suffix(LIVE).unlink(missing_ok=True)
        return JobOutcome("ok", summary)
    finally:
        keep_found(output, for_resuming=not done)
