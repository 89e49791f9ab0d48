"""``agenticiqa audit``: a folder looked through, and what to keep of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from agenticiqa.cli import options, terminal
from agenticiqa.cli.batch import exit_if_stopped, watched

if TYPE_CHECKING:
    from agenticiqa.auditing.report import AuditReport

GROUPING_REPORT_EVERY_S = 10.0


def audit(
    source: Annotated[str, typer.Argument(metavar="FOLDER", help="A folder, with its subfolders; or a pattern.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="All pictures as .csv or .jsonl.")] = None,
    sheet: Annotated[Path | None, typer.Option(help="A contact sheet (.html) to look through in a browser.")] = None,
    thumbnails: Annotated[
        Literal["embedded", "folder"] | None,
        typer.Option(help="In the sheet, or in a folder beside it; default by how many there are."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Without the vision model: no score, no sort.")] = False,
    fail_on: Annotated[str | None, typer.Option(help="Exit with 3 if any picture has one of: corrupt,blurry,…")] = None,
    purpose: Annotated[
        Literal["any", "web", "print", "listing", "dataset"],
        typer.Option("--for", help="What the pictures are for: how good one must be to be kept."),
    ] = "any",
    keep_from: Annotated[
        float | None, typer.Option(callback=options.finite, help="The score from which a picture is kept.")
    ] = None,
    reject_below: Annotated[
        float | None, typer.Option(callback=options.finite, help="The score below which it is rejected.")
    ] = None,
    decisions: Annotated[
        Path | None, typer.Option(help="Your own decisions, as a contact sheet exports them (.csv): they win.")
    ] = None,
    link_best: Annotated[Path | None, typer.Option(help="A new folder with links to the pictures to keep.")] = None,
    xmp: Annotated[
        bool, typer.Option("--xmp", help="Stars, label and reason in an .xmp file beside each picture.")
    ] = False,
    resume: options.ResumeOption = False,
    overwrite: options.OverwriteOption = False,
    workers: options.WorkersOption = None,
    timeout: options.TimeoutOption = 600.0,
    memory: options.MemoryOption = None,
    json_output: options.JsonOption = False,
    config: options.ConfigOption = None,
) -> None:
    """Look through a folder: findings, duplicates, bursts, and what to keep, perhaps to keep, and to reject.

    No picture is moved or changed. Exit code 0 when the audit is complete, 3 when --fail-on found something, 1 when no
    picture could be opened, 130 after Ctrl-C.
    """
    from agenticiqa.auditing.decisions import Bounds, read_decisions
    from agenticiqa.auditing.findings import checked_names
    from agenticiqa.auditing.running import AuditRequest, run_audit
    from agenticiqa.batch.runner import StopSwitch
    from agenticiqa.runtime.files import is_stream

    options.choose_one(resume=resume, overwrite=overwrite)
    named = checked_names(options.listed(fail_on))
    if fail_on is not None and not named:
        raise typer.BadParameter("--fail-on names no finding: write, for example, --fail-on corrupt,blank.")
    bounds = Bounds.of(purpose, keep_from=keep_from, reject_below=reject_below)
    own = read_decisions(decisions) if decisions is not None else {}
    replace = resume or overwrite
    _check_targets(source, output, sheet, link_best, replace=replace)
    # Records are kept beside the first file that is written, so that the audit can be resumed.
    beside = output or sheet
    records = beside.with_name(f"{beside.name}.records") if beside and not is_stream(beside) else None
    if resume and records is None:
        raise typer.BadParameter("--resume continues what --output or --sheet name: give the same as before.")
    stop, due = StopSwitch(), terminal.Interval(GROUPING_REPORT_EVERY_S)

    def show_quick(found: AuditReport) -> None:
        about = found.summary()
        names = ", ".join(f"{name} {count}" for name, count in about.findings.items()) or "no finding"
        terminal.print_message(f"At a quick look ({about.seconds:.1f} s for {about.pictures} pictures): {names}")
        if sheet is not None:
            found.contact_sheet(sheet, thumbnails=thumbnails, overwrite=True)
            terminal.print_message(f"{sheet} shows them already; scores follow.")

    def report_pairs(compared: int, pairs: int) -> None:
        if due.passed():
            terminal.print_message(f"{compared} of {pairs} pairs compared")

    with watched(stop) as on_progress:
        request = AuditRequest(
            source,
            quick=quick,
            bounds=bounds,
            decisions=own,
            records=records,
            resume=resume,
            overwrite=overwrite,
            workers=workers,
            timeout_s=timeout,
            memory=memory,
            config=config,
            on_progress=on_progress,
            on_grouping=report_pairs,
            on_quick=show_quick,
            stop=stop,
        )
        report, batch = run_audit(request)
    exit_if_stopped(batch, resumable=records is not None)
    if output is not None:
        report.save(output, overwrite=replace)
    if sheet is not None:
        # Its first version is there already.
        report.contact_sheet(sheet, thumbnails=thumbnails, overwrite=True)
    failing = {name: count for name, count in report.summary().findings.items() if name in named}
    _tell(report, link_best, failing, xmp=xmp, as_json=json_output)
    if failing and not json_output:
        terminal.print_message(f"--fail-on: {', '.join(f'{name} {count}' for name, count in failing.items())}")
    code = terminal.ExitCode.OK if batch.ok else terminal.ExitCode.ERROR
    raise typer.Exit(terminal.ExitCode.BELOW_THRESHOLD if failing else code)


def _check_targets(
    source: str, output: Path | None, sheet: Path | None, link_best: Path | None, *, replace: bool
) -> None:
    """Whatever cannot be written is refused before anything is spent."""
    from agenticiqa.auditing.report import check_link_folder
    from agenticiqa.batch.outputs import format_of

    options.check_outputs(output, sheet, inputs=[source], overwrite=replace)
    if output is not None:
        format_of(output)
    if sheet is not None and sheet.suffix.lower() not in (".html", ".htm"):
        raise typer.BadParameter("--sheet is a page: name it .html.")
    if link_best is not None:
        check_link_folder(link_best, Path(source))


def _tell(report: AuditReport, link_best: Path | None, failing: dict[str, int], *, xmp: bool, as_json: bool) -> None:
    """Links and files beside the pictures, and the summary with them."""
    linked = report.link_best(link_best) if link_best else None
    written, left = report.write_sidecars() if xmp else (None, [])
    lines = [str(report.summary()), *([] if linked is None else [f"{linked} pictures are linked."])]
    if written is not None:
        lines.append(f"{written} .xmp files are written{f'; {len(left)} of other programs stay' if left else ''}.")
    told = {"linked": linked, "failing": failing, "sidecars": written, "sidecars_left": left}
    terminal.print_result(report.summary().as_dict() | told, *lines, as_json=as_json)
