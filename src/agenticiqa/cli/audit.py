"""``agenticiqa audit``: a folder looked through for what is wrong, what is there twice, and what to keep."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agenticiqa.cli import options
from agenticiqa.cli.batch import watched
from agenticiqa.cli.terminal import ExitCode, Interval, print_error, print_json, say

TOLD_EVERY_S = 10.0


def audit(
    source: Annotated[str, typer.Argument(metavar="FOLDER", help="A folder, with its subfolders; or a pattern.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="All pictures as .csv, .json or .jsonl.")
    ] = None,
    sheet: Annotated[Path | None, typer.Option(help="A contact sheet (.html) to look through in a browser.")] = None,
    thumbnails: Annotated[
        str | None,
        typer.Option(
            "--thumbnails", help="'embedded' in the sheet, or in a 'folder' beside it; default by how many there are."
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Without the vision model: no score, no sort.")] = False,
    fail_on: Annotated[str | None, typer.Option(help="Exit with 3 if any picture has one of: corrupt,blurry,…")] = None,
    link_best: Annotated[
        Path | None, typer.Option(help="A new folder with links to the pictures worth keeping.")
    ] = None,
    resume: options.ResumeOption = False,
    overwrite: options.OverwriteOption = False,
    workers: options.WorkersOption = None,
    timeout: options.TimeoutOption = 600.0,
    memory: options.MemoryOption = None,
    json_output: options.JsonOption = False,
    config: options.ConfigOption = None,
) -> None:
    """Look through a folder: findings, duplicates, bursts and the best of each, in one pass.

    Nothing is moved or changed. Exit code 0 when the audit is complete, 3 when --fail-on found something, 1 when no
    picture could be opened, 130 after Ctrl-C.
    """
    from agenticiqa.auditing.findings import checked_names
    from agenticiqa.auditing.running import AuditRequest, run_audit
    from agenticiqa.batch.runner import StopSwitch
    from agenticiqa.reports.contact_sheet.page import chosen_thumbnails

    options.choose_one(resume=resume, overwrite=overwrite)
    named = checked_names(options.listed(fail_on))
    if fail_on is not None and not named:
        raise typer.BadParameter("--fail-on names no finding: write, for example, --fail-on corrupt,blank.")
    replace, where = resume or overwrite, chosen_thumbnails(thumbnails)
    _check_places(source, output, sheet, link_best, replace=replace)
    records = _records(output or sheet)
    if resume and records is None:
        raise typer.BadParameter("--resume continues what --output or --sheet name: give the same as before.")
    stop, due = StopSwitch(), Interval(TOLD_EVERY_S)

    def tell_pairs(compared: int, pairs: int) -> None:
        if due.passed():
            say(f"{compared} of {pairs} pairs compared")

    with watched(stop) as on_progress:
        request = AuditRequest(
            source,
            quick=quick,
            records=records,
            resume=resume,
            overwrite=overwrite,
            workers=workers,
            timeout_s=timeout,
            memory=memory,
            config=config,
            on_progress=on_progress,
            on_grouping=tell_pairs,
            stop=stop,
        )
        done = run_audit(request)
    report, batch = done.report, done.batch
    if batch.stopped:
        again = "The same command with --resume continues." if records else "With --output it could be resumed."
        print_error(f"Stopped after {batch.total - batch.not_done} of {batch.total} pictures. {again}")
        raise typer.Exit(ExitCode.INTERRUPTED)
    if output is not None:
        report.save(output, overwrite=replace)
    if sheet is not None:
        report.contact_sheet(sheet, thumbnails=where, overwrite=replace)
    linked = report.link_best(link_best) if link_best else None
    failing = {name: count for name, count in report.summary().findings.items() if name in named}
    if json_output:
        print_json({**report.summary().as_dict(), "linked": linked, "failing": failing})
    else:
        typer.echo(str(report.summary()))
        if linked is not None:
            typer.echo(f"{linked} pictures are linked.")
        if failing:
            say(f"--fail-on: {', '.join(f'{name} {count}' for name, count in failing.items())}")
    raise typer.Exit(ExitCode.BELOW_THRESHOLD if failing else ExitCode.OK if batch.ok else ExitCode.ERROR)


def _check_places(
    source: str, output: Path | None, sheet: Path | None, link_best: Path | None, *, replace: bool
) -> None:
    """Whatever cannot be written is refused before anything is spent."""
    from agenticiqa.auditing.outputs import check_link_folder, check_name

    options.check_outputs(output, sheet, inputs=[source], overwrite=replace)
    if output is not None:
        check_name(output)
    if sheet is not None and sheet.suffix.lower() not in (".html", ".htm"):
        raise typer.BadParameter("--sheet is a page: name it .html.")
    if link_best is not None:
        check_link_folder(link_best, Path(source))


def _records(beside: Path | None) -> Path | None:
    """Records are kept beside the first file that is written, so that the audit can be resumed."""
    from agenticiqa.runtime.files import is_stream

    return beside.with_name(f"{beside.name}.records") if beside and not is_stream(beside) else None
