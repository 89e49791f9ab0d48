"""``agenticiqa audit``: a folder looked through for what is wrong, what is there twice, and what to keep."""

from __future__ import annotations

import sys
import time
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agenticiqa.cli.options import ConfigOption, JsonOption, MemoryOption, OverwriteOption, check_outputs, finite
from agenticiqa.cli.terminal import (
    EXIT_BELOW_THRESHOLD,
    EXIT_ERROR,
    EXIT_INTERRUPTED,
    EXIT_OK,
    error_console,
    print_error,
    print_json,
)

if TYPE_CHECKING:
    from agenticiqa.auditing.report import AuditReport
    from agenticiqa.auditing.running import Audited, AuditRequest

TOLD_EVERY_S = 10.0


def audit(
    source: Annotated[str, typer.Argument(metavar="FOLDER", help="A folder, with its subfolders; or a pattern.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="All pictures as .csv, .json, .jsonl or .parquet.")
    ] = None,
    sheet: Annotated[
        Path | None, typer.Option("--sheet", help="A contact sheet (.html) to look through in a browser.")
    ] = None,
    thumbnails: Annotated[
        str | None,
        typer.Option(
            "--thumbnails", help="'embedded' in the sheet, or in a 'folder' beside it; default by how many there are."
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Without the vision model: no score, no sort.")] = False,
    fail_on: Annotated[
        str | None, typer.Option("--fail-on", help="Exit with 3 if any picture has one of: corrupt,blurry,…")
    ] = None,
    link_best: Annotated[
        Path | None, typer.Option("--link-best", help="A new folder with links to the pictures worth keeping.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue; look only at what is new or changed.")] = False,
    overwrite: OverwriteOption = False,
    workers: Annotated[int | None, typer.Option("--workers", "-w", min=1, help="Pictures looked at at once.")] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", callback=finite, min=0.1, help="Seconds a picture may take.")
    ] = 600.0,
    memory: MemoryOption = None,
    json_output: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Look through a folder: findings, duplicates, bursts and the best of each, in one pass.

    Nothing is moved or changed. Exit code 0 when the audit is complete, 3 when --fail-on found something, 1 when no
    picture could be opened, 130 after Ctrl-C.
    """
    from agenticiqa.auditing.findings import checked_names

    if resume and overwrite:
        raise typer.BadParameter("--resume and --overwrite contradict each other: choose one.")
    watched = checked_names([name.strip() for name in (fail_on or "").split(",") if name.strip()])
    if fail_on is not None and not watched:
        raise typer.BadParameter("--fail-on names no finding: write, for example, --fail-on corrupt,blank.")
    _check_places(source, output, sheet, thumbnails, link_best, replace=resume or overwrite)
    request = _request(source, output or sheet, resume=resume, overwrite=overwrite, quick=quick)
    done = _run(request, workers=workers, timeout=timeout, memory=memory, config=config)
    if done.batch.stopped:
        _print_stopped(done, resumable=request.records is not None)
        raise typer.Exit(EXIT_INTERRUPTED)
    _write(done.report, output, sheet, thumbnails, replace=resume or overwrite)
    linked = done.report.link_best(link_best) if link_best else None
    failing = {name: count for name, count in done.report.summary().findings.items() if name in watched}
    _print(done.report, json_output=json_output, linked=linked, failing=failing)
    raise typer.Exit(_exit_code(done, failing))


def _check_places(
    source: str,
    output: Path | None,
    sheet: Path | None,
    thumbnails: str | None,
    link_best: Path | None,
    *,
    replace: bool,
) -> None:
    """Whatever cannot be written is refused before anything is spent."""
    from agenticiqa.auditing.outputs import check_link_folder, check_name
    from agenticiqa.reports.contact_sheet.page import chosen_thumbnails

    chosen_thumbnails(thumbnails)
    check_outputs(output, sheet, inputs=[source], overwrite=replace)
    if output is not None:
        check_name(output)
    if sheet is not None and sheet.suffix.lower() not in (".html", ".htm"):
        raise typer.BadParameter("--sheet is a page: name it .html.")
    if link_best is not None:
        check_link_folder(link_best, Path(source))


def _request(source: str, beside: Path | None, *, resume: bool, overwrite: bool, quick: bool) -> AuditRequest:
    """Records are kept beside the first file that is written, so that the audit can be resumed."""
    from agenticiqa.auditing.running import AuditRequest
    from agenticiqa.runtime.files import is_stream

    records = beside.with_name(f"{beside.name}.records") if beside and not is_stream(beside) else None
    if resume and records is None:
        raise typer.BadParameter("--resume continues what --output or --sheet name: give the same as before.")
    return AuditRequest(source, quick=quick, records=records, resume=resume, overwrite=overwrite)


def _run(
    request: AuditRequest, *, workers: int | None, timeout: float, memory: str | None, config: Path | None
) -> Audited:
    from dataclasses import replace

    from agenticiqa.auditing.running import run_audit
    from agenticiqa.cli.batch import progress_display, stopping_on_signals

    # Standard output is for the summary.
    with progress_display(error_console()) as show, stopping_on_signals(request.stop), redirect_stdout(sys.stderr):
        return run_audit(
            replace(
                request,
                workers=workers,
                timeout_s=timeout,
                memory=memory,
                config=config,
                on_progress=show,
                on_grouping=_PairsTold(),
            )
        )


class _PairsTold:
    """Says now and then how far the comparison of pictures has come."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, done: int, pairs: int) -> None:
        if time.monotonic() - self._last >= TOLD_EVERY_S:
            self._last = time.monotonic()
            error_console().print(f"{done} of {pairs} pairs compared", highlight=False)


def _write(
    report: AuditReport, output: Path | None, sheet: Path | None, thumbnails: str | None, *, replace: bool
) -> None:
    from agenticiqa.reports.contact_sheet.page import chosen_thumbnails

    if output is not None:
        report.save(output, overwrite=replace)
    if sheet is not None:
        report.contact_sheet(sheet, thumbnails=chosen_thumbnails(thumbnails), overwrite=replace)


def _print(report: AuditReport, *, json_output: bool, linked: int | None, failing: dict[str, int]) -> None:
    summary = report.summary()
    if json_output:
        print_json({**summary.as_dict(), "linked": linked, "failing": failing})
        return
    typer.echo(str(summary))
    if linked is not None:
        typer.echo(f"{linked} pictures are linked.")
    if failing:
        told = ", ".join(f"{name} {count}" for name, count in failing.items())
        error_console().print(f"--fail-on: {told}", highlight=False, markup=False, soft_wrap=True)


def _print_stopped(done: Audited, *, resumable: bool) -> None:
    again = "The same command with --resume continues." if resumable else "With --output it could be resumed."
    print_error(f"Stopped after {done.batch.total - done.batch.not_done} of {done.batch.total} pictures. {again}")


def _exit_code(done: Audited, failing: dict[str, int]) -> int:
    if failing:
        return EXIT_BELOW_THRESHOLD
    return EXIT_OK if done.batch.ok else EXIT_ERROR
