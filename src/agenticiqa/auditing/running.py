"""The verb: :func:`audit` of a folder, from Python or for the command line."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal

from agenticiqa.api.arguments import in_thread
from agenticiqa.auditing.collecting import file_state
from agenticiqa.auditing.decisions import Bounds, Decided, Purpose, read_decisions
from agenticiqa.auditing.grouping import Groups, Progress, group
from agenticiqa.auditing.report import AuditReport, AuditSummary
from agenticiqa.batch.engines.base import Engine, ThreadEngine
from agenticiqa.batch.engines.processes import ProcessEngine, usable_cores
from agenticiqa.batch.manifest import Manifest, RowsManifest, open_manifest
from agenticiqa.batch.results import read_results
from agenticiqa.batch.runner import Batch, BatchSummary, ProgressListener, StopSwitch
from agenticiqa.batch.work import BatchJob
from agenticiqa.runtime.config import Settings, load_settings
from agenticiqa.runtime.files import ScratchFolder, atomic_file, locked

PicturePath = str | PathLike[str]
FEW = 24
"""Up to so many pictures, starting processes takes longer than the work."""


@dataclass(frozen=True)
class AuditRequest:
    """What to audit, how, and where its records go."""

    pictures: PicturePath | Iterable[PicturePath]
    quick: bool = False
    bounds: Bounds = field(default_factory=Bounds.of)
    decisions: Mapping[str, Decided] = field(default_factory=dict)
    """A person's own, by path: they win."""
    records: Path | None = None
    """The file that grows while the audit runs, and that ``resume`` continues; None: a temporary one."""
    resume: bool = False
    overwrite: bool = False
    workers: int | None = None
    timeout_s: float = 600.0
    memory: str | None = None
    config: Path | None = None
    settings: Settings | None = None
    """Those of a program that has read its own already; ``config`` and ``memory`` then count for nothing."""
    in_threads: bool = False
    """Start no processes, however many pictures there are: for a program that serves others besides."""
    on_progress: ProgressListener = field(default=lambda _: None)
    on_grouping: Progress = field(default=lambda _done, _of: None)
    on_quick: Callable[[AuditReport], None] | None = None
    """Given: all pictures are looked at without the vision model first, and what was found is handed over at once."""
    quick_records: Path | None = None
    """The file that this first look writes, and that ``resume`` continues; None: a temporary one, and no such look
    where the audit is resumed."""
    stop: StopSwitch = field(default_factory=StopSwitch)


def audit(
    pictures: PicturePath | Iterable[PicturePath],
    *,
    quick: bool = False,
    purpose: Purpose = "any",
    bounds: Bounds | None = None,
    decisions: PicturePath | None = None,
    records: PicturePath | None = None,
    resume: bool = True,
    overwrite: bool = False,
    workers: int | None = None,
    on_progress: ProgressListener | None = None,
) -> AuditReport:
    """Examine a folder (or a list of pictures): findings, duplicates, bursts, and what to keep.

    Args:
        pictures: A folder, a manifest, or paths.
        quick: Leave out the vision model: no score and no kind of picture, but every other check.
        purpose: What the pictures are for, which says how good a picture must be to be kept.
        bounds: Instead of those of the purpose: ``agenticiqa.auditing.decisions.Bounds.of("web", keep_from=3.2)``.
        decisions: A CSV file with a person's own (``path``, ``decision``), as a contact sheet exports them: they win.
        records: A file that keeps the findings picture by picture; by default nothing stays on disk.
        resume: Continue what ``records`` holds; pictures added or changed since are examined anew.
        overwrite: Start ``records`` anew.
        workers: Processes or threads; by default as many as there are cores.
        on_progress: Called with the counts so far.
    Returns:
        A report: ``summary()`` for people, ``to_dataframe()`` for programs.
    Raises:
        ManifestError, ImageError: There is nothing to examine, or ``decisions`` cannot be used.
        ConfigError: There is no such purpose.
        OutputError: ``records`` cannot be written.
    """
    request = AuditRequest(
        pictures,
        quick=quick,
        bounds=bounds or Bounds.of(purpose),
        decisions=read_decisions(Path(fspath(decisions))) if decisions is not None else {},
        records=Path(fspath(records)) if records is not None else None,
        resume=resume and not overwrite,
        overwrite=overwrite,
        workers=workers,
        on_progress=on_progress or (lambda _: None),
    )
    report, _ = run_audit(request)
    return report


aaudit = in_thread(audit)


def run_audit(request: AuditRequest) -> tuple[AuditReport, BatchSummary]:
    """The pass over all pictures, then over their records: the report, and how the pass ended."""
    started = time.monotonic()
    if request.on_quick is not None and not request.quick and (request.quick_records or not request.resume):
        # Beside others its turn is short: all cores may take part.
        workers = None if request.in_threads else request.workers
        first = replace(request, quick=True, workers=workers, records=request.quick_records, on_quick=None)
        found, looked = run_audit(first)
        if request.stop.asked:
            return found, looked
        request.on_quick(found)
    # Nothing but the records is written: no log, no cache.
    overrides: dict[str, Any] = {"pipeline.runs.enabled": False, "pipeline.memory": request.memory}
    settings = request.settings or load_settings(request.config, overrides)
    depth: Literal["quick", "full"] = "quick" if request.quick else "full"
    job = BatchJob(settings, choices={}, audit=depth, timeout_s=request.timeout_s, no_trace=True)
    if isinstance(request.pictures, (str, PathLike)):
        named = fspath(request.pictures)
        manifest = open_manifest(named)
        source = Path(named) if Path(named).is_dir() else Path()
    else:
        named, source = "the list", Path()
        manifest = RowsManifest({"image_path": fspath(each), "sample_id": fspath(each)} for each in request.pictures)
    summary = AuditSummary(named, quick=request.quick)
    lines, temporary = request.records, None
    with closing(manifest), ExitStack() as undo:
        if lines is None:
            temporary = ScratchFolder("audit")
            undo.callback(temporary.close)
            lines = temporary.path / "records.jsonl"
        if request.resume and lines.exists():
            with locked(lines):
                _drop_stale(lines)
        batch = Batch(
            manifest=manifest,
            job=job,
            output=lines,
            make_engine=lambda: _engine(job, request, manifest),
            resume=request.resume,
            overwrite=request.overwrite,
            on_progress=request.on_progress,
            stop=request.stop,
        ).run()
        groups = group(lines, request.on_grouping) if request.stop.asked == 0 else Groups()
        report = AuditReport(lines, groups, summary, source, request.bounds, request.decisions, temporary)
        summary.not_done, summary.skipped = batch.not_done, batch.skipped
        summary.count(report)
        summary.seconds = round(time.monotonic() - started, 2)
        undo.pop_all()
    return report, batch


def _engine(job: BatchJob, request: AuditRequest, manifest: Manifest) -> Engine:
    count = request.workers or usable_cores()
    many = len(list(islice(manifest.rows(), FEW + 1))) > FEW
    return ProcessEngine(job, count) if many and not request.in_threads else ThreadEngine(job, count)


def _drop_stale(lines: Path) -> None:
    """Forget records of pictures that are gone or changed since; the pass then looks at what is there now."""
    with lines.open("rb") as before, atomic_file(lines) as kept:
        for line in read_results(lines):
            picture = line.record.get("picture")
            # One that failed is tried again anyway.
            with suppress(OSError):
                if picture and file_state(line.record["image_path"]).get("file") == picture.get("file"):
                    before.seek(line.offset)
                    kept.write(before.read(line.length))
